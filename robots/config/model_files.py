"""Models that are added to a world, or written from it."""

import os
from pathlib import Path

from posewise.compilation.progress import announce_if_slow

from ..annotations.abilities import model_abilities
from ..errors import LoadError
from ..facets.editable_world import EditableWorld
from ..loaders.dispatch import Packages, XacroArgs, read_file, read_text
from ..loaders.urdf.srdf import DEFAULT_REASON
from ..models import model_info, read_model
from ..typing import FrameName, JointTypeName, ModelName, PoseLike, StrPath
from ..world.add import append_model
from ..world.frame import Model
from ..world.named_states import renamed_states


class ModelFiles(EditableWorld):
    """A world that models are loaded into."""

    def add_file(
        self,
        path: StrPath,
        prefix: str = "",
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
        *,
        packages: Packages | None = None,
        xacro_args: XacroArgs | None = None,
    ) -> tuple[str, ...]:
        """Add a model: URDF, xacro, MJCF, SDF, or rai's .g and .yml; all or nothing.

        The root element tells URDF (`<robot>`), MJCF (`<mujoco>`) and SDF apart. Of SDF
        a model alone in its file is an object without a joint at its root, while in a
        world what is not static is free. Only files in the model's package and in
        `packages` are read, except by xacro: it evaluates expressions and includes any
        file, so use it on trusted files only.

        Args:
            path: the file.
            prefix: put before every frame and joint name.
            parent: the frame that the model's root is attached to; None: none.
            pose: of the model's root in the parent (7,).
            joint: "free" for a movable model, else see `add_model`.
            packages: folders of ROS packages by name, for meshes of URDF files at
                `package://name/…` and for `$(find name)` in xacro. Packages above the
                file, beside its own, and on ROS_PACKAGE_PATH or AMENT_PREFIX_PATH are
                found without it.
            xacro_args: values of the arguments of a xacro file; a `.urdf` file is
                expanded as xacro only if they are given ({} for none).

        Returns:
            The names of the new frames.

        Raises:
            LoadError: for a file that cannot be read; names the line or element.
            ConfigError: when names are in use already.
            ImportError: without a package that the format needs; names the extra.
        """
        if not isinstance(path, str | os.PathLike):
            raise LoadError(f"path is {path!r}, expected the path of a model file.")
        with announce_if_slow(f"loading {Path(path).name}"):
            model, duplicates = read_file(Path(path), packages, xacro_args)
        return self.add_model(
            model, prefix, parent, pose, joint, duplicates=duplicates, source=str(path)
        )

    def add_text(
        self,
        text: str,
        prefix: str = "",
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
        *,
        folder: StrPath | None = None,
        packages: Packages | None = None,
        xacro_args: XacroArgs | None = None,
    ) -> tuple[str, ...]:
        """Add a model whose URDF, MJCF or SDF is given as text; all of it or nothing.

        Args:
            text: XML, e.g. ROS's parameter `robot_description`.
            prefix: see `add_file`.
            parent: see `add_file`.
            pose: see `add_file`.
            joint: see `add_file`.
            folder: where relative names of meshes begin; None: they are not found.
            packages: see `add_file`.
            xacro_args: values of arguments; the text is expanded as xacro only if they
                are given ({} for none). Use it on trusted text only.

        Returns:
            The names of the new frames.

        Raises:
            LoadError: for text that cannot be read; names the line or element.
            ConfigError: when names are in use already.
            ImportError: without a package that the format needs; names the extra.
        """
        if not isinstance(text, str):
            raise LoadError(f"text is {type(text).__name__}, expected URDF or MJCF.")
        if folder is not None and not os.path.isdir(folder):
            raise LoadError(f"folder is {folder!r}, expected an existing folder.")
        place = None if folder is None else Path(folder).resolve()
        model = read_text(text, place, packages, xacro_args)
        return self.add_model(model, prefix, parent, pose, joint, source="text")

    def add_model(
        self,
        model: Model,
        prefix: str = "",
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
        *,
        duplicates: bool = False,
        source: str = "model",
    ) -> tuple[str, ...]:
        """Add the frames of a loaded model; all of them or nothing.

        Args:
            model: as `read_urdf` and the other readers return it.
            prefix: put before every frame and joint name.
            parent: the frame that the model's roots are attached to; None: none.
            pose: of the model's root in the parent (7,).
            joint: type of a joint for roots that have none.
            duplicates: whether frames may have names that are in use.
            source: name of the model in messages.

        Returns:
            The names of the new frames.

        Raises:
            ConfigError: for frames that do not fit, and names in use.
        """
        first = len(self.frames)
        self._tree = append_model(
            self._tree,
            model,
            prefix,
            parent,
            pose,
            joint,
            duplicates=duplicates,
            source=source,
        )
        self._filter = self._filter.ignoring(
            {(first + a, first + b): why for (a, b), why in model.ignored.items()}
        )
        new_names = {
            old.joint.name: new.joint.name
            for old, new in zip(model.frames, self.frames[first:], strict=True)
            if old.joint is not None and new.joint is not None
        }
        states = renamed_states(model.named_states, prefix, new_names)
        self._annotations = self._annotations.with_named_states(states)
        return self.frame_names[first:]

    def load(
        self,
        name: ModelName,
        prefix: str = "",
        parent: FrameName | None = "world",
        pose: PoseLike | None = None,
        joint: JointTypeName | None = None,
    ) -> tuple[str, ...]:
        """Add one of our own models by name; objects are marked, with their regions.

        Args:
            name: "panda", "ur5e", "mug", "table", … (an unknown name lists them).
            prefix: put before every frame and joint name.
            parent: the frame that the model's root is attached to.
            pose: of the model's root in the parent (7,).
            joint: "free" for a movable object.

        Returns:
            The names of the new frames.

        Raises:
            LoadError: for an unknown name, with near matches.
            ConfigError: when names are in use already.
        """
        model, info = read_model(name), model_info(name)
        names = self.add_model(
            model, prefix, parent, pose, joint, source=f"model {name!r}"
        )
        if info.get("kind") == "object":
            pairs = zip(model.frames, self.frames[-len(names) :], strict=True)
            joints = {
                old.joint.name: new.joint.name
                for old, new in pairs
                if old.joint is not None and new.joint is not None
            }
            abilities = model_abilities(info, prefix, joints)
            self.annotations.mark_object(names[0], info.get("category"), abilities)
            for region, options in info.get("regions", {}).items():
                self.annotations.add_region(names[0], region, **options)
        return names

    def model(self) -> Model:
        """Return frames, joint values and ignored pairs, as a loader would."""
        values = {i: value.copy() for i, value in self._tree.values.items()}
        default_reasons = dict.fromkeys(self._filter.ignored, DEFAULT_REASON)
        ignored = {**default_reasons, **self._filter.reasons}
        return Model(self.frames, values, ignored, self._annotations.named_states)

    def write_urdf(
        self,
        path: StrPath,
        name: str = "posewise",
        capsules: str = "cylinders and spheres",
    ) -> None:
        """Write the world as a URDF file, its meshes to a folder `meshes` beside it.

        Links, joints with limits and mimics, masses and shapes are kept, also those of
        `fit_collisions`; planes, markers and point clouds are left out. Not kept are
        what may touch and named states, which `C.pairs.write_srdf` writes, the state
        and the home, objects and other annotations. Locked joints are written as joints
        that move, with one warning.

        Args:
            path: the file, in UTF-8.
            name: of the robot.
            capsules: "cylinders and spheres", which every reader understands and
                `add_file` reads as capsules again, or "capsules", which need a reader
                of URDF 1.1.

        Raises:
            ConfigError: for what URDF cannot express (ball joints, duplicate names).
        """
        from ..loaders.urdf.writer import write_urdf

        path = Path(path)
        meshes = path.parent / "meshes"
        text = write_urdf(self.model(), name, meshes, capsules)
        path.write_text(text, encoding="utf-8")

    def write_mjcf(self, path: StrPath) -> None:
        """Write the world at its state as an MJCF file, its meshes to a folder beside.

        Links, joints with limits and mimics, what may touch, shapes, masses and
        friction are kept, and contacts are as stiff as those of `Twin`. A link without
        a mass that moves weighs what it would as water. What is not convex collides as
        its convex parts; rounded edges become sharp; markers and point clouds are left
        out. Locked joints are fixed where they stand, and joints have no motors. Not
        kept are the home, named states, speeds, and objects and other annotations.

        Args:
            path: the file, in UTF-8; its meshes are in `meshes` beside it.

        Raises:
            ConfigError: for duplicate names, balls that mimic, and meshes of mode
                "sdf".
        """
        from ..loaders.mjcf.writer import write_mjcf

        path = Path(path)
        text = write_mjcf(self.model(), self._colliding(), path.parent / "meshes")
        path.write_text(text, encoding="utf-8")

    def write_sdf(self, path: StrPath) -> None:
        """Write the world at its state as an SDF world, its meshes to a folder beside.

        Each tree of frames is a model: static, joined to the world, or loose. It keeps
        what `write_mjcf` keeps, but of what may touch only whether the links of a model
        collide with each other. `add_file` reads the joints where they were; to others
        each joint is at 0 where it stands.

        Args:
            path: the file, in UTF-8; its meshes are in `meshes` beside it.

        Raises:
            ConfigError: for duplicate and reserved names, joints of several coordinates
                other than balls, and meshes of mode "sdf".
        """
        from ..loaders.sdf.writer import write_sdf

        path = Path(path)
        text = write_sdf(self.model(), self._colliding(), path.parent / "meshes")
        path.write_text(text, encoding="utf-8")

    def write_usd(self, path: StrPath) -> None:
        """Write the world at its state as a USD stage, meshes included.

        Links that move are rigid bodies with masses, joints and colliders of
        UsdPhysics. It keeps what `write_mjcf` keeps, except efforts of joints, whose
        poses are in float32. Mimics are read by `add_file` only.

        Args:
            path: the file: .usda as text, .usd or .usdc binary.

        Raises:
            ConfigError: for another suffix, duplicate names, joints of several
                coordinates other than balls, and meshes of mode "sdf".
            ImportError: without OpenUSD; names the extra.
        """
        from ..loaders.usd.writer import write_usd

        write_usd(self.model(), self._colliding(), Path(path))

    def _colliding(self) -> set[tuple[int, int]]:
        return {(int(a), int(b)) for a, b in self.pairs.indices()}
