"""Pairs of frames that may collide, and those that never do."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Int

from posewise.compilation.progress import announce_if_slow

from ..contact.filter import solid_parts
from ..contact.ignored_pairs import IgnoredPair, default_exclusions, named_pairs
from ..contact.missing_shapes import warn_of_missing_shapes
from ..contact.own_links import robot_roots
from ..loaders.dispatch import Packages, XacroArgs
from ..loaders.urdf.srdf import read_srdf
from ..loaders.urdf.srdf_rules import (
    apply_rules,
    parse_states,
    passive_joints,
    warn_if_nothing_moves,
    warn_of_losses,
    world_srdf,
)
from ..typing import FrameName, StrPath
from ..world import edit
from .facet import Facet


class WorldPairs(Facet):
    """The pairs of frames that may collide, as `Config.pairs`.

    `C.ignore_collisions` and `C.restore_collisions` choose them one by one.
    """

    __slots__ = ()

    def names(self) -> list[tuple[str, str]]:
        """Return the names of the frames that can collide, in order of the frames.

        Both have a shape for collision and a contact flag other than 0, a moving joint
        is between them, and neither their contact flags (see `C.set_contact`) nor
        `C.ignore_collisions` exclude them. In URDF and MJCF models the links on the two
        sides of a joint are excluded from the start.
        """
        names = self._tree.model.names
        return [(names[a], names[b]) for a, b in self.indices().tolist()]

    def indices(self) -> Int[np.ndarray, "n 2"]:
        """Return these pairs as frame indices, the lower one first."""
        warn_of_missing_shapes(self._tree.frames)
        return self._filter.pairs(self._tree)

    def places(self) -> tuple[Int[np.ndarray, "n 2"], Bool[np.ndarray, " n"]]:
        """Return `indices` with reserved pairs, and which of all can collide."""
        warn_of_missing_shapes(self._tree.frames)
        return self._filter.places(self._tree)

    def reserve(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Give pairs a place in sums over pairs even while they cannot collide.

        Worlds with the same frames and places share compiled programs.

        Args:
            pairs: frame indices, the lower one first.
        """
        self._filter = self._filter.reserving(pairs)

    def ignored(self) -> list[IgnoredPair]:
        """Return the excluded pairs of frames with the reasons, in order of the frames.

        Those of held objects (see `attach`) and contact flags are not among them.
        """
        return named_pairs(self._tree, self._filter.reasons)

    def ignore_default(
        self, *, samples: int = 10_000, seed: int = 0, margin: float = 0.0
    ) -> list[IgnoredPair]:
        """Exclude pairs of a robot's links that need no test, as MoveIt's assistant.

        Each pair of `names()` with both frames on one robot is excluded for the first
        of these reasons that holds, with meshes and hulls as they were before
        `fit_collisions`. "Adjacent": the links are neighbours, with one joint or only
        links without shapes between them. "Default": they touch
        at home (a coordinate whose home is outside of its limits is in their middle).
        "Always": they touch in more than 95 % of 200 random states. "Never": they touch
        in none of the random states. "Near": they are nearer than 1 cm (2 % of
        the size of a small world) in more than 90 % of these 200, so that hardly a path
        keeps that distance. A robot is as in `own_links`.

        Random states are uniform within the limits; coordinates without limits are
        within ±pi of home. Look at the "Default" pairs: a home in which the robot truly
        collides hides that collision; set another one, `C.home = q`. It costs a warning
        when most pairs touch at home, and when some touch there only because fitted
        shapes are larger than what they stand for: these still count.

        Args:
            samples: number of random states. More make "Never" more certain.
            seed: of the random states; the same seed gives the same pairs.
            margin: frames touch when they are nearer than this [m]. An excluded pair
                keeps no distance, so give the one that a path is to keep.

        Returns:
            The pairs that are excluded now and were not before, with the reasons, which
            `write_srdf` keeps.

        Raises:
            ConfigError: for an argument that does not fit.
        """
        with announce_if_slow("testing which links may touch (compiles at first)"):
            exclusions = default_exclusions(
                self._tree, self._filter, samples, seed, margin
            )
        self._filter = self._filter.ignoring(exclusions)
        return named_pairs(self._tree, exclusions)

    def read_srdf(
        self,
        path: StrPath,
        prefix: str = "",
        *,
        packages: Packages | None = None,
        xacro_args: XacroArgs | None = None,
    ) -> None:
        """Take what an SRDF file (MoveIt) says of contacts, states and passive joints.

        The order in the file does not matter: `<disable_default_collisions>`, a link
        with every other frame present, then `<enable_collisions>`, then
        `<disable_collisions>`. Each `<group_state>` becomes one of
        `C.joints.named_states`, in the group "all" if it names none; values of joints
        that mimic another one and of virtual joints are skipped. A `<passive_joint>`
        has no motor and is locked where it stands: no solver moves it, `set_joint`
        does, and `unlock` gives it back. All other elements are skipped. What is not in
        this world is left out with one warning.

        Args:
            path: the file; one whose name ends in `.xacro` is expanded.
            prefix: put before the names of links, joints and groups, as in `add_file`.
            packages: folders of packages for `$(find name)` in xacro, as in `add_file`.
            xacro_args: values of the arguments of a xacro file; others are expanded as
                xacro only if they are given ({} for none).

        Raises:
            LoadError: for a file that is no SRDF, such as a URDF.
            ImportError: for xacro without its package; names the extra.
        """
        srdf = read_srdf(path, packages, xacro_args)
        states, lost = parse_states(self._tree, srdf, prefix)
        self._filter, unknown = apply_rules(self._filter, self._tree, srdf, prefix)
        self._annotations = self._annotations.with_named_states(states)
        passive, absent = passive_joints(self._tree, srdf, prefix)
        self._tree = edit.set_active(self._tree, passive, False)
        warn_of_losses(path, srdf, unknown, [*lost, *absent])
        warn_if_nothing_moves(path, self._tree, passive)

    def write_srdf(
        self, path: StrPath, prefix: str = "", name: str = "posewise"
    ) -> None:
        """Write the present exclusions, with their reasons, and the named states.

        Read again into the same robot, the file gives the same pairs and states.

        Args:
            path: the file.
            prefix: taken off all names; what has a name without it is left out.
            name: of the robot, which MoveIt compares with that of the URDF.
        """
        states = self._annotations.named_states
        text = world_srdf(self._filter, self._tree, states, name, prefix)
        Path(path).write_text(text, encoding="utf-8")

    def own_links(
        self, pairs: Int[np.ndarray, "n 2"] | None = None
    ) -> Bool[np.ndarray, " n"]:
        """Return which pairs of frame indices have both frames on one robot.

        A robot is a tree of frames that joints connect. It ends where a frame floats
        (joint "free"), where it stands on a root frame named "world", and at what was
        attached by `attach` or a mode switch, or stands rigidly on it as an object.

        Args:
            pairs: frame indices; None: `indices()`.
        """
        root = robot_roots(self._tree.frames, self._filter.attached)
        a, b = root[self.indices() if pairs is None else pairs].T
        return a == b

    def solid_parts(self, name: FrameName) -> list[int]:
        """Return the indices of the frames whose shapes stand for a frame or object."""
        return solid_parts(self._tree, self._annotations.objects, name)
