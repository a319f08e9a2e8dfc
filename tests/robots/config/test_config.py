"""Building and editing worlds: nothing stale, nothing half done."""

import numpy as np
import pytest

import posewise as pw
from posewise import FS
from posewise.robots.kinematics.transforms import (
    pose_inverse,
    pose_multiply,
    rpy_to_quat,
)


def table_world() -> pw.Config:
    C = pw.Config()
    C.add_frame("table", position=[0.5, 0, 0.4], shape=pw.Box([1.0, 0.8, 0.05]))
    C.add_frame("mug", joint="free", pose=[0.5, 0.1, 0.5, 1, 0, 0, 0], mass=0.3)
    C.add_frame("arm", joint="hingeZ", limits=[[-1.0], [2.0]], q=0.4)
    C.add_frame(
        "hand", "arm", position=[0.3, 0, 0.2], quaternion=rpy_to_quat(0.1, 0.2, 0.3)
    )
    return C


def test_an_empty_world():
    C = pw.Config()
    assert C.nq == C.nv == 0 and C.q.shape == (0,) and C.poses().shape == (0, 7)
    np.testing.assert_allclose(C.pose("world"), [0, 0, 0, 1, 0, 0, 0])


def test_layout_limits_and_names():
    C = table_world()
    assert (C.nq, C.nv) == (8, 7)
    assert C.joint_names == ("mug", "arm")
    assert (
        C.joints.coordinate_names[0] == "mug:0"
        and C.joints.coordinate_names[7] == "arm"
    )
    np.testing.assert_allclose(C.limits[:, 7], [-1, 2])
    assert np.isinf(C.limits[:, :7]).all()
    np.testing.assert_allclose(C.home[7], 0.4)
    assert C.frame("mug").mass == 0.3 and isinstance(C.frame("table").shape, pw.Box)


def test_every_edit_shows_at_once():
    C = table_world()
    before = C.eval(FS.position, ["hand"])[0]
    C.q = np.r_[C.q[:7], 1.0]
    turned = C.eval(FS.position, ["hand"])[0]
    assert np.linalg.norm(turned - before) > 0.1
    C.set_pose("hand", pose_multiply(C.pose("hand"), np.array([0.1, 0, 0, 1, 0, 0, 0])))
    np.testing.assert_allclose(np.linalg.norm(C.pose("hand")[:3] - turned), 0.1)
    f = C.feature(FS.insideBox, ["mug", "table"])
    small = f.eval(C)[0]
    C.set_shape("table", pw.Box([2.0, 0.8, 0.05]))
    np.testing.assert_allclose(f.eval(C)[0][0], small[0] - 0.5)
    g = C.feature(FS.EqCenterOfMass, ["hand", "mug"])
    C.set_mass("mug", 2.0)
    np.testing.assert_allclose(g.eval(C)[0], C.pose("hand")[:3] - C.pose("mug")[:3])


def test_locking_takes_joints_out_of_q_and_keeps_their_values():
    C = table_world()
    C.q = np.r_[C.q[:7], 1.2]
    pose = C.pose("hand")
    C.lock("arm")
    assert C.joint_names == ("mug",) and C.nq == 7
    np.testing.assert_allclose(C.pose("hand"), pose)
    np.testing.assert_allclose(C.joints.value("arm"), 1.2)
    assert (C.eval(FS.position, ["hand"])[1] == 0).all()
    C.set_joint("arm", 0.0)
    assert np.linalg.norm(C.pose("hand") - pose) > 0.1
    C.unlock(["arm"])
    assert C.nq == 8 and C.q[7] == 0
    C.joints.select(["arm"])
    assert C.joint_names == ("arm",)


def test_attach_and_detach_keep_the_world_pose():
    C = table_world()
    pose = C.pose("mug")
    C.attach("hand", "mug")
    assert C.nq == 1
    np.testing.assert_allclose(C.pose("mug"), pose, atol=1e-12)
    relative = pose_multiply(pose_inverse(C.pose("hand")), C.pose("mug"))
    C.q = [1.5]
    carried = pose_multiply(C.pose("hand"), relative)
    np.testing.assert_allclose(C.pose("mug")[:3], carried[:3], atol=1e-12)
    C.detach("mug")
    assert C.nq == 8
    np.testing.assert_allclose(C.pose("mug")[:3], carried[:3], atol=1e-12)
    C.q = np.r_[C.q[:7], 0.0] if C.joint_names[0] == "mug" else np.r_[0.0, C.q[1:]]
    np.testing.assert_allclose(C.pose("mug")[:3], carried[:3], atol=1e-12)


def test_set_pose_moves_joints_that_can():
    C = table_world()
    goal = np.array([0.2, 0.3, 0.9, *rpy_to_quat(0.3, -0.5, 1.0)])
    C.set_pose("mug", goal)
    np.testing.assert_allclose(C.pose("mug"), goal, atol=1e-12)
    C.set_pose("mug", [0, 0, 0.1, 1, 0, 0, 0], relative_to="table")
    np.testing.assert_allclose(C.pose("mug")[:3], [0.5, 0, 0.5], atol=1e-12)
    C.set_pose("arm", [0, 0, 0, *rpy_to_quat(0, 0, 0.7)])
    np.testing.assert_allclose(C.q[7], 0.7)
    with pytest.raises(pw.ConfigError, match="misses"):
        C.set_pose("arm", [0.1, 0, 0, 1, 0, 0, 0])


ONE_LINK = "<robot name='r'><link name='a'/></robot>"
URDF_PLANAR = """<robot name='r'><link name='w'/><link name='a'/>
<joint name='j' type='planar'><parent link='w'/><child link='a'/></joint></robot>"""
LIMITED = dict(limits=[[-2, -2, -3], [2, 2, 3]])
FLOOR, WALL = ((1, 0, 0), (0, 1, 0), (0, 0, 1)), ((0, 1, 0), (0, 0, 1), (1, 0, 0))
PLANAR = {
    "add_frame": (lambda C: C.add_frame("a", joint="planar"), FLOOR),
    "with limits": (lambda C: C.add_frame("a", joint="planar", **LIMITED), FLOOR),
    "with an axis": (lambda C: C.add_frame("a", joint="planar", axis=[2, 0, 0]), WALL),
    "add_object": (lambda C: C.add_object("a", joint="planar"), FLOOR),
    "add_text": (lambda C: C.add_text(ONE_LINK, joint="planar"), FLOOR),
    "load": (lambda C: C.load("mug", joint="planar"), FLOOR),
    "the default of URDF": (lambda C: C.add_text(URDF_PLANAR), WALL),
    "joints.set_type": (
        lambda C: (C.add_frame("a"), C.joints.set_type("a", "planar")),
        FLOOR,
    ),
    "detach": (lambda C: (C.add_frame("a"), C.detach("a", "planar")), FLOOR),
}


@pytest.mark.parametrize("case", PLANAR)
def test_planar_joints_move_on_the_floor(tmp_path, case):
    make, (x, y, normal) = PLANAR[case]
    C, D = pw.Config(), pw.Config()
    make(C)
    C.write_urdf(tmp_path / "a.urdf")
    D.add_file(tmp_path / "a.urdf")
    for world in (C, D):
        world.q = [1.0, 0.5, 0.6]
        p = 1.0 * np.array(x) + 0.5 * np.array(y)
        turn = [np.cos(0.3), *(np.sin(0.3) * np.array(normal))]
        frame = C.frame_names[-1]
        np.testing.assert_allclose(world.pose(frame), [*p, *turn], atol=1e-9)


@pytest.mark.parametrize("kind", ["hinge", "revolute", "continuous", "prismatic"])
def test_other_joints_without_an_axis_have_that_of_urdf(kind):
    C = pw.Config()
    C.add_frame("a", joint=kind)
    np.testing.assert_array_equal(C.frame("a").joint.axis, [1, 0, 0])


def test_a_copy_is_independent():
    C = table_world()
    D = C.copy()
    D.q = np.r_[D.q[:7], -0.5]
    D.remove("mug")
    D.set_mass("table", 3.0)
    assert C.nq == 8 and D.nq == 1 and C.frame("table").mass is None
    np.testing.assert_allclose(C.q[7], 0.4)


def test_arrays_that_users_give_stay_theirs():
    C = pw.Config()
    position, size, value = np.zeros(3), np.full(3, 0.1), np.array([0.2])
    limits = np.array([[-1.0], [1.0]])
    C.add_frame("a", joint="hingeZ", position=position, shape=pw.Box(size))
    C.set_joint("a", value)
    C.joints.set_limits("a", limits)
    D = C.copy()
    for array in (position, size, value, limits):
        array[:] = 9.0
    for world in (C, D):
        np.testing.assert_array_equal(world.q, [0.2])
        np.testing.assert_array_equal(world.limits, [[-1], [1]])
        np.testing.assert_array_equal(world.pose("a")[:3], 0)
        shape = world.frame("a").geometries[0].shape
        np.testing.assert_array_equal(shape.size, 0.1)


def test_removing_takes_the_subtree_and_keeps_the_rest():
    C = table_world()
    hand = C.pose("hand")
    C.add_frame("finger", "hand", position=[0, 0, 0.1])
    C.remove("mug")
    np.testing.assert_allclose(C.pose("hand"), hand)
    C.remove("arm")
    assert C.frame_names == ("table",) and C.nq == 0


def test_mimic_follows_and_is_no_dof():
    C = pw.Config()
    C.add_frame("a", joint="transX", limits=[0.0, 0.04])
    C.add_frame(
        "b", joint="prismatic", axis=[0, 1, 0], mimic="a", multiplier=-2, offset=0.1
    )
    C.q = [0.03]
    np.testing.assert_allclose(C.pose("b")[:3], [0, 0.04, 0])
    J = C.eval(FS.positionDiff, ["a", "b"])[1]
    np.testing.assert_allclose(J, [[1], [2], [0]])


def test_objects_are_values_and_keep_their_order():
    C = pw.Config()
    for name in ("b", "a"):
        C.add_object(name, [(pw.Sphere(0.1), None)], category="ball.n.01")
    assert C.object("a") == C.object("a") != C.object("b")
    assert hash(C.object("a")) == hash(C.object("a"))
    assert C.object("a") != C.copy().object("a")
    assert list(C.annotations.states) == list(C.objects) == ["b", "a"]
    C.annotations.set_state("b", temperature=50.0)
    C.annotations.mark_object("b", "ball.n.02")
    assert (
        list(C.annotations.states) == ["b", "a"]
        and C.annotations.states["b"].temperature == 50.0
    )


def test_objects_have_parts_and_abilities():
    C = pw.Config()
    boards = [(pw.Box([0.8, 0.3, 0.02]), [0, 0, z, 1, 0, 0, 0]) for z in (0.1, 0.5)]
    shelf = C.add_object(
        "shelf",
        boards,
        pose=[1, 0, 0, 1, 0, 0, 0],
        category="shelf.n.01",
        abilities={"openable": {}},
        mass=4.0,
        com=[0, 0, 0.3],
    )
    C.add_frame("door", "shelf", joint="hingeZ", shape=pw.Box([0.8, 0.02, 0.5]))
    assert shelf.parts == ("shelf", "door")
    assert C.objects["shelf"].category == "shelf.n.01"
    assert len(C.frame("shelf").geometries) == 2
    np.testing.assert_allclose(C.frame("shelf").com, [0, 0, 0.3])
    assert C.copy().objects["shelf"].parts == ("shelf", "door")


def test_our_models_load_beside_each_other():
    C = pw.load("panda")
    C.load("panda", prefix="b_", pose=[1, 0, 0, 0, 0, 0, 1])
    C.load("mug", pose=[0.5, 0, 0.2, 1, 0, 0, 0], joint="free")
    C.load("cupboard", pose=[0, 1, 0, 1, 0, 0, 0])
    assert len(set(C.joint_names)) == len(C.joint_names)
    b = C.joints.coordinates(["b_panda_joint1"])
    q = C.q
    q[b] += 0.5
    still = C.pose("panda_hand")
    C.q = q
    np.testing.assert_allclose(C.pose("panda_hand"), still)
    assert set(C.objects) >= {"mug", "cupboard"}
    fingers = ["b_panda_leftfinger", "b_panda_rightfinger"]
    C.q = np.where(
        np.arange(C.nq) == C.joints.coordinates("b_panda_finger_joint1")[0], 0.03, C.q
    )
    open_ = np.linalg.norm(C.pose(fingers[0])[:3] - C.pose(fingers[1])[:3])
    np.testing.assert_allclose(open_, 0.06, atol=1e-12)


def test_a_model_that_does_not_fit_leaves_the_world_as_it_was(tmp_path):
    C = pw.load("planar3")
    names, q = C.frame_names, C.q
    with pytest.raises(pw.ConfigError, match="prefix"):
        C.load("planar3")
    bad = tmp_path / "bad.urdf"
    bad.write_text("<robot name='x'><link name='a'/><link name='a'/></robot>")
    with pytest.raises(pw.LoadError):
        C.add_file(bad)
    assert C.frame_names == names
    np.testing.assert_array_equal(C.q, q)


def test_urdf_export_reads_back(tmp_path):
    C = pw.load("panda")
    C.add_frame("base2", joint="transXYPhi", q=[0.1, 0.2, 0.3])
    C.write_urdf(tmp_path / "out.urdf")
    D = pw.Config()
    D.add_file(tmp_path / "out.urdf")
    arm = [n for n in C.joint_names if n.startswith("panda")]
    q = D.q
    q[D.joints.coordinates(arm)] = C.q[C.joints.coordinates(arm)]
    D.q = q
    np.testing.assert_allclose(D.pose("panda_hand"), C.pose("panda_hand"), atol=1e-9)


def test_a_frame_is_a_line():
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([1, 1, 0.1]), position=[0, 0.5, 1 / 3])
    C.add_object("shelf", [(pw.Sphere(0.1), None)] * 5)
    C.add_frame("lid", "table", joint="hingeZ")
    lines = [repr(C.frame(name)) for name in C.frame_names]
    assert lines == [
        "Frame('table' in the world at [0, 0.5, 0.3333], no joint, Box)",
        "Frame('shelf' in the world at [0, 0, 0], no joint,"
        " Sphere, Sphere, Sphere, 5 in all)",
        "Frame('lid' in frame 0 at [0, 0, 0], joint hingeZ, no shape)",
    ]


def test_poses_are_those_of_the_origin_though_a_frame_called_world_moved():
    C = pw.Config()
    C.add_frame("world", pose=[0.1, 0.2, 0.3, 0, 0, 1, 0])
    C.add_frame("fixed"), C.add_frame("root", parent=None)
    pose = [0.4, 0.5, 0.6, 1, 0, 0, 0]
    for name in ("fixed", "root"):
        C.set_pose(name, pose)
        np.testing.assert_allclose(C.pose(name), pose, atol=1e-12)
    C.set_pose("root", pose, relative_to="world")
    np.testing.assert_allclose(C.pose("root")[:3], [-0.3, 0.7, -0.3], atol=1e-12)
    assert [C.frame(n).parent for n in ("fixed", "root")] == [0, None]


def test_models_with_mimic_joints_are_copied_from_worlds(tmp_path):
    file = tmp_path / "gripper.g"
    file.write_text(
        "base: {}\n"
        "left(base): { joint: transY, limits: [0, .1] }\n"
        "right(base): { joint: transY, limits: [0, .1], mimic: left }\n"
    )
    C, D = pw.Config(), pw.Config()
    C.add_frame("table")
    C.add_file(file)
    for prefix in ("a_", "b_"):
        D.add_model(C.model(), prefix)
    D.q = [0.02, 0.05]
    for prefix, q in (("a_", 0.02), ("b_", 0.05)):
        np.testing.assert_allclose(D.pose(f"{prefix}right")[1], q)
