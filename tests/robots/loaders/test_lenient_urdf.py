"""Parts of a URDF that cannot be used: one warning, and the kinematics loads."""

import sys
import warnings

import numpy as np
import pytest
import trimesh
from helpers.cases import case

import posewise as pw

SHAPE = '<visual><geometry><box size="1 1 1"/></geometry>{}</visual>'


def robot(link: str = "", joint: str = "", kind: str = "revolute", more: str = ""):
    return (
        f'<robot name="r">{more}<link name="a">{link}</link><link name="b"/>'
        f'<joint name="j" type="{kind}"><parent link="a"/><child link="b"/>'
        f"{joint}</joint></robot>"
    )


def geometry(shape: str, tag: str = "collision") -> str:
    return f"<{tag}><geometry>{shape}</geometry></{tag}>"


def inertial(inner: str) -> str:
    return f"<inertial>{inner}</inertial>"


UNUSABLE = {
    "no geometry": (robot("<visual/>"), "link 'a', line 1, <visual>: has no shape"),
    "empty geometry": (robot(geometry("")), "<collision>: has no shape"),
    "unknown shape": (robot(geometry("<cone/>")), "<cone>: this shape is unknown"),
    "negative box": (robot(geometry('<box size="1 -1 1"/>')), "size is [1.0, -1.0"),
    "two sizes": (robot(geometry('<box size="1 1"/>')), "has 2 numbers, expected 3"),
    "point box": (robot(geometry('<box size="0 0 0"/>')), "all sizes are 0"),
    "point": (robot(geometry('<sphere radius="0"/>')), "all sizes are 0"),
    "no radius": (robot(geometry("<sphere/>")), "'radius' is missing"),
    "negative radius": (robot(geometry('<sphere radius="-1"/>')), "radius is -1"),
    "endless": (robot(geometry('<sphere radius="inf"/>')), "has 'inf'"),
    "word": (robot(geometry('<cylinder radius="r" length="1"/>')), "has 'r'"),
    "no mesh name": (robot(geometry("<mesh/>")), "'filename' is missing"),
    "flat mesh": (robot(geometry('<mesh filename="a.stl" scale="0 1 1"/>')), "scale"),
    "place": (
        robot('<visual><origin xyz="0 nan 0"/><geometry><box size="1 1 1"/>'
              "</geometry></visual>"),
        "has 'nan'",
    ),
    "no rgba": (robot(more='<material name="m"><color/></material>'), "'rgba'"),
    "rgba word": (
        robot(SHAPE.format('<material name="m"><color rgba="r g b 1"/></material>')),
        "has 'r'",
    ),
    "bytes": (
        robot(more='<material name="m"><color rgba="255 0 0 1"/></material>'),
        "rgba is [255.0, 0.0, 0.0, 1.0], expected numbers from 0 to 1",
    ),
    "mass": (robot(inertial('<mass value="-1"/>')), "the mass is -1.0"),
    "no mass": (robot(inertial("<mass/>")), "'value' is missing"),
    "inertia": (robot(inertial('<mass value="1"/><inertia ixx="nan"/>')), "'nan'"),
    "centre": (robot(inertial('<origin xyz="a"/><mass value="1"/>')), "has 'a'"),
    "limits": (
        robot(joint='<limit lower="2" upper="1"/>'),
        "<limit>: the joint has no limits, since lower 2.0 is above upper 1.0",
    ),
    "speed": (robot(joint='<limit velocity="-1"/>'), "velocity is -1.0"),
    "effort": (robot(joint='<limit effort="big"/>'), "has 'big'"),
    "damping": (robot(joint='<dynamics damping="nan"/>'), "has 'nan'"),
}  # fmt: skip


@pytest.mark.parametrize("text, says", UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used_costs_one_warning(text, says):
    C = pw.Config()
    with pytest.warns(UserWarning) as caught:
        C.add_text(text)
    message = str(caught[0].message)
    assert len(caught) == 1 and says in message
    assert message.startswith("text: ") and message.endswith("The rest is kept.")
    assert C.joint_names == ("j",) and np.isinf(C.limits).all()
    assert np.isfinite(C.poses()).all() and np.isinf(C.joints.max_velocity).all()


def test_one_warning_lists_everything():
    parts = [geometry("<cone/>"), geometry('<mesh filename="a.stl"/>'), "<visual/>"]
    C = pw.Config()
    with pytest.warns(UserWarning) as caught:
        C.add_text(robot("".join(parts), '<limit lower="2" upper="1" velocity="-1"/>'))
    (message,) = (str(w.message) for w in caught)
    says = "1 mesh is left out", "a.stl", "cone", "no shape", "no limits", "velocity"
    assert all(text in message for text in says)


def test_the_usable_part_of_an_element_is_kept():
    C = pw.Config()
    plane = "<plane/>" + '<box size="1 1 0"/>'
    inner = '<mass value="2"/><inertia ixx="x"/>'
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    blue = '<material name="red"><color/></material>'
    with pytest.warns(UserWarning, match="<inertia>.*|<color>"):
        C.add_text(
            robot(inertial(inner) + geometry(plane) + SHAPE.format(blue), more=red)
        )
    a = C.frame("a")
    assert (a.mass, a.inertia) == (2.0, None)
    assert [g.collision for g in a.geometries] == [True, False]
    assert a.geometries[0].shape.size.tolist() == [1, 1, 0]
    assert a.geometries[1].color == (1, 0, 0, 1)


def test_zero_speed_and_effort_mean_not_given():
    C = pw.Config()
    C.add_text(robot(joint='<limit lower="-1" upper="1" velocity="0" effort="0"/>'))
    joint = C.frame("b").joint
    assert joint.velocity is None and joint.effort is None
    assert np.isinf(C.joints.max_velocity).all()
    D = pw.Config()
    D.add_file(case("cab.urdf"))
    assert np.isinf(D.joints.max_velocity).all() and D.limits.tolist() == [[-1.57], [0]]


@pytest.mark.parametrize("name", ["emptygeom", "novisgeom", "color", "neglim"])
def test_shared_cases_load(name):
    C = pw.Config()
    with pytest.warns(UserWarning) as caught:
        C.add_file(case(f"{name}.urdf"))
    assert len(caught) == 1 and "a" in C.frame_names
    assert np.isinf(C.limits).all()


def test_a_zero_axis_stays_an_error():
    with pytest.raises(pw.LoadError, match="has no direction"):
        pw.Config().add_file(case("zeroaxis.urdf"))


def followers(mimic: str, leader: str = "continuous", kind: str = "revolute") -> str:
    return (
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        f'<link name="d"/><joint name="j1" type="{leader}"><parent link="a"/>'
        f'<child link="b"/></joint><joint name="j2" type="{kind}"><parent link="a"/>'
        f'<child link="c"/><axis xyz="0 0 1"/>{mimic}</joint><joint name="j3"'
        ' type="prismatic"><parent link="a"/><child link="d"/>'
        '<mimic joint="j2" multiplier="2" offset="1"/></joint></robot>'
    )


STANDING = {
    "fixed": (followers('<mimic joint="j1" offset=".5"/>', "fixed"), "is fixed"),
    "floating": (followers('<mimic joint="j1" offset=".5"/>', "floating"), "has 7"),
    "planar": (followers('<mimic joint="j1" offset=".5"/>', "planar"), "has 3"),
    "unknown": (followers('<mimic joint="j9" offset=".5"/>'), "No joint 'j9'"),
    "unnamed": (followers('<mimic offset=".5"/>'), "No joint ''"),
}


@pytest.mark.parametrize("text, why", STANDING.values(), ids=STANDING)
def test_followers_of_no_joint_stand_at_their_offset(text, why):
    C = pw.Config()
    with pytest.warns(UserWarning, match="'j2' stands still at 0.5") as caught:
        C.add_text(text)
    assert len(caught) == 1 and why in str(caught[0].message)
    assert "j2" not in C.joint_names and "j3" not in C.joint_names
    assert C.joints.value("j2") == [0.5] and C.joints.value("j3") == [2.0]
    turn = [np.cos(0.25), 0, 0, np.sin(0.25)]
    np.testing.assert_allclose(C.pose("c"), [0, 0, 0, *turn], atol=1e-15)
    assert C.pose("d")[0] == pytest.approx(2.0)


def test_a_pose_that_follows_with_a_factor_stands_still():
    text = followers('<mimic joint="j1" multiplier="2"/>', "floating", "floating")
    C = pw.Config()
    with pytest.warns(UserWarning, match="'j2' stands still.*'j3' stands still"):
        C.add_text(text)
    assert C.pose("c").tolist() == [0, 0, 0, 1, 0, 0, 0]


def test_shared_case_of_a_fixed_leader():
    C = pw.Config()
    with pytest.warns(UserWarning, match="'j2' stands still at 0: .*'j1' is fixed"):
        C.add_file(case("mimicfixed.urdf"))
    assert C.nq == 0


OTHER_FORMATS = {
    "mesh": ("m.xml", "<COLLADA/>", "this is a mesh"),
    "package": ("package.xml", "<package/>", "this describes a package"),
    "any": ("m.xml", "<a/>", "expected the root <robot> (URDF), <mujoco> (MJCF)"),
    "word": ("m.xml", "robot", "not well-formed"),
    "suffix": ("m.fbx", "Kaydara", "files of kind '.fbx' are not known"),
}


@pytest.mark.parametrize("name, text, says", OTHER_FORMATS.values(), ids=OTHER_FORMATS)
def test_other_formats_are_named(name, text, says, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(pw.LoadError) as caught:
        pw.Config().add_file(tmp_path / name)
    assert says in str(caught.value) and name in str(caught.value)


def test_usd_needs_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pxr", None)
    (tmp_path / "m.usda").write_text("#usda 1.0")
    for use in (pw.Config().add_file, pw.load("box").write_usd):
        with pytest.raises(ImportError, match=r"posewise\[usd\]"):
            use(tmp_path / "m.usda")


COMMENT = "<!-- from <robot>, not <mujoco> -->"
DECLARED = '<?xml version="1.0"?>\n' + " " * 5000 + COMMENT


@pytest.mark.parametrize("name", ["m.urdf", "m.xml", "m.URDF", "m.robot", "m"])
@pytest.mark.parametrize("head", ["", COMMENT, DECLARED, "\ufeff"])
def test_the_root_tells_the_format(name, head, tmp_path):
    (tmp_path / name).write_text(head + robot(), encoding="utf-8")
    C = pw.Config()
    C.add_file(tmp_path / name)
    assert C.frame_names == ("a", "b")


@pytest.mark.parametrize("name", ["m.xml", "m.mjcf", "m.txt"])
def test_mjcf_with_a_comment_about_robots(name, tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    body = '<worldbody><body name="x"><joint/><geom size=".1"/></body></worldbody>'
    (tmp_path / name).write_text(f"{COMMENT}<mujoco>{body}</mujoco>")
    C = pw.Config()
    C.add_file(tmp_path / name)
    assert C.nq == 1


def test_models_as_text(tmp_path):
    C = pw.Config()
    names = C.add_text(robot(), "l_", pose=[0, 0, 1, 1, 0, 0, 0], joint="free")
    assert names == ("l_a", "l_b") and C.nq == 8
    assert C.pose("l_a")[2] == 1
    declared = '<?xml version="1.0" encoding="utf-16"?>' + robot()
    assert pw.Config().add_text(declared) == ("a", "b")
    for text, says in [("", "empty"), ("x", "text, line 1"), ("<sdf/>", "<model>")]:
        with pytest.raises(pw.LoadError, match=says):
            C.add_text(text)
    with pytest.raises(pw.LoadError, match="text is bytes, expected URDF or MJCF"):
        C.add_text(b"<robot/>")
    with pytest.raises(pw.LoadError, match="folder is 'no/such'"):
        C.add_text(robot(), "m_", folder="no/such")
    assert C.nq == 8


@pytest.mark.parametrize("name", ["m.urdf", "m.xml", "m.mjcf", "m"])
def test_mjcf_is_read_from_any_suffix(name, tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    text = "<mujoco><worldbody><body name='x'><geom size='1'/></body></worldbody>"
    (tmp_path / name).write_text(text + "</mujoco>")
    assert pw.Config().add_file(tmp_path / name) == ("x",)


def test_mjcf_as_text(tmp_path):
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    text = """<mujoco><compiler meshdir="meshes"/><asset><mesh name="m" file="m.stl"/>
</asset><worldbody><body name="x"><joint/><geom type="mesh" mesh="m"/></body>
<body name="y"><joint/><geom size=".1"/></body></worldbody></mujoco>"""
    (tmp_path / "meshes").mkdir()
    trimesh.creation.box([1, 2, 3]).export(tmp_path / "meshes/m.stl")
    C = pw.Config()
    C.add_text(text, folder=tmp_path)
    assert C.frame("x").shape.mesh.volume == pytest.approx(6)
    D = pw.Config()
    with pytest.warns(UserWarning, match="^text: .*read without its meshes"):
        D.add_text(text)
    with pytest.warns(UserWarning, match="Without a shape for collisions are 'x'"):
        assert D.pairs.names() == []
    with pytest.raises(pw.LoadError, match="cannot include files"):
        C.add_text("<mujoco><include file='/etc/passwd'/></mujoco>")


def test_a_joint_for_the_root_of_a_file(tmp_path):
    (tmp_path / "m.urdf").write_text(robot())
    C = pw.Config()
    C.add_file(tmp_path / "m.urdf", joint="free")
    assert C.joints.types == ("free", "revolute")


def test_our_models_load_without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pw.load("panda")


def test_text_may_begin_with_blanks():
    """As a text in quotes of a program does; XML wants its declaration first."""
    C = pw.Config()
    C.add_text('\n  <?xml version="1.0"?>\n' + robot())
    assert C.nq == 1
