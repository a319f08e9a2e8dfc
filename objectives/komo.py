"""KOMO: k-order motion optimization over the slices of a path.

After Toussaint, "A tutorial on Newton methods for constrained trajectory optimization
and relations to SLAM, Gaussian process smoothing, optimal control and probabilistic
inference" (2017).
"""

import copy
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..features import FS, Feature, FeatureError
from ..robots.checks import floats, integer, number
from ..robots.config import Config
from .modes import Modes, ModeSwitch, make_modes
from .nlp import NLP, make_nlp
from .objective import OT, Objective, ObjectiveError, selected_slices
from .program import Chain, ChainData, Placed, make_chain
from .sensitivity import target_function
from .solution import Solution
from .solving import NEWTON, best, make_options, solve_starts
from .span import Slices, span_of
from .starts import paths_from
from .waypoints import path_through


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
        self._switches: tuple[ModeSwitch, ...] = ()
        self._initial: np.ndarray | None = None
        self._modes: tuple[Any, Modes] | None = None
        self._chain: tuple[Any, tuple[Chain, ChainData, list[list[Placed]]]] | None
        self._chain = None

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
        slices = selected_slices(times, self.slices_per_phase, self.T, label)
        made = self._checked(label, feature, type, slices)
        self._objectives.append(made)
        return made

    def _checked(
        self, label: str, feature: Feature, type: OT, slices: Slices
    ) -> Objective:
        if feature.order > self.k_order:
            raise ObjectiveError(
                f"{label}: order {feature.order} exceeds the problem's k_order"
                f" {self.k_order}; make the KOMO with k_order={feature.order}."
            )
        feature.check(self.config)
        return Objective(label, feature, type, slices)

    def add_mode_switch(
        self, times: Any, mode: str, frames: Any, *, scale: Any = 10.0
    ) -> None:
        """From times[0] on, frames[1] is attached to frames[0], until it is switched.

        Everything attached to that frame comes along. Until its first switch it stands
        where it is, also on a joint of its own. It does not jump: its velocity
        is zero into the switch (in the world, or relative to what carried it before),
        and so is its acceleration where k_order is 2; and with times [a, b] its
        velocity relative to frames[0] is zero into slice b, where it is handed on.

        Args:
            times: [t] or [a, b], in phases; see `add_objective`.
            mode: "stable": at a pose that is free but the same in all slices;
                "stableOn": standing on top, at a place and angle that are the same;
                "rigid": the two frames coincide.
            frames: [parent, frame]; "world" may be the parent.
            scale: of the equality rows.

        Raises:
            ConfigError: for unknown frames or modes.
            ObjectiveError: with k_order 0, or when no slice is selected.
        """
        if self.k_order < 1:
            raise ObjectiveError(
                "A mode switch constrains velocities; make the KOMO with k_order >= 1."
            )
        names = list(frames) if not isinstance(frames, str) else [frames]
        if len(names) != 2:
            raise ObjectiveError(
                f"frames are {names}, expected two: [parent, what is attached to it]."
            )
        parent, frame = names
        label = f"mode {mode} [{parent}, {frame}]"
        slices = selected_slices(times, self.slices_per_phase, self.T, label)
        self.config.index(parent), self.config.index(frame)
        carrier = [s.parent for s in self._switches if s.frame == frame]
        made = (*self._switches, ModeSwitch(slices[0], mode, parent, frame))
        make_modes(self.config, made)
        self._switches = made

        def still(t: int, symbol: Any, of: list[str], order: int) -> None:
            feature = Feature(symbol, of, order=order, scale=scale)
            name = f"{label} no {'jump' if order == 1 else 'jolt'}"
            self._objectives.append(Objective(name, feature, OT.eq, (t,)))

        relative = [(FS.poseRel, [frame, carrier[-1]])] if carrier else []
        into = relative or [(FS.pose, [frame])]
        ends = [(slices[0], *into[0])]
        if len(slices) > 1 and np.size(times) == 2:
            ends.append((slices[-1], FS.poseRel, [frame, parent]))
        for t, symbol, of in ends:
            still(t, symbol, of, 1)
            if self.k_order == 2 and t + 1 < self.T:
                still(t + 1, FS.linangVel, [frame], 2)

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

    def add(self, what: Any, times: Any = None) -> tuple[Objective, ...]:
        """Add all objectives of a preset, a predicate or a formula, or none.

        Args:
            what: anything with `objectives(C, span)`; see `posewise.objectives.span`.
            times: as for `add_objective`.

        Raises:
            ConfigError: for unknown frames, or shapes that do not fit.
            ObjectiveError: as `add_objective`.
        """
        if not hasattr(what, "objectives"):
            raise ObjectiveError(
                f"{what!r} has no objectives(); use add_objective for features."
            )
        name = type(what).__name__
        span = span_of(times, self.slices_per_phase, self.T, self.tau, name)
        made = tuple(
            self._checked(f"{name}: {_label(feature)}", feature, kind, chosen)
            for feature, kind, chosen in what.objectives(self.config, span)
        )
        self._objectives += made
        return made

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

    def initialize_waypoints(self, waypoints: Any, linear: bool = False) -> None:
        """Set the initial path: through one configuration at the end of each phase.

        It starts from the present state, and is clipped to the limits.

        Args:
            waypoints: (phases, nq).
            linear: at constant speed between waypoints; otherwise at rest at each.

        Raises:
            ObjectiveError: for a wrong shape or entries that are not finite.
        """
        C, S = self.config, self.slices_per_phase
        shape = -(-self.T // S), C.nq
        points = floats("waypoints", waypoints, f"{shape} numbers", ObjectiveError)
        if points.shape != shape or not np.isfinite(points).all():
            raise ObjectiveError(
                f"waypoints have shape {points.shape}, expected {shape}: finite"
                " coordinates at the end of each phase."
            )
        path = path_through(C.q, points, S, self.T, C.quaternions, linear)
        self.initialize(np.clip(path, *C.limits))

    def solve(
        self,
        seed: Any = 0,
        starts: Any = 1,
        *,
        method: Any = NEWTON,
        tolerance: Any = 1e-3,
        **options: Any,
    ) -> Solution:
        """Solve from the initial path and, with `starts` > 1, from random ones too.

        Args:
            seed: of the random starts.
            starts: how many; the best feasible solution is returned. Without costs it
                is the first one, and further starts are left out.
            method: "augmented_lagrangian" (Newton steps), or an optax optimiser such
                as `optax.lbfgs()` or `optax.adam(1e-2)`, kept for further solves so
                that nothing is compiled anew: see `posewise.solvers.first_order`.
            tolerance: rows within this count as satisfied, in scaled units.
            **options: fields of `posewise.solvers.Options`.

        Returns:
            The best solution: feasible before infeasible, then by cost.
        """
        chosen = make_options(method, tolerance, options)
        return best(solve_starts(self, [self], None, seed, starts, method, chosen)[0])

    def solve_all(
        self,
        seed: Any = 0,
        starts: Any = 1,
        *,
        method: Any = NEWTON,
        tolerance: Any = 1e-3,
        **options: Any,
    ) -> list[Solution]:
        """What each start of `solve` ends at, in the order of the starts."""
        chosen = make_options(method, tolerance, options)
        given = (seed, starts, method, chosen)
        return solve_starts(self, [self], None, *given, every_start=True)[0]

    def solve_batch(
        self,
        targets: Any = None,
        worlds: Any = None,
        starts: Any = 1,
        seed: Any = 0,
        *,
        tolerance: Any = 1e-3,
        **options: Any,
    ) -> list[Solution]:
        """Solve many problems that differ in numbers only, each from many starts.

        Args:
            targets: for some objectives (as `add_objective` returned them) the targets
                (problems, D), or (problems,) where D is 1.
            worlds: for each problem a copy of the world with other poses, sizes,
                limits or state, but of the same frames and kinds of shapes.
            starts: of each problem, as in `solve`.
            seed: of the random starts, the same for each problem.
            tolerance: see `solve`.
            **options: see `solve`.

        Returns:
            The best solution of each problem.

        Raises:
            ObjectiveError: for targets or worlds that do not fit.
        """
        komos = [self]
        if worlds is not None:
            komos = [self.within(world) for world in worlds]
        given = dict(targets or {})
        chosen = make_options(NEWTON, tolerance, options)
        every = solve_starts(self, komos, given, seed, starts, NEWTON, chosen)
        return [best(solutions) for solutions in every]

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
            ObjectiveError: for an objective of another problem, or mode switches.
        """
        chosen = make_options(NEWTON, tolerance, options)
        return target_function(self, wrt, chosen.numbers)

    def nlp(self) -> NLP:
        """The problem for other solvers, from the initial path, as it is now.

        Raises:
            ObjectiveError: without objectives, or with mode switches.
        """
        if not self._objectives:
            raise ObjectiveError("There is no objective; add one before nlp().")
        chain, data, placed = self.chain()
        return make_nlp(chain, data, self.objectives, placed, self.starts(0, 1)[0])

    def frozen(self) -> "KOMO":
        """The problem as it is now, with a copy of the world."""
        other = self.within(self.config.copy())
        other._objectives = list(self._objectives)
        return other

    def within(self, world: Any) -> "KOMO":
        """The same problem in another world."""
        if not isinstance(world, Config):
            raise ObjectiveError(
                f"worlds has a {type(world).__name__}, expected Configs: copies of the"
                " problem's world, C.copy(), with other numbers."
            )
        other = copy.copy(self)
        other.config, other._modes, other._chain = world, None, None
        return other

    def modes(self) -> Modes:
        """The world with the copies that mode switches make; see `objectives.modes`."""
        C = self.config
        values = C.q.tobytes() if self._switches else b""
        key = (C._snapshot(), self._switches, values)
        if self._modes is None or not _same(self._modes[0], key):
            self._modes = key, make_modes(C, self._switches)
        return self._modes[1]

    def chain(self) -> tuple[Chain, ChainData, list[list[Placed]]]:
        """The problem as the solver sees it; see `objectives.program`."""
        modes = self.modes()
        key = (modes, tuple(self._objectives))
        if self._chain is None or not _same(self._chain[0], key):
            made = make_chain(modes, self._objectives, self.T, self.k_order, self.tau)
            self._chain = key, made
        chain, data, placed = self._chain[1]
        prefix = np.tile(modes.widen(self.config.q), (self.k_order, 1))
        return (
            chain,
            data._replace(prefix=jnp.asarray(prefix, data.prefix.dtype)),
            placed,
        )

    def starts(self, seed: int, count: int) -> np.ndarray:
        """Initial paths (count, T, nq): the initial path, then random ones.

        With mode switches, nq is that of their world; see `objectives.starts`.
        """
        modes = self.modes()
        q = modes.widen(self.config.q)
        given = np.tile(q, (self.T, 1))
        if self._initial is not None:
            if self._initial.shape[1] != self.config.nq:
                raise ObjectiveError(
                    f"The initial path has shape {self._initial.shape}, expected"
                    f" ({self.T}, {self.config.nq}): the world's joints have changed;"
                    " initialize again."
                )
            given = modes.widen(self._initial)
        return paths_from(modes, q, given, seed, count)

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


def _same(old: tuple, new: tuple) -> bool:
    """The same objects and equal bytes; nothing is compared by value else."""
    return all(
        a is b or (isinstance(a, tuple | bytes) and a == b)
        for a, b in zip(old, new, strict=True)
    )
