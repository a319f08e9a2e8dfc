"""Still pictures: what is nearer hides, shadows fall, colours differ, points fit."""

import numpy as np
import pytest

import posewise as pw
from posewise import ConfigError
from posewise.robots.visual.drawn_scene import drawn_scene
from posewise.robots.visual.eyes import fit_eye
from posewise.robots.visual.framing import floor_height, grid_cell, visible_bounds
from posewise.robots.visual.rasterizer import rasterize
from posewise.robots.visual.rendering import render
from posewise.robots.visual.viewer.scene import (
    ASPECT,
    FIELD_OF_VIEW,
    fit_camera,
)
from posewise.robots.world.palette import body_colors, body_roots


def test_a_buffer_has_the_nearest_triangle_at_the_middle_of_each_pixel():
    rng = np.random.default_rng(0)
    corners, depth = rng.uniform(-3, 15, (30, 3, 2)), rng.normal(size=(30, 3))
    buffer = rasterize(corners, depth, (10, 12))
    for y, x in np.ndindex(10, 12):
        best = (-np.inf, -1)
        for k in range(30):
            A = np.vstack([corners[k].T, np.ones(3)])
            weights = np.linalg.solve(A, [x + 0.5, y + 0.5, 1])
            if (weights >= 0).all():
                best = max(best, (weights @ depth[k], k))
        assert buffer.triangle[y, x] == best[1]
        if best[1] >= 0:
            assert buffer.depth[y, x] == pytest.approx(best[0])


def two_balls() -> pw.Config:
    C = pw.Config()
    C.add_frame("low", shape=pw.Sphere(0.1), color=[1, 0, 0])
    C.add_frame("high", position=[0, 0, 0.5], shape=pw.Sphere(0.05), color=[0, 0, 1])
    return C


@pytest.mark.parametrize("elevation, middle", [(90, "blue"), (-90, "red")])
def test_what_is_nearer_hides(elevation, middle):
    C = two_balls()
    scene = drawn_scene(C, C.frame_names)
    picture = render(scene, fit_eye(scene.points, (elevation, 0), (60, 60)))
    assert picture[30, 30].argmax() == {"red": 0, "blue": 2}[middle]


def test_a_shadow_falls_on_the_floor_away_from_the_light():
    C = pw.Config()
    C.add_frame("ball", position=[0, 0, 0.4], shape=pw.Sphere(0.2))
    C.add_frame("board", position=[0, 0, -0.01], shape=pw.Box([1.2, 1.2, 0.02]))
    C.set_color("board", [1, 1, 1])
    scene = drawn_scene(C, C.frame_names)
    eye = fit_eye(scene.points, (90, -90), (200, 200))
    picture = render(scene, eye)

    def at(x: float, y: float) -> np.ndarray:
        column, row = eye.project(np.array([x, y, 0]))[0].astype(int)
        return picture[row, column]

    # The light comes from +x, -y, 0.85 above 0.35 and 0.40.
    below = 0.4 / 0.85 * np.array([-0.35, 0.40]) * 0.9
    assert at(*below).mean() < 0.8 * at(*-2.2 * below).mean()


def test_colours_by_body():
    C = pw.load("planar3")
    for k in range(3):
        C.add_frame(f"cup{k}", joint="free", shape=pw.Sphere(0.1))
    C.add_frame("shelf")
    C.add_frame("board", "shelf", shape=pw.Sphere(0.1))
    C.add_frame("side", "shelf", shape=pw.Sphere(0.1))
    colors = dict(zip(C.frame_names, body_colors(C.frames), strict=True))
    assert len({colors[f"cup{k}"] for k in range(3)} | {colors["board"]}) == 4
    assert colors["board"] == colors["side"]
    roots = dict(zip(C.frame_names, body_roots(C.frames), strict=True))
    assert len({roots[n] for n in C.frame_names}) == 1 + 3 + 1


def test_grounds_are_not_framed_and_planes_are_floors():
    C = pw.Config()
    C.add_frame("plane", position=[0, 0, -0.3], shape=pw.Plane())
    C.add_frame("ground", position=[0, 0, -0.1], shape=pw.Box([50, 50, 0.1]))
    C.add_frame("cup", position=[1, 2, 0], shape=pw.Sphere(0.1))
    scene = drawn_scene(C, C.frame_names)
    np.testing.assert_allclose(scene.points.min(0), [0.9, 1.9, -0.1])
    np.testing.assert_allclose(scene.points.max(0), [1.1, 2.1, 0.1])
    assert scene.floor == pytest.approx(-0.3)
    assert floor_height([], np.zeros((0, 7)), scene.points) == pytest.approx(-0.1)
    assert visible_bounds([], np.zeros((0, 3))).shape[1] == 3


@pytest.mark.parametrize("size, cell", [(1.0, 0.1), (3.0, 0.2), (0.07, 0.005), (60, 5)])
def test_squares_of_the_floor(size, cell):
    assert grid_cell(size) == pytest.approx(cell)


def test_the_first_camera_sees_all_points_and_little_more():
    points = np.random.default_rng(1).uniform(-1, 2, (40, 3))
    look_at, position = fit_camera(points)
    ahead = (look_at - position) / np.linalg.norm(look_at - position)
    right = np.cross(ahead, [0, 0, 1.0])
    right /= np.linalg.norm(right)
    offset = points - position
    plane = offset @ np.stack([right / ASPECT, np.cross(right, ahead)], -1)
    extent = np.abs(plane / (offset @ ahead)[:, None]).max() / np.tan(FIELD_OF_VIEW / 2)
    assert 0.6 < extent < 1.0


def test_a_picture_of_a_world(tmp_path):
    figure = two_balls().picture(tmp_path / "two.png", names=True)
    assert (tmp_path / "two.png").read_bytes().startswith(b"\x89PNG")
    assert figure._repr_png_().startswith(b"\x89PNG")
    assert {text.get_text() for text in figure.axes[0].texts} == {"low", "high"}
    with pytest.raises(ConfigError, match="two numbers"):
        two_balls().picture(view=(1,))
    with pytest.raises(ConfigError, match="did you mean 'low'"):
        two_balls().picture(frames=["lwo"])


CABINET = """
<robot name="cabinet">
  <link name="case">
    <collision><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="door">
    <collision><geometry><box size=".1 1 1"/></geometry></collision></link>
  <link name="knob">
    <visual><geometry><sphere radius=".1"/></geometry></visual></link>
  <link name="zone">
    <collision><geometry><box size="3 3 3"/></geometry></collision></link>
  <joint name="hinge" type="continuous"><parent link="case"/><child link="door"/>
    <origin xyz="-.6 0 0"/><axis xyz="0 0 1"/></joint>
  <joint name="turn" type="continuous"><parent link="door"/><child link="knob"/>
    <origin xyz="-.2 0 0"/></joint>
  <joint name="round" type="fixed"><parent link="knob"/><child link="zone"/></joint>
</robot>
"""


def test_a_link_without_visual_shapes_is_drawn_by_those_for_collision():
    C = pw.Config()
    C.add_text(CABINET)
    scene = drawn_scene(C, C.frame_names)
    bodies = {C.frame_names[i] for i in np.unique(scene.bodies)}
    assert bodies == {"case", "door", "knob"}
    # Not the zone, which its model fixes to a link that is drawn.
    np.testing.assert_allclose(scene.points.min(0), [-0.9, -0.5, -0.5], atol=1e-9)
    np.testing.assert_allclose(scene.points.max(0), [0.5, 0.5, 0.5], atol=1e-9)
    # What a user attaches is another link.
    C.add_text(CABINET, "b_", parent="knob")
    scene = drawn_scene(C, C.frame_names)
    assert "b_case" in {C.frame_names[i] for i in np.unique(scene.bodies)}
    assert not any(g.visual for g in C.frame("case").geometries)
