"""Sight is of the shapes that are drawn: lamps hide, and one looks under tables."""

import numpy as np
import pytest
from helpers.oracle import SHARED
from helpers.predicate_scenes import at

import posewise as pw
from posewise import logic
from posewise.robots.visual.visible_shapes import visible_frame

BOX = '<geometry><box size="{}"/></geometry>'
TABLE = f"""<robot name="t"><link name="t">
<visual><origin xyz="0 0 .7"/>{BOX.format("1 1 .04")}</visual>
<collision><origin xyz="0 0 .36"/>{BOX.format("1 1 .72")}</collision>
</link></robot>"""
LAMP = f"""<robot name="l"><link name="l">
<visual>{BOX.format(".2 .2 .2")}</visual></link></robot>"""
WALL = f"""<robot name="w"><link name="w">
<collision>{BOX.format(".1 2 2")}</collision></link></robot>"""
MODELS = {"table": TABLE, "lamp": LAMP, "wall": WALL}


def room(*models: str) -> pw.Config:
    """A camera at x = -2 that looks along x at a mug; models stand where they hide."""
    C = pw.Config()
    for model in models:
        C.add_text(MODELS[model], pose=at(0, 0, 0) if model == "table" else at(-0.5))
    C.add_object("mug", [(pw.Cylinder(0.1, 0.04), None)], pose=at(z=0.05), joint="free")
    C.annotations.add_camera("eye", position=[-2.0, 0, 0.2], width=64, height=64)
    return C


SEEN = [
    # models, mug's place, is the mug seen?
    ((), at(z=0.05), True),
    (("table",), at(z=0.05), True),
    (("table",), at(z=0.78), False),
    (("lamp",), at(z=0.05), False),
    (("lamp",), at(0, 0.5, 0.05), True),
    (("wall",), at(z=0.05), False),
]


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("models, pose, is_seen", SEEN)
def test_what_is_drawn_hides(models, pose, is_seen):
    C = room(*models)
    C.set_joint("mug", pose)
    in_view, visible = logic.InFoVOfAgent("mug", "eye"), logic.Visible("mug", "eye")
    assert in_view.holds(C) is is_seen
    assert visible.holds(C) is is_seen
    assert (in_view.violation(C) <= 0) <= is_seen
    assert (visible.violation(C) <= 0) <= is_seen
    if is_seen:
        assert visible.violation(C) <= 0
    hidden_by = {"lamp": "l", "table": "t", "wall": "w"}
    for model in models:
        occluding = logic.Occluding("mug", "eye", by=hidden_by[model])
        assert occluding.holds(C) is not is_seen


@pytest.mark.long
def test_a_lamp_of_visual_shapes_is_seen():
    C = room("lamp")
    assert logic.InFoVOfAgent("l", "eye").holds(C)
    assert logic.InFoVOfAgent("l", "eye").violation(C) <= 0
    assert logic.Visible("l", "eye").holds(C)


def test_shapes_for_collision_stand_for_drawn_meshes():
    """The hull of a drawn mesh would fill it."""
    solid = pw.robots.Geometry(pw.Box([1, 1, 1]), visual=False)
    corners = np.random.default_rng(0).normal(size=(9, 3))
    mesh = pw.robots.Geometry(pw.Mesh(hull(corners)), collision=False)
    frame = pw.robots.Frame("f", geometries=(solid, mesh))
    assert visible_frame(frame) is frame
    drawn = visible_frame(pw.robots.Frame("f", geometries=(mesh,)))
    assert [g.collision for g in drawn.geometries] == [True]
    assert visible_frame(drawn) is drawn


def hull(points: np.ndarray):
    trimesh = pytest.importorskip("trimesh")
    return trimesh.convex.convex_hull(points)


def test_shared_cases():
    folder = SHARED / "cases"
    if not folder.exists():
        pytest.skip(f"no reference data at {folder}")
    C = pw.Config()
    C.add_file(folder / "table.urdf")
    C.add_object("mug", [(pw.Cylinder(0.1, 0.04), None)], pose=at(z=0.05))
    C.annotations.add_camera("eye", position=[-2.0, 0, 0.2])
    assert logic.InFoVOfAgent("mug", "eye").holds(C)
    C.add_file(folder / "lamp.urdf", pose=at(-1, 0, 0.1))
    assert not logic.InFoVOfAgent("mug", "eye").holds(C)
    assert logic.InFoVOfAgent("lamp", "eye").holds(C)
