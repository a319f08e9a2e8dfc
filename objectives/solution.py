"""What a solve returns: the path, an honest status, and a report."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from posewise.solvers import EQ, INEQ, SOS, Status

from .objective import OT, Objective, ObjectiveError

if TYPE_CHECKING:
    from posewise.robots.config import Config
    from posewise.robots.visual.viewer import View

    from .chain.contact_forces import ContactForce
    from .chain.modes import ModeSequence
    from .solve.sensitivity import Sensitivity, SolveRecord


@dataclass(frozen=True, eq=False)
class ObjectiveReport:
    """How well one objective is met."""

    objective: Objective
    values: np.ndarray
    """Scaled rows (slices, rows), inf where they are not a number."""
    violation: float
    """Largest violation in scaled units; 0 for costs."""
    worst_slice: int
    cost: float
    """Sum of squares, for costs."""


@dataclass(frozen=True, eq=False)
class Solution:
    """The outcome of one solve; never NaN."""

    x: np.ndarray
    """Coordinates (T, nq) of all slices, in the world with its mode switches."""
    status: Status
    tolerance: float
    iterations: int
    seconds: float
    """Wall time of the solve, compilation included if there was any."""
    config: "Config" = field(repr=False)
    tau: np.ndarray
    """Time from the slice before to each slice [s]; the first one from the start."""
    start: int = 0
    """Which of the starts this solution came from."""
    modes: "ModeSequence | None" = field(default=None, repr=False)
    """That world; None: it is the config's own."""
    alternatives: tuple[str, ...] = ()
    """Where statements can be met in several ways: which one this is, of each."""
    _solved: "SolveRecord | None" = field(default=None, repr=False)
    """The problem as it was solved; see `sensitivity`."""

    @cached_property
    def path(self) -> np.ndarray:
        """Coordinates (T, nq) of all slices."""
        return self.x if self.modes is None else self.modes.narrow_path(self.x)

    @cached_property
    def objectives(self) -> tuple[ObjectiveReport, ...]:
        """How well each objective is met, in the order in which they were added."""
        rows = [] if self._solved is None else self._solved.rows()
        return tuple(report_objective(*own) for own in rows)

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
        """Every equality and inequality row is within the tolerance."""
        ok = self.status != Status.BAD_INPUT
        return ok and max(self.eq, self.ineq) <= self.tolerance

    def rank(self) -> tuple[float, float]:
        """What solutions are sorted by, the best first: violation, then cost."""
        worst = 0.0 if self.feasible else max(self.eq, self.ineq)
        bad = self.status == Status.BAD_INPUT
        return np.inf if bad else worst, self.sos

    @property
    def message(self) -> str:
        """The status in a sentence, with the objectives in conflict."""
        text = self.status.message
        if self.status == Status.BAD_INPUT:
            broken = [o.objective.name for o in self.objectives if not _finite(o)]
            if not broken:
                return text + " All values are finite; a derivative is not."
            return text + f" Not finite: {', '.join(broken[:4])}."
        if not self.feasible:
            bad = sorted(self._violated(), key=lambda o: -o.violation)[:4]
            names = ", ".join(f"{o.objective.name} ({o.violation:.2g})" for o in bad)
            text += f" Violated: {names}."
        return text

    @property
    def times(self) -> np.ndarray:
        """Time of each slice, from the start on [s]."""
        return np.cumsum(self.tau)

    @property
    def q(self) -> np.ndarray:
        """Coordinates (nq,) of the last slice."""
        return self.path[-1]

    def at(self, t: int) -> "Config":
        """The world in slice t (-1: the last), with what is attached to what then.

        Raises:
            ObjectiveError: for a slice that does not exist.
        """
        T = len(self.x)
        if not -T <= t < T:
            raise ObjectiveError(f"t is {t}, expected a slice from 0 to {T - 1}.")
        if self.modes is None:
            C = self.config.copy()
            C.q = self.path[t]
            return C
        return self.modes.attached(self.x[t], t % T)

    def sub_problem(self, phase: Any) -> "tuple[Config, np.ndarray]":
        """A phase by itself: the world as the phase begins, and where it shall end.

        In that world what is carried is attached to what carries it, and helper frames
        are there; only the world's own joints move, and of these not those of frames
        that mode switches attach.

        Args:
            phase: counted from 0.

        Returns:
            A world, and the coordinates (nq,) of its joints at the end of the phase.

        Raises:
            ObjectiveError: for a phase that does not exist, or has a mode switch
                inside.
        """
        from .solve.subproblem import phase_problem

        if self._solved is None:
            raise ObjectiveError(
                "This solution was not made by KOMO; solve to get one."
            )
        return phase_problem(self._solved.komo, self.x, phase)

    def forces(self) -> "tuple[ContactForce, ...]":
        """Contacts added by `KOMO.add_contact`, slice by slice, with their forces."""
        from .chain.contact_forces import contact_forces_along_path

        if self.modes is None:
            return ()
        return contact_forces_along_path(self.modes, self.x)

    def report(self) -> str:
        """A table of all objectives: type, slices, violation with its slice, cost."""
        total = max(self.sos, 1e-300)
        width = max([len(o.objective.name) for o in self.objectives], default=4)
        lines = [
            f"{'objective':{width}}  type  unit      slices  violation  at    cost"
            " share"
        ]
        for o in self.objectives:
            slices = o.objective.slices
            span = f"{slices[0]}-{slices[-1]}" if len(slices) > 1 else f"{slices[0]}"
            unit = o.objective.feature.symbol.unit or "1"
            if o.objective.type is OT.sos:
                tail = f"{'':9}  {'':3}  {o.cost:8.3g} {100 * o.cost / total:4.0f}%"
            else:
                tail = f"{o.violation:9.2e}  {o.worst_slice:3d}"
            kind = o.objective.type.name
            lines.append(
                f"{o.objective.name:{width}}  {kind:4}  {unit:8.8}  {span:>6}  {tail}"
            )
        lines.append(
            f"{self.status.name}: sos {self.sos:.4g}, worst eq {self.eq:.2e}, worst"
            f" ineq {self.ineq:.2e}, {self.iterations} iterations,"
            f" {1e3 * self.seconds:.0f} ms"
        )
        lines += [f"alternative: {name}" for name in self.alternatives]
        if not self.feasible:
            lines.append(self.message)
        return "\n".join(lines)

    def plot(self, file: Any = None) -> Any:
        """Joint paths, and violations over time; a matplotlib figure.

        Args:
            file: where to save it, if anywhere.

        Raises:
            ImportError: without matplotlib.
        """
        from .report.plotting import plot_solution

        return plot_solution(self, file)

    def film(
        self,
        file: Any = None,
        slices: Any = 6,
        view: Any = (25.0, -55.0),
        frames: Any = None,
    ) -> Any:
        """Pictures of the world in some slices, side by side; a matplotlib figure.

        Args:
            file: where to save it, if anywhere.
            slices: how many, from the first to the last; or a list of slices.
            view: height and direction of the eye [degrees].
            frames: names of those that are drawn; None: all that have visual shapes.

        Raises:
            ImportError: without matplotlib; names the extra.
            ObjectiveError: for slices that do not exist, or no view.
            ConfigError: for unknown frames, with near matches.
        """
        from .report.filming import film_solution

        return film_solution(self, file, slices, view, frames)

    def view(self, browser: bool = True) -> "View":
        """Show the world along the path in the browser, with a play bar.

        Args:
            browser: whether to open the page, and to say on stderr where it is.

        Raises:
            ImportError: without viser; names the extra.
        """
        from .report.viewing import view_solution

        return view_solution(self, browser)

    def sensitivity(self, wrt: Any) -> "Sensitivity":
        """How the path moves with the numbers of the problem, to first order.

        The solution is first made exact by Newton steps; active limits and active
        inequalities stay active, limits stay where they are.

        Args:
            wrt: what is varied: an objective as `add_objective` returned it (its
                target); `("pose", frame)`, a shift [m] and turn [rad] of the frame's
                constant origin in its parent's axes (6 parameters); or
                `("size", frame)`, the outer sizes of its only shape, in the order of
                the shape's arguments, its rounding aside.

        Returns:
            `path` (T, nq, D), and whether the solution is regular there.

        Raises:
            ObjectiveError: for another `wrt`, or where the solution has no derivative:
                not converged, or no strict minimum.
        """
        from .solve.sensitivity import solution_sensitivity

        return solution_sensitivity(self._solved, wrt)

    def _worst(self, kind: int) -> float:
        rows = [o.violation for o in self.objectives if o.objective.type.value == kind]
        return max(rows, default=0.0)

    def _violated(self) -> list[ObjectiveReport]:
        return [o for o in self.objectives if o.violation > self.tolerance]


def report_objective(objective: Objective, values: np.ndarray) -> ObjectiveReport:
    """Violation and cost from an objective's scaled rows (slices, rows)."""
    kind = objective.type.value
    values = np.where(np.isnan(values), np.inf, values)
    if kind == SOS:
        cost = float(np.sum(values**2))
        return ObjectiveReport(objective, values, 0.0, objective.slices[0], cost)
    size = np.abs(values) if kind == EQ else np.maximum(values, 0.0)
    per_slice = size.max(1, initial=0.0)
    worst = int(np.argmax(per_slice))
    return ObjectiveReport(
        objective, values, float(per_slice[worst]), objective.slices[worst], 0.0
    )


def _finite(report: ObjectiveReport) -> bool:
    return bool(np.isfinite(report.values).all())
