"""SRDF files as xacro, and their passive joints."""

import warnings

import numpy as np
import pytest
from helpers.cases import case

import posewise as pw
from posewise import FS, OT

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
XACRO = f"""{HEAD}<xacro:arg name="prefix" default=""/>
<xacro:property name="p" value="$(arg prefix)"/>
<xacro:macro name="off" params="a b">
<disable_collisions link1="${{p}}${{a}}" link2="${{p}}${{b}}" reason="Never"/>
</xacro:macro>
<xacro:off a="l0" b="l2"/>
<group_state name="home" group="arm"><joint name="${{p}}j0" value="${{pi / 4}}"/>
</group_state><passive_joint name="${{p}}j${{1 + 1}}"/></robot>"""
MESSAGE = (
    r"is xacro, expected plain XML; name the file \.xacro, or pass xacro_args=\{\}"
)


def arm(kinds=("hingeX", "hingeY", "hingeZ"), prefix="") -> pw.Config:
    """Links l0, … with balls that touch, and joints j0, … below them."""
    C = pw.Config()
    C.add_frame(f"{prefix}l0", shape=pw.Sphere(0.2))
    for k, kind in enumerate(kinds):
        name = f"{prefix}l{k + 1}"
        C.add_frame(f"{prefix}j{k}", f"{prefix}l{k}", joint=kind)
        C.add_frame(name, f"{prefix}j{k}", position=[0, 0, 0.1], shape=pw.Sphere(0.2))
    return C


def check_xacro(C: pw.Config, prefix: str = "") -> None:
    assert [*map(str, C.pairs.ignored())] == [f"{prefix}l0 and {prefix}l2: Never"]
    (state,) = C.joints.named_states.values()
    assert state == {f"{prefix}j0": pytest.approx(np.pi / 4)}
    assert C.joint_names == (f"{prefix}j0", f"{prefix}j1")


class TestXacro:
    @pytest.fixture(autouse=True)
    def needs_xacro(self):
        pytest.importorskip("xacro", reason="xacro files need the package xacro")

    @pytest.mark.parametrize("name", ["a.srdf.xacro", "a.xacro", "a.SRDF.XACRO"])
    def test_files_are_expanded(self, name, tmp_path):
        (tmp_path / name).write_text(XACRO)
        C = arm()
        C.pairs.read_srdf(tmp_path / name)
        check_xacro(C)

    def test_arguments_and_prefixes(self, tmp_path):
        (tmp_path / "a.srdf").write_text(XACRO)
        C = arm(prefix="r_")
        C.pairs.read_srdf(tmp_path / "a.srdf", xacro_args={"prefix": "r_"})
        check_xacro(C, "r_")
        D = arm(prefix="r_")
        D.pairs.read_srdf(tmp_path / "a.srdf", "r_", xacro_args={})
        check_xacro(D, "r_")

    def test_includes_of_packages(self, tmp_path):
        (tmp_path / "parts").mkdir()
        (tmp_path / "parts" / "a.xacro").write_text(XACRO)
        include = '<xacro:include filename="$(find parts)/a.xacro"/>'
        (tmp_path / "b.srdf.xacro").write_text(f"{HEAD}{include}</robot>")
        C = arm()
        C.pairs.read_srdf(
            tmp_path / "b.srdf.xacro", packages={"parts": tmp_path / "parts"}
        )
        check_xacro(C)

    def test_what_is_not_expanded_is_refused(self, tmp_path):
        (tmp_path / "a.srdf").write_text(XACRO)
        value = '<passive_joint name="${a}"/>'
        (tmp_path / "b.srdf").write_text(f"{HEAD}{value}</robot>")
        for name in ("a.srdf", "b.srdf"):
            with pytest.raises(pw.LoadError, match=MESSAGE):
                arm().pairs.read_srdf(tmp_path / name)
        (tmp_path / "c.xacro").write_text(f"{HEAD}<group_state name='${{x}}'/></robot>")
        with pytest.raises(pw.LoadError, match="c.xacro: xacro cannot expand it"):
            arm().pairs.read_srdf(tmp_path / "c.xacro")

    def test_shared_case(self):
        C = arm()
        C.pairs.read_srdf(case("arm.srdf.xacro"))
        assert [*map(str, C.pairs.ignored())] == ["l0 and l2: Never"]
        assert C.joints.named_states["home"] == {"j0": pytest.approx(np.pi / 4)}

    def test_problem_files(self, tmp_path):
        main = pytest.importorskip("posewise.__main__").main
        pytest.importorskip("yaml", reason="problem files need pyyaml")
        C = arm(prefix="r_")
        C.write_urdf(tmp_path / "r.urdf")
        (tmp_path / "a.srdf.xacro").write_text(XACRO)
        srdf = "{file: a.srdf.xacro, xacro_args: {prefix: r_}}"
        (tmp_path / "p.yaml").write_text(
            f"scene:\n  files: [{{file: r.urdf, srdf: {srdf}}}]\n"
            "predicates: ['~Touching(r_l0, r_l3)']\n"
        )
        assert main(["check", str(tmp_path / "p.yaml")]) == 1


def read(C: pw.Config, tmp_path, *elements: str) -> list[str]:
    """Read an SRDF of some elements into a world; return the warnings."""
    file = tmp_path / "p.srdf"
    file.write_text(f"<robot name='r'>{''.join(elements)}</robot>")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        C.pairs.read_srdf(file)
    return [str(w.message) for w in caught]


def passive(*names: str) -> str:
    return "".join(f"<passive_joint name='{name}'/>" for name in names)


def test_passive_joints_are_not_moved(tmp_path):
    C = arm()
    C.set_joint("j1", 0.3)
    assert read(C, tmp_path, passive("j1")) == []
    assert C.joint_names == ("j0", "j2") and C.joints.value("j1") == [0.3]
    C.set_joint("j1", 0.4)
    assert C.joints.value("j1") == [0.4] and C.nq == 2
    C.unlock("j1")
    assert C.joint_names == ("j0", "j1", "j2") and C.q[1] == 0.4


def test_a_target_that_only_a_caster_reaches():
    C = pw.Config()
    C.add_file(case("passive.urdf"))
    C.pairs.read_srdf(case("passive.srdf"))
    assert C.joint_names == ("j1",)
    komo = pw.KOMO(C)
    # within 0.5 m of the base, where only the caster could fold the tip
    komo.add_objective(None, FS.position, ["tip"], OT.eq, target=[0, 0.6, 0])
    solution = komo.solve(progress=False)
    assert not solution.feasible and solution.path.shape[1] == 1


def test_states_and_followers_of_passive_joints(tmp_path):
    C = arm()
    C.add_frame("twin", "l0", joint="hingeX", mimic="j1", multiplier=2.0)
    state = "<group_state name='s'><joint name='j1' value='0.2'/></group_state>"
    assert read(C, tmp_path, passive("j1", "twin"), state) == []
    assert C.joint_names == ("j0", "j2")
    C.joints.set_named_state("s")
    assert C.joints.value("j1") == [0.2] and C.joints.value("twin") == [0.4]


def test_a_follower_that_is_passive_follows(tmp_path):
    C = arm()
    C.add_frame("twin", "l0", joint="hingeX", mimic="j1", multiplier=2.0)
    assert read(C, tmp_path, passive("twin")) == []
    C.q = [0, 0.1, 0]
    assert C.joints.value("twin") == [0.2]


def test_passive_joints_that_are_not_here_are_told(tmp_path):
    C = arm()
    C.add_text(
        '<robot name="f"><link name="a"/><link name="b"/><joint name="weld"'
        ' type="fixed"><parent link="a"/><child link="b"/></joint></robot>'
    )
    virtual = "<virtual_joint name='v' type='fixed' parent_frame='w' child_link='l0'/>"
    sentences = read(
        C, tmp_path, virtual, passive("v", "weld", "j9"), "<passive_joint/>"
    )
    (sentence,) = sentences
    assert "passive joint 'j9' (line 1)" in sentence and "'name' is missing" in sentence
    assert "weld" not in sentence and "'v'" not in sentence


def test_that_nothing_is_left_to_move_is_told(tmp_path):
    C = arm()
    (sentence,) = read(C, tmp_path, passive("j0", "j1", "j2"))
    assert "all joints that could move are passive (j0, j1, j2)" in sentence
    assert C.nq == 0
    C.unlock(["j0"])
    assert C.nq == 1
