"""Contacts of degenerate shapes and of shapes at other scales."""

import jax
import numpy as np
import pytest
from helpers.collision_cases import (
    CORE_PAIRS,
    batch_cases,
    box,
    capsule,
    concatenate_bodies,
    cylinder,
    directional_derivative,
    ellipsoid,
    group_by_cores,
    has_curved_core,
    hull,
    pair_name,
    plane,
    random_pairs,
    reference_case,
    separation,
    solve,
    sphere,
    tangent,
)

from posewise.collision import (
    Body,
    BoxPlusEllipsoid,
    Hull,
)

every_pair = pytest.mark.parametrize("cores", CORE_PAIRS, ids=pair_name)

# -- degenerate shapes -----------------------------------------------------------------

I = np.eye(3)
POINT = hull([[0.0, 0, 0]])
ROD = hull([[-0.2, 0, 0], [0.3, 0, 0]])
TRIANGLE = hull([[0, 0, 0], [0.4, 0, 0], [0, 0.4, 0]])
SQUARE = hull([[x, y, 0] for x in (-0.2, 0.2) for y in (-0.2, 0.2)])
CUBE = box([0.1, 0.1, 0.1])
CUBE_HULL = hull(
    [[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
)


def xyz(x, y, z):
    return np.array([x, y, z], float)


DEGENERATE = [
    ("coincident points", sphere(0.0), sphere(0.0), xyz(0, 0, 0), 0.0),
    ("concentric balls", sphere(0.1), sphere(0.2), xyz(0, 0, 0), -0.3),
    ("same capsules", capsule(0.2, 0.1), capsule(0.2, 0.1), xyz(0, 0, 0), -0.2),
    ("touching balls", sphere(0.1), sphere(0.2), xyz(0.3, 0, 0), 0.0),
    ("capsules in line", capsule(0.2, 0.1), capsule(0.2, 0.1), xyz(0, 0, 1), 0.4),
    ("point on a box", sphere(0.0), CUBE, xyz(0.1, 0, 0), 0.0),
    ("point at a corner", sphere(0.0), CUBE, xyz(0.1, 0.1, 0.1), 0.0),
    ("point in a box", sphere(0.0), CUBE, xyz(0, 0, 0), -0.1),
    ("box without size", box([0, 0, 0]), CUBE, xyz(0.3, 0, 0), 0.2),
    ("box without size inside", box([0, 0, 0]), CUBE, xyz(0, 0, 0), -0.1),
    ("flat boxes crossing", box([0.2, 0.2, 0]), box([0.2, 0, 0.2]), xyz(0, 0, 0), -0.2),
    (
        "flat boxes upon each other",
        box([0.2, 0.2, 0]),
        box([0.1, 0.1, 0]),
        xyz(0, 0, 0),
        0,
    ),
    (
        "flat boxes, one above",
        box([0.2, 0.2, 0]),
        box([0.1, 0.1, 0]),
        xyz(0, 0, 0.3),
        0.3,
    ),
    ("same boxes", CUBE, CUBE, xyz(0, 0, 0), -0.2),
    ("boxes face to face", CUBE, CUBE, xyz(0.2, 0, 0), 0.0),
    ("boxes edge to edge", CUBE, CUBE, xyz(0.2, 0.2, 0), 0.0),
    ("boxes corner to corner", CUBE, CUBE, xyz(0.2, 0.2, 0.2), 0.0),
    ("needles across", box([1, 1e-3, 1e-3]), box([1e-3, 1, 1e-3]), xyz(0, 0, 0), -2e-3),
    (
        "needles apart",
        box([1, 1e-3, 1e-3]),
        box([1e-3, 1, 1e-3]),
        xyz(0, 0, 0.1),
        0.098,
    ),
    ("needle in a ball", sphere(0.3), box([1, 1e-3, 1e-3]), xyz(0, 0, 0), -0.301),
    ("points", POINT, POINT, xyz(0, 0, 0), 0.0),
    ("points apart", POINT, POINT, xyz(0.3, 0, 0), 0.3),
    ("point hull in a cube", POINT, CUBE_HULL, xyz(0, 0, 0), -0.1),
    ("rod in a cube", ROD, CUBE_HULL, xyz(0, 0, 0), -0.1),
    ("rods crossing", ROD, ROD, xyz(0, 0, 0), 0.0),
    ("triangle in a cube", TRIANGLE, CUBE_HULL, xyz(0, 0, 0), -0.1),
    ("triangle over a square", TRIANGLE, SQUARE, xyz(0, 0, -0.3), 0.3),
    ("same triangles", TRIANGLE, TRIANGLE, xyz(0, 0, 0), 0.0),
    ("same hulls", CUBE_HULL, CUBE_HULL, xyz(0, 0, 0), -0.2),
    ("hulls face to face", CUBE_HULL, CUBE_HULL, xyz(0.2, 0, 0), 0.0),
    ("square in a box", SQUARE, CUBE, xyz(0, 0, 0), -0.1),
    ("point hull in a box", POINT, CUBE, xyz(0, 0, 0), -0.1),
    ("segment and point hull", capsule(0.2, 0.0), POINT, xyz(0, 0, 0.1), 0.0),
    ("segment in a hull", capsule(0.2, 0.0), CUBE_HULL, xyz(0, 0, 0), -0.1),
    ("point in a hull", sphere(0.0), CUBE_HULL, xyz(0, 0, 0), -0.1),
    (
        "same ellipsoids",
        ellipsoid([0.1, 0.2, 0.3]),
        ellipsoid([0.1, 0.2, 0.3]),
        xyz(0, 0, 0),
        -0.2,
    ),
    (
        "same balls, ellipsoids",
        ellipsoid([0.1] * 3),
        ellipsoid([0.1] * 3),
        xyz(0, 0, 0),
        -0.2,
    ),
    (
        "balls touching, ellipsoids",
        ellipsoid([0.1] * 3),
        ellipsoid([0.1] * 3),
        xyz(0.2, 0, 0),
        0.0,
    ),
    (
        "ellipsoid without size",
        ellipsoid([0.0] * 3),
        ellipsoid([0.1] * 3),
        xyz(0.3, 0, 0),
        0.2,
    ),
    ("same cylinders", cylinder(0.1, 0.2), cylinder(0.1, 0.2), xyz(0, 0, 0), -0.2),
    ("coaxial cylinders", cylinder(0.1, 0.2), cylinder(0.1, 0.2), xyz(0, 0, 0.5), 0.3),
    ("cylinders touching", cylinder(0.1, 0.2), cylinder(0.1, 0.2), xyz(0, 0, 0.2), 0.0),
    (
        "disks upon each other",
        cylinder(0.0, 0.2),
        cylinder(0.0, 0.2),
        xyz(0, 0, 0),
        0.0,
    ),
    ("disk over a disk", cylinder(0.0, 0.2), cylinder(0.0, 0.2), xyz(0, 0, 0.3), 0.3),
    (
        "cylinder without radius",
        cylinder(0.2, 0.0),
        cylinder(0.1, 0.1),
        xyz(0, 0, 0.1),
        -0.1,
    ),
    ("point in a cylinder", sphere(0.0), cylinder(0.2, 0.1), xyz(0, 0, 0), -0.1),
    (
        "segment in a cylinder",
        capsule(0.1, 0.0),
        cylinder(0.2, 0.1),
        xyz(0, 0, 0),
        -0.1,
    ),
    (
        "point in an ellipsoid",
        sphere(0.0),
        ellipsoid([0.1, 0.2, 0.3]),
        xyz(0, 0, 0),
        -0.1,
    ),
    ("cylinder on a box", CUBE, cylinder(0.1, 0.2), xyz(0, 0, -0.2), 0.0),
    ("ellipsoid in a box", CUBE, ellipsoid([0.05] * 3), xyz(0, 0, 0), -0.15),
    ("cylinder and point hull", cylinder(0.1, 0.2), POINT, xyz(0, 0, 0.3), 0.2),
    ("cylinder about a point hull", cylinder(0.1, 0.2), POINT, xyz(0, 0, 0), -0.1),
    ("cylinder on a plane", cylinder(0.1, 0.2), plane(), xyz(0, 0, -0.1), 0.0),
    ("point on a plane", sphere(0.0), plane(), xyz(0, 0, 0), 0.0),
    ("cube on a plane", CUBE, plane(), xyz(0, 0, -0.1), 0.0),
    ("square on a plane", SQUARE, plane(), xyz(0, 0, 0), 0.0),
    ("far away", CUBE, CUBE, xyz(1e3, 0, 0), 1e3 - 0.2),
    ("far away balls", sphere(0.1), sphere(0.1), xyz(1e3, 0, 0), 1e3 - 0.2),
    ("far away hulls", CUBE_HULL, CUBE_HULL, xyz(1e3, 0, 0), 1e3 - 0.2),
    (
        "far away ellipsoids",
        ellipsoid([0.1] * 3),
        ellipsoid([0.1] * 3),
        xyz(1e3, 0, 0),
        1e3 - 0.2,
    ),
    (
        "far away cylinders",
        cylinder(0.1, 0.2),
        cylinder(0.1, 0.2),
        xyz(0, 0, 1e3),
        1e3 - 0.2,
    ),
]


def degenerate_rows():
    rows = []
    for name, x, y, p, d in DEGENERATE:
        rows.append(
            reference_case((x, I, xyz(0, 0, 0)), (y, I, p), {"name": name, "d": d})
        )
    return group_by_cores(rows)


SLOW = [c for c in CORE_PAIRS if not set(c) - {BoxPlusEllipsoid, Hull}]


@pytest.mark.parametrize(
    "cores",
    [
        pytest.param(c, id=pair_name(c), marks=[pytest.mark.slow] * (c in SLOW))
        for c in CORE_PAIRS
    ],
)
def test_degenerate_shapes(cores):
    rows = degenerate_rows()[cores] if cores in degenerate_rows() else []
    if not rows:
        pytest.skip("no such pair")
    a, b = batch_cases(rows)
    rng = np.random.default_rng(0)
    da, db = (
        tangent(x, rng.normal(size=x.p.shape), rng.normal(size=x.p.shape), 1.0)
        for x in (a, b)
    )
    out, rate = directional_derivative(a, b, da, db)
    names = [r.known["name"] for r in rows]
    for part in (*out, *rate):
        finite = np.isfinite(part).reshape(len(rows), -1).all(1)
        assert finite.all(), [n for n, ok in zip(names, finite, strict=True) if not ok]
    known = np.array([r.known["d"] for r in rows])
    error = np.abs(out.distance - known) / (1 + np.abs(known))
    assert error.max() < 1e-9, [
        (n, d, k)
        for n, d, k, e in zip(names, out.distance, known, error, strict=True)
        if e >= 1e-9
    ]
    length = np.linalg.norm(out.normal, axis=1)
    np.testing.assert_allclose(length, 1, atol=1e-9)
    lower = separation(a, b, out.normal)
    scale = 1 + np.abs(known)
    assert np.all(np.abs(lower - out.distance) < 1e-9 * scale), [
        (n, s, d)
        for n, s, d, k in zip(names, lower, out.distance, scale, strict=True)
        if abs(s - d) >= 1e-9 * k
    ]


def scaled(body: Body, s: float) -> Body:
    core = jax.tree.map(lambda x: s * x, body.core)
    return body._replace(core=core, radius=s * body.radius, p=s * body.p)


@every_pair
def test_scales(cores):
    a, b = random_pairs(cores, seed=10, n=40)
    d = solve(a, b).distance
    many = [(scaled(a, s), scaled(b, s)) for s in (1e-2, 1e2)]
    out = solve(
        concatenate_bodies(*[x for x, _ in many]),
        concatenate_bodies(*[y for _, y in many]),
    )
    got = out.distance.reshape(2, 40) / np.array([[1e-2], [1e2]])
    limit = 1e-6 if has_curved_core(cores) else 1e-10
    np.testing.assert_allclose(got, [d, d], atol=limit)
