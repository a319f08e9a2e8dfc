"""Names that `Config` had before its facets: each works, and names the new one."""

import copy
import subprocess
import sys
import warnings

import numpy as np
import pytest

import posewise as pw
from posewise.robots import ObjectState
from posewise.robots.config.old_names import NEW_NAMES


def annotated_world():
    C = pw.Config()
    C.add_frame("arm", joint="hingeZ", limits=[-1, 1], shape=pw.Box([0.1, 0.1, 0.1]))
    C.add_object("mug", [pw.Box([0.1, 0.1, 0.1])], joint="free")
    C.joints.add_named_state("ready", {"arm": 0.5})
    C.annotations.add_region("mug", "hole", size=[0.1, 0.1, 0.1])
    C.annotations.rooms = pw.RoomMap([pw.Room("hall", cells=[0, 0, 4, 4])], size=4)
    C.annotations.add_camera("eyes", "arm")
    C.annotations.add_agent("robot", "arm", camera="eyes")
    return C


@pytest.mark.parametrize("old", NEW_NAMES)
def test_an_old_name_warns_with_the_new_one_and_gives_the_same(old):
    C = annotated_world()
    facet, name = NEW_NAMES[old].split(".")
    new = getattr(getattr(C, facet), name)
    match = rf"Config\.{old} is now Config\.{facet}\.{name};"
    with pytest.warns(DeprecationWarning, match=match):
        value = getattr(C, old)
    if callable(new):
        assert value.__func__ is new.__func__
        assert value.__self__._world is new.__self__._world is C
    else:
        np.testing.assert_equal(value, new)
        assert np.size(new) or old == "quaternions_at"


@pytest.mark.long
def test_python_shows_the_line_of_the_user():
    code = "import posewise as pw\nC = pw.Config()\nC.collision_pairs()\nC.states = {}"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8"
    )
    lines = [f"<string>:{k}: DeprecationWarning: Config." for k in (3, 4)]
    assert all(line in shown.stderr for line in lines), shown.stderr


def test_old_names_are_those_of_no_attribute():
    assert not set(NEW_NAMES) & set(dir(pw.Config))


def test_old_methods_edit_the_world():
    C = annotated_world()
    with pytest.warns(DeprecationWarning, match=r"Config\.joints\.set_limits"):
        C.set_limits("arm", [-2, 2])
    with pytest.warns(DeprecationWarning, match=r"Config\.annotations\.mark_object"):
        assert C.mark_object("arm") == C.object("arm")
    assert C.limits[1, 0] == 2


def test_old_properties_can_be_set():
    C = annotated_world()
    warm = {"mug": ObjectState(temperature=50.0)}
    with pytest.warns(DeprecationWarning, match=r"Config\.annotations\.states"):
        C.states = warm
    assert C.annotations.states["mug"].temperature == 50
    with pytest.warns(DeprecationWarning, match=r"Config\.annotations\.rooms"):
        C.rooms = None
    assert C.annotations.rooms is None
    with pytest.warns(DeprecationWarning), pytest.raises(AttributeError):
        C.periods = [1.0]


def test_names_that_no_world_has_are_unknown():
    C = annotated_world()
    with pytest.raises(AttributeError, match="'Config' object has no attribute 'jont'"):
        C.jont  # noqa: B018
    with pytest.raises(AttributeError):
        C.joints.limit = 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert copy.deepcopy(C).joint_names == C.joint_names


def test_facets_are_those_of_their_world():
    C = annotated_world()
    D = C.copy()
    D.joints.set_limits("arm", None)
    D.annotations.set_state("mug", temperature=90.0)
    D.pairs.reserve([(0, 1)])
    assert np.isinf(D.limits).all() and C.limits[1, 0] == 1
    assert C.annotations.states["mug"].temperature != 90
    assert len(C.pairs.places()[0]) == len(C.pairs.names())
