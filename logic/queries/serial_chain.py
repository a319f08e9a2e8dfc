"""Serial chains: the joints between a robot's base and its tip, as a separate world.

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
from posewise.objectives.solve.multistart import make_solutions
from posewise.objectives.solve.problem_batch import make_problem_batch
from posewise.objectives.solve.settings import make_settings
from posewise.objectives.solve.start_batches import solve_problems
from posewise.objectives.terms.objective import OT
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.kinematics.transforms import IDENTITY, pose_inverse, pose_multiply
from posewise.robots.typing import FrameName
from posewise.robots.world.frame import Model
from posewise.solvers.deadline import no_time_limit
from posewise.solvers.interruptible import NO_PROGRESS

from ..geometry.agents import find_agent

IK_OPTIONS: Any = dict(mu=1e3, damping=1.0, max_step=1.0, max_iterations=40)
"""Solver options of inverse kinematics.

There is no cost, so that Newton steps can be trusted; a start that does not converge
soon is given up for the next one.
"""
POSITION_SCALE = 5.0
"""Scale of position residuals [1/m]; with a larger one positions count more against
orientations."""
ROTATION_SCALE = 1.0
"""Scale of quaternion residuals [1]; with a larger one orientations count more against
positions."""


@dataclass(frozen=True, eq=False)
class SerialChain:
    """A chain of joints of a world, from a fixed base to a tip."""

    C: Config
    base: str
    tip: str
    chain: tuple[int, ...]
    """Frames from below the base to the tip."""

    @classmethod
    def of(cls, C: Config, robot: str, tip: FrameName | None) -> "SerialChain":
        """Return the joints between a robot's base and a tip.

        Args:
            C: the world.
            robot: an agent, or the frame that is the arm's fixed base.
            tip: a frame; None: the agent's only hand.

        Raises:
            ConfigError: for unknown names, an agent without a single hand, a tip that
                is not attached to the base, and an arm without moving joints.
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
    def between(cls, C: Config, robot: str, tip: FrameName | None) -> "SerialChain":
        """Return the chain even if none of its joints moves; see `of`."""
        base = "world"
        if robot != "world":
            agent = find_agent(C, robot)
            base = agent.base
            if tip is None and len(agent.hands) == 1:
                (tip,) = agent.hands
        if tip is None:
            raise ConfigError(
                f"tip is None, and {robot!r} is no agent with one hand; name the frame"
                " that must reach, e.g. tip='panda_hand_tcp'."
            )
        root, i = C.index(base), None if tip == "world" else C.index(tip)
        chain: list[int] = []
        while i is not None and i != root:
            chain.insert(0, i)
            i = C.frames[i].parent
        if i != root and not (chain and root == len(C.frames)):
            raise ConfigError(
                f"{tip!r} is not attached to {base!r}, the base of {robot!r}; name a"
                " frame above the tip as the robot."
            )
        return cls(C, base, tip, tuple(chain))

    @cached_property
    def own_world(self) -> Config:
        """The arm alone, with its base in the origin and the same joint names."""
        world = Config()
        world.add_model(bare_model(self.C, self.chain, self.chain), duplicates=True)
        return world

    @property
    def first_moving(self) -> int:
        """Index, in the world, of the frame on the first joint that moves."""
        slots = self.own_world.tree.model.layout.slots
        return self.chain[slots[0].frame]

    @cached_property
    def coordinates(self) -> Int[np.ndarray, " n"]:
        """Indices of the arm's coordinates in the world's q."""
        return self.C.joints.coordinates(self.own_world.joint_names)

    @cached_property
    def base_pose(self) -> Float[np.ndarray, "7"]:
        """Pose of the base in the world."""
        return IDENTITY if self.base == "world" else self.C.pose(self.base)

    def tips(self, q: Float[np.ndarray, "n nq"]) -> Float[np.ndarray, "n 7"]:
        """Return the poses of the tip in the base, at coordinates of the arm."""
        last = len(self.chain) - 1
        positions = self.own_world.forward_pass(q).frames.p[:, last]
        quaternions = self.own_world.joints.quaternions_at(q)[:, last]
        return np.concatenate([positions, quaternions], -1)

    def solve(
        self,
        goals: Float[np.ndarray, "n 7"],
        oriented: bool,
        starts: int,
        seed: int,
        every_start: bool = False,
    ) -> list[Float[np.ndarray, "_ nq"]]:
        """Return, for each goal, coordinates at which the tip is near.

        Args:
            goals: poses of the tip in the base.
            oriented: whether the orientation counts.
            starts: number of starts of each; the first is the present state.
            seed: of the other starts.
            every_start: return the solutions of all starts, not only the best.
        """
        komo, objective = self._problem(oriented)
        targets = {objective: goals if oriented else goals[:, :3]}
        settings = make_settings(
            komo.spec, 1e-3, False, IK_OPTIONS, seed=seed, starts=starts
        )
        problems = make_problem_batch([komo.spec], targets)
        # A verdict depends on what is found here, and must not on the time it takes.
        with no_time_limit():
            solves = solve_problems(
                problems,
                range(problems.count),
                settings,
                NO_PROGRESS,
                max_solutions=starts if every_start else None,
            )
        if solves.is_interrupted.any():
            raise KeyboardInterrupt
        if not every_start:
            solves = solves.select(solves.best_rows(settings.tolerance))
        solutions_by_goal: list[list[np.ndarray]] = [[] for _ in goals]
        solutions = make_solutions(problems, solves, settings.tolerance)
        for b, solution in zip(solves.problem.tolist(), solutions, strict=True):
            solutions_by_goal[b].append(solution.q)
        return [np.array(solved) for solved in solutions_by_goal]

    def _problem(self, oriented: bool) -> tuple[KOMO, Any]:
        """Return a problem of one slice, and its objective for the tip."""
        komo = KOMO(self.own_world)
        if oriented:
            target: Any = dict(
                symbol=FS.pose, scale=[POSITION_SCALE] * 3 + [ROTATION_SCALE] * 4
            )
        else:
            target = dict(symbol=FS.position, scale=POSITION_SCALE)
        return komo, komo.add_objective(None, frames=[self.tip], type=OT.eq, **target)


def bare_model(C: Config, frames: Sequence[int], moving: Collection[int]) -> Model:
    """Return copies of frames without shapes and masses, at the present state.

    Args:
        C: the world.
        frames: each with all frames between it and the first, which is the root.
        moving: frames whose joints are not locked.
    """
    position = {i: k for k, i in enumerate(frames)}
    names = {f.joint.name for i in frames if (f := C.frames[i]).joint}
    copies, values = [], {}
    for k, i in enumerate(frames):
        frame = C.frames[i]
        joint, parent = frame.joint, frame.parent
        if joint is not None and joint.mimic not in (None, *names):
            # The joint that this one mimics is not copied, so the frame is fixed.
            X_parent = IDENTITY if parent is None else C.pose(C.frames[parent].name)
            fixed = pose_multiply(pose_inverse(X_parent), C.pose(frame.name))
            frame, joint = replace(frame, origin=fixed), None
        if joint is not None and joint.mimic is None:
            values[k] = C.joints.value(joint.name)
            joint = replace(joint, active=joint.active and i in moving)
        copied_parent = None if parent is None else position.get(parent)
        bare: Any = dict(geometries=(), contact=0, mass=None, com=None, inertia=None)
        copies.append(replace(frame, parent=copied_parent, joint=joint, **bare))
    return Model(tuple(copies), values)
