"""Quaternions, capsules and limits of URDF 1.1 and 1.2, against urdfdom."""

import warnings

import numpy as np
import pytest
from helpers.cases import case
from helpers.reference_kinematics import matrix

import posewise as pw

pin = pytest.importorskip("pinocchio", reason="urdfdom comes with pinocchio")


def robot(origin: str, version: str | None = "1.1", limit: str = "") -> str:
    """A robot with the same origin at each place that has one."""
    declared = "" if version is None else f'version="{version}"'
    box = '<geometry><box size="1 2 3"/></geometry>'
    return f"""<robot name="r" {declared}><link name="a"/><link name="b"><inertial>
<origin {origin}/><mass value="2"/><inertia ixx="1" iyy="2" izz="2.5" ixy="0.1"
ixz="0" iyz="0"/></inertial>
<visual><origin {origin}/>{box}</visual><collision><origin {origin}/>{box}</collision>
</link><joint name="j" type="revolute"><origin {origin}/><parent link="a"/>
<child link="b"/><axis xyz="0 1 0"/><limit lower="-1" upper="1" velocity="1" effort="1"
{limit}/></joint></robot>"""


def read(text: str) -> tuple[pw.Config, list[str]]:
    """The world of a robot, and the warnings that it costs."""
    C = pw.Config()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        C.add_text(text)
    return C, [str(w.message) for w in caught]


def urdfdom(text: str, folder) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Placement of the joint, inertia of the link, and of its shapes, by urdfdom."""
    file = folder / "r.urdf"
    file.write_text(text)
    model = pin.buildModelFromUrdf(str(file))
    kinds = (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL)
    shapes = [pin.buildGeomFromUrdf(model, str(file), kind) for kind in kinds]
    places = [s.geometryObjects[0].placement.homogeneous for s in shapes]
    return model.jointPlacements[1].homogeneous, model.inertias[1].inertia, places


XYZ = 'xyz="1 2 3"'
QUATERNIONS = {
    "unit": "0 0 0.6 0.8",
    "any length": "-1 2 3 0.5",
    "tiny": "1e-9 0 0 1e-9",
    "negative": "0 0 0 -1",
    "blanks": "  0   1 0 1 ",
}


@pytest.mark.parametrize("numbers", QUATERNIONS.values(), ids=QUATERNIONS)
@pytest.mark.parametrize("version", ["1.1", "1.2", None, "1.0"])
def test_quaternions_are_read_as_urdfdom_does(numbers, version, tmp_path):
    text = robot(f'{XYZ} quat_xyzw="{numbers}"', version)
    C, messages = read(text)
    joint, inertia, (collision, visual) = urdfdom(text, tmp_path)
    b = C.frame("b")
    np.testing.assert_allclose(matrix(b.origin), joint, atol=1e-12)
    np.testing.assert_allclose(b.inertia, inertia, atol=1e-12)
    for geometry, place in zip(b.geometries, (collision, visual), strict=True):
        np.testing.assert_allclose(matrix(geometry.pose), place, atol=1e-12)
    if version in ("1.1", "1.2"):
        assert messages == []
    else:
        (sentence,) = messages
        assert "quat_xyzw is ignored (4 times): it is of URDF 1.1" in sentence
        np.testing.assert_array_equal(b.origin, [1, 2, 3, 1, 0, 0, 0])


def test_quaternions_that_are_ignored_leave_the_angles(tmp_path):
    text = robot(f'{XYZ} rpy="0.1 0.2 0.3" quat_xyzw="no 1"', "1.0")
    C, messages = read(text)
    assert len(messages) == 1
    joint, _, _ = urdfdom(text, tmp_path)
    np.testing.assert_allclose(matrix(C.frame("b").origin), joint, atol=1e-12)


def test_a_quaternion_of_length_0_does_not_turn(tmp_path):
    text = robot(f'{XYZ} quat_xyzw="0 0 0 0"')
    C, (sentence,) = read(text)
    assert "has length 0" in sentence
    joint, _, _ = urdfdom(text, tmp_path)
    np.testing.assert_allclose(matrix(C.frame("b").origin), joint, atol=1e-12)


BROKEN = {
    "three": ('quat_xyzw="0 0 1"', "has 3 numbers, expected 4"),
    "word": ('quat_xyzw="0 0 x 1"', "has 'x', expected a finite number"),
    "nan": ('quat_xyzw="0 0 nan 1"', "has 'nan'"),
    "infinite": ('quat_xyzw="0 0 inf 1"', "has 'inf'"),
    "empty": ('quat_xyzw=""', "'quat_xyzw' is missing or empty"),
    "both": ('rpy="0 0 0" quat_xyzw="0 0 0 1"', "has rpy and quat_xyzw"),
}


@pytest.mark.parametrize("origin, says", BROKEN.values(), ids=BROKEN)
def test_rotations_that_urdfdom_refuses_are_refused(origin, says, tmp_path):
    with pytest.raises(pw.LoadError, match="line 5, <origin") as caught:
        pw.Config().add_text(robot(origin))
    assert says in str(caught.value)
    with pytest.raises(ValueError):
        urdfdom(robot(origin), tmp_path)


def test_a_shape_with_a_broken_rotation_is_left_out():
    shape = '<geometry><sphere radius="1"/></geometry>'
    parts = "".join(
        f"<{use}><origin quat_xyzw='0 0 1'/>{shape}</{use}>"
        for use in ("collision", "visual")
    )
    C, (sentence,) = read(
        f'<robot name="r" version="1.1"><link name="a">{parts}</link></robot>'
    )
    assert C.frame("a").geometries == () and sentence.count("has 3 numbers") == 2


@pytest.mark.parametrize("version", ["1", "1.", ".1", "", "x", "1.1.0", "2.0", "0.9"])
def test_versions_that_are_unknown_are_told(version):
    C, (sentence,) = read(robot('quat_xyzw="0 0 1 1"', version))
    assert f"version={version!r} is none of 1.0, 1.1, 1.2" in sentence
    np.testing.assert_allclose(C.frame("b").origin[3:] ** 2, [0.5, 0, 0, 0.5])


@pytest.mark.parametrize("version", [" 1.1", "+1.1", "01.01"])
def test_versions_that_urdfdom_reads(version, tmp_path):
    text = robot('quat_xyzw="0 0 1 1"', version)
    C, messages = read(text)
    assert messages == []
    np.testing.assert_allclose(
        matrix(C.frame("b").origin), urdfdom(text, tmp_path)[0], atol=1e-12
    )


def test_xacro_keeps_version_and_quaternion():
    pytest.importorskip("xacro", reason="xacro files need the package xacro")
    C = pw.Config()
    text = robot('quat_xyzw="0 0 ${1 / 2} 0.5"')
    C.add_text(text, xacro_args={})
    np.testing.assert_allclose(C.frame("b").origin[3:] ** 2, [0.5, 0, 0, 0.5])


def test_shared_case():
    C = pw.Config()
    with pytest.warns(UserWarning, match="acceleration is ignored.*jerk is ignored"):
        C.add_file(case("urdf11_quat_xyzw.urdf"))
    np.testing.assert_allclose(C.pose("t")[:3], [0, 1, 1], atol=1e-8)
    assert np.isinf(C.joints.max_acceleration).all()


LIMITS = {
    "acceleration": ('acceleration="2"', (2, np.inf)),
    "smaller one": ('acceleration="2" deceleration="1.5" jerk="9"', (1.5, 9)),
    "deceleration only": ('deceleration="3"', (3, np.inf)),
    "0 is none": ('acceleration="0" deceleration="0" jerk="0"', (np.inf, np.inf)),
    "huge is none": ('acceleration="1e10" jerk="1e300"', (np.inf, np.inf)),
}


@pytest.mark.parametrize("limit, want", LIMITS.values(), ids=LIMITS)
def test_limits_of_acceleration_and_jerk(limit, want):
    C, messages = read(robot("", "1.2", limit))
    assert messages == []
    assert (*C.joints.max_acceleration, *C.joints.max_jerk) == want
    assert C.joints.max_velocity == [1]


@pytest.mark.parametrize("limit", ['acceleration="-2"', 'jerk="x"'])
def test_limits_that_cannot_be_used_are_told(limit):
    C, (sentence,) = read(robot("", "1.2", limit))
    assert limit.split("=")[0] in sentence
    assert np.isinf([C.joints.max_acceleration, C.joints.max_jerk]).all()


def test_a_follower_limits_the_acceleration_of_its_leader():
    text = robot("", "1.2", 'acceleration="2" jerk="6"')
    follower = """<link name="c"/><joint name="k" type="revolute"><parent link="b"/>
<child link="c"/><axis xyz="0 0 1"/><mimic joint="j" multiplier="-2"/><limit lower="-3"
upper="3" velocity="9" effort="1" acceleration="3" jerk="20"/></joint></robot>"""
    C, _ = read(text.replace("</robot>", follower))
    assert (C.joints.max_acceleration, C.joints.max_jerk, C.joints.max_velocity) == (
        [1.5],
        [6],
        [1],
    )


def test_limits_are_written_with_their_version(tmp_path):
    C, _ = read(robot("", "1.2", 'acceleration="2" deceleration="1.5" jerk="9"'))
    C.write_urdf(tmp_path / "w.urdf")
    assert 'version="1.2"' in (tmp_path / "w.urdf").read_text(encoding="utf-8")
    D = pw.Config()
    D.add_file(tmp_path / "w.urdf")
    assert (D.joints.max_acceleration, D.joints.max_jerk) == ([1.5], [9])
    assert pin.buildModelFromUrdf(str(tmp_path / "w.urdf")).nq == 1


def test_limits_of_the_model_bound_motions():
    C, _ = read(robot("", "1.2", 'acceleration="2" jerk="9"'))
    for k_order in (1, 2, 3):
        objectives = pw.KOMO(C, 1, 8, k_order).add_motion_limits()
        orders = [objective.feature.order for objective in objectives]
        assert orders == [1, 2, 3][:k_order]
