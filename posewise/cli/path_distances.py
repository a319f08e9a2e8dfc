"""Distances along the whole of a path, between its configurations too."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.objectives.chain.modes import original_name
from posewise.objectives.clearance.avoidance import CollisionAvoidance
from posewise.objectives.clearance.certificate import (
    Certificate,
    certify,
    millimetres,
)
from posewise.objectives.clearance.motion_model import MotionPart, motion_parts
from posewise.objectives.clearance.path_clearance import (
    PairClearance,
    PathClearance,
    path_clearance,
)
from posewise.objectives.problem.spec import ProblemSpec, mode_sequence
from posewise.robots.kinematics.forward import Kinematics

from .file_slices import FileSlices
from .path_file import PathFile

RANGE = 0.02
"""Distance up to which the nearest pair is named [m]; a larger one takes longer."""
SAME_TIME = 1e-9
"""Times this near are one [s]; shorter steps are rounding."""


@dataclass(frozen=True)
class ClearanceLine:
    """Nearest pair on the whole path of those that keep a margin all the time."""

    range: float
    nearest: PairClearance | None
    """None: all are farther apart than the range."""
    allowed: tuple[PairClearance, ...]
    """Pairs that may touch for a time."""
    is_solution: bool = True
    """Whether the path is one that may be played; another is not said to be clear."""

    def __str__(self) -> str:
        text = f"clearance: more than {1e3 * self.range:.0f} mm, certified"
        nearest = f"no pair comes within {1e3 * self.range:.0f} mm"
        if self.nearest is not None:
            (a, b), near = self.nearest.frames, 1e3 * self.nearest.distance
            place = f"{a!r} and {b!r} at {self.nearest.time:.2f} s"
            bound = 1e3 * self.nearest.lower_bound
            text = f"clearance: {near:.1f} mm, {place}; certified {bound:.1f} mm"
            nearest = f"nearest are {place}, {near:.1f} mm apart"
        if not self.is_solution:
            text = f"This path is not a solution. On it {nearest}"
        pairs = [
            f"{p.frames[0]!r} and {p.frames[1]!r} ({1e3 * p.lower_bound:.1f} mm)"
            for p in self.allowed
        ]
        return text + (f"; may touch: {', '.join(pairs)}" if pairs else "")

    def data(self) -> dict[str, Any]:
        """Return the least certified distance, its pair and its time, for JSON."""
        if self.nearest is None:
            return {"lower_bound": self.range, "frames": None, "time": None}
        return {k: getattr(self.nearest, k) for k in ("lower_bound", "frames", "time")}


def clearance_line(spec: ProblemSpec, clearance: PathClearance) -> ClearanceLine:
    """Return the nearest pair of a path that avoids collisions."""
    contacts = () if spec.avoidance is None else spec.avoidance.allowed
    allowed = {contact.pair for contact in contacts}
    pairs = sorted(clearance.pairs, key=lambda pair: pair.lower_bound)
    apart = [pair for pair in pairs if frozenset(pair.frames) not in allowed]
    touching = tuple(pair for pair in pairs if frozenset(pair.frames) in allowed)
    return ClearanceLine(clearance.range, apart[0] if apart else None, touching)


def search_range(spec: ProblemSpec) -> float:
    """Return the distance up to which pairs are told, beyond all margins [m]."""
    avoidance = spec.avoidance or CollisionAvoidance()
    return max(RANGE, 2 * avoidance.margin, 2 * avoidance.self_margin)


@dataclass(frozen=True, eq=False)
class PlayedFile:
    """A path in a file as it is played: straight between its rows, from the start."""

    spec: ProblemSpec
    points: Float[np.ndarray, "points n"]
    """Coordinates of the solved world; the start is the first point."""
    times: Float[np.ndarray, " points"]
    slices: Int[np.ndarray, " steps"]
    """Slice to which each step between two points belongs."""

    def missing(self) -> list[str]:
        """Return sentences on pairs that come nearer than required, deepest first."""
        shortfalls = self._certificate.shortfalls
        deepest: dict[frozenset[str], str] = {}
        for short in sorted(shortfalls, key=lambda s: -s.depth):
            a, b = map(original_name, short.frames)
            begin, end = self.times[short.segment : short.segment + 2]
            near, least = millimetres(short.distance, short.required)
            line = (
                f"{a!r} and {b!r} come to {near} mm at"
                f" {begin + short.fraction * (end - begin):.3g} s, expected at least"
                f" {least} mm."
            )
            deepest.setdefault(frozenset((a, b)), line)
        return list(deepest.values())

    def clearance(self) -> ClearanceLine:
        """Return the nearest pair."""
        clearance = path_clearance(
            self._kinematics,
            self._parts,
            self.points,
            self.times,
            search_range(self.spec),
            self._certificate.missing,
        )
        return clearance_line(self.spec, clearance)

    def whole_path(self) -> Float[np.ndarray, "points nq"]:
        """Return the coordinates of the user's world, with what is carried."""
        modes = mode_sequence(self.spec)
        # A point has the attachments of the slice that its step has reached, or left.
        reached = np.concatenate([[-1], self.slices - 1])
        pairs = zip(self.points, reached.tolist(), strict=True)
        return np.stack([modes.to_base(q, t) for q, t in pairs])

    @property
    def _kinematics(self) -> Kinematics:
        return mode_sequence(self.spec).world.tree.model.unnamed_kinematics

    @cached_property
    def _certificate(self) -> Certificate:
        # Rows are no places of note, but the start and the goal are.
        is_end = np.isin(np.arange(len(self.points)), [0, len(self.points) - 1])
        return certify(self._kinematics, self._parts, self.points, is_end)

    @cached_property
    def _parts(self) -> list[MotionPart]:
        """The required distances in each mode, by steps instead of slices."""
        avoidance, parts = self.spec.avoidance or CollisionAvoidance(), []
        for part in motion_parts(mode_sequence(self.spec), avoidance, self.spec.T):
            steps = np.flatnonzero(np.isin(self.slices, part.segments))
            if not len(steps):
                # The path stands still in all slices of this mode.
                continue
            required = part.required[self.slices[steps] - part.segments[0]]
            parts.append(part._replace(segments=steps, required=required))
        return parts


def played_file(
    spec: ProblemSpec,
    loaded: PathFile,
    slices: FileSlices,
    x: Float[np.ndarray, "T n"],
) -> PlayedFile:
    """Return the path of a file with what it carries, at its own times and the slices'.

    Args:
        spec: the problem, without choices.
        loaded: the path.
        slices: the slices in the file.
        x: the same path in slices, in the solved world.
    """
    modes, path, row_times = mode_sequence(spec), loaded.path, slices.row_times
    if row_times[0] > SAME_TIME:
        path = np.vstack([spec.config.q, path])
        row_times = np.concatenate([[0.0], row_times])
    # Rows at the time of a slice are replaced by it, which may be at a corner between.
    is_row = np.abs(row_times[:, None] - slices.times).min(1) > SAME_TIME
    slice_times, first = np.unique(slices.times, return_index=True)
    times = np.concatenate([row_times[is_row], slice_times])
    q = np.concatenate([path[is_row], slices.path[first]])
    order = np.argsort(times)
    times, q = times[order], q[order]
    points = np.array(modes.from_base(q))
    shared = modes.shared_coordinates
    points[:, shared] = x[0, shared]
    middles = (times[1:] + times[:-1]) / 2
    step_slices = np.minimum(np.searchsorted(slices.times, middles), spec.T - 1)
    return PlayedFile(spec, points, times, step_slices)


def played_without_slices(spec: ProblemSpec, loaded: PathFile) -> PlayedFile | None:
    """Return the path of a file that does not tell the slices of the problem.

    Returns:
        The path; None: what is required depends on the slices.
    """
    modes, path, times = mode_sequence(spec), loaded.path, loaded.times
    parts = motion_parts(modes, spec.avoidance or CollisionAvoidance(), spec.T)
    if len(parts) > 1 or any((p.required != p.required[0]).any() for p in parts):
        return None
    if times is None:
        return None
    if times[0] > SAME_TIME:
        path, times = np.vstack([spec.config.q, path]), np.concatenate([[0.0], times])
    points = np.array(modes.from_base(path))
    return PlayedFile(spec, points, times, np.zeros(len(times) - 1, int))
