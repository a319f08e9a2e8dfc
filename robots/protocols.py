"""Protocols of what worlds use but other packages define: features and views."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

from .typing import Frames, StrPath, VectorLike

World_contra = TypeVar("World_contra", contravariant=True)
Feature_co = TypeVar("Feature_co", covariant=True)


@runtime_checkable
class FeatureLike(Protocol[World_contra]):
    """A function of frame poses that can be evaluated in a world."""

    def check(self, C: World_contra, /) -> None:
        """Raise an error for frames and sizes that do not fit the world."""

    def eval(
        self,
        C: World_contra,
        /,
        q: VectorLike | None = None,
        tau: float | VectorLike = 1.0,
        coordinates: Literal["q", "tangent"] = "q",
    ) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, "..."]]:
        """Return the value and the Jacobian."""

    def function(
        self, C: World_contra, /, tau: float | VectorLike = 1.0
    ) -> Callable[..., Any]:
        """Return a pure JAX function of q."""


@runtime_checkable
class MakesFeature(Protocol[Feature_co]):
    """A symbol of features, such as the entries of `FS`."""

    def on(self, frames: Frames = (), **options: Any) -> Feature_co:
        """Return the feature of this symbol on frames."""


@runtime_checkable
class ViewHandle(Protocol):
    """A page that shows a world, as `Config.view` returns it."""

    url: str
    """Address of the page."""

    @property
    def closed(self) -> bool:
        """Whether the server has stopped."""

    @property
    def overlays(self) -> tuple[str, ...]:
        """Names of the overlays that are shown."""

    def update(self) -> None:
        """Show the present state of the world."""

    def show(self, *overlays: str, margin: float | None = None) -> None:
        """Add overlays."""

    def hide(self, *overlays: str) -> None:
        """Remove overlays."""

    def on_move(self, frame: str, react: Callable[[Any], Any]) -> None:
        """Let a frame be dragged with the mouse."""

    def save(self, file: StrPath) -> Path:
        """Write what is shown as one HTML page."""

    def close(self) -> None:
        """Stop the server."""
