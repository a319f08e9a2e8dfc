"""Planners as plug-ins: what they are asked, and what they answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float


@dataclass(frozen=True, eq=False)
class PlanningTask:
    """A free path that is asked for, in the coordinates that may move.

    Both checks look at many configurations or motions in one call, which takes hardly
    longer than at one. They raise KeyboardInterrupt when the time is over.
    """

    start: Float[np.ndarray, " dof"]
    """The first configuration [rad, m]."""
    goals: Float[np.ndarray, "n dof"]
    """Configurations, any of which may be the last one [rad, m]."""
    limits: Float[np.ndarray, "2 dof"]
    """Lower and upper ends of the ranges; start and goals are within [rad, m]."""
    are_free: Callable[[Float[np.ndarray, "n dof"]], Bool[np.ndarray, " n"]]
    """Return whether configurations keep all distances."""
    are_free_motions: Callable[
        [Float[np.ndarray, "n dof"], Float[np.ndarray, "n dof"]],
        Bool[np.ndarray, " n"],
    ]
    """Return whether straight motions from the first to the second configurations keep
    all distances at places along them; the first configurations are not checked."""
    max_time: float
    """Time after which a planner returns None [s], a finite one."""
    seed: int
    """Seed of what is random, from 1 to 2^31 - 1."""


@runtime_checkable
class Planner(Protocol):
    """A search for free paths, such as one of another library, for `KOMO.plan`.

    Its path is made shorter, certified and brought onto slices as that of posewise's
    search is. What it gets wrong is so told, and never returned as feasible.
    """

    def plan(self, task: PlanningTask) -> Float[np.ndarray, "k dof"] | None:
        """Return the corners of a path from the start to a goal; None: none was found.

        Args:
            task: the ends of the path, and checks of what lies between.
        """
        ...


PlannerName: TypeAlias = Literal["rrt-connect", "ompl"]
"""Names of planners: posewise's, and RRT-Connect of OMPL (extra `ompl`)."""
PlannerLike: TypeAlias = PlannerName | Planner
"""A planner, or its name."""
