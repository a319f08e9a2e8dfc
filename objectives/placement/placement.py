"""A placement: poses of the movables, and which of several are distinct."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.json_files import write_json
from posewise.robots.kinematics.transforms import quat_normalize
from posewise.robots.typing import FrameName, StrPath
from posewise.robots.visual.viewer import View
from posewise.solvers.status import TO_CONTINUE

from ..checks.doubts import doubts_of_rest
from ..report.colliding_pairs import is_about_collisions
from ..solution.solution import Solution
from ..solution.summary import solution_summary
from .files import SavedPlacement, placement_header, read_placement
from .symmetry import axes_of_revolution, turn_between

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GAP_CONSTRAINT = "(pw.Feature(FS.distance, [a, b], target=-gap), OT.ineq)"
"""The constraint that keeps two frames apart, as reports name it."""


@dataclass(frozen=True, eq=False, repr=False)
class Placement:
    """Poses of the movable frames, and how well they meet the constraints."""

    poses: dict[str, Float[np.ndarray, "7"]]
    """World poses by name, a frame before those attached to it."""
    solution: Solution
    """Solution in the copied world, in which only movables and witnesses move."""
    witnesses: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    """Joint values at which statements about other configurations hold: by statement,
    e.g. "panda_hand_tcp to mug: ", and by the names of the joints."""
    lacks: tuple[str, ...] = ()
    """Sentences on what is known about why it failed, such as a support that is too
    small for what is to be on it, or an object that found no place."""
    constraints: tuple[object, ...] = field(default=(), repr=False)
    """Predicates, presets and pairs (Feature, OT) of the placement."""
    world: Config | None = field(default=None, repr=False)
    """The world that was given, at its state; None: that of the solution."""
    loose: tuple[str, ...] = field(default=(), repr=False)
    """Movables that are on free joints in the world, too: loose objects."""

    def __repr__(self) -> str:
        positions = ", ".join(
            f"{name} at [{', '.join(f'{x:.3f}' for x in pose[:3])}]"
            for name, pose in self.poses.items()
        )
        state = "feasible" if self.feasible else "not feasible"
        return f"Placement({positions}, {state})"

    @property
    def feasible(self) -> bool:
        """Whether every constraint is within the tolerance."""
        return self.solution.feasible

    @property
    def cost(self) -> float:
        """Sum of squares of all cost rows."""
        return self.solution.sos

    @property
    def message(self) -> str:
        """The status in a sentence, with what is known of why it failed."""
        message = self.solution.message.replace(
            TO_CONTINUE,
            "To continue, solve again with starts={name: poses} from this placement,"
            " or a longer max_time.",
        )
        if not self._shown_lacks:
            return message
        # The general advice is to use more starts.
        details = message.removeprefix(self.solution.status.message)
        if self.solution.stopped:
            return f"{message} {' '.join(self._shown_lacks)}"
        return " ".join(self._shown_lacks) + details

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Sentences on what is likely not as it was meant though it is solved.

        With those of the solution, such as of objects that overlap, stick out of their
        containers, or do not stay where they are. Loose objects in the air are told
        even if no constraint is about what carries them.
        """
        if not self.feasible:
            return ()
        world = self.solution.world_at(-1)
        of_rest = doubts_of_rest(self.constraints, world, self.loose)
        return (*self.solution.doubts, *of_rest)

    @property
    def _shown_lacks(self) -> tuple[str, ...]:
        return () if self.feasible else self.lacks

    def report(self) -> str:
        """Return the poses, and a table of all objectives."""
        lines = [
            f"{name}: {' '.join(f'{x:.4g}' for x in pose)}"
            for name, pose in self.poses.items()
        ]
        # The solution's report has its doubts.
        doubts = self.doubts[len(self.solution.doubts) :] if self.feasible else ()
        lines += [self.solution.report(), *self._shown_lacks, *doubts]
        overlap = self.solution.tolerance
        if self.feasible and any(map(is_about_collisions, self.solution.objectives)):
            lines.append(
                f"Objects may overlap by up to the tolerance, {1e3 * overlap:g} mm; for"
                f" a gap add {GAP_CONSTRAINT}."
            )
        return "\n".join(lines)

    def view(self, browser: bool = True) -> View:
        """Show the world with the poses in the browser; see `Solution.view`.

        Raises:
            ImportError: without viser; names the extra.
        """
        return self.solution.view(browser)

    def picture(
        self,
        file: StrPath | None = None,
        *,
        view: tuple[float, float] = (25.0, -55.0),
        frames: Sequence[FrameName] | None = None,
        names: bool = False,
        camera: str | None = None,
    ) -> "Figure":
        """Return a still picture of the world with the poses.

        Args:
            file: see `Config.picture`, as for all arguments.
            view: elevation and azimuth of the eye [degrees].
            frames: names of frames that are drawn; None: all with visual shapes.
            names: whether bodies are labelled.
            camera: name of a camera that sees the world, in place of `view`.

        Raises:
            ImportError: without matplotlib; names the extra.
            ConfigError: for unknown frames and cameras, with near matches, and a wrong
                view.
        """
        return self.solution.world_at(-1).picture(
            file, view=view, frames=frames, names=names, camera=camera
        )

    def save(self, file: StrPath) -> None:
        """Write the poses as JSON, with the state, the world, units and violations.

        It is the format of `posewise solve --json`, which `posewise check` and
        `posewise view` read, too.

        Raises:
            OSError: when the file cannot be written.
        """
        entry = {"solved": self.feasible, **self.record()}
        header = placement_header(self.world or self.solution.config, self.poses)
        whole = {**header, "solved": self.feasible, "best": 0, "placements": [entry]}
        write_json(Path(file), whole)

    @staticmethod
    def load(file: StrPath) -> SavedPlacement:
        """Return the best placement in a file of `save` or `posewise solve --json`.

        Its `apply` sets it in the world that it was made for.

        Raises:
            LoadError: for a file that cannot be read, or has no placements.
        """
        return read_placement(file)

    def record(self) -> dict[str, Any]:
        """Return poses, status, cost and violations as a file has them."""
        return {"poses": self.poses, **solution_summary(self.solution)}

    def apply(self, C: Config) -> None:
        """Set the poses in a world.

        Raises:
            ConfigError: for an unknown frame, or one on a joint that cannot reach its
                pose.
        """
        for name, pose in self.poses.items():
            C.set_pose(name, pose)


def make_placement(
    world: Config,
    names: Sequence[str],
    solution: Solution,
    witness_joints: Mapping[str, Mapping[str, str]],
    lacks: tuple[str, ...] = (),
    constraints: tuple[object, ...] = (),
    original: Config | None = None,
    loose: tuple[str, ...] = (),
) -> Placement:
    """Return a solution as a placement.

    Args:
        world: the world that was solved in.
        names: of the movables.
        solution: a solution in it.
        witness_joints: the joints of witnesses, by statement.
        lacks: see `Placement`.
        constraints: see `Placement`.
        original: the world that the user gave; see `Placement.world`.
        loose: see `Placement`.
    """

    def joint_value(name: str) -> np.ndarray:
        return np.array(solution.q[world.joints.coordinates([name])])

    poses = {}
    for name in names:
        pose = joint_value(name)
        poses[name] = np.concatenate([pose[:3], quat_normalize(pose[3:])])
    witnesses = {
        statement: {real: joint_value(copy) for real, copy in joints.items()}
        for statement, joints in witness_joints.items()
    }
    return Placement(poses, solution, witnesses, lacks, constraints, original, loose)


def distinct_placements(
    placements: Sequence[Placement], distance: float, angle: float
) -> list[Placement]:
    """Return the placements that do not coincide with an earlier one, in order.

    Args:
        placements: the best first.
        distance: placements coincide if all positions differ by at most this [m],
        angle: and all orientations by at most this [rad]; turns of round objects about
            their axis do not count.
    """
    distinct: list[Placement] = []
    axes: dict[str, np.ndarray | None] = {}
    if placements:
        world = placements[0].solution.config
        axes = {name: axes_of_revolution(world, name) for name in placements[0].poses}

    def coincide(a: Placement, b: Placement) -> bool:
        pairs = ((name, pose, b.poses[name]) for name, pose in a.poses.items())
        return all(
            np.linalg.norm(pose[:3] - other[:3]) <= distance
            and turn_between(pose, other, axes[name]) <= angle
            for name, pose, other in pairs
        )

    for placement in placements:
        if not any(coincide(placement, d) for d in distinct):
            distinct.append(placement)
    return distinct
