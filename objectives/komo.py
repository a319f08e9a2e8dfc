"""KOMO: k-order motion optimization over the slices of a path.

After Toussaint, "A tutorial on Newton methods for constrained trajectory optimization
and relations to SLAM, Gaussian process smoothing, optimal control and probabilistic
inference" (2017).
"""

import copy
import time
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..features import FS, Feature, FeatureError
from ..robots.checks import floats, integer, number
from ..robots.config import Config
from ..robots.errors import unknown
from ..solvers import Options, Status, solve, solve_starts
from ..solvers.first_order import solve_first_order
from .nlp import NLP, make_nlp
from .objective import OT, Objective, ObjectiveError, selected_slices
from .program import Chain, ChainData, Placed, make_chain
from .sensitivity import Solved, target_function
from .solution import Solution, report_objective

FIRST_ORDER_ITERATIONS = 20000
"""Default limit of first-order methods: their steps are many and cheap."""


class KOMO:
    """A path problem: `phases × slices_per_phase` copies of a world's coordinates.

    Before the first slice stand `k_order` fixed copies of the present state, so that
    velocities and accelerations of the first slices start from rest. Joint limits are
    bounds of the problem; no objective is needed for them.

    Args:
        C: the world; its state at each `solve` is the start, and stays as it is.
        phases: how many phases; times of objectives count in phases.
        slices_per_phase: slices in each phase.
        k_order: highest order of any objective (0, 1 or 2).
        duration_per_phase: [s].

    Raises:
        ObjectiveError: for numbers out of range, or a world without moving joints.
    """

    def __init__(
        self,
        C: Any,
        phases: Any = 1,
        slices_per_phase: Any = 1,
        k_order: Any = 0,
        duration_per_phase: Any = 1.0,
    ) -> None:
        if not isinstance(C, Config):
            raise ObjectiveError(f"C is {type(C).__name__}, expected a Config.")
        slices = _integer(
            "slices_per_phase", slices_per_phase, "an integer >= 1", lambda n: n >= 1
        )
        order = _integer("k_order", k_order, "0, 1 or 2", lambda k: 0 <= k <= 2)
        phases = _positive("phases", phases, "a number > 0")
        duration = _positive("duration_per_phase", duration_per_phase, "seconds > 0")
        if C.nq == 0:
            raise ObjectiveError(
                "The world has no moving joint; add one, or unlock some."
            )
        self.config: Config = C
        self.slices_per_phase = slices
        self.T = max(int(np.ceil(phases * slices - 1e-9)), 1)
        self.k_order = order
        self.tau = duration / slices
        self._objectives: list[Objective] = []
        self._initial: np.ndarray | None = None

    @property
    def objectives(self) -> tuple[Objective, ...]:
        """All objectives, in order."""
        return tuple(self._objectives)

    def add_objective(
        self,
        times: Any,
        symbol: Any,
        frames: Any = (),
        type: Any = OT.eq,
        *,
        scale: Any = None,
        target: Any = None,
        order: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Objective:
        """Add a feature as eq, ineq (<= 0) or sos (cost) on the slices at `times`.

        Args:
            times: in phases: None or [] all slices, [t] one, [a, b] from a to b.
            symbol: an entry of `FS`, a `Feature`, or a function of poses.
            frames: of the feature; not with a `Feature`.
            type: what the feature means.
            scale: see `Feature`.
            target: see `Feature`.
            order: see `Feature`; at most k_order.
            name: for reports.
            **options: of the symbol, such as `margin`.

        Raises:
            ConfigError: for unknown frames.
            FeatureError: for a wrong order, target or scale.
            ObjectiveError: when no slice is selected or the order exceeds k_order.
        """
        if isinstance(symbol, Feature):
            feature = symbol
            given = (scale, target, order)
            if frames or options or any(v is not None for v in given):
                raise ObjectiveError(
                    "A Feature has its own frames, scale, target and order; give them"
                    " when making the Feature."
                )
        else:
            feature = Feature(
                symbol, frames, order=order, target=target, scale=scale, **options
            )
        if not isinstance(type, OT):
            raise ObjectiveError(
                f"type is {type!r}, expected OT.eq, OT.ineq or OT.sos."
            )
        label = name or _label(feature)
        if feature.order > self.k_order:
            raise ObjectiveError(
                f"{label}: order {feature.order} exceeds the problem's k_order"
                f" {self.k_order}; make the KOMO with k_order={feature.order}."
            )
        feature.check(self.config)
        slices = selected_slices(times, self.slices_per_phase, self.T, label)
        made = Objective(label, feature, type, slices)
        self._objectives.append(made)
        return made

    def add_control_objective(
        self,
        order: Any,
        scale: Any = 1.0,
        target: Any = None,
        times: Any = None,
        joints: Any = (),
        name: str | None = None,
    ) -> Objective:
        """Add the cost of being away from home (0), of speed (1), of acceleration (2).

        Orders 1 and 2 approximate time integrals of squared speed and acceleration.
        """
        symbol = FS.qHome if order == 0 else FS.qItself
        weight = floats("scale", scale, "numbers", FeatureError)
        weight = weight * (np.sqrt(self.tau) if order else 1.0)
        return self.add_objective(
            times,
            symbol,
            joints,
            OT.sos,
            scale=weight,
            target=target,
            order=order,
            name=name or f"control order {order}",
        )

    def add(self, what: Any, times: Any = None) -> None:
        """Add anything with `objectives()`: (feature, type) pairs or objectives."""
        if not hasattr(what, "objectives"):
            raise ObjectiveError(
                f"{what!r} has no objectives(); use add_objective for features."
            )
        for feature, kind in what.objectives():
            self.add_objective(times, feature, type=kind)

    def initialize(self, path: Any) -> None:
        """Set the initial path: (T, nq), or one configuration (nq,) for all slices.

        Raises:
            ObjectiveError: for a wrong shape or entries that are not finite.
        """
        T, n = self.T, self.config.nq
        path = floats("path", path, f"({T}, {n}) or ({n},) numbers", ObjectiveError)
        if path.shape not in ((T, n), (n,)):
            raise ObjectiveError(
                f"path has shape {path.shape}, expected ({T}, {n}) or ({n},)."
            )
        if not np.isfinite(path).all():
            raise ObjectiveError("path has NaN or infinite entries.")
        self._initial = np.array(np.broadcast_to(path, (T, n)))

    def solve(
        self,
        seed: Any = 0,
        starts: Any = 1,
        *,
        method: Any = "augmented_lagrangian",
        tolerance: Any = 1e-3,
        **options: Any,
    ) -> Solution:
        """Solve from the initial path and, with `starts` > 1, from random ones too.

        Args:
            seed: of the random starts.
            starts: how many; the best feasible solution is returned.
            method: "augmented_lagrangian" (Newton steps), or an optax optimiser such
                as `optax.lbfgs()` or `optax.adam(1e-2)`, kept for further solves so
                that nothing is compiled anew: see `posewise.solvers.first_order`.
            tolerance: rows within this count as satisfied, in scaled units.
            **options: fields of `posewise.solvers.Options`.

        Returns:
            The best solution: feasible before infeasible, then by cost.
        """
        seed = _integer("seed", seed, "an integer >= 0", lambda n: n >= 0)
        starts = _integer("starts", starts, "at least 1", lambda n: n >= 1)
        newton = isinstance(method, str) and method == "augmented_lagrangian"
        if not newton and not hasattr(method, "update"):
            raise ObjectiveError(
                f"method is {method!r}, expected 'augmented_lagrangian' or an optax"
                " optimiser, e.g. optax.lbfgs()."
            )
        if not newton:
            options = {"max_iterations": FIRST_ORDER_ITERATIONS, **options}
        chosen = self._options(tolerance, options)
        tolerance = float(tolerance)
        if not self._objectives:
            raise ObjectiveError("There is no objective; add one before solving.")
        began = time.perf_counter()
        chain, data, placed = self.chain()
        dtype = data.prefix.dtype
        paths = jnp.asarray(self.starts(seed, starts), dtype)
        if not newton:
            result = solve_first_order(chain, method, data, paths, chosen)
        elif starts == 1:
            result = solve(chain, data, paths[0], chosen)
            result = type(result)(*(_lead(a) for a in result))
        else:
            result = solve_starts(chain, data, paths, chosen)
        violation = np.asarray(result.violation)
        cost = np.asarray(result.cost)
        worst = np.where(np.isfinite(violation), violation, np.inf)
        feasible = worst <= tolerance
        best = int(np.lexsort((cost, np.where(feasible, 0.0, worst)))[0])
        reports = []
        for objective, at in zip(self._objectives, placed, strict=True):
            values = np.asarray(result.y[at.batch][best, at.rows], float)
            reports.append(report_objective(objective, values))
        return Solution(
            np.asarray(result.x[best], float),
            Status(int(result.status[best])),
            tolerance,
            int(result.iterations[best]),
            tuple(reports),
            time.perf_counter() - began,
            self.config,
            self.tau,
            best,
            Solved(
                self._frozen(),
                chain,
                data,
                placed,
                result.x[best],
                tuple(m[best] for m in result.multipliers),
            ),
        )

    def function(
        self, wrt: Objective, *, tolerance: Any = 1e-3, **options: Any
    ) -> Callable[[Any], Any]:
        """The path (T, nq) as a JAX function of an objective's target (D,).

        It solves from the initial path (`initialize` with a solution to stay near it)
        and makes the solution exact; it may be jitted, vmapped, and differentiated
        once, forward or in reverse, by implicit differentiation. Derivatives are NaN
        where there is none; `Solution.sensitivity` says why.

        Args:
            wrt: the objective, as `add_objective` returned it.
            tolerance: see `solve`.
            **options: see `solve`.

        Raises:
            ObjectiveError: for an objective of another problem.
        """
        return target_function(self, wrt, self._options(tolerance, options))

    def nlp(self) -> NLP:
        """The problem for other solvers, from the initial path, as it is now."""
        if not self._objectives:
            raise ObjectiveError("There is no objective; add one before nlp().")
        chain, data, placed = self.chain()
        initial = self.starts(0, 1)[0]
        return make_nlp(chain, data, self.objectives, placed, initial)

    def chain(self) -> tuple[Chain, ChainData, list[Placed]]:
        """The problem as the solver sees it; see `objectives.program`."""
        C = self.config
        grounded = [(o, o.feature.ground(C)) for o in self._objectives]
        prefix = np.tile(C.q, (self.k_order, 1))
        return make_chain(C.kinematics(), grounded, prefix, self.T, self.tau)

    def starts(self, seed: int, count: int) -> np.ndarray:
        """Initial paths (count, T, nq): the initial path, then random ones.

        A random path runs straight from the present state to a configuration drawn
        uniformly within the limits (or within ±1 of the state where there are none).
        """
        C = self.config
        rng = np.random.default_rng(seed)
        given = np.tile(C.q, (self.T, 1)) if self._initial is None else self._initial
        if given.shape[1] != C.nq:
            raise ObjectiveError(
                f"The initial path has shape {given.shape}, expected"
                f" ({self.T}, {C.nq}): the world's joints have changed; initialize"
                " again."
            )
        low, high = C.limits
        low = np.where(np.isfinite(low), low, np.minimum(C.q, high) - 1.0)
        high = np.where(np.isfinite(high), high, np.maximum(C.q, low) + 1.0)
        limits = C.limits
        paths = [np.clip(given, limits[0], limits[1])]
        share = np.arange(1, self.T + 1)[:, None] / self.T
        for _ in range(count - 1):
            goal = rng.uniform(low, high)
            for first in C.quaternions:
                part = slice(first, first + 4)
                goal[part] = rng.normal(size=4)
                goal[part] /= np.linalg.norm(goal[part])
                goal[part] *= 1.0 if goal[part] @ C.q[part] >= 0 else -1.0
            path = C.q + share * (goal - C.q)
            for first in C.quaternions:
                part = path[:, first : first + 4]
                part /= np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-9)
            paths.append(np.clip(path, limits[0], limits[1]))
        return np.stack(paths)

    def _options(self, tolerance: Any, options: dict[str, Any]) -> Options:
        tolerance = _positive("tolerance", tolerance, "a number > 0")
        known = Options.__dataclass_fields__
        for option, value in options.items():
            if option not in known:
                raise ObjectiveError(unknown("solver option", option, known))
            _positive(option, value, "a number > 0")
        return Options(**{"tolerance": 0.1 * tolerance, **options})

    def _frozen(self) -> "KOMO":
        """The problem as it is now, with a copy of the world."""
        frozen = copy.copy(self)
        frozen.config = self.config.copy()
        frozen._objectives = list(self._objectives)
        return frozen

    def __repr__(self) -> str:
        return (
            f"KOMO({self.T} slices, k_order={self.k_order},"
            f" {len(self._objectives)} objectives)"
        )


def _integer(what: str, value: Any, expected: str, holds: Any) -> int:
    return integer(what, value, expected, holds, ObjectiveError)


def _positive(what: str, value: Any, expected: str) -> float:
    return number(what, value, expected, lambda x: x > 0, ObjectiveError)


def _label(feature: Feature) -> str:
    frames = ", ".join(feature.frames)
    rate = ("", " velocity", " acceleration")[feature.order - feature.symbol.window]
    return f"{feature.symbol.name}({frames}){rate}"


def _lead(a: Any) -> Any:
    """A leading axis on arrays, also inside a tuple."""
    return tuple(b[None] for b in a) if isinstance(a, tuple) else a[None]
