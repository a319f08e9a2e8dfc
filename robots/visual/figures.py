"""Figures of matplotlib, which an optional extra installs."""

from io import BytesIO
from typing import Any


def new_figure(width: float, height: float) -> Any:
    """Return a matplotlib figure without a window.

    Args:
        width: Width [inch].
        height: Height [inch].

    Raises:
        ImportError: When matplotlib is not installed; the message names the extra.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'Pictures need matplotlib: pip install "posewise[plot]".'
        ) from error

    class NotebookFigure(Figure):
        """A figure that a notebook shows, although it belongs to no window."""

        def _repr_png_(self) -> bytes:
            stream = BytesIO()
            self.savefig(stream, format="png")
            return stream.getvalue()

    figure = NotebookFigure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
