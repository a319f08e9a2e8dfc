"""Programs of path problems, compiled before they are needed.

A program depends on the robot, the slices, the kinds of objectives, and on classes of
the number and the kinds of bodies around the robot; see `compilation.capacity`. What
surrounds the robot here stands for all of a class.
"""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.compilation.compile_time import total_compile_seconds
from posewise.compilation.progress import write_line
from posewise.robots.config import Config
from posewise.robots.geometry.shapes import Box, Convex, Cylinder, Plane
from posewise.robots.validation import integer

from .komo import KOMO
from .planning.planned_starts import compile_search
from .problem.spec import certify_path, compile_chain, initial_paths
from .solve.alternatives import resolve_alternatives
from .solve.goal_starts import goal_paths
from .solve.multistart import solve_starts
from .solve.settings import make_settings
from .terms.objective import ObjectiveError

USUAL_BODIES = (4, 20)
"""Numbers of bodies around a robot that are compiled for (counts): a simple scene, and
one with much furniture. Each takes as long as the first solve of a problem."""
DISTANCE = 50.0
"""Distance from the origin at which bodies stand that only stand for others [m]. A
smaller one is in the reach of large robots."""
CORNERS: Float[np.ndarray, "8 3"] = np.array(
    [[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.12)]
)
"""Vertices of the hull among these bodies [m]."""


def prepare(
    problems: KOMO | Iterable[KOMO],
    bodies: int | Iterable[int] = USUAL_BODIES,
    *,
    progress: bool = True,
) -> float:
    """Compile the programs that solves of path problems need, before they are needed.

    They are kept in the cache of programs, so that this is done once on a machine and
    for a version. Afterwards neither the first solve of these problems in a process
    compiles anything, nor one in another world of the same robot, with up to the
    largest number of bodies around it, of any shapes with at most 32 vertices a hull.

    Args:
        problems: path problems, with the objectives that will be used; their targets
            and other numbers do not matter.
        bodies: one or several numbers of bodies around the robot, besides those in the
            problem's world. A solve takes the programs of the least number that is
            enough.
        progress: whether a line on stderr says when a step begins.

    Returns:
        The time that compiling took [s]; 0 if all programs were there.

    Raises:
        ObjectiveError: for anything but problems, and numbers that are no counts.
    """
    listed = _listed("problems", problems)
    for problem in listed:
        if not isinstance(problem, KOMO):
            raise ObjectiveError(
                f"problems has a {type(problem).__name__}, expected a KOMO with its"
                " objectives, or a list of them."
            )
    counts = sorted(
        integer("bodies", n, "integers >= 0", lambda n: n >= 0, ObjectiveError)
        for n in _listed("bodies", bodies)
    )
    began = total_compile_seconds()
    for k, problem in enumerate(listed):
        # Fewer bodies first: the programs of more would serve them, too.
        for count in counts:
            if progress:
                write_line(
                    f"posewise: preparing problem {k + 1} of {len(listed)} with"
                    f" {count} bodies around the robot …"
                )
            _solve_once(problem, count)
    return total_compile_seconds() - began


def _listed(name: str, value: object) -> list[Any]:
    """Return an argument that may be one value or several as a list."""
    if isinstance(value, Iterable) and not isinstance(value, str | KOMO):
        return list(value)
    return [value]


def _solve_once(problem: KOMO, count: int) -> None:
    """Run all that a solve runs, with bodies around the robot."""
    world = surrounded(problem.config, count)
    spec = resolve_alternatives(problem.spec.in_world(world))[0]
    settings = make_settings(spec, 1e-3, False, {}, seed=0, starts=1)
    with warnings.catch_warnings():
        # What there is to say of the problem its own solve says.
        warnings.simplefilter("ignore")
        solve_starts(spec, settings, retry=False, findings=())
        world.collisions(2 * DISTANCE + count)
        path = initial_paths(spec, 0, 1)[0]
        if certify_path(spec, path) is not None:
            goal_paths(spec, compile_chain(spec), path, settings, lambda _: None)
            compile_search(spec)


def surrounded(C: Config, count: int) -> Config:
    """Return a copy of a world with a number of bodies of all kinds, far away."""
    world = C.copy()
    shapes = Box([0.2, 0.2, 0.2]), Cylinder(0.2, 0.1), Convex(CORNERS), Plane()
    for k in range(count):
        shape = shapes[k % len(shapes)]
        place = (
            [DISTANCE, k, 0.0] if not isinstance(shape, Plane) else [0, 0, -DISTANCE]
        )
        world.add_frame(f"prepared body {k}", position=place, shape=shape)
    return world
