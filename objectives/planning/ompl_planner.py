"""RRT-Connect of OMPL, the Open Motion Planning Library.

After Şucan, Moll and Kavraki 2012, "The Open Motion Planning Library". OMPL asks for
one motion at a time; all places along it are checked in one call.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Float

from .planner import PlanningTask


class OmplPlanner:
    """RRT-Connect of OMPL with its default settings, for `KOMO.plan`.

    Raises:
        ImportError: without OMPL; names the extra.
    """

    def __init__(self) -> None:
        _import_ompl()

    def plan(self, task: PlanningTask) -> Float[np.ndarray, "k dof"] | None:
        """Return the corners of a path from the start to a goal; None: none was found.

        Args:
            task: the ends of the path, and checks of what lies between.
        """
        ompl = _import_ompl()
        end = time.perf_counter() + task.max_time
        with _silent_ompl(ompl):
            # Generators that are made later draw their seeds from this one.
            ompl.util.RNG.setSeed(task.seed)
            space = _space_of(ompl.base, task)
            problem = ompl.base.ProblemDefinition(space)
            problem.addStartState(_state(space, task.start))
            goals = ompl.base.GoalStates(space)
            for q in task.goals:
                goals.addState(_state(space, q))
            problem.setGoal(goals)
            planner = ompl.geometric.RRTConnect(space)
            planner.setProblemDefinition(problem)
            planner.setup()
            planner.solve(
                ompl.base.PlannerTerminationCondition(
                    lambda: time.perf_counter() >= end
                )
            )
            if not problem.hasExactSolution():
                return None
            states = problem.getSolutionPath().getStates()
            return np.array([_coordinates(x, len(task.start)) for x in states])


def _space_of(base: Any, task: PlanningTask) -> Any:
    """Return the configurations of a task with its checks, for OMPL.

    Args:
        base: the module `ompl.base`.
        task: the task.
    """
    dof = len(task.start)
    bounds = base.RealVectorBounds(dof)
    for k, (low, high) in enumerate(task.limits.T.tolist()):
        bounds.setLow(k, low)
        bounds.setHigh(k, high)
    states = base.RealVectorStateSpace(dof)
    states.setBounds(bounds)
    space = base.SpaceInformation(states)

    def is_free(state: Any) -> bool:
        return bool(task.are_free(np.array([_coordinates(state, dof)]))[0])

    class Motions(base.MotionValidator):  # type: ignore[misc]
        """Check of motions between states."""

        def checkMotion(self, a: Any, b: Any) -> bool:
            ends = np.array([[_coordinates(a, dof)], [_coordinates(b, dof)]])
            return bool(task.are_free_motions(*ends)[0])

    space.setStateValidityChecker(is_free)
    space.setMotionValidator(Motions(space))
    space.setup()
    return space


def _state(space: Any, q: Float[np.ndarray, " dof"]) -> Any:
    """Return a configuration as a state of OMPL."""
    state = space.allocState()
    for k, value in enumerate(q.tolist()):
        state[k] = value
    return state


def _coordinates(state: Any, dof: int) -> list[float]:
    """Return the configuration that a state of OMPL is; it has no length itself."""
    return [state[k] for k in range(dof)]


def _import_ompl() -> Any:
    """Return the module `ompl`.

    Raises:
        ImportError: without OMPL; names the extra.
    """
    try:
        import ompl.base
        import ompl.geometric
        import ompl.util
    except ImportError as error:
        raise ImportError(
            'planner="ompl" needs OMPL; install it with `pip install "posewise[ompl]"`.'
        ) from error
    return ompl


@contextmanager
def _silent_ompl(ompl: Any) -> Iterator[None]:
    """Keep OMPL from writing to the console within a block."""
    ompl.util.noOutputHandler()
    try:
        yield
    finally:
        ompl.util.restorePreviousOutputHandler()
