"""Type aliases of what users pass to features."""

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

from jax.typing import ArrayLike

from posewise.robots.typing import MatrixLike, VectorLike

from .symbol import Symbol

Order: TypeAlias = Literal[0, 1, 2, 3]
"""Order of a feature: 0 value, 1 velocity, 2 acceleration, 3 jerk."""
ScaleLike: TypeAlias = float | VectorLike | MatrixLike
"""One number, D numbers, or a matrix (out, D) that projects."""
TargetLike: TypeAlias = float | VectorLike
"""One number, or D numbers."""
PoseFunction: TypeAlias = Callable[..., ArrayLike]
"""A function of one `Pose` for each frame that returns an array (D,)."""
Coordinates: TypeAlias = Literal["q", "tangent"]
"""Columns of a Jacobian: joint coordinates, or the tangent space of joints."""


class HasSymbol(Protocol):
    """An entry of `FS`, which names a feature symbol."""

    @property
    def symbol(self) -> Symbol:
        """The symbol's function and calling convention."""
        ...


SymbolLike: TypeAlias = HasSymbol | Symbol | PoseFunction
"""Measure of a feature: an entry of `FS`, a symbol, or a function of poses."""
