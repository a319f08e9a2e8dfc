"""The joints between a robot's base and its tip, as a world of their own.

All arms of one structure share their compiled programs, whatever world they are in.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from posewise.features import FS
from posewise.objectives.komo import KOMO
from posewise.objectives.objective import OT
from posewise.objectives.solve.multistart import (
    best_solution,
    make_settings,
    make_solutions,
    solve_problems,
)
from posewise.objectives.solve.problem_batch import make_problem_batch
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.transforms import IDENTITY, pose_inverse, pose_multiply
from posewise.robots.world.frame import Model
from posewise.solvers.interruptible import NO_PROGRESS

from ..geometry.agents import find_agent

IK_OPTIONS: Any = dict(mu=1e3, damping=1.0, max_step=1.0, max_iterations=40)
"""Nothing but feasibility: trust the Newton steps, and soon start anew."""
POSITION_SCALE, ROTATION_SCALE = 5.0, 1.0
"""What residuals of positions and quaternions are scaled by."""


@dataclass(frozen=True, eq=False)
class SerialChain:
    """A chain of joints of a world, from a base that stands still to a tip."""

    C: Config
    base: str
    tip: str
    chain: tuple[int, ...]
    """Frames from below the base to the tip."""

    @classmethod
    def of(cls, C: Config, robot: str, tip: str | None) -> "SerialChain":
        """The joints between a robot's base and a tip.

        Args:
            C: the world.
            robot: an agent, or the frame that is the arm's base and stands still.
            tip: a frame; None: the agent's only hand.

        Raises:
            ConfigError: for unknown names, an agent without a single hand, a tip that
                does not hang on the base, and an arm without moving joints.
        """
        arm = cls.between(C, robot, tip)
        if not arm.chain or arm.own_world.nq == 0:
            raise ConfigError(
                f"No joint moves between {arm.base!r} and {arm.tip!r}; unlock some, or"
                " name a frame further up as the robot ('world': all joints above the"
                " tip)."
            )
        return arm

    @classmethod
    def between(cls, C: Config, robot: str, tip: str | None) -> "SerialChain":
        """The same, whether joints move or not; see `of`."""
        base = "world"
        if robot != "world":
            agent = find_agent(C, robot)
            base = agent.base
            if tip is None and len(agent.hands) == 1:
                (tip,) = agent.hands
        if tip is None:
            raise ConfigError(
                f"tip is None, and {robot!r} is no agent with one hand; name the frame"
                " that shall reach, e.g. tip='panda_hand_tcp'."
            )
        root, i = C.index(base), None if tip == "world" else C.index(tip)
        chain: list[int] = []
        while i is not None and i != root:
            chain.insert(0, i)
            i = C.frames[i].parent
        if i != root and not (chain and root == len(C.frames)):
            raise ConfigError(
                f"{tip!r} does not hang on {base!r}, the base of {robot!r}; name a"
                " frame above the tip as the robot."
            )
        return cls(C, base, tip, tuple(chain))

    @cached_property
    def own_world(self) -> Config:
        """The arm, its base in the world's origin; joints have the same names."""
        world = Config()
        world.add_model(bare_model(self.C, self.chain, self.chain), duplicates=True)
        return world

    @property
    def first_moving(self) -> int:
        """The frame, in the world, on the first joint that moves."""
        slots = self.own_world.tree.model.layout.slots
        return self.chain[slots[0].frame]

    @cached_property
    def coordinates(self) -> Int[np.ndarray, " n"]:
        """Which entries of the world's q are the arm's."""
        return self.C.coordinates(self.own_world.joint_names)

    @cached_property
    def base_pose(self) -> Float[np.ndarray, "7"]:
        """Of the base, in the world."""
        return IDENTITY if self.base == "world" else self.C.pose(self.base)

    def tips(self, q: Float[np.ndarray, "n nq"]) -> Float[np.ndarray, "n 7"]:
        """Poses of the tip in the base, at coordinates of the arm."""
        poses = self.own_world.forward_pass(q).frames.p[:, len(self.chain) - 1]
        turns = self.own_world.quaternions_at(q)[:, len(self.chain) - 1]
        return np.concatenate([poses, turns], -1)

    def solve(
        self,
        goals: Float[np.ndarray, "n 7"],
        turned: bool,
        starts: int,
        seed: int,
        every_start: bool = False,
    ) -> list[Float[np.ndarray, "found nq"]]:
        """For each pose of the tip in the base, coordinates that are near it.

        Args:
            goals: in the base.
            turned: the orientation counts.
            starts: of each; the first is the present state.
            seed: of the others.
            every_start: what all starts end at; else only the best.
        """
        komo, aim = self._problem(turned)
        targets = {aim: goals if turned else goals[:, :3]}
        settings = make_settings(
            komo.spec, 1e-3, False, IK_OPTIONS, seed=seed, starts=starts
        )
        problems = make_problem_batch([komo.spec], targets)
        which = range(problems.count)
        solves = solve_problems(
            problems,
            which,
            settings,
            NO_PROGRESS,
            max_solutions=starts if every_start else None,
        )
        every = make_solutions(problems, solves, settings.tolerance)
        groups = [[every[j] for j in group] for group in solves.rows_by_problem]
        kept = groups if every_start else [[best_solution(group)] for group in groups]
        return [np.array([s.q for s in group]) for group in kept]

    def _problem(self, turned: bool) -> tuple[KOMO, Any]:
        komo = KOMO(self.own_world)
        if turned:
            aim: Any = dict(
                symbol=FS.pose, scale=[POSITION_SCALE] * 3 + [ROTATION_SCALE] * 4
            )
        else:
            aim = dict(symbol=FS.position, scale=POSITION_SCALE)
        return komo, komo.add_objective(None, frames=[self.tip], type=OT.eq, **aim)


def bare_model(C: Config, frames: Sequence[int], moving: Collection[int]) -> Model:
    """Copies of frames without shapes and masses, at the present state.

    Args:
        C: the world.
        frames: each with all between it and the first, which hangs on none of them.
        moving: those of which the joints are not locked.
    """
    place = {i: k for k, i in enumerate(frames)}
    names = {f.joint.name for i in frames if (f := C.frames[i]).joint}
    copies, values = [], {}
    for k, i in enumerate(frames):
        frame = C.frames[i]
        joint, parent = frame.joint, frame.parent
        if joint is not None and joint.mimic not in (None, *names):
            up = IDENTITY if parent is None else C.pose(C.frames[parent].name)
            still = pose_multiply(pose_inverse(up), C.pose(frame.name))
            frame, joint = replace(frame, origin=still), None
        if joint is not None and joint.mimic is None:
            values[k] = C.joint_value(joint.name)
            joint = replace(joint, active=joint.active and i in moving)
        up_there = None if parent is None else place.get(parent)
        nothing: Any = dict(geometries=(), contact=0, mass=None, com=None, inertia=None)
        copies.append(replace(frame, parent=up_there, joint=joint, **nothing))
    return Model(tuple(copies), values)
