"""Predicates of agents: hands, cameras, rooms."""

import numpy as np
import pytest
from helpers.predicate_scenes import at, built_once, scene

import posewise as pw
from posewise.logic import InFoVOfAgent, InHandOfAgent, OnFloor
from posewise.robots.kinematics.transforms import pose_multiply


@built_once
def panda() -> pw.Config:
    """A panda whose fingers close on a small box, 4 cm wide."""
    C = pw.load("panda")
    C.annotations.add_agent("robot", base="panda_link0", hands=["panda_hand"])
    tool = C.pose("panda_hand_tcp")
    C.add_object("box", [(pw.Box([0.02, 0.04, 0.02]), None)], pose=tool, joint="free")
    return C


def test_held_between_fingers():
    C = panda()
    p = InHandOfAgent("box", "robot")
    assert p.holds(C), p.explain(C)
    assert p.explain(C) == (
        "box is between panda_leftfinger and panda_rightfinger, which touch it from"
        " sides 180 degrees apart."
    )
    assert not InHandOfAgent("box", "robot", semantics="igibson").holds(C)
    C.set_pose("box", pose_multiply(C.pose("box"), at(0, 0.005)))
    assert not p.holds(C)
    assert p.explain(C).endswith(
        "of panda_hand touch box; panda_rightfinger is 5.00 mm from it."
    )
    C.set_pose("box", at(1, 1))
    assert not p.holds(C) and p.explain(C).startswith("0 of 2 fingers")


@pytest.mark.parametrize("semantics", ["posewise", "igibson", "document"])
def test_attached_to_a_hand(semantics):
    C = panda()
    C.set_pose("box", at(0.3, 0.3, 0.3))
    p = InHandOfAgent("box", "robot", semantics=semantics)
    assert not p.holds(C)
    for frame in ("panda_hand", "panda_hand_tcp", "panda_leftfinger"):
        attached = C.copy()
        attached.attach(frame, "box")
        assert p.holds(attached), p.explain(attached)
    C.attach("panda_link0", "box")
    assert not p.holds(C)


def test_fingers_may_be_named():
    C = panda()
    fingers = ["panda_leftfinger", "panda_rightfinger"]
    C.annotations.add_agent("other", base="panda_link0", hands={"panda_hand": fingers})
    C.annotations.add_agent(
        "thumb", base="panda_link0", hands={"panda_hand": fingers[:1]}
    )
    assert InHandOfAgent("box", "other").holds(C) and not InHandOfAgent(
        "box", "thumb"
    ).holds(C)


def test_the_camera_sees_past_the_part_it_is_in():
    """And not through its own nose; nothing nearer than near hides."""
    C = scene()
    C.add_frame("head", "eyes", shape=pw.Sphere(0.1))
    p = InFoVOfAgent("mug", "robot")
    assert p.holds(C)
    C.add_frame("nose", "eyes", position=[0.15, 0, 0], shape=pw.Box([0.01, 1, 1]))
    assert not p.holds(C) and "are hidden" in p.explain(C)
    C.set_pose("nose", at(0.05), relative_to="eyes")
    assert p.holds(C) and InFoVOfAgent("mug", "eyes").holds(C)


def test_depth_bounds_what_is_seen():
    for near, far, truth in (
        (0.1, 100, True),
        (0.6, 100, True),
        (2, 100, False),
        (0.1, 0.5, False),
    ):
        C = pw.Config()
        C.add_frame("wall", shape=pw.Box([0.1, 2, 2]), position=[1.0, 0, 0])
        C.annotations.add_camera("eyes", near=near, far=far)
        assert InFoVOfAgent("wall", "eyes").holds(C) is truth


def test_pixels():
    camera = pw.Camera("c", vertical_fov=np.pi / 2, width=4, height=2)
    rays = camera.pixel_rays().reshape(2, 4, 3)
    assert np.all(rays[..., 0] == 1)
    np.testing.assert_allclose(rays[0, :, 1], [1.5, 0.5, -0.5, -1.5])
    np.testing.assert_allclose(rays[:, 0, 2], [0.5, -0.5])


def test_cells_of_rooms():
    rooms = [
        pw.Room("kitchen_0", cells=[0, 0, 2, 4]),
        pw.Room("den", "lounge", [[2, 0, 4, 1]]),
    ]
    room_map = pw.RoomMap(rooms, size=4, resolution=0.5)
    name = lambda *xy, **k: getattr(room_map.room_at(xy, **k), "name", None)
    assert [r.type for r in room_map.rooms] == ["kitchen", "lounge"]
    assert name(-0.9, 0.9) == "kitchen_0" and name(0.1, -0.9) == "den"
    assert name(0.1, 0.1) is None and name(1.1, 0) is None
    assert name(-1.1, 0) is None and name(-1.1, 0, truncate=True) == "kitchen_0"
    mask = np.zeros((4, 4), bool)
    mask[:2] = True
    same = pw.RoomMap([pw.Room("kitchen_0", cells=mask)], size=(4, 4), resolution=0.5)
    assert (same.labels == np.where(room_map.labels == 0, 0, -1)).all()


def test_a_rooms_own_floor():
    C = pw.load("apartment")
    C.add_object(
        "cube", [(pw.Box([0.1, 0.1, 0.1]), None)], pose=at(-2, 0, 0.05), joint="free"
    )
    C.annotations.rooms = pw.RoomMap(
        [
            pw.Room("living_room_0", cells=[0, 0, 41, 42], floor="living_room_floor"),
            pw.Room("kitchen_0", cells=[41, 0, 82, 42], floor="kitchen_floor"),
        ],
        size=(82, 42),
    )
    assert OnFloor("cube", "living_room_0").holds(C)
    assert not OnFloor("cube", "kitchen_0").holds(C)
    assert OnFloor("cube", "apartment").holds(C)
    assert not OnFloor("cube", "kitchen_floor").holds(C)


def test_copies_and_removals_keep_what_they_should():
    C = scene()
    C.annotations.add_agent("crew", base="table", camera="eyes", hands=["robot"])
    D = C.copy()
    assert (
        D.annotations.rooms is C.annotations.rooms
        and D.annotations.cameras == C.annotations.cameras
        and D.annotations.agents == C.annotations.agents
    )
    D.remove("robot")
    assert not D.annotations.cameras and list(D.annotations.agents) == ["crew"]
    assert (
        D.annotations.agents["crew"].camera is None
        and not D.annotations.agents["crew"].hands
    )
    assert list(C.annotations.agents) == ["robot", "crew"]
