"""Solutions: a path, its status, and a report."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np

from posewise.robots.config import Config
from posewise.robots.errors import ProblemWarning
from posewise.robots.typing import FrameName, StrPath, VectorLike
from posewise.robots.validation import integer, number
from posewise.solvers import EQ, INEQ, Status
from posewise.solvers.status import TO_CONTINUE

from ..chain.contact_forces import ContactForce
from ..chain.contact_paths import contact_forces_along_path
from ..chain.modes import ModeSequence, build_modes
from ..checks.clearances import start_within_margins
from ..checks.doubts import solution_doubts
from ..checks.failure_causes import hints_on_violated
from ..checks.findings import certain_conflicts
from ..checks.motion_time import needs_time
from ..checks.path_doubts import overlap_doubts, path_doubts
from ..checks.precision import coarse_coordinates
from ..checks.units import METRES, lengths_beyond_metres
from ..clearance.avoidance import CollisionAvoidance
from ..clearance.certificate import Certificate
from ..clearance.motion_model import motion_parts
from ..clearance.path_clearance import PathClearance, path_clearance
from ..problem.deviations import Deviation
from ..problem.spec import mode_sequence
from ..problem.stated_limits import stated_limits
from ..report.colliding_pairs import (
    colliding_pairs,
    is_about_collisions,
    nearest_in_slices,
    nearest_of_path,
    own_links_too_near,
    pairs_between_slices,
)
from ..report.deviations import deviation_lines, deviations_between_slices
from ..terms.objective import OT, Objective, ObjectiveError, select_slices
from ..terms.objective_report import ObjectiveReport, format_table, report_objectives
from ..trajectory.played_path import PlayedPath
from ..trajectory.trajectory import Trajectory
from .record import SolveRecord
from .sensitivity import Sensitivity, solution_sensitivity
from .subproblem import phase_problem
from .warm_start import WarmStart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from posewise.robots.visual.viewer import View


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The outcome of one solve; never NaN."""

    x: np.ndarray
    """Coordinates (T, nq) of all slices, in the world with its mode switches."""
    status: Status
    tolerance: float
    iterations: int
    seconds: float
    """Wall time of the solve, including compilation [s]."""
    config: Config
    tau: np.ndarray
    """Duration of the step into each slice [s]; the first step begins at the start."""
    kkt_residual: float = np.inf
    """Residual of the conditions of optimality (Karush, Kuhn and Tucker): how far the
    gradients of costs and constraints are from a balance, relative to the largest."""
    start: int = 0
    """Index of the start that this solution came from; the number of starts for a path
    that was planned after all of these failed."""
    modes: ModeSequence | None = None
    """World with its mode switches; None: it is `config`."""
    alternatives: tuple[str, ...] = ()
    """Name of the chosen alternative of each constraint that has several."""
    findings: tuple[str, ...] = ()
    """Sentences on the start and the goals, which warnings told before the solve."""
    compile_seconds: float = 0.0
    """Time that the process compiled programs during the call that solved [s]; a solve
    of another problem of this kind needs none."""
    stopped: str = ""
    """A sentence on the time limit or the interrupt that ended the call before all was
    tried, e.g. "Time limit of 2 s reached after 3 of 8 starts."; empty: none did."""
    _record: SolveRecord | None = None
    """The problem as it was solved; None for a path that was not solved by KOMO."""

    def __repr__(self) -> str:
        state = "feasible" if self.feasible else "not feasible"
        return f"Solution({self.status.name}, {state}, x {self.x.shape})"

    @cached_property
    def path(self) -> np.ndarray:
        """Coordinates (T, nq) of all slices."""
        return self.x if self.modes is None else self.modes.path_to_base(self.x)

    @cached_property
    def objectives(self) -> tuple[ObjectiveReport, ...]:
        """Violation or cost of each objective, in the order of addition."""
        rows = [] if self._record is None else self._record.rows()
        return report_objectives(rows)

    @property
    def sos(self) -> float:
        """Sum of squares of all cost rows."""
        return float(sum(o.cost for o in self.objectives))

    @property
    def eq(self) -> float:
        """Largest |φ| among equality rows, in scaled units."""
        return self._worst(EQ)

    @property
    def ineq(self) -> float:
        """Largest φ > 0 among inequality rows, in scaled units; 0 if none."""
        return self._worst(INEQ)

    @property
    def feasible(self) -> bool:
        """Whether every equality and inequality row is within the tolerance.

        With `KOMO.avoid_collisions` also whether it is certified that no pair comes
        nearer than its margin on the whole path, less a tenth of it and at most 1 mm;
        and with objectives that have a bound `between` slices, whether they keep it.
        """
        return self.holds_in_slices and all(d.ratio <= 1 for d in self.deviations)

    @property
    def holds_in_slices(self) -> bool:
        """Whether all constraints hold, apart from deviations between slices."""
        is_valid = self.status != Status.BAD_INPUT
        return is_valid and self._is_kept and max(self.eq, self.ineq) <= self.tolerance

    @property
    def slices_per_phase(self) -> int:
        """Slices in each phase, with those that `between` asked for."""
        return self._require_record().spec.slices_per_phase

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """The largest deviation between slices of each objective that bounds it."""
        return () if self._record is None else self._record.deviations

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Sentences on objectives that hold, but very likely not as they were meant.

        They are about `FS.gazeAt` of a target behind the camera, about feet of
        `FS.supportPolygon` at different heights, about coordinates at the end that are
        rounded by more than the tolerance, and, of feasible paths without
        `KOMO.avoid_collisions`, about loose objects that overlap something. Predicates
        have theirs, at the end of their times: of an object that sticks out of its
        container, that rests on a part as small as a knob, or that does not stay where
        it is, which is tried in simulation, a tenth of a second for each object
        (extra `mujoco`; without it, just objects in the air are told).
        """
        if self._record is None or self.status == Status.BAD_INPUT:
            return ()
        satisfied = [
            o.objective for o in self.objectives if o.violation <= self.tolerance
        ]
        modes = mode_sequence(self._record.spec)
        doubts = [*path_doubts(modes, self.x, satisfied)]
        if self.feasible:
            # The world of a path that may have led far away.
            doubts += coarse_coordinates(self.world_at(-1), self.tolerance)
            if self._record.spec.avoidance is None:
                doubts += overlap_doubts(modes, self.x)
            doubts += self._doubts_of_constraints()
        return tuple(dict.fromkeys(doubts))

    def _doubts_of_constraints(self) -> tuple[str, ...]:
        """Return what is doubtful about constraints in the last slice of each."""
        spec = self._require_record().spec
        constraints: dict[int, list[object]] = {}
        for added in spec.constraints:
            slices = select_slices(added.times, spec.slices_per_phase, spec.T, "times")
            constraints.setdefault(max(slices), []).append(added.constraint)
        every = (solution_doubts(c, self.world_at(t)) for t, c in constraints.items())
        return tuple(chain.from_iterable(every))

    def rank(self) -> tuple[float, float]:
        """Return the sort key of solutions, best first: violation, then cost."""
        worst = 0.0 if self.feasible else max(self.eq, self.ineq)
        is_invalid = self.status == Status.BAD_INPUT
        return np.inf if is_invalid else worst, self.sos

    @property
    def keeps_distances(self) -> bool:
        """Whether the distances that are required between slices are certified.

        They may miss a tenth of their margin, at most 1 mm and at least 0.01 mm, as the
        start of a path does that an inverse kinematics ended at.

        False too where none are, as without `KOMO.avoid_collisions`.
        """
        certificate = self._certificate
        return certificate is not None and certificate.is_kept

    @property
    def _certificate(self) -> Certificate | None:
        return None if self._record is None else self._record.certificate

    @property
    def message(self) -> str:
        """The status in a sentence, with the objectives in conflict, in their units.

        `report` also names all pairs that collide, which takes longer.
        """
        text = f"{self._status_message} {self._remaining_stop}".strip()
        costs = [o for o in self.objectives if o.objective.type == OT.sos]
        if self.feasible and not costs:
            return f"All constraints hold; there is no cost. {self.stopped}".strip()
        if self.status == Status.BAD_INPUT:
            broken = [o.label for o in self.objectives if not o.is_finite]
            if not broken:
                return text + " All values are finite; a derivative is not."
            return text + f" Not finite: {', '.join(broken[:4])}."
        if not self.feasible:
            bad = sorted(self._violated(), key=lambda o: -o.violation)[:4]
            if bad:
                names = ", ".join(f"{o.label} ({_amount(o)})" for o in bad)
                text += f" Violated: {names}."
            is_timed = self._record is not None and bool(self._record.spec.durations)
            late = needs_time(self.objectives, is_timed, self.tolerance)
            text += f" {late}" if late else ""
            text += deviations_between_slices(self.deviations)
            text += self._nearest_pair(bad)
            if any(map(is_about_collisions, bad)) or not self._is_kept:
                text += " report() names the pairs that collide."
            text += own_links_too_near(self._certificate, self.config)
        return text

    @property
    def _status_message(self) -> str:
        """The status in a sentence, or the cause, where another start has it too."""
        if self.status.is_stopped and self.stopped:
            return f"{self.stopped} {TO_CONTINUE}"
        is_kept = self.status is Status.BAD_INPUT or self.status.is_stopped
        if self.feasible or is_kept or self._record is None:
            return self.status.message
        if max(self.eq, self.ineq) <= self.tolerance and self._is_kept:
            return "All objectives hold in the slices, but not between them."
        causes = " ".join(start_within_margins(self._record.spec))
        return causes or self.status.message

    @property
    def _remaining_stop(self) -> str:
        """The sentence on what stopped the call, if the status is not about that."""
        return "" if self.status.is_stopped else self.stopped

    @property
    def times(self) -> np.ndarray:
        """Time of each slice since the start [s]."""
        return np.cumsum(self.tau)

    def at_time(self, t: float | VectorLike) -> np.ndarray:
        """Return the coordinates (nq,) at a time, or (n, nq) at several [s].

        The path is straight between slices, and from the start, at time 0, to slice 0.
        Quaternions rotate about a constant axis, by the smaller angle, and what is
        attached to a frame moves with it.

        Args:
            t: seconds from 0 to the time of the last slice: a number or a list.

        Raises:
            ObjectiveError: for other times.
        """
        return self._played.at_time(t)

    def resample(self, dt: float, *, rounded: bool = False) -> Trajectory:
        """Return the path at a fixed rate, with velocities and accelerations.

        Positions are those of `at_time`. Velocity is that of the step, and the jump of
        velocity at a slice is spread as an acceleration between the middles of both
        steps: both are what features of order 1 and 2 measure.

        With rounded corners, velocity is continuous and derivatives are those of the
        positions. From the middle of each step to the middle of the next the path is a
        parabola, on which the limits of `KOMO.add_motion_limits` hold at all times. It
        begins half a step early, at rest or as the start moves: slices are passed later
        than at their `times`; `deviation` tells how far it is from the straight path.

        Joints of objects that mode switches attach are left out.

        Args:
            dt: time between samples [s], e.g. 0.001.
            rounded: whether corners are rounded.

        Raises:
            ObjectiveError: for a dt that is not positive, far too small, or longer than
                the path.

        Warns:
            ProblemWarning: for a path that is not feasible.
        """
        self._warn_if_infeasible("resample")
        return self._played.resample(dt, rounded)

    def retime(
        self,
        velocity: float | VectorLike | None = None,
        acceleration: float | VectorLike | None = None,
        *,
        deviation: float = 0.002,
        dt: float = 0.001,
    ) -> Trajectory:
        """Return the fastest motion along the path, from rest to rest, within limits.

        Steps and durations of the problem do not count, only the path through the
        slices. Its corners are rounded by parabolas that leave the straight path by at
        most `deviation` in each coordinate, and touch it in the middle of each step;
        without, the motion would have to stop at each slice. The limits hold at all
        times. Uses toppra.

        Joints of objects that mode switches attach are left out.

        Args:
            velocity: largest speed of each coordinate [rad/s, m/s]: one number, or one
                for each coordinate of the world (nq,), inf where none. None: those of
                the joints, `Config.joints.max_velocity`, and of
                `KOMO.add_motion_limits`.
            acceleration: largest acceleration of each coordinate [rad/s², m/s²], in the
                same way. None: that of the joints, `Config.joints.max_acceleration`,
                and of `KOMO.add_motion_limits`; where there is none twice the speed
                limit per second, so that full speed is reached in 0.5 s.
            deviation: largest distance of a coordinate from the path [rad, m]. A larger
                one is faster where the path has sharp corners.
            dt: time between samples [s].

        Raises:
            ImportError: without toppra; names the extra.
            ObjectiveError: for numbers out of range, or no limit of what moves.

        Warns:
            ProblemWarning: for a path that is not feasible, and where the model limits
                the jerk, which no retimed motion keeps.
        """
        self._warn_if_infeasible("retime")
        names = self._played.world.joints.coordinate_names
        stated = np.full((2, len(names)), np.inf)
        if self._record is not None:
            spec, kinds = self._record.spec, ("velocity", "acceleration")
            stated = np.stack([stated_limits(spec, kind, names) for kind in kinds])
        return self._played.retime(velocity, acceleration, deviation, dt, stated)

    def _warn_if_infeasible(self, method: str) -> None:
        if not self.feasible:
            warnings.warn(
                f"{method}: this path is not feasible; a controller should not play it."
                f" {self.message}",
                ProblemWarning,
                stacklevel=3,
            )

    @property
    def q(self) -> np.ndarray:
        """Coordinates (nq,) of the last slice."""
        return self.path[-1]

    def world_at(self, t: int) -> Config:
        """Return the world in slice t (-1: the last), with its attachments then.

        Raises:
            ObjectiveError: for a slice that does not exist.
        """
        T = len(self.x)
        expected = f"a slice from 0 to {T - 1} (-1: the last)"
        t = integer("t", t, expected, lambda t: -T <= t < T, ObjectiveError)
        if self.modes is None:
            C = self.config.copy()
            C.q = self.path[t]
            return C
        return self.modes.config_at(self.x[t], t % T)

    def sub_problem(self, phase: int) -> tuple[Config, np.ndarray]:
        """Return the world as a phase begins, and its configuration at the end.

        In that world carried objects are attached to the frames that carry them, and
        helper frames exist. Only the joints of the user's world move, except those of
        frames that mode switches attach.

        Args:
            phase: counted from 0.

        Returns:
            The world, and the coordinates (nq,) of its joints at the end of the phase.

        Raises:
            ObjectiveError: for a phase that does not exist, or has a mode switch
                inside.
        """
        return phase_problem(self._require_record().spec, self.x, phase)

    def clearance(self, range: float = 0.02) -> PathClearance:
        """Return the least distance of each pair of frames along the whole path.

        A path is straight between slices, and from the start to the first; carried
        objects move with what carries them. Distances are certified by bounds on how
        far bodies move, not by sampling. Pairs that are excluded from collisions are
        told apart.

        Args:
            range: distance up to which pairs are told [m]; a larger one takes longer.

        Raises:
            ObjectiveError: for a range that is not positive.
        """
        expected = "metres > 0"
        range = number("range", range, expected, lambda x: x > 0, ObjectiveError)
        path = self._played
        modes = path.modes
        parts = motion_parts(modes, self._avoidance, len(self.x))
        K = modes.world.tree.model.unnamed_kinematics
        points, times = path.straight.points, path.straight.times
        certificate = self._certificate
        missing = None if certificate is None else certificate.missing
        return path_clearance(K, parts, points, times, range, missing)

    def forces(self) -> tuple[ContactForce, ...]:
        """Return the contacts of `KOMO.add_contact` with their forces, by slice."""
        if self.modes is None:
            return ()
        return contact_forces_along_path(self.modes, self.x)

    def report(self) -> str:
        """Return a table of all objectives: type, unit, slices, violation, cost.

        The column `violation` is in the feature's unit, `scaled` is what the solver
        compares with the tolerance, and `at` is the slice where that is largest. Below
        it, for violated objectives on collisions, the nearest pairs of that slice; the
        first such report compiles their distances, for a few seconds.
        """
        lines, compiled = format_table(self.objectives), ""
        if self.compile_seconds:
            compiled = f", and compiling took {self.compile_seconds:.1f} s"
        lines.append(
            f"{self.status.name}: sos {self.sos:.4g}, worst scaled eq {self.eq:.2e},"
            f" worst scaled ineq {self.ineq:.2e} (tolerance {self.tolerance:.0e}),"
            f" KKT residual {self.kkt_residual:.0e},"
            f" {self.iterations} iterations, {1e3 * self.seconds:.0f} ms{compiled}"
        )
        lines += [f"alternative: {name}" for name in self.alternatives]
        lines += [f"before the solve: {finding}" for finding in self.findings]
        lines += deviation_lines(self.deviations)
        lines += self.doubts
        lines += [self.stopped] if self.feasible and self.stopped else []
        if not self.feasible:
            lines.append(self.message)
            if self._record is not None:
                spec, violated = self._record.spec, self._violated()
                conflicts = certain_conflicts(spec, self.tolerance)
                unreported = [text for text in conflicts if text not in self.findings]
                lines += [f"from any start: {text}" for text in unreported]
                lines += hints_on_violated(spec, [r.objective for r in violated])
                if not any(METRES in line for line in lines):
                    lines += lengths_beyond_metres(spec)
            lines += self.colliding_pairs()
        return "\n".join(lines)

    def colliding_pairs(self) -> list[str]:
        """Return sentences on the pairs that violate objectives on collisions.

        They name slice and distance of each, first those between slices.
        """
        lines = [*pairs_between_slices(self._certificate)]
        return lines + [*colliding_pairs(self._violated(), self.world_at)]

    def plot(self, file: StrPath | None = None) -> "Figure":
        """Return a matplotlib figure of joint paths, and of violations over time.

        Args:
            file: where to save the figure, if anywhere.

        Raises:
            ImportError: without matplotlib; names the extra.
        """
        from ..report.plotting import plot_path

        status = self.status.name.lower().replace("_", " ")
        return plot_path(
            times=self.times,
            path=self.path,
            names=self.config.joints.coordinate_names,
            reports=self.objectives,
            tolerance=self.tolerance,
            title=f"{status}, cost {self.sos:.3g}",
            file=file,
        )

    def film(
        self,
        file: StrPath | None = None,
        slices: int | Sequence[int] = 6,
        view: tuple[float, float] = (25.0, -55.0),
        frames: Sequence[FrameName] | None = None,
        camera: str | None = None,
    ) -> "Figure":
        """Return a matplotlib figure of the world in some slices, side by side.

        Args:
            file: where to save the figure, if anywhere.
            slices: number of slices, from the first to the last; or a list of slices.
            view: elevation and azimuth of the eye [degrees].
            frames: names of frames that are drawn; None: all with visual shapes.
            camera: name of a camera that sees the world, in place of `view`; see
                `Config.picture`.

        Raises:
            ImportError: without matplotlib; names the extra.
            ObjectiveError: for slices that do not exist, or a wrong view.
            ConfigError: for unknown frames and cameras, with near matches.
        """
        from ..report.filming import film_slices, film_worlds

        chosen = film_slices(slices, len(self.x))
        return film_worlds(
            worlds=[self.world_at(t) for t in chosen],
            titles=self._film_titles(chosen),
            view=view,
            frames=frames,
            file=file,
            camera=camera,
        )

    def _film_titles(self, slices: Sequence[int]) -> list[str]:
        """Return when slices are; of one configuration, whether it is a solution."""
        if len(self.x) > 1:
            return [f"slice {t}, {self.times[t]:.2f} s" for t in slices]
        verdict = "solved" if self.feasible else "not solved"
        return [f"{verdict}, cost {self.sos:.3g}" for _ in slices]

    def view(self, browser: bool = True) -> "View":
        """Show the world along the path in the browser, with a play bar.

        Args:
            browser: whether to open the page, and to print its address on stderr.

        Raises:
            ImportError: without viser; names the extra.
        """
        from ..report.viewing import view_worlds

        worlds = [self.world_at(t) for t in range(len(self.x))]
        return view_worlds(worlds, self.tau, browser)

    def sensitivity(
        self, wrt: Objective | tuple[Literal["pose", "size"], FrameName]
    ) -> Sensitivity:
        """Return the derivative of the path by numbers of the problem.

        The solution is first made exact by Newton steps. Active limits and active
        inequalities are assumed to stay active, and limits to be constant.

        Args:
            wrt: the parameters: an objective as `add_objective` returned it (its
                target); `("pose", frame)`, a shift [m] and rotation vector [rad] of the
                frame's constant origin in its parent's axes (6 parameters); or
                `("size", frame)`, the outer sizes of its only shape, in the order of
                the shape's arguments, without its rounding.

        Returns:
            `path` (T, nq, D), and whether the solution is regular there.

        Raises:
            ObjectiveError: for another `wrt`, or a solution without a derivative: not
                converged, or no strict minimum.
        """
        return solution_sensitivity(self._require_record(), wrt)

    @cached_property
    def _played(self) -> PlayedPath:
        """The path over time, from the state at the solve."""
        spec = None if self._record is None else self._record.spec
        world = self.config if spec is None else spec.config
        modes = build_modes(world, ()) if self.modes is None else self.modes
        courses = () if spec is None else spec.courses
        before = None if spec is None else spec.state_before
        return PlayedPath(world, modes, self.x, self.tau, courses, before)

    def warm_start(self, shift: int = 0) -> WarmStart:
        """Return where the solve of a similar problem may begin.

        `KOMO.initialize` and `KOMO.shift` use it.

        Args:
            shift: number of slices by which time has moved on.
        """
        failed = self.status in (Status.INFEASIBLE, Status.BAD_INPUT)
        return WarmStart(self._require_record(), shift, not failed)

    def _require_record(self) -> SolveRecord:
        """Return the record of the solve, or raise."""
        if self._record is None:
            raise ObjectiveError(
                "This solution was not made by KOMO; solve to get one."
            )
        return self._record

    @property
    def _is_kept(self) -> bool:
        """Whether distances between slices are kept, as far as that is required."""
        if self._record is None or not self._record.spec.needs_certificate:
            return True
        certificate = self._record.certificate
        return certificate is not None and certificate.is_kept

    @property
    def _avoidance(self) -> CollisionAvoidance:
        """Distances that the problem requires; by default pairs must not overlap."""
        avoidance = None if self._record is None else self._record.spec.avoidance
        return avoidance or CollisionAvoidance()

    def _nearest_pair(self, violated: Sequence[ObjectiveReport]) -> str:
        """Return a sentence on the pair that misses its margin most, or nothing."""
        if self._certificate is None:
            return nearest_in_slices(violated, self.world_at, self._avoidance)
        return nearest_of_path(self._certificate)

    def _worst(self, kind: int) -> float:
        rows = [o.violation for o in self.objectives if o.objective.type.value == kind]
        return max(rows, default=0.0)

    def _violated(self) -> list[ObjectiveReport]:
        return [o for o in self.objectives if o.violation > self.tolerance]


def _amount(report: ObjectiveReport) -> str:
    """Return a violation in the feature's unit, and scaled where that differs."""
    unit = "" if report.unit == "1" else f" {report.unit}"
    text = f"{report.violation_in_unit:.2g}{unit}"
    is_scaled = not np.isclose(report.violation, report.violation_in_unit)
    return f"{text}, {report.violation:.2g} scaled" if is_scaled else text
