"""Figures of matplotlib, an extra."""

from typing import Any


def new_figure(width: float, height: float) -> Any:
    """A matplotlib figure without a window [inch].

    Raises:
        ImportError: without matplotlib; names the extra.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'Pictures need matplotlib: pip install "posewise[plot]".'
        ) from error
    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made
