"""Homes and named states that are set from Python, and states of SRDF files."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import posewise as pw

BALL = pw.Sphere(0.05)


def arm() -> pw.Config:
    """Return three links of 0.3 m, of which the last folds back onto the first."""
    C = pw.Config()
    C.add_frame("l0", shape=BALL)
    for k in (1, 2, 3):
        C.add_frame(
            f"l{k}",
            f"l{k - 1}",
            joint="hingeY",
            position=[0, 0, 0.3],
            limits=[[-3.1], [3.1]],
            shape=BALL,
        )
    return C


# -- home ------------------------------------------------------------------------------


def test_the_home_stays_with_the_joints():
    C, home = arm(), np.array([0.1, 0.2, 0.3])
    C.home = home
    assert_array_equal(C.home, home)
    assert_array_equal(C.q, np.zeros(3))
    D = C.copy()
    D.home = [0, 0, 0]
    assert_array_equal(C.home, home)
    C.add_frame("slide", "l3", joint="transX", q=0.5)
    assert_array_equal(C.home, [0.1, 0.2, 0.3, 0.5])
    C.lock("l2")
    assert_array_equal(C.home, [0.1, 0.3, 0.5])
    C.home = [0.4, 0.5, 0.6]
    C.unlock("l2")
    assert_array_equal(C.home, [0.4, 0.2, 0.5, 0.6])
    C.joints.set_limits("l1", [-1, 1])
    C.attach("l3", "slide")
    C.set_shape("l0", BALL)
    assert_array_equal(C.home, [0.4, 0.2, 0.5])
    E = pw.Config()
    E.add_model(C.model(), "e_")
    assert_array_equal(E.home, C.home)
    C.remove("l3")
    assert_array_equal(C.home, [0.4, 0.2])


def test_a_home_is_a_state():
    C = pw.Config()
    C.add_frame("ball", joint="free")
    C.home = [1, 2, 3, 0, 2, 0, 0]
    assert_allclose(C.home, [1, 2, 3, 0, 1, 0, 0])


@pytest.mark.parametrize(
    "home, says",
    [
        ([0, 0], r"home has shape \(2,\), expected \(3,\)"),
        ("x", "home is 'x', expected 3 numbers"),
        ([0, np.nan, 0], "home has a NaN or infinite entry at 'l2'"),
        ([0, 0, 4], r"home is 4 at 'l3', outside of the limits \[-3.1, 3.1\]"),
    ],
)
def test_what_is_no_home(home, says):
    C = arm()
    with pytest.raises(pw.ConfigError, match=says):
        C.home = home
    assert_array_equal(C.home, np.zeros(3))


def test_costs_and_exclusions_begin_at_the_home():
    C = arm()
    # The last link is folded back onto the second.
    C.home = [0, np.pi - 0.1, 0]
    reasons = {(p.a, p.b): p.reason for p in C.copy().pairs.ignore_default(samples=300)}
    assert reasons["l1", "l3"] == "Default"
    C.home = [0.2, 0.3, 0.4]
    reasons = {(p.a, p.b): p.reason for p in C.copy().pairs.ignore_default(samples=300)}
    assert ("l1", "l3") not in reasons
    komo = pw.KOMO(C)
    komo.add_control_objective(order=0)
    assert_allclose(komo.solve().q, C.home, atol=1e-4)


# -- named states ----------------------------------------------------------------------


def test_states_from_python_are_kept_in_files(tmp_path):
    C = arm()
    C.q = [0.1, 0.2, 0.3]
    C.joints.add_named_state("ready")
    C.joints.add_named_state("arm/folded", {"l1": 1, "l3": [-2.5]})
    assert C.joints.named_states == {
        "ready": {"l1": 0.1, "l2": 0.2, "l3": 0.3},
        "folded": {"l1": 1.0, "l3": -2.5},
    }
    C.pairs.write_srdf(tmp_path / "arm.srdf")
    D = arm()
    D.pairs.read_srdf(tmp_path / "arm.srdf")
    assert D.joints.named_states == C.joints.named_states
    D.joints.set_named_state("arm/folded")
    assert_array_equal(D.q, [1, 0, -2.5])
    D.joints.add_named_state("folded", {"l1": 0.5})
    assert D.joints.named_states["folded"] == {"l1": 0.5}
    D.joints.set_named_state("all/ready")
    assert_array_equal(D.q, C.q)


def test_named_states_cannot_be_changed_in_place():
    C = arm()
    C.add_frame("ball", joint="free")
    C.joints.add_named_state("ready")
    with pytest.raises(TypeError):
        C.joints.named_states["other"] = {"l1": 0.0}
    with pytest.raises(TypeError):
        C.joints.named_states["ready"]["l1"] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        C.joints.named_states["ready"]["ball"][0] = 1.0
    assert C.joints.named_states["ready"]["l1"] == 0


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("", {"l1": 0}), "name is '', expected a string"),
        (("arm/", {"l1": 0}), "name is 'arm/', expected a string"),
        (("a", {"l9": 0}), "No joint 'l9'; did you mean"),
        (("a", {}), "has no joints"),
        (("a", [0, 0, 0]), r"values is \[0, 0, 0\], expected values by joint"),
        (("a", {"l1": [0, 0]}), r"value of joint 'l1' has shape \(2,\)"),
        (("a", {"l1": 4}), "Named state 'a' is 4 at 'l1', outside of the limits"),
        (("a", {"f": 0}), "Joint 'f' mimics 'l1'"),
    ],
)
def test_what_is_no_named_state(arguments, says):
    C = arm()
    C.add_frame("f", "l3", joint="hingeY", mimic="l1")
    with pytest.raises(pw.ConfigError, match=says):
        C.joints.add_named_state(*arguments)
    assert C.joints.named_states == {}


# -- SRDF ------------------------------------------------------------------------------

POSE = '<joint name="root_joint" value="0 0 0.26 0 0 0 1"/>'
VIRTUAL = '<virtual_joint name="v" type="planar" parent_frame="o" child_link="l0"/>'


@pytest.mark.parametrize("joint", [POSE, f'{VIRTUAL}<joint name="v" value="0"/>'])
def test_groups_and_virtual_joints_are_optional(joint, tmp_path):
    virtual, _, attributes = joint.rpartition("<joint")
    (tmp_path / "r.srdf").write_text(
        f'<robot name="r">{virtual}<group_state name="home">'
        f'<joint{attributes}<joint name="l1" value="0.2"/></group_state></robot>'
    )
    C = arm()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        C.pairs.read_srdf(tmp_path / "r.srdf")
    assert C.joints.named_states == {"home": {"l1": 0.2}}


def test_long_warnings_are_short_and_name_the_file_once(tmp_path):
    rows = "".join(f'<disable_collisions link1="l0" link2="x{k}"/>' for k in range(9))
    file = tmp_path / "r.srdf"
    file.write_text(
        f'<robot name="r">{rows}<disable_collisions link1="l0"/>'
        '<disable_collisions link1="l1" link2="l3"/></robot>'
    )
    C = arm()
    with pytest.warns(UserWarning) as records:
        C.pairs.read_srdf(file)
    (warning,) = records
    message = str(warning.message)
    assert message.count(str(file)) == 1 and "line 1, <disable_collisions>" in message
    assert "and 6 more. The rest applies." in message and "x8" not in message
    assert [(p.a, p.b) for p in C.pairs.ignored()] == [("l1", "l3")]


def test_a_urdf_is_no_srdf(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text('<robot name="r"><link name="l0"/></robot>')
    with pytest.raises(pw.LoadError, match="this file is a URDF, expected an SRDF"):
        arm().pairs.read_srdf(file)
