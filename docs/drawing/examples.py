"""Examples of pages, which pictures show, and the style that pictures share."""

import re
from pathlib import Path
from typing import Any

from posewise.robots.visual.figures import new_figure

DOCS = Path(__file__).parents[1]
WIDTH = 6.5
"""Width of curves and diagrams [inch]."""
PIXELS = 110
"""Pixels per inch of curves and diagrams."""


def page_code(page: str, *numbers: int) -> str:
    """Return some examples of a page as one program.

    Args:
        page: name of the page, relative to `docs` and without a suffix.
        *numbers: which ones; the first, 0, if none is given.
    """
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```py(?:thon)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return "\n".join(blocks[number] for number in numbers or (0,))


def run_examples(page: str, *numbers: int) -> dict[str, Any]:
    """Run some examples of a page, and return their variables; see `page_code`."""
    variables: dict[str, Any] = {}
    exec(page_code(page, *numbers), variables)
    return variables


def new_curves(height: float = 3.0, columns: int = 1, **options: Any) -> Any:
    """Return a figure and its axes side by side; options are those of `subplots`."""
    figure = new_figure(WIDTH, height)
    return figure, figure.subplots(1, columns, **options)
