"""xacro files and text, through the package xacro."""

import sys

import numpy as np
import pytest
import trimesh
from helpers.cases import case

import posewise as pw

pytest.importorskip("xacro", reason="xacro files need the package xacro")

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
SEGMENT = """<xacro:macro name="segment" params="name parent length">
<link name="${name}"><collision><geometry>
<mesh filename="package://parts/meshes/m.stl"/></geometry></collision></link>
<joint name="${name}_joint" type="revolute"><parent link="${parent}"/>
<child link="${name}"/><origin xyz="0 0 ${length / 2}"/><axis xyz="0 1 0"/>
<limit lower="${-pi / 2}" upper="1" effort="1" velocity="1"/></joint></xacro:macro>"""
ARM = f"""<?xml version="1.0"?>
{HEAD}
<xacro:include filename="$(find parts)/urdf/segment.xacro"/>
<xacro:include filename="names.xacro"/>
<xacro:arg name="reach" default="0.4"/>
<xacro:arg name="hand" default="false"/>
<link name="${{root}}"/>
<xacro:segment name="a" parent="${{root}}" length="$(arg reach)"/>
<xacro:if value="$(arg hand)"><xacro:segment name="b" parent="a" length="1"/></xacro:if>
</robot>"""


@pytest.fixture
def folder(tmp_path):
    """A package `arm-1.0` with an arm, and a package `parts` elsewhere."""
    arm, parts = tmp_path / "ws/arm-1.0/urdf", tmp_path / "elsewhere/parts"
    for place in (arm, parts / "urdf", parts / "meshes"):
        place.mkdir(parents=True)
    (arm.parent / "package.xml").write_text("<package><name>arm</name></package>")
    (arm / "arm.urdf.xacro").write_text(ARM)
    root = '<xacro:property name="root" value="base"/>'
    (arm / "names.xacro").write_text(f"{HEAD}{root}</robot>")
    (parts / "urdf/segment.xacro").write_text(f"{HEAD}{SEGMENT}</robot>")
    trimesh.creation.box().export(parts / "meshes/m.stl")
    return tmp_path


def test_macros_includes_and_packages(folder):
    C = pw.Config()
    file = folder / "ws/arm-1.0/urdf/arm.urdf.xacro"
    names = C.add_file(file, packages={"parts": folder / "elsewhere/parts"})
    assert names == ("base", "a")
    np.testing.assert_allclose(C.frame("a").origin[:3], [0, 0, 0.2])
    np.testing.assert_allclose(C.limits[:, 0], [-np.pi / 2, 1])
    assert C.frame("a").shape.mesh.volume == pytest.approx(1)


def test_packages_are_found_as_those_of_meshes_are(folder, monkeypatch):
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(folder / "elsewhere"))
    C = pw.Config()
    C.add_file(folder / "ws/arm-1.0/urdf/arm.urdf.xacro")
    assert C.frame("a").shape.mesh.volume == pytest.approx(1)


def test_arguments(folder):
    C = pw.Config()
    C.add_file(
        folder / "ws/arm-1.0/urdf/arm.urdf.xacro",
        packages={"parts": folder / "elsewhere/parts"},
        xacro_args={"reach": 0.8, "hand": True},
    )
    assert C.frame_names == ("base", "a", "b")
    np.testing.assert_allclose(C.frame("a").origin[:3], [0, 0, 0.4])


def test_other_suffixes_and_text_are_expanded_on_request_only(tmp_path):
    text, file = f'{HEAD}<link name="${{1 + 1}}"/></robot>', tmp_path / "m.urdf"
    file.write_text(text)
    C = pw.Config()
    for add, source in ((C.add_text, text), (C.add_file, file)):
        with pytest.raises(pw.LoadError, match=r"is xacro.*pass xacro_args=\{\}"):
            add(source)
    assert C.add_text(text, "t", xacro_args={}) == ("t2",)
    assert C.add_file(file, "f", xacro_args={}) == ("f2",)


def test_mjcf_by_xacro():
    pytest.importorskip("mujoco", reason="MJCF needs mujoco")
    C = pw.Config()
    C.add_text(
        '<mujoco xmlns:xacro="http://www.ros.org/wiki/xacro"><worldbody><body name="b">'
        '<joint/><geom size="${1 / 4}"/></body></worldbody></mujoco>',
        xacro_args={},
    )
    assert C.frame("b").shape.radius == 0.25


BROKEN = {
    "unknown package": ("$(find nothere)/x", "No package 'nothere'"),
    "unknown argument": ("$(arg nothere)", "nothere"),
    "unknown name": ("${nothere}", "nothere"),
    "no expression": ("${1 +}", "xacro cannot expand it"),
    "command": ("$(run x)", "xacro cannot expand it"),
}


@pytest.mark.parametrize("value, says", BROKEN.values(), ids=BROKEN)
def test_what_cannot_be_expanded_is_explained(value, says, tmp_path):
    file = tmp_path / "m.xacro"
    file.write_text(f'{HEAD}<link name="{value}"/></robot>')
    with pytest.raises(pw.LoadError, match="m.xacro: xacro cannot expand") as caught:
        pw.Config().add_file(file)
    assert says in str(caught.value)
    file.write_text(f"{HEAD}<link")
    with pytest.raises(pw.LoadError, match="m.xacro: xacro cannot expand"):
        pw.Config().add_file(file)
    with pytest.raises(pw.LoadError, match="xacro_args is 'x', expected values"):
        pw.Config().add_file(file, xacro_args="x")


def test_without_xacro_the_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "m.xacro").write_text(f"{HEAD}</robot>")
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ImportError, match=r"posewise\[xacro\]"):
        pw.Config().add_file(tmp_path / "m.xacro")


def test_shared_case():
    C = pw.Config()
    assert C.add_file(case("m.urdf.xacro")) == ("base", "a", "b")
    np.testing.assert_allclose(C.pose("b")[:3], [0, 0, 0.4])
