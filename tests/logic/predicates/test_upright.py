"""Upright: its verdict and its rows, against the angle of a random rotation."""

import numpy as np
import pytest

import posewise as pw
from posewise import logic
from posewise.logic.errors import PredicateError


def test_verdict_and_rows_are_those_of_the_angle():
    rng = np.random.default_rng(0)
    C = pw.Config()
    C.add_frame("cup", joint="free", shape=pw.Box([0.1] * 3))
    for _ in range(40):
        tilt, angle = rng.uniform(0.01, 3.1), rng.uniform(0, np.pi)
        turn = rng.uniform(-np.pi, np.pi)
        axis = np.sin(angle / 2) * np.array([np.cos(turn), np.sin(turn), 0.0])
        C.q = [0, 0, 0, np.cos(angle / 2), *axis]
        upright = logic.Upright("cup", tilt=tilt)
        assert upright.holds(C) == (angle <= tilt)
        if abs(angle - tilt) > 1e-3:
            assert (upright.violation(C) <= 0) == (angle <= tilt)
            assert ((~upright).violation(C) <= 0) == (angle > tilt)
        assert f"{np.degrees(angle):.1f} degrees" in upright.explain(C)


@pytest.mark.parametrize("tilt", [0.0, 4.0, -1.0, np.nan])
def test_other_tilts_are_refused(tilt):
    with pytest.raises(PredicateError, match="tilt"):
        logic.Upright("cup", tilt=tilt)
