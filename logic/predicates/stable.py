"""Stable: an object that stays where it is when the world is simulated."""

from dataclasses import dataclass, field

import numpy as np

from posewise.robots.config import Config
from posewise.robots.simulation.motion import SimulatedTrajectory
from posewise.robots.typing import FrameName
from posewise.robots.validation import number

from ..errors import PredicateError
from ..exact.stable import StabilityLimits, motion_verdict, stability_verdict
from ..exact.verdict import Verdict
from ..geometry.free_joints import free_root
from ..relaxed.constraint_terms import Conjunction, ConstraintTerm
from ..relaxed.stack_equilibrium import standing_term
from ..relaxed.support_graph import find_stack
from .verdict_predicate import VerdictPredicate


@dataclass(frozen=True)
class Stable(VerdictPredicate):
    """a stays where it is while the world is simulated for 2 s.

    The simulation is that of `Twin`: free joints move, all other joints are held. First
    everything may settle, by at most `shift`; then a's root frame moves by at most
    `shift` and `turn`, and at the end no faster than `speed`. Objects below no free
    joint are stable.

    `legacy=True` is PyCRAM's rule: the position of a's root, rounded to millimetres in
    each coordinate, is the same before and after 2 s; nothing else counts.

    Its rows demand more, and the same of all objects on free joints, so that several
    objects cost no more than one. All are in equilibrium by forces at their points of
    contact, with friction, also if every centre of mass were 4 mm aside (up to 2 mm
    less); contacts steeper than friction do not count, so that nothing leans on a wall,
    nor do points that are 0.6 mm farther from the support than the nearest one; and how
    far each moves as it comes down and tips, or is pushed out of what it overlaps,
    together with all below it, is 85 % of `shift` at most. Thus balls are never stable
    by the rows. Agents support nothing. Neither do objects on locked free joints, such
    as all that are not movable in `solve_placement`: for a mug on a loose plate make
    both movable. Locked objects are assumed to stand. The negation and the legacy rule
    have no rows.

    Args:
        a: an object or frame.
        shift: largest displacement [m].
        turn: largest rotation [rad].
        speed: largest speed at the end [m/s].
        settle: duration of settling [s].
        seconds: duration of the test after settling [s].
        legacy: whether PyCRAM's rule applies.

    Raises:
        PredicateError: when thresholds are not numbers >= 0.
        ConfigError: when evaluated, for an unknown name, with near matches.
        ImportError: when evaluated without MuJoCo.
    """

    a: FrameName
    shift: float = field(default=1e-3, kw_only=True)
    turn: float = field(default=float(np.deg2rad(0.5)), kw_only=True)
    speed: float = field(default=1e-2, kw_only=True)
    settle: float = field(default=0.5, kw_only=True)
    seconds: float = field(default=2.0, kw_only=True)
    legacy: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("shift", "turn", "speed", "settle", "seconds"):
            number(
                f"Stable: {name}", getattr(self, name), "a number >= 0",
                lambda x: x >= 0, PredicateError,
            )  # fmt: skip

    def verdict(self, C: Config) -> Verdict:
        return stability_verdict(C, self.a, self.limits)

    @property
    def limits(self) -> StabilityLimits:
        """The limits within which a counts as staying where it is."""
        return StabilityLimits(
            self.shift, self.turn, self.speed, self.settle, self.seconds, self.legacy
        )

    @property
    def duration(self) -> float:
        """Duration of the simulation [s]."""
        return self.limits.duration

    def verdict_of(self, motion: SimulatedTrajectory) -> Verdict:
        """Return the verdict of a simulation from rest, of at least its duration."""
        return motion_verdict(motion, self.a, self.limits)

    def relaxed(self, C: Config, truth: bool = True) -> ConstraintTerm:
        """Return rows of the equilibrium of all objects on free joints."""
        if self.legacy or not truth:
            return super().relaxed(C, truth)
        root = free_root(C, self.a)
        if root is None:
            return Conjunction(())
        stack = find_stack(C, root)
        members = {*stack.object_of(root)}
        if not any(members & {*pair} for pair in stack.pairs):
            raise PredicateError(
                f"{root!r} has nothing to rest on: no pair of frames with it can"
                " collide; see C.pairs.names()."
            )
        return standing_term(stack, self.shift)
