"""Settings of a solve: method, tolerance, options and starts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from posewise.robots.errors import unknown_name
from posewise.robots.validation import integer, number
from posewise.solvers import Options, SolverOptions

from ..problem.spec import ProblemSpec
from ..solution.warm_start import WarmStart
from ..terms.objective import ObjectiveError
from ..terms.typing import ProgressLike, SolveMethod
from .penalties import initial_penalties

AUGMENTED_LAGRANGIAN: Literal["augmented_lagrangian"] = "augmented_lagrangian"
"""Name of the solver with Newton steps."""
FIRST_ORDER_ITERATIONS = 20000
"""Default iteration limit of first-order methods, whose steps are many and cheap."""
ARGUMENTS = "seed", "starts", "method", "tolerance", "progress", "max_time"
"""Arguments of solves beside the options, for near matches."""


@dataclass(frozen=True, slots=True)
class PathOptions:
    """Solver options for several slices, varied in docs/evidence.md."""

    early_exit_factor: float = 20.0
    """Factor of the decrease at which subproblems end, see `solvers.Options` [1].
    Trying their last step evaluates all slices, which takes longer than the step is
    worth, so that they end early."""
    contact_max_step: float = 0.05
    """Largest change of a coordinate in a step of paths with contact forces [rad, m].
    The laws of physics are bilinear in forces and positions, so that long steps from
    far away end at other local minima."""


PATH_OPTIONS = PathOptions()


@dataclass(frozen=True)
class SolveSettings:
    """Settings of a solve; see `KOMO.solve`."""

    tolerance: float
    """Largest violation of a solution that counts as feasible, in scaled units."""
    options: Options
    method: SolveMethod = AUGMENTED_LAGRANGIAN
    seed: int = 0
    starts: int = 1
    progress: ProgressLike = False
    warm: WarmStart | None = None
    """Beginning of a single start by Newton steps, instead of the initial path."""

    @property
    def uses_newton_steps(self) -> bool:
        """Whether the method is the augmented Lagrangian."""
        return _is_augmented_lagrangian(self.method)

    def initial_penalty(self, start: int) -> float:
        """Return the penalty with which a start begins."""
        is_odd = start % 2
        factor = self.options.alternate_start_penalty_factor if is_odd else 1.0
        return float(self.options.mu * factor)

    @property
    def large_penalty(self) -> float:
        """Penalty that keeps what a path meets already; that of every second start."""
        return self.initial_penalty(1)

    def going_on(self) -> "SolveSettings":
        """Return settings for an initial path that meets most of what is asked.

        The penalties of both kinds of starts are exchanged: the first one, from the
        initial path, keeps what that meets.
        """
        factor = self.options.alternate_start_penalty_factor
        options = replace(
            self.options,
            mu=self.large_penalty,
            alternate_start_penalty_factor=1 / factor,
        )
        return replace(self, options=options, warm=None)


def make_settings(
    spec: ProblemSpec,
    tolerance: float,
    progress: ProgressLike,
    options: Mapping[str, Any],
    *,
    method: SolveMethod = AUGMENTED_LAGRANGIAN,
    seed: int = 0,
    starts: int = 1,
    warm: WarmStart | None = None,
) -> SolveSettings:
    """Return checked settings, with defaults that suit the problem.

    Args:
        spec: the problem.
        tolerance: see `KOMO.solve`, as for all below.
        progress: how progress is reported.
        options: fields of `Options`.
        method: the augmented Lagrangian or an optax optimiser.
        seed: of the random starts.
        starts: number of starts.
        warm: where a single start begins.

    Raises:
        ObjectiveError: for unknown options or methods, and numbers out of range.
    """
    is_newton = _is_augmented_lagrangian(method)
    if not is_newton and not hasattr(method, "update"):
        raise ObjectiveError(
            f"method is {method!r}, expected {AUGMENTED_LAGRANGIAN!r} or an optax"
            " optimiser, e.g. optax.lbfgs()."
        )
    if not isinstance(progress, bool) and not callable(progress):
        raise ObjectiveError(
            f"progress is {progress!r}, expected True, False, or a function that gets"
            " a posewise.solvers.Progress."
        )
    tolerance = _positive("tolerance", tolerance)
    known = SolverOptions.__annotations__
    for option, value in options.items():
        if option not in known:
            names = [*ARGUMENTS, *known]
            raise ObjectiveError(unknown_name("argument or option", option, names))
        _positive(option, value)
    seed = integer("seed", seed, "an integer >= 0", lambda n: n >= 0, ObjectiveError)
    starts = integer("starts", starts, "at least 1", lambda n: n >= 1, ObjectiveError)
    tolerances = {"tolerance": 0.1 * tolerance, "feasibility_tolerance": tolerance}
    chosen = {**tolerances, **options}
    if "mu" in chosen:
        # A penalty that the user chose is meant for all starts.
        chosen.setdefault("alternate_start_penalty_factor", 1.0)
    if not is_newton:
        chosen.setdefault("max_iterations", FIRST_ORDER_ITERATIONS)
    chosen = {**initial_penalties(spec), **chosen}
    if spec.T > 1:
        chosen = {**_path_options(spec), **chosen}
    chosen_options = Options(**chosen)
    return SolveSettings(
        tolerance, chosen_options, method, seed, starts, progress, warm
    )


def _path_options(spec: ProblemSpec) -> dict[str, float]:
    if spec.contacts:
        return {"max_step": PATH_OPTIONS.contact_max_step}
    return {"early_exit_factor": PATH_OPTIONS.early_exit_factor}


def _is_augmented_lagrangian(method: Any) -> bool:
    return isinstance(method, str) and method == AUGMENTED_LAGRANGIAN


def _positive(option: str, value: float) -> float:
    return number(option, value, "a number > 0", lambda x: x > 0, ObjectiveError)
