"""Initial paths and starts of path problems, as users give them, checked."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.kinematics.manifold import difference
from posewise.robots.typing import MatrixLike, VectorLike
from posewise.robots.validation import float_array, require_finite

from ..terms.objective import ObjectiveError
from ..trajectory.waypoints import resample_path, waypoint_path
from .spec import ProblemSpec


def parse_path(
    spec: ProblemSpec, path: MatrixLike | VectorLike, label: str = "path"
) -> Float[np.ndarray, "T nq"]:
    """Return an initial path; see `KOMO.initialize`.

    Args:
        spec: the problem.
        path: as users give it.
        label: name of the argument, for messages.
    """
    C, T, n = spec.config, spec.T, spec.config.nq
    expected = f"({T}, {n}), ({n},), or (S, {n}) for a path of S slices"
    values = float_array(label, path, f"{expected}, numbers", ObjectiveError)
    if values.shape != (n,) and (values.ndim != 2 or values.shape[1] != n):
        raise ObjectiveError(f"{label} has shape {values.shape}, expected {expected}.")
    if not values.size:
        raise ObjectiveError(f"{label} has no slice, expected {expected}.")
    if not np.isfinite(values).all():
        raise ObjectiveError(f"{label} has NaN or infinite entries.")
    if values.ndim == 1 or len(values) == T:
        return np.array(np.broadcast_to(values, (T, n)))
    return resample_path(C.q, values, T, C.joints.quaternions)


def parse_start_velocity(
    spec: ProblemSpec, velocity: VectorLike | None, previous: VectorLike | None
) -> Float[np.ndarray, " nv"] | None:
    """Return the velocity with which a path begins; see `KOMO.set_start`."""
    if velocity is None and previous is None:
        return None
    if velocity is not None and previous is not None:
        raise ObjectiveError(
            "velocity and previous are given, expected one of them: a velocity, or the"
            " configuration one step before."
        )
    if spec.durations:
        raise ObjectiveError(
            "The durations are variables, also that of the step before the start, so"
            " that the start is at rest; leave free_durations() out."
        )
    if spec.k_order < 2:
        raise ObjectiveError(
            f"The problem has k_order {spec.k_order}, so that no objective depends on"
            " how the start moves; make the KOMO with k_order=2."
        )
    C = spec.config
    if velocity is not None:
        return _finite_vector("velocity", velocity, C.nv)
    before = C.tree.checked_coordinates(
        "previous", _finite_vector("previous", previous, C.nq)
    )
    return difference(C.tree.model.layout.tree, before, C.q) / spec.tau[0]


def _finite_vector(label: str, value: Any, n: int) -> Float[np.ndarray, " n"]:
    values = float_array(label, value, f"({n},) numbers", ObjectiveError)
    require_finite(label, values, ObjectiveError)
    if values.shape != (n,):
        raise ObjectiveError(f"{label} has shape {values.shape}, expected ({n},).")
    return values


def parse_paths(
    specs: Sequence[ProblemSpec], paths: Iterable[MatrixLike | VectorLike]
) -> list[Float[np.ndarray, "T nq"]]:
    """Return the initial path of each problem; see `KOMO.solve_batch`.

    Args:
        specs: the problem in each world, or in the one world of all problems.
        paths: as users give them.
    """
    try:
        listed = list(paths)
    except TypeError:
        raise ObjectiveError(
            f"initial_paths is {paths!r}, expected a list of paths, one for each"
            " problem."
        ) from None
    # Another number of paths than of worlds is reported where the batch is made.
    return [
        parse_path(specs[min(b, len(specs) - 1)], path, f"initial_paths[{b}]")
        for b, path in enumerate(listed)
    ]


def parse_waypoints(
    spec: ProblemSpec, waypoints: MatrixLike, linear: bool
) -> Float[np.ndarray, "T nq"]:
    """Return a path through waypoints; see `KOMO.initialize_waypoints`."""
    C = spec.config
    shape = spec.num_phases, C.nq
    points = float_array("waypoints", waypoints, f"{shape} numbers", ObjectiveError)
    require_finite("waypoints", points, ObjectiveError)
    if points.shape != shape:
        raise ObjectiveError(
            f"waypoints have shape {points.shape}, expected {shape}: the coordinates at"
            " the end of each phase."
        )
    path = waypoint_path(
        C.q, points, spec.slices_per_phase, spec.T, C.joints.quaternions, linear
    )
    return np.clip(path, *C.limits)
