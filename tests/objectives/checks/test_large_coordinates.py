"""Coordinates that are too large for the digits of JAX's numbers are told."""

import re
import warnings

import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT
from posewise.objectives.checks.findings import find_problems
from posewise.robots.kinematics import rounding

LARGE = "Coordinates are too large for"


@pytest.fixture(params=[np.float32, np.float64])
def kind(request, monkeypatch):
    monkeypatch.setattr(rounding, "float_type", lambda: request.param)
    return request.param


def arm(place=(0.0, 0, 0)):
    C = pw.Config()
    C.add_frame("base", position=place)
    C.add_frame("link", "base", joint="hingeZ")
    C.add_frame("tip", "link", position=[1, 0, 0])
    return C


def problem(C, target=(0.5, 0.5, 0)):
    komo = pw.KOMO(C, 1, 2, 1)
    komo.add_objective([1.0], FS.position, ["tip"], OT.eq, target=target)
    return komo


def far_base(size):
    return problem(arm([0.1 * size, size, 0]), [0.1 * size, size + 1, 0])


def far_target(size):
    return problem(arm(), [0, size, 0])


def far_slide(size):
    # The frame itself is at the origin.
    C = arm()
    C.add_frame("slide", "base", position=[-size, 0, 0])
    C.add_frame("cart", "slide", joint="transX", q=[size])
    return problem(C)


def far_planar(size):
    C = arm()
    C.add_frame("cart", joint="transXYPhi", q=[0, size, 0])
    return problem(C)


def far_free(size):
    C = arm()
    C.add_frame("box", joint="free", position=[0, 0, size])
    return problem(C)


def turned(size):
    C = arm()
    C.set_joint("link", size)
    return problem(C)


def large_shape(size):
    C = arm()
    C.add_frame("floor", shape=pw.Box([2 * size, 2 * size, 0.1]))
    return problem(C)


PROBLEMS = [far_base, far_target, far_slide, far_planar, far_free, turned, large_shape]


def told(komo) -> list[str]:
    return [f for f in find_problems(komo.spec, 1e-3) if f.startswith(LARGE)]


@pytest.mark.parametrize("make", PROBLEMS)
def test_what_is_rounded_by_more_than_the_tolerance(make, kind):
    # 4.5e6 has a step of 0.5 in float32, and 2e13 one of 1/256 in float64.
    size, step = {np.float32: (4.5e6, 0.5), np.float64: (2e13, 1 / 256)}[kind]
    (finding,) = told(make(size))
    assert kind.__name__ in finding
    error = float(re.search(r"Errors are about (\S+) m", finding)[1])
    # Numbers beside it may be up to twice as large.
    assert step * 0.99 <= error <= 2.01 * step
    assert ("jax_enable_x64" in finding) == (kind is np.float32)
    assert not told(make({np.float32: 2e3, np.float64: 4.5e6}[kind]))


def test_eval_warns(kind):
    size = {np.float32: 4.5e6, np.float64: 2e13}[kind]
    with pytest.warns(pw.ProblemWarning, match=r"position of \['tip'\] at"):
        arm([size, 0, 0]).eval(FS.position, ["tip"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arm([2e3, 0, 0]).eval(FS.position, ["tip"])


@pytest.mark.filterwarnings("ignore::posewise.ProblemWarning")
def test_solutions_tell_where_they_end():
    solution = problem(arm([1e14, 0, 0]), [1e14 + 1, 0, 0]).solve()
    assert any(doubt.startswith(LARGE) for doubt in solution.doubts)
    assert LARGE in solution.report()


def test_placements_warn():
    C = pw.Config()
    C.add_frame(
        "box", joint="free", shape=pw.Box([0.1, 0.1, 0.1]), position=[1e14, 0, 0]
    )
    goal = (pw.Feature(FS.position, ["box"], target=[1e14, 0, 1]), OT.eq)
    with pytest.warns(pw.ProblemWarning, match=f"{LARGE} float64: 'box' in the world"):
        pw.solve_placement(C, [goal], movable=["box"], starts=1, collisions=False)
