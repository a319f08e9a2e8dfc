"""Figures of matplotlib, which an optional extra installs."""

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
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
