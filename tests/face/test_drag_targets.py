"""Paths in the viewer that are solved again while a target is dragged."""

import time

import jax
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ConfigError

pytest.importorskip("viser", reason="the viewer needs the extra viz")


def reaching(slices: int, is_certified: bool) -> pw.KOMO:
    """A planar arm whose tip is to reach a target; a post stands in its way."""
    C = pw.load("planar3")
    C.add_frame("target", position=[0.6, 0.3, 0], shape=pw.Marker())
    post = dict(shape=pw.Sphere(0.05), position=[0.0, -0.7, 0], contact=1)
    C.add_frame("post", **post)
    komo = pw.KOMO(C, phases=1, slices_per_phase=slices, k_order=1)
    komo.add_control_objective(order=1 if slices > 1 else 0, scale=0.1)
    komo.add_objective([1.0], FS.positionDiff, ["tip", "target"], OT.eq, name="reach")
    if is_certified:
        komo.avoid_collisions(margin=0.01)
    return komo


def drag(view, place) -> str:
    """Drag the target to a place; return what the page says then."""
    view.write("")
    view._gizmos["target"]._worker.put(np.array([*place, 1.0, 0, 0, 0]))
    end = time.monotonic() + 20
    while not view._text.content and time.monotonic() < end:
        time.sleep(0.002)
    assert view._text.content
    return view._text.content


@pytest.mark.long
@pytest.mark.parametrize(
    "is_certified", [pytest.param(True, marks=pytest.mark.slow), False]
)
def test_a_dragged_target_is_reached_again(is_certified, caplog):
    komo = reaching(6, is_certified)
    with komo.view("target", browser=False) as view:
        assert "Certified to be free of collisions" in view._text.content
        drag(view, [0.55, 0.35, 0])
        for place in ([0.5, 0.4, 0], [0.4, 0.5, 0]):
            with jax.log_compiles(), caplog.at_level("WARNING", logger="jax"):
                text = drag(view, place)
            assert text.startswith("**CONVERGED** in")
            assert "Certified to be free of collisions" in text
            world = view._animation.world(5)
            np.testing.assert_allclose(world.pose("tip")[:3], place, atol=2e-3)
            assert (view._animation.poses[-1] == world.poses()).all()
        assert "Compiling" not in caplog.text
        np.testing.assert_allclose(komo.config.pose("target")[:3], [0.4, 0.5, 0])
        text = drag(view, [3.0, 0.5, 0])
        assert text.startswith("**INFEASIBLE**") and "reach (" in text
        assert drag(view, [0.5, 0.4, 0]).startswith("**CONVERGED**")


def test_compilations_are_noticed(caplog):
    with jax.log_compiles(), caplog.at_level("WARNING", logger="jax"):
        jax.jit(lambda x: x + 3.25)(1.0)
    assert "Compiling" in caplog.text


@pytest.mark.long
def test_the_page_says_if_a_path_collides():
    komo = reaching(6, is_certified=False)
    with komo.view("target", browser=False) as view:
        text = drag(view, [0.0, -0.75, 0])
        assert "**Not certified** to be free of collisions: " in text
        assert "'post'" in text


def test_one_configuration_follows_its_target():
    komo = reaching(1, is_certified=False)
    with komo.view(["target"], browser=False) as view:
        assert drag(view, [0.3, 0.6, 0]).startswith("**CONVERGED**")
        np.testing.assert_allclose(
            view.config.pose("tip")[:3], [0.3, 0.6, 0], atol=2e-3
        )


def test_unknown_frames_are_told_before_the_solve():
    with pytest.raises(ConfigError, match="did you mean 'target'"):
        reaching(6, is_certified=False).view("taget", browser=False)
