"""rai's toy problems, by name: small nonlinear programs to try solvers on.

Each is a function of x (n,) that returns the rows φ (m,), and works for complex x, too:
Jacobians are by complex steps, exact to rounding.
"""

from collections.abc import Callable
from enum import Enum

import numpy as np

from .coverage import NotInPosewise
from .enums import OT
from .nlp_factory import Evaluation, NLP_Factory
from .parameters import params_get

COMPLEX_STEP = 1e-30
"""Step of complex differences [x's unit]; a smaller one may underflow, no other is
less exact."""

Rows = Callable[[np.ndarray], np.ndarray]
"""Function of x (n,) that returns the rows (m,)."""

Problem = tuple[Rows, list[Enum], np.ndarray]
"""Rows, their types, and the limits (2, n) of x."""


def _within(limit: float, n: int) -> np.ndarray:
    return np.full((2, n), [[-limit], [limit]])


# -- costs -----------------------------------------------------------------------


def _rosenbrock(n: int) -> Problem:
    def f(x: np.ndarray) -> np.generic:
        return np.sum((x[1:] - x[:-1] ** 2) ** 2 + 0.01 * (1 - x[:-1]) ** 2)

    return lambda x: np.array([f(x)]), [OT.f], _within(2.0, n)


def _rastrigin(n: int) -> Problem:
    def f(x: np.ndarray) -> np.generic:
        return np.sum(10 + x**2 - 10 * np.cos(2 * np.pi * x))

    return lambda x: np.array([f(x)]), [OT.f], _within(5.12, n)


def _rastrigin_squares(n: int) -> Problem:
    def rows(x: np.ndarray) -> np.ndarray:
        return np.concatenate([np.sin(4 * x), 2 * x])

    return rows, [OT.sos] * 4, _within(2.0, 2)


def _ackley(n: int) -> Problem:
    def f(x: np.ndarray) -> np.generic:
        waves = np.mean(np.cos(2 * np.pi * x))
        return -20 * np.exp(-0.2 * np.sqrt(np.mean(x**2))) - np.exp(waves) + 20 + np.e

    return lambda x: np.array([f(x)]), [OT.f], _within(2.0, n)


def _himmelblau(n: int) -> Problem:
    def f(x: np.ndarray) -> np.generic:
        return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2

    return lambda x: np.array([f(x)]), [OT.f], _within(5.0, 2)


def _square(n: int) -> Problem:
    """Squares along random axes, the last of them a hundred times as steep."""
    axes, _ = np.linalg.qr(np.random.normal(size=(n, n)))
    C = axes * 100.0 ** np.linspace(0, 0.5, n)[:, None]
    center = np.random.uniform(-1, 1, n)
    return lambda x: C @ (x - center), [OT.sos] * n, _within(2.0, n)


def _rugged(n: int) -> Problem:
    """Random values at ten points, mixed by distance between the nearest two."""
    points, values = np.random.uniform(-1, 1, (10, n)), np.random.normal(size=10)

    def f(x: np.ndarray) -> np.generic:
        near = np.argsort(np.linalg.norm(points - x.real, axis=1))[:2]
        distance = np.sqrt(np.sum((points[near] - x) ** 2, 1))
        return values[near] @ distance[::-1] / (distance.sum() + 1e-10)

    return lambda x: np.array([f(x)]), [OT.sos], _within(1.0, n)


# -- constraints -----------------------------------------------------------------


def _box(n: int) -> Problem:
    def rows(x: np.ndarray) -> np.ndarray:
        return np.concatenate([-x - 1, x - 1])

    return rows, [OT.ineq] * (2 * n), _within(2.0, n)


def _modes(n: int) -> Problem:
    """A ball at 0 and a small one at each corner of a cube; one of them holds x."""
    corners = np.stack(np.meshgrid(*[[1.0, -1.0]] * n), -1).reshape(-1, n)
    centers = np.concatenate([corners, np.zeros((1, n))])
    radii = np.array([0.1] * len(corners) + [0.5])

    def rows(x: np.ndarray) -> np.ndarray:
        depths = np.sum((x - centers) ** 2, 1) / radii**2 - 1
        return depths[[np.argmin(depths.real)]]

    return rows, [OT.ineq], _within(1.2, n)


def _wedge(n: int) -> Problem:
    def rows(x: np.ndarray) -> np.ndarray:
        return np.array([x.sum(), *(1.5 * x - x.sum() - 0.2)])

    return rows, [OT.f, OT.ineq, OT.ineq], _within(2.0, 2)


def _half_circle(n: int) -> Problem:
    def rows(x: np.ndarray) -> np.ndarray:
        return np.array([x.sum(), x @ x - 0.25, -x[0] - 0.2])

    return rows, [OT.f, OT.ineq, OT.ineq], _within(2.0, 2)


def _linear_program(n: int) -> Problem:
    """Random half-spaces, in all of which 0 is."""
    m = 5 * n + 5
    slopes, offsets = np.random.normal(size=(m, n)), np.random.normal(size=m)
    offsets = -np.abs(offsets) - 0.2

    def rows(x: np.ndarray) -> np.ndarray:
        return np.array([x.sum(), *(offsets + slopes @ x)])

    return rows, [OT.f] + [OT.ineq] * m, _within(2.0, n)


def _sphere_packing(n: int) -> Problem:
    """Fifty balls apart from each other in a box, each as low as possible."""
    count, radius = 50, 0.21
    first, second = np.triu_indices(count, 1)

    def rows(x: np.ndarray) -> np.ndarray:
        centers = x.reshape(count, 3)
        between = centers[first] - centers[second]
        overlaps = 2 * radius - np.sqrt(np.sum(between**2, 1))
        return np.concatenate([overlaps, centers[:, 2]])

    types = [OT.ineq] * len(first) + [OT.f] * count
    walls = np.array([[-1.0, -1, 0], [1, 1, 16]]) + radius * np.array([[1], [-1]])
    return rows, types, np.tile(walls, count)


_PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "square": _square,
    "Rugged": _rugged,
    "Rastrigin": _rastrigin,
    "RastriginSOS": _rastrigin_squares,
    "Rosenbrock": _rosenbrock,
    "Ackley": _ackley,
    "Himmelblau": _himmelblau,
    "Box": _box,
    "Modes": _modes,
    "Wedge": _wedge,
    "HalfCircle": _half_circle,
    "LinearProgram": _linear_program,
    "SpherePacking": _sphere_packing,
}


def get_NLP_Problem_names() -> list[str]:
    """Return the names of the problems."""
    return list(_PROBLEMS)


def make_NLP_Problem(problem_name: str) -> NLP_Factory:
    """Return a problem.

    Args:
        problem_name: its name, and the number of its variables after a dot, such as
            "Rosenbrock.4"; without it, the parameter `problem/dim`, or else 2.

    Raises:
        NotInPosewise: for another name.
    """
    name, _, dimension = problem_name.partition(".")
    if name not in _PROBLEMS:
        raise NotInPosewise(
            f"make_NLP_Problem: there is no {name!r}; there are"
            f" {', '.join(_PROBLEMS)}. Write problems of robots by `KOMO`, and others"
            " by `NLP_Factory`."
        )
    n = int(dimension or params_get().get("problem/dim", 2))
    rows, types, limits = _PROBLEMS[name](n)

    def evaluate(x: np.ndarray) -> Evaluation:
        steps = x + 1j * COMPLEX_STEP * np.eye(len(x))
        slopes = [rows(step).imag / COMPLEX_STEP for step in steps]
        return rows(x), np.stack(slopes, 1)

    nlp = NLP_Factory()
    nlp.setDimension(limits.shape[1])
    nlp.setBounds(*limits)
    nlp.setTypes(types)
    nlp.setEvalCallback(evaluate)
    return nlp
