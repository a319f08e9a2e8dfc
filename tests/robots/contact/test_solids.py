"""Rays, extents, masses and gaps of shapes, against closed forms and sampling."""

import json

import numpy as np
import pytest
from helpers.oracle import SHARED, _shape
from helpers.worlds import random_pose
from scipy.optimize import nnls

import posewise as pw
from posewise.robots.contact.bounding_boxes import body_boxes, body_volumes
from posewise.robots.contact.gjk_numpy import min_distance
from posewise.robots.contact.pose_batches import distances_at_poses
from posewise.robots.contact.ray_casting import intersect_lines, ray_hits
from posewise.robots.kinematics.transforms import quat_to_matrix

WEDGE = np.array([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0, 0, 0.4], [0.1, 0.1, 0.4]])
EYE, ZERO = np.eye(3), np.zeros(3)


def frame(shape, pose=None) -> pw.robots.Frame:
    C = pw.Config()
    C.add_object("thing", [(shape, pose)])
    return C.frame("thing")


def box(x, half):
    return (np.abs(x) <= half).all(-1)


def near_box(x, half, r):
    return np.linalg.norm(np.maximum(np.abs(x) - half, 0), axis=-1) <= r


def near_drum(x, radius, half, r):
    across = np.hypot(x[:, 0], x[:, 1])
    flat = np.stack([across, np.abs(x[:, 2])], -1)
    return near_box(flat, np.array([radius, half]), r)


def near_wedge(x, r):
    """By the weights of its corners that come nearest to a point."""
    heavy = 1e4
    corners = np.vstack([WEDGE.T, np.full(len(WEDGE), heavy)])
    return np.array([nnls(corners, [*point, heavy])[1] <= r + 1e-7 for point in x])


SHAPES = {
    "box": (pw.Box([0.2, 0.3, 0.4]), lambda x: box(x, [0.1, 0.15, 0.2])),
    "sphere": (pw.Sphere(0.2), lambda x: near_box(x, ZERO, 0.2)),
    "capsule": (
        pw.Capsule(0.3, 0.1),
        lambda x: near_box(x, np.array([0, 0, 0.15]), 0.1),
    ),
    "rounded box": (
        pw.Box([0.3, 0.2, 0.4], rounding=0.05),
        lambda x: near_box(x, np.array([0.1, 0.05, 0.15]), 0.05),
    ),
    "cylinder": (pw.Cylinder(0.3, 0.1), lambda x: near_drum(x, 0.1, 0.15, 0)),
    "rounded cylinder": (
        pw.Cylinder(0.3, 0.2, rounding=0.05),
        lambda x: near_drum(x, 0.15, 0.1, 0.05),
    ),
    "pill": (
        pw.Cylinder(0.3, 0.15, rounding=0.15),
        lambda x: near_box(x, ZERO, 0.15),
    ),
    "ellipsoid": (
        pw.Ellipsoid([0.1, 0.2, 0.3]),
        lambda x: np.linalg.norm(x / [0.1, 0.2, 0.3], axis=-1) <= 1,
    ),
    "hull": (pw.Convex(WEDGE), lambda x: near_wedge(x, 0)),
    "rounded hull": (pw.Convex(WEDGE, rounding=0.05), lambda x: near_wedge(x, 0.05)),
    "tile": (
        pw.Convex([(x, y, 0) for x in (-0.2, 0.2) for y in (-0.1, 0.1)], rounding=0.05),
        lambda x: near_box(x, np.array([0.2, 0.1, 0]), 0.05),
    ),
    "stick": (
        pw.Convex([[0, 0, -0.2], [0, 0, 0.2]], rounding=0.05),
        lambda x: near_box(x, np.array([0, 0, 0.2]), 0.05),
    ),
    "plane": (pw.Plane(), lambda x: x[:, 2] <= 0),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_lines_are_in_a_shape_where_its_points_are(name):
    """Just before and behind each crossing, by the definition of the shape."""
    shape, holds = SHAPES[name]
    rng = np.random.default_rng(0)
    pose = random_pose(rng)
    R, p = quat_to_matrix(pose[3:]), pose[:3]
    origin = rng.normal(size=(60, 3))
    direction = 0.15 * rng.normal(size=(60, 3)) + (p - origin)
    enter, leave = (
        c[:, 0] for c in intersect_lines(frame(shape, pose), origin, direction)
    )
    local = lambda t: (origin + t[:, None] * direction - p) @ R
    hit = enter <= leave
    assert hit.any()
    step = 1e-5
    for t, inside in ((enter, 1), (leave, -1)):
        finite = np.isfinite(t)
        crossing = np.where(finite, t, 0.0)
        long = finite & (leave - enter > 4 * step)
        assert holds(local(crossing + inside * step))[long].all()
        assert not holds(local(crossing - inside * step))[finite].any()
    along = np.linspace(-3, 3, 200 if "hull" not in name else 12)
    for t in along:
        now = np.full(60, t)
        margin = np.minimum(np.abs(enter - t), np.abs(leave - t)) > step
        expected = (enter <= t) & (t <= leave)
        assert (holds(local(now)) == expected)[margin].all()


def test_a_ray_does_not_meet_the_part_it_starts_in():
    C = pw.Config()
    parts = [(pw.Box([1, 1, 1]), None), (pw.Box([1, 1, 1]), [0.8, 0, 0, 1, 0, 0, 0])]
    C.add_object("two", parts)
    starts = np.array([[0.0, 0, 0], [-2, 0, 0], [2, 0, 0], [0.4, 0, 0]])
    distances = ray_hits(C.frame("two"), starts, np.tile([1.0, 0, 0], (4, 1)))
    expected = [[np.inf, 0.3], [1.5, 2.3], [np.inf, np.inf], [np.inf, np.inf]]
    np.testing.assert_allclose(distances, expected)


@pytest.mark.parametrize("name", [n for n in SHAPES if n != "plane"])
def test_boxes_and_volumes(name):
    """Boxes touch the shape on all six sides; volumes and centres by sampling."""
    shape, holds = SHAPES[name]
    rng = np.random.default_rng(1)
    pose, turn = random_pose(rng), quat_to_matrix(random_pose(rng)[3:])
    body = frame(shape, pose)
    low, high = (x[0] for x in body_boxes(body, turn, ZERO))
    rays = 4000 if "hull" not in name else 1000
    through = rng.uniform(low, high, (rays, 3)) @ turn
    for axis in range(3):
        direction = np.broadcast_to(turn[axis], through.shape)
        enter, leave = intersect_lines(body, through, direction)
        hit = enter <= leave
        ends = [through[hit[:, 0]] @ turn[axis] + t[hit] for t in (enter, leave)]
        slack = np.array([ends[0].min() - low[axis], high[axis] - ends[1].max()])
        assert (slack > -1e-12).all() and (slack < 0.1 * (high - low)[axis]).all()
    volume, centre = (x[0] for x in body_volumes(body))
    points = rng.uniform(low, high, (60000 if "hull" not in name else 2000, 3)) @ turn
    inside = holds((points - pose[:3]) @ quat_to_matrix(pose[3:]))
    share = inside.mean()
    error = 4 * np.sqrt(share * (1 - share) / len(points)) + 0.01 * share
    assert volume / np.prod(high - low) == pytest.approx(share, abs=error)
    size = np.linalg.norm(high - low)
    far = np.abs(points[inside].mean(0) - centre).max()
    assert far < 4 * size / np.sqrt(12 * inside.sum())


def test_planes_reach_to_infinity():
    low, high = body_boxes(frame(pw.Plane(), [0, 0, 0.5, 1, 0, 0, 0]), EYE, ZERO)
    assert high[0].tolist() == [np.inf, np.inf, 0.5]
    assert np.isneginf(low[0]).all()
    tilted = [0, 0, 0.5, 1, 0.1, 0, 0]
    assert np.isposinf(body_boxes(frame(pw.Plane(), tilted), EYE, ZERO)[1]).all()


def samples() -> list:
    """Rows of exact distances; there a cylinder is a polygon's prism."""
    path = SHARED / "oracle" / "features/oracle_pairs_0.json"
    if not path.is_file():
        skip = pytest.mark.skip("reference features/oracle_pairs_0.json is not there")
        return [pytest.param(None, marks=skip)]
    return [
        pytest.param(s, id=f"{s['a']['kind']}-{s['b']['kind']}-{k}")
        for k, s in enumerate(json.loads(path.read_text())["samples"])
        if not {"cylinder", "ssCylinder"} & {s["a"]["type"], s["b"]["type"]}
    ]


@pytest.mark.parametrize("sample", samples())
def test_gaps_against_exact_distances(sample):
    a, b = (frame(_shape(sample[k])) for k in "ab")
    for row in sample["rows"]:
        poses = np.array(row["q"]).reshape(2, 7)
        unit = poses[:, 3:] / np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        R = quat_to_matrix(unit)
        sides = [[(a, R[0], poses[0, :3])], [(b, R[1], poses[1, :3])]]
        gap, d = min_distance(*sides), row["exact_d"]
        assert gap.distance == pytest.approx(max(d, 0.0), abs=1e-7)
        if d > 1e-3:
            assert gap.normal @ row["exact_normal"] > 1 - 1e-4
            assert min_distance(*sides, limit=d - 1e-6) is None
            assert min_distance(*sides, limit=d + 1e-6).distance <= d + 1e-6


@pytest.mark.parametrize("height", [0.3, 0.0, -0.3])
@pytest.mark.parametrize("name", [n for n in SHAPES if n != "plane"])
def test_gaps_over_a_plane(name, height):
    body = frame(SHAPES[name][0])
    R = quat_to_matrix(random_pose(np.random.default_rng(2))[3:])
    low, _ = body_boxes(body, R, ZERO)
    lift = np.array([0, 0, height - low.min(0)[2]])
    plane = [(frame(pw.Plane()), EYE, ZERO)]
    gap = min_distance([(body, R, lift)], plane)
    assert gap.distance == pytest.approx(max(height, 0), abs=1e-12)
    if height > 0:
        assert gap.normal.tolist() == [0, 0, 1]
        assert min_distance(plane, [(body, R, lift)]).normal.tolist() == [0, 0, -1]


@pytest.mark.parametrize("name", ["cylinder", "rounded cylinder", "ellipsoid"])
def test_gaps_of_curved_shapes(name):
    """Points just within and beyond the gap that is found."""
    shape, holds = SHAPES[name]
    body, ball = frame(shape), frame(pw.Sphere(0.02))
    for p in np.random.default_rng(4).normal(size=(40, 3)):
        gap = min_distance([(body, EYE, ZERO)], [(ball, EYE, p)])
        if gap.distance == 0:
            continue
        foot = p + (gap.distance + 0.02) * gap.normal
        assert holds((foot + 1e-6 * gap.normal)[None])
        assert not holds((foot - 1e-6 * gap.normal)[None])


@pytest.mark.slow
@pytest.mark.parametrize("a", SHAPES)
def test_gaps_and_the_narrow_phase_agree(a):
    rng = np.random.default_rng(5)
    for b in SHAPES:
        if a == b == "plane":
            continue
        C = pw.Config()
        C.add_frame("a", joint="free", shape=SHAPES[a][0])
        C.add_frame("b", joint="free", shape=SHAPES[b][0])
        for _ in range(5):
            C.set_pose("a", random_pose(rng, 0.3))
            C.set_pose("b", random_pose(rng, 0.3))
            poses = C.forward_pass().frames
            sides = [[(C.frames[i], poses.R[i], poses.p[i])] for i in range(2)]
            expected = max(C.signed_distance("a", "b")[0], 0.0)
            assert min_distance(*sides).distance == pytest.approx(expected, abs=1e-7)


MOVING = [[pw.Box([0.1, 0.2, 0.3]), pw.Sphere(0.1)], [pw.Convex(WEDGE)]]
STAYING = {
    "bodies": [[pw.Cylinder(0.4, 0.1)], [pw.Capsule(0.2, 0.05), pw.Box([0.2] * 3)]],
    "a plane besides": [[pw.Cylinder(0.4, 0.1)], [pw.Plane()]],
    "nothing": [],
}
POSES = 12


def frames_of(parts) -> list[pw.robots.Frame]:
    C = pw.Config()
    for k, shape in enumerate(parts):
        C.add_frame(f"part {k}", shape=shape)
    return list(C.frames)


@pytest.mark.parametrize("limit", [np.inf, 0.1])
@pytest.mark.parametrize("name", STAYING)
def test_distances_are_those_of_one_pose_after_the_other(name, limit, monkeypatch):
    monkeypatch.setattr("posewise.robots.contact.pose_batches.MAX_PAIRS_PER_CHUNK", 50)
    rng = np.random.default_rng(0)
    moving, staying = frames_of(MOVING), frames_of(STAYING[name])
    poses = np.array([[random_pose(rng) for _ in moving] for _ in range(POSES)])
    poses[..., :3] *= 1.6
    R, p = quat_to_matrix(poses[..., 3:]), poses[..., :3]
    others = [(f, np.eye(3), np.array([0.1 * k, 0, 0])) for k, f in enumerate(staying)]
    distances = distances_at_poses(moving, R, p, others, limit)
    for k, distance in enumerate(distances):
        parts = list(zip(moving, R[k], p[k], strict=True))
        nearest = min_distance(parts, others, limit)
        assert np.isfinite(distance) == (nearest is not None)
        if nearest is not None and limit == np.inf:
            np.testing.assert_allclose(distance, nearest.distance, atol=1e-9)
    assert name == "nothing" or (distances == 0).any() and (distances > 0).any()


def test_no_poses_have_no_distances():
    moving = frames_of(MOVING)
    R, p = np.zeros((0, 2, 3, 3)), np.zeros((0, 2, 3))
    assert distances_at_poses(moving, R, p, []).shape == (0,)
