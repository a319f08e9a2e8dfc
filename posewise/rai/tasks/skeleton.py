"""`Skeleton` with rai's names and symbols, a spelling of `posewise.Skeleton`."""

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np

import posewise as pw
from posewise import FS, OT, presets
from posewise.objectives.skeleton import EntryLike
from posewise.objectives.terms.typing import ModeKind
from posewise.robots.typing import Axis, VectorLike

from ..config import Config
from ..enums import raise_unsupported
from ..komo import KOMO, Timing, problem_of_motion

DURATION = 5.0
"""Duration of a phase, as in rai [s]. With less, costs of motion grow."""
LIFT_HEIGHT = 0.6
"""Height of `addLiftPriors`, as in rai [m]. A larger one lifts higher."""
DIP_TIME = 0.1
"""Time before and after a grasp with a straight way, as in rai [phases]. With more,
longer parts of the path are straight."""
DEFAULT_PALM = "r_palm"
"""Palm of boxGraspX and the like where none is named, as in rai."""

Times = tuple[float, float]
"""First and last time of an entry; the last is inf for the end of the path [phases]."""
Translation = Callable[..., list[EntryLike]]
"""Entries of a symbol, from its times and its frames."""


def _rows(make: Callable[..., presets.Preset], *arguments: str) -> Translation:
    """Return the translation into a preset of the frames that holds in the interval."""
    return lambda times, *frames: [(times, make(*frames, *arguments))]


def _swapped(make: Callable[..., presets.Preset]) -> Translation:
    """Return the translation into a preset of the frames in the opposite order."""
    return lambda times, *frames: [(times, make(*frames[::-1]))]


def _mode(kind: ModeKind) -> Translation:
    """Return the translation into a mode from the first time on."""
    return lambda times, *frames: [(_mode_times(times), kind, frames)]


def _mode_times(times: Times) -> tuple[float, ...]:
    """Return the times of a mode: with its end only where it hands the frame on."""
    first, last = times
    return (first, last) if first < last < math.inf else (first,)


def _first(times: Times) -> tuple[float]:
    return times[:1]


def _stable_with(make: Callable[..., presets.Preset]) -> Translation:
    """Return the translation into a stable mode whose pose a preset restricts."""

    def entries(times: Times, parent: str, frame: str) -> list[EntryLike]:
        return [
            (_mode_times(times), "stable", (parent, frame)),
            (_first(times), make(parent, frame)),
        ]

    return entries


def _dynamic(kind: ModeKind) -> Translation:
    """Return the translation into a mode of an object that moves by forces."""

    def entries(times: Times, *frames: str) -> list[EntryLike]:
        parent = frames[0] if len(frames) > 1 else "world"
        return [
            (_first(times), kind, (parent, frames[-1])),
            (times, presets.dynamics(frames[-1])),
        ]

    return entries


def _pushed_on(times: Times, support: str, frame: str) -> list[EntryLike]:
    return [
        (_first(times), "slidingOn", (support, frame)),
        (times, presets.damp_motion(frame)),
    ]


def _longer(times: Times) -> Times:
    return times[0], times[1] + 1


def _push(times: Times, pusher: str, frame: str) -> list[EntryLike]:
    end = times[1:]
    return [
        (times, "sliding", (pusher, frame)),
        (times, presets.damp_motion(frame)),
        (end, presets.at_rest(pusher)),
        (end, presets.at_rest(frame)),
    ]


def _dip(times: Times, gripper: str) -> list[EntryLike]:
    """Return a stop with a straight way down and up around the first time."""
    around = times[0] - DIP_TIME, times[0] + DIP_TIME
    return [(_first(times), presets.stop()), (around, presets.down_up(gripper))]


def _grasp_from_above(times: Times, gripper: str, box: str) -> list[EntryLike]:
    start = _first(times)
    return [(start, presets.grasp_top_box(gripper, box)), *_dip(times, gripper)]


def _place_from_above(
    times: Times, gripper: str, box: str, table: str
) -> list[EntryLike]:
    start = _first(times)
    centre = presets.target_relative_xy_position(box, table, [0, 0])
    return [
        (start, centre),
        (start, presets.resting_on(box, table)),
        (start, presets.vertical(gripper)),
        *_dip(times, gripper),
    ]


def _box_grasp(axis: Axis) -> Translation:
    def entries(
        times: Times, gripper: str, box: str, palm: str = DEFAULT_PALM
    ) -> list[EntryLike]:
        return [(_first(times), presets.grasp_box(gripper, box, palm, axis))]

    return entries


TRANSLATIONS: dict[str, Translation] = {
    "touch": _rows(presets.touch),
    "above": _rows(presets.above),
    "inside": _rows(presets.inside),
    "oppose": _rows(presets.oppose),
    "restingOn": _swapped(presets.resting_on),
    "poseEq": _rows(presets.same_pose),
    "positionEq": _rows(presets.same_position),
    "stableRelPose": lambda times, *frames: [
        (_longer(times), presets.freeze_relative_pose(*frames))
    ],
    "stablePose": lambda times, frame: [
        (_longer(times), presets.freeze_relative_pose(frame, "world"))
    ],
    "relPosY": _rows(presets.centered_along),
    "touchBoxNormalX": _rows(presets.touch_face, "x"),
    "touchBoxNormalY": _rows(presets.touch_face, "y"),
    "touchBoxNormalZ": _rows(presets.touch_face, "z"),
    "boxGraspX": _box_grasp("x"),
    "boxGraspY": _box_grasp("y"),
    "boxGraspZ": _box_grasp("z"),
    "topBoxGrasp": _grasp_from_above,
    "topBoxPlace": _place_from_above,
    "alignByInt": lambda times, a, b, *_: [(times, presets.orthogonal_x(a, b))],
    "forceBalance": _rows(presets.force_balance),
    "downUp": _rows(presets.down_up),
    "dampMotion": _rows(presets.damp_motion),
    "lift": lambda times, frame: [
        ((times[0] + 0.3, times[0] + 0.7), presets.lift(frame))
    ],
    "stable": _mode("stable"),
    "stableOn": _mode("stableOn"),
    "stableZero": _mode("rigid"),
    "stableOnX": _stable_with(lambda on, frame: presets.resting_on(frame, on, "x")),
    "stableOnY": _stable_with(lambda on, frame: presets.resting_on(on, frame, "y")),
    "stableYPhi": _stable_with(lambda on, frame: presets.on_axis(frame, on, "y")),
    "dynamic": _dynamic("free"),
    "dynamicOn": _dynamic("slidingOn"),
    "quasiStaticOn": _pushed_on,
    "magic": lambda times, frame: [(_first(times), "free", ("world", frame))],
    "magicTrans": lambda times, parent, frame: [
        (_first(times), "free", (parent, frame)),
        ((times[0], math.inf), presets.move_in_plane(frame)),
    ],
    "makeFree": lambda times, *frames: [
        ((1.0,), "free", ("world", frame)) for frame in frames
    ],
    "contact": lambda times, *frames: [(times, "sliding", frames)],
    "contactStick": lambda times, *frames: [(times, "sticking", frames)],
    "contactComplementary": lambda times, *frames: [(times, "complementary", frames)],
    "push": _push,
    "end": lambda times, *frames: [],
}
"""Entries of `posewise.Skeleton` for each symbol. rai itself ends in an error for
`identical`, `pushAndPlace`, `dynamicTrans` and `quasiStatic`; `bounce` is missing."""


class Skeleton:
    """A list of (times, symbol, frames), and the problems that it implies."""

    def __init__(self) -> None:
        self.entries: list[tuple[Times, str, tuple[str, ...]]] = []
        self._pairs: list[tuple[str, str]] = []
        self._lifted: list[str] = []
        self._is_broad = False

    def add(self, entries: Sequence[Any]) -> None:
        """Add entries from a flat list: times, symbol, frames, times, symbol, …

        Raises:
            ObjectiveError: if the list is no such sequence.
        """
        if len(entries) % 3:
            raise pw.ObjectiveError(
                f"add: the list has {len(entries)} items, expected three for each"
                " entry: times, symbol, frames."
            )
        for times, symbol, frames in zip(
            entries[::3], entries[1::3], entries[2::3], strict=True
        ):
            self.addEntry(times, symbol, frames)

    def addEntry(
        self, timeInterval: VectorLike, symbol: Enum, frames: Sequence[str]
    ) -> None:
        """Add an entry: [] for all times, [t], or [from, to]; -1 stands for the end.

        Raises:
            FeatureError: for a symbol that posewise does not have.
            ObjectiveError: for a wrong number of frames.
        """
        times = np.ravel(timeInterval).tolist() or [0.0, -1.0]
        first, last = times[0], times[-1]
        name = str(getattr(symbol, "name", symbol))
        if name not in TRANSLATIONS:
            raise_unsupported(f"Skeleton symbol {name!r}", "this symbol")
        entry = ((first, last if last >= 0 else math.inf), name, tuple(frames))
        try:
            TRANSLATIONS[name](entry[0], *entry[2])
        except TypeError:
            raise pw.ObjectiveError(
                f"Skeleton symbol {name!r} got the frames {list(frames)}, which are"
                " too many or too few."
            ) from None
        self.entries.append(entry)

    def addExplicitCollisions(self, collisions: Sequence[str]) -> None:
        """Set pairs of frames, one after the other, that must not overlap."""
        self._pairs = list(zip(collisions[::2], collisions[1::2], strict=True))

    def addLiftPriors(self, lift: Sequence[str]) -> None:
        """Set frames that are lifted in the middle of each phase of a path."""
        self._lifted = list(lift)

    def useBroadCollisions(self, enable: bool = True) -> None:
        """Set whether all frames that can collide must not overlap."""
        self._is_broad = enable

    def getMaxPhase(self) -> float:
        """Return the last time of all entries."""
        times = [t for entry in self.entries for t in entry[0]]
        return max([t for t in times if math.isfinite(t)], default=0.0)

    @property
    def skeleton(self) -> pw.Skeleton:
        """The skeleton of posewise with the same modes and constraints."""
        entries: list[EntryLike] = []
        for times, name, frames in self.entries:
            entries += TRANSLATIONS[name](times, *frames)
        return pw.Skeleton(entries)

    def getKomo_path(
        self,
        Configuration: Config,
        stepsPerPhase: int = 30,
        accScale: float = 1e0,
        lenScale: float = 1e-2,
        homingScale: float = 1e-2,
        collScale: float = 1e1,
    ) -> KOMO:
        """Return the problem of a path; `lenScale` is ignored, as in rai."""
        timing: Timing = (max(self.getMaxPhase(), 1.0), stepsPerPhase, DURATION, 2)
        komo = problem_of_motion(
            Configuration, timing, accScale, homingScale, self._is_broad
        )
        self.skeleton.add_to(komo.komo)
        for frame in self._lifted:
            for phase in range(math.ceil(self.getMaxPhase())):
                middle = [phase + 0.3, phase + 0.7]
                komo.komo.add(presets.lift(frame, LIFT_HEIGHT), middle)
        return self._with_pairs(komo, collScale)

    def getKomo_waypoints(
        self,
        Configuration: Config,
        lenScale: float = 1e-2,
        homingScale: float = 1e-2,
        collScale: float = 1e1,
    ) -> KOMO:
        """Return the problem of one configuration at the end of each phase."""
        timing: Timing = (max(self.getMaxPhase(), 1.0), 1, DURATION, 1)
        komo = problem_of_motion(
            Configuration, timing, lenScale, homingScale, self._is_broad
        )
        self.skeleton.add_to(komo.komo)
        return self._with_pairs(komo, collScale)

    def getKomo_finalSlice(
        self,
        Configuration: Config,
        lenScale: float = 1e-2,
        homingScale: float = 1e-2,
        collScale: float = 1e1,
    ) -> KOMO:
        """Return the problem of the last waypoint; see `posewise.Skeleton.final`."""
        komo = problem_of_motion(
            Configuration, (2.0, 1, DURATION, 1), lenScale, homingScale, self._is_broad
        )
        self.skeleton.add_final_to(komo.komo)
        return self._with_pairs(komo, collScale)

    def getTwoWaypointProblem(
        self, t2: int, komoWays: KOMO
    ) -> tuple[Config, np.ndarray, np.ndarray]:
        """Return configuration, start and end of the way to waypoint t2, from 0."""
        return komoWays.getSubProblem(t2)

    def _with_pairs(self, komo: KOMO, scale: float) -> KOMO:
        for pair in self._pairs:
            komo.komo.add_objective(None, FS.distance, pair, OT.ineq, scale=scale)
        return komo
