"""The world: a tree of frames with joints and shapes, and annotations of it.

A `Config` can be edited; it consists of three immutable values (frames, annotations,
collision filter) that every edit replaces. Its methods of everyday use are in the
modules beside this one, by what they are about; all others are in its facets.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from jaxtyping import Float

from ..errors import ConfigError
from ..protocols import FeatureLike, MakesFeature, ViewHandle
from ..typing import (
    FeatureOption,
    FrameName,
    Frames,
    JointTypeName,
    MatrixLike,
    ModelName,
    PoseLike,
    StrPath,
    VectorLike,
)
from ..validation import CONVERSION_ERRORS
from ..visual.visible_shapes import visible_tree
from ..world.argument_parsing import numbers_key
from .contact_queries import ContactQueries
from .frame_additions import FrameAdditions
from .frame_edits import FrameEdits
from .frame_properties import FrameProperties
from .joint_state import JointState
from .model_files import ModelFiles
from .old_names import OldNames

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..visual.camera_images import CameraImage

MAX_CACHED_FEATURES = 1024
"""Number of features that `Config.eval` remembers (count); more take more memory."""

F = TypeVar("F", bound=FeatureLike[Any])


class Config(
    FrameAdditions,
    FrameEdits,
    FrameProperties,
    ModelFiles,
    JointState,
    ContactQueries,
    OldNames,
):
    """A world of frames; SI units, z up, quaternions `(w, x, y, z)`.

    "world" names the fixed origin unless a frame carries that name. Joints, the pairs
    that may collide, and annotations have more methods in `C.joints`, `C.pairs` and
    `C.annotations`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._features: dict[Any, FeatureLike[Config]] = {}

    def copy(self) -> "Config":
        """Return an independent copy."""
        # The parts are immutable, so that copies can share them. Features are not: each
        # remembers the world it was last bound to, and copies would take turns in it.
        new = object.__new__(type(self))
        vars(new).update(vars(self), _features={})
        return new

    def visible_copy(self) -> "Config":
        """Return a copy whose shapes for collision are those that are seen.

        Seen are the shapes that are drawn, or those for collision where a frame has no
        others, or only meshes besides.
        """
        new = self.copy()
        new._tree = visible_tree(self._tree)
        return new

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> "Config":
        return self.copy()

    def __repr__(self) -> str:
        return (
            f"Config({len(self.frames)} frames, {len(self.joint_names)} joints,"
            f" nq={self.nq}, {len(self._annotations.objects)} objects)"
        )

    def feature(
        self, symbol: MakesFeature[F], frames: Frames = (), **options: FeatureOption
    ) -> F:
        """Return a feature on frames of this world, after checking that it fits.

        Args:
            symbol: an entry of `FS`.
            frames: names of the frames (or joints) that it reads.
            **options: as for `posewise.Feature`.

        Raises:
            ConfigError: for unknown frames, with near matches.
            FeatureError: for an order, target or scale that does not fit.
        """
        feature = _make_feature(symbol, frames, options)
        feature.check(self)
        return feature

    def eval(
        self,
        symbol: MakesFeature[Any],
        frames: Frames = (),
        *,
        coordinates: Literal["q", "tangent"] = "q",
        **options: FeatureOption,
    ) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, "rows columns"]]:
        """Return the value (D,) and Jacobian (D, nq) of a feature at the state.

        Args:
            symbol: an entry of `FS`.
            frames: names of the frames (or joints) that it reads.
            coordinates: "tangent" for a Jacobian (D, nv).
            **options: `scale`, `target`, and others of `posewise.Feature`.
        """
        try:
            numbers = (
                (k, np.asarray(v).shape, numbers_key(v)) for k, v in options.items()
            )
            key = (symbol, *frames, *numbers)
            feature = self._features.get(key)
        except CONVERSION_ERRORS:
            key, feature = None, None
        if feature is None:
            feature = _make_feature(symbol, frames, options)
            if key is not None and len(self._features) < MAX_CACHED_FEATURES:
                self._features[key] = feature
        return feature.eval(self, coordinates=coordinates)

    def view(
        self,
        path: Float[np.ndarray, "T nq"] | MatrixLike | None = None,
        dt: float | VectorLike = 0.1,
        browser: bool = True,
    ) -> ViewHandle:
        """Show the world, or a path of it, in the browser.

        Without a path a second call shows the present state on the same page.

        Args:
            path: coordinates (T, nq) to play; None: the state.
            dt: time from one slice of the path to the next [s].
            browser: whether to open the page, and to print its address on stderr.

        Returns:
            The view: its `url`, overlays, drag handles, `save` as a page, `close`.

        Raises:
            ConfigError: for a path that is not one of this world.
            ImportError: without viser; names the extra.
        """
        from ..visual.viewer.open_views import open_view

        return open_view(self, path, dt, browser)

    def picture(
        self,
        file: StrPath | None = None,
        *,
        view: tuple[float, float] = (25.0, -55.0),
        frames: Sequence[FrameName] | None = None,
        names: bool = False,
        camera: str | None = None,
    ) -> "Figure":
        """Return a still picture of the world, which a notebook shows.

        Links that have shapes for collision only are drawn by these. The picture frames
        what is drawn, without floors below it, and without a ground much larger than
        all else. Bodies without a colour get one each, and the floor has a grid. Walls
        of containers that hide what is inside are translucent. Neither a
        browser nor a graphics library is needed.

        Args:
            file: where to save the picture, if anywhere.
            view: elevation and azimuth of the eye [degrees].
            frames: names of frames that are drawn; None: all with visual shapes.
            names: whether bodies are labelled; robots by their agent, or what the names
                of their links begin with.
            camera: name of a camera of `C.annotations` that sees the world, in place
                of `view`: in perspective, with its field of view, from `near` to `far`,
                in the ratio of its pixels. To it no walls are translucent.

        Raises:
            ImportError: without matplotlib; names the extra.
            ConfigError: for unknown frames and cameras, with near matches, and a wrong
                view.
        """
        from ..visual.film import save_picture

        return save_picture(self, file, view, frames, names, camera)

    def camera_image(self, camera: str) -> "CameraImage":
        """Return what a camera sees, in its pixels: colours, depths and points.

        It sees visual shapes from `near` to `far`, as `picture` shows them, without a
        browser, a graphics library or matplotlib. The floor that is drawn below the
        world, and translucent shapes, have no depth.

        Args:
            camera: name of a camera of `C.annotations`.

        Raises:
            ConfigError: for an unknown camera, with near matches, and a mesh that
                cannot be read.
        """
        from ..visual.camera_images import image_of_named_camera

        return image_of_named_camera(self, camera)

    def write_mesh(self, path: StrPath) -> None:
        """Write what is seen of the world at its state as one mesh, without colours.

        Args:
            path: the file; its suffix tells the format, such as .stl, .ply, .obj, .glb.

        Raises:
            ConfigError: for a world in which nothing is seen, another suffix, and a
                mesh that cannot be read.
        """
        from trimesh.exchange.export import export_mesh

        from ..visual.surface_meshes import world_mesh

        mesh = world_mesh(self)
        if not len(mesh.faces):
            raise ConfigError("write_mesh: no shape is seen; add frames with shapes.")
        try:
            # Files are opened, and so emptied, before a format is refused.
            export_mesh(mesh, None, Path(path).suffix[1:].lower())
        except ValueError as error:
            raise ConfigError(
                f"write_mesh: path is {str(path)!r}, expected a suffix such as .stl,"
                " .ply, .obj or .glb."
            ) from error
        mesh.export(Path(path))


def _make_feature(
    symbol: MakesFeature[F], frames: Frames, options: Mapping[str, Any]
) -> F:
    if isinstance(symbol, str):
        raise ConfigError(
            f"symbol is {symbol!r}, a string; expected an entry of FS, without quotes:"
            f" FS.{symbol.removeprefix('FS.')}."
        )
    if not hasattr(symbol, "on"):
        raise ConfigError(
            f"symbol is {symbol!r}, expected an entry of FS; for a function of poses"
            " make a Feature(function, frames)."
        )
    return symbol.on(frames, **options)


def load(
    name: ModelName,
    prefix: str = "",
    parent: FrameName = "world",
    pose: PoseLike | None = None,
    joint: JointTypeName | None = None,
) -> Config:
    """Return a new world with one of our own models, e.g. `load("panda")`.

    Args:
        name: of the model.
        prefix: put before every frame and joint name.
        parent: the frame that the model's root is attached to.
        pose: of the model's root in the parent (7,).
        joint: "free" for a movable object.

    Raises:
        LoadError: for an unknown name, with near matches.
    """
    C = Config()
    C.load(name, prefix, parent, pose, joint)
    return C
