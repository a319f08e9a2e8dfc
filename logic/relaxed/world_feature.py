"""Features whose computation depends on the shapes of the frames in a world."""

from collections.abc import Callable, Sequence

from posewise.features import Feature
from posewise.features.symbol import Resolved
from posewise.features.symbol_kinds import WorldSymbol
from posewise.robots.config import Config


def world_feature(
    names: Sequence[str],
    resolve: Callable[[Config, Sequence[str]], Resolved],
    name: str = "",
    frames: tuple[int, int | None] = (0, None),
    dim: int | None = None,
) -> Feature:
    """Return a feature that a world turns into its actual symbol.

    Args:
        names: of the frames.
        resolve: returns the symbol for a world and frame names.
        name: of the symbol, for reports.
        frames: least and largest number of frames; None: unlimited.
        dim: number of rows, if it does not depend on the world.
    """
    # Kinds of shapes decide which program computes the rows, so the symbol can only be
    # chosen in a world; `resolve` is called whenever the feature is bound to one.
    symbol = WorldSymbol(
        resolve,
        name,
        frames=frames,
        dim=dim,
        resolve=resolve,
    )
    return Feature(symbol, tuple(names))
