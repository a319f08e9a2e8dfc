"""Contacts against reference cases, certificates, closed forms, finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.collision_cases import (
    CORE_PAIRS,
    PAIRS,
    Shape,
    batch_cases,
    bodies,
    box,
    capsule,
    concatenate_bodies,
    cylinder,
    directional_derivative,
    displace,
    distance_from_core,
    ellipsoid,
    group_by_cores,
    hull,
    pad_batch,
    pair_name,
    plane,
    random_pairs,
    reference_case,
    rotation,
    searched_distance,
    select_rows,
    separation,
    shape_from_json,
    solve,
    sphere,
    support_value,
    tangent,
    value,
)
from helpers.oracle import reference

from posewise.collision import (
    Body,
    Box,
    BoxPlusEllipsoid,
    HalfSpace,
    Hull,
    Segment,
    contact,
    distance_lower_bound,
)
from posewise.collision.cores import support_function
from posewise.collision.vec3_tuple import vector_components

every_pair = pytest.mark.parametrize("cores", CORE_PAIRS, ids=pair_name)
CURVED = {"cylinder", "ellipsoid"}


def has_curved_core(cores) -> bool:
    return BoxPlusEllipsoid in cores and HalfSpace not in cores


# -- reference data --------------------------------------------------------------------


def reference_rows():
    rows = []
    for case in reference("collision/cases.json")["rows"]:
        ends = [
            (
                shape_from_json(case[k]["shape"]),
                rotation(case[k]["quat_wxyz"]),
                case[k]["pos"],
            )
            for k in "AB"
        ]
        rows.append(reference_case(*ends, case))
    return group_by_cores(rows)


def tolerance(case: dict) -> float:
    kinds = {case[k]["shape"]["type"] for k in "AB"}
    if not kinds & CURVED or case["method"] != "zoom":
        return 1e-8
    return 1e-5 if case["regime"] == "deep" else 1e-6 + case["ref_gap"]


@every_pair
def test_reference_cases(cores):
    rows = reference_rows().get(cores)
    if rows is None:
        pytest.skip("no such reference case")
    a, b = batch_cases(rows)
    out = solve(a, b)
    d = np.array([r.known["d"] for r in rows])
    limit = np.array([tolerance(r.known) for r in rows])
    error = np.abs(out.distance - d)
    # a search finds a lower bound: what is above it is proved by the certificate
    proved = out.distance <= separation(a, b, out.normal) + 1e-9
    found = np.array([r.known["method"] == "zoom" for r in rows])
    better = found & proved & (out.distance > d)
    bad = (error > limit) & ~better
    assert not bad.any(), [(rows[i].known["id"], error[i]) for i in np.nonzero(bad)[0]]
    unique = np.array([r.known["normal_unique"] for r in rows])
    n = np.array([r.sign * np.array(r.known["normal_B_to_A"]) for r in rows])
    # at a maximum a search knows the direction to the root of the error only
    limit = np.where(found, 1e-3, 2e-5)[:, None] * np.ones(3)
    off = np.abs(out.normal - n)
    np.testing.assert_array_less(off[unique], limit[unique])
    check_contact(a, b, out)


@every_pair
def test_reference_pairs(cores):
    """Shapes as rai has them: cylinders are prisms."""
    rows = free_bodies().get(cores)
    if rows is None:
        pytest.skip("no such reference case")
    a, b = batch_cases(rows)
    out = solve(a, b)
    d = np.array([r.known["exact_d"] for r in rows])
    np.testing.assert_allclose(out.distance, d, atol=1e-8)
    check_contact(a, b, out)


def free_bodies():
    rows = []
    for sample in reference("features/oracle_pairs_0.json")["samples"]:
        for case in sample["rows"]:
            ends = []
            for k, q in (("a", case["q"][:7]), ("b", case["q"][7:])):
                ends.append((rai_shape(sample[k]), rotation(q[3:]), q[:3]))
            rows.append(reference_case(*ends, case))
    return group_by_cores(rows)


def rai_shape(s: dict) -> Shape:
    size = s["size"]
    match s["type"]:
        case "sphere":
            return sphere(size[0])
        case "capsule":
            return capsule(size[0] / 2, size[1])
        case "box":
            return box(np.array(size) / 2)
        case "ssBox":
            return box(np.array(size[:3]) / 2, size[3])
        case "cylinder" | "ssCylinder":
            return hull(s["core"], s["radius"])
        case "ssCvx" | "mesh":
            return hull(s["verts"], (size or [0.0])[0])
        case "marker":
            return sphere(0.0)
    raise ValueError(s["type"])


# -- what holds of every contact -------------------------------------------------------


def check_contact(a, b, out, d_tolerance=1e-6, point_tolerance=2e-5):
    """The certificate; points on the surfaces, one above the other."""
    n = out.normal
    np.testing.assert_allclose(np.linalg.norm(n, axis=-1), 1, atol=1e-12)
    # what is reported is a lower bound of the distance, even where it is not the best
    np.testing.assert_allclose(separation(a, b, n), out.distance, atol=d_tolerance)
    np.testing.assert_allclose(
        out.point_a - out.point_b, out.distance[:, None] * n, atol=1e-12
    )
    for body, outward, point in ((a, -n, out.point_a), (b, n, out.point_b)):
        height = np.sum((point - body.p) * outward, -1)
        off = np.abs(height - support_value(body, outward))
        outside = distance_from_core(body, outward, point)
        # in deep overlap, curved bodies' points are the last to converge: 1 in 100
        for error, limit in ((off, d_tolerance), (outside, point_tolerance)):
            assert np.mean(error > limit) <= 0.01, error.max()
            assert error.max() < 1e-4


@every_pair
def test_contact_agrees_with_certificate_and_search(cores):
    a, b = random_pairs(cores, seed=1)
    out = solve(a, b)
    assert 0.25 < np.mean(out.distance < 0) < 0.75
    check_contact(a, b, out)
    if HalfSpace not in cores:
        worst = searched_distance(a, b, 1000, zooms=8) - out.distance
        assert np.mean(worst > 1e-7) <= (0.01 if has_curved_core(cores) else 0)
        assert worst.max() < 5e-5, (worst.argmax(), worst.max())


# -- derivatives -----------------------------------------------------------------------


def velocities(a: Body, b: Body, seed: int, sizes: bool):
    """A random velocity per pair: (velocity, turning) of both."""
    rng = np.random.default_rng(seed)
    out = []
    for body in (a, b):
        shape = body.p.shape
        w, v = rng.normal(size=shape), rng.normal(size=shape)
        core, radius = None, 0.0
        if sizes:
            w, v = np.zeros(shape), np.zeros(shape)
            core = jax.tree.map(lambda x: rng.normal(size=x.shape), body.core)
            radius = rng.normal(size=len(w))
        if (
            isinstance(body.core, BoxPlusEllipsoid) and sizes
        ):  # a point, a disk stays one
            core = core._replace(radii=core.radii * (body.core.radii > 0))
            core = core._replace(half=core.half * (body.core.half > 0))
        elif isinstance(body.core, Segment) and sizes:
            core = core._replace(half=core.half * (body.core.half > 0))
        elif isinstance(body.core, Hull) and sizes:
            first = body.core.vertices == body.core.vertices[:, :1]
            same = np.all(first, -1, keepdims=True)
            core = Hull(np.where(same, core.vertices[:, :1], core.vertices))
        out.append((tangent(body, w, v, radius, core), w))
    return out


def differences(a, b, velocity, h):
    """Forward and backward differences of everything in a contact, and its value."""
    (da, wa), (db, wb) = velocity
    at = [
        solve(displace(a, da, wa, k * h), displace(b, db, wb, k * h)) for k in (-1, 1)
    ]
    mid = solve(a, b)
    per = lambda x, y: jax.tree.map(lambda x, y: (y - x) / h, x, y)
    return per(mid, at[1]), per(at[0], mid)


@every_pair
@pytest.mark.parametrize("sizes", [False, True], ids=["poses", "sizes"])
def test_derivatives_are_finite_differences(cores, sizes):
    a, b = random_pairs(cores, seed=2)
    velocity = velocities(a, b, seed=3, sizes=sizes)
    (da, _), (db, _) = velocity
    out, got = directional_derivative(a, b, da, db)
    h = 1e-4 if has_curved_core(cores) else 1e-5
    forward, backward = differences(a, b, velocity, h)
    for name, limit, jump, share in (
        ("distance", 2e-5 if has_curved_core(cores) else 2e-7, 0.05, 0.9),
        ("normal", 2e-2 if has_curved_core(cores) else 2e-5, 0.3, 0.7),
        ("point_a", 2e-2 if has_curved_core(cores) else 2e-5, 0.3, 0.7),
        ("point_b", 2e-2 if has_curved_core(cores) else 2e-5, 0.3, 0.7),
    ):
        f, b_, g = (
            getattr(x, name).reshape(PAIRS, -1) for x in (forward, backward, got)
        )
        assert np.isfinite(g).all()
        smooth = np.abs(f - b_).max(1) < jump * (1 + np.abs(f).max(1))
        assert smooth.mean() >= share, (name, smooth.mean())
        # between the one-sided differences, which a kink within h sets apart
        beyond = np.maximum(np.minimum(f, b_) - g, g - np.maximum(f, b_))
        error = np.maximum(beyond, 0).max(1) / (1 + np.abs(f).max(1))
        bad = smooth & (error > limit)
        # differences of curved bodies' deep overlaps see their last digits
        few = 0.07 if has_curved_core(cores) else 0.0
        assert bad.mean() <= few, (name, [(i, error[i]) for i in np.nonzero(bad)[0]])


@pytest.mark.parametrize(
    "cores", [(Segment, Segment), (Segment, Box), (Box, Box)], ids=pair_name
)
def test_second_derivatives(cores):
    """Along two random velocities; differences of first derivatives."""
    a, b = random_pairs(cores, seed=4)
    one, two = (velocities(a, b, seed, sizes=False) for seed in (5, 6))
    spin = lambda body, w: rotate_body(body, w)

    def first(x, y, velocity):
        return jax.jvp(contact, (x, y), velocity)[1].distance

    def rates(x, y):
        """The velocity `one` of bodies that have moved."""
        return tuple(
            by._replace(R=spin(body, w))
            for body, (by, w) in zip((x, y), one, strict=True)
        )

    @jax.jit
    def second(x, y, along):
        return jax.jvp(lambda x, y: first(x, y, rates(x, y)), (x, y), along)

    _, got = second(a, b, tuple(by for by, _ in two))
    h = 1e-6
    at = []
    for k in (-1, 0, 1):
        x, y = (
            displace(body, by, w, k * h)
            for body, (by, w) in zip((a, b), two, strict=True)
        )
        at.append(directional_derivative(x, y, *map(np_body, rates(x, y)))[1].distance)
    forward, backward = (at[2] - at[1]) / h, (at[1] - at[0]) / h
    smooth = np.abs(forward - backward) < 0.05 * (1 + np.abs(forward))
    assert smooth.mean() > 0.9
    assert np.isfinite(got).all()
    error = np.abs(got - (forward + backward) / 2) / (1 + np.abs(forward))
    bad = smooth & (error > 1e-4)
    assert not bad.any(), [(i, error[i]) for i in np.nonzero(bad)[0]]


def rotate_body(body, w):
    """Rate of R when turning by w."""
    turned = jnp.cross(jnp.asarray(w)[:, None, :], jnp.swapaxes(body.R, -1, -2))
    return jnp.swapaxes(turned, -1, -2)


def np_body(body: Body) -> Body:
    return jax.tree.map(np.asarray, body)


def test_hessian_of_two_balls():
    """|p_a - p_b| has the Hessian (I - n nᵀ) / |p_a - p_b|."""
    R = jnp.eye(3)
    p = jnp.array([0.3, -0.2, 0.5])

    def distance(p):
        a = Body(Segment(jnp.array(0.0)), jnp.array(0.1), R, p)
        b = Body(Segment(jnp.array(0.0)), jnp.array(0.2), R, jnp.zeros(3))
        return contact(a, b).distance

    n = p / jnp.linalg.norm(p)
    expected = (jnp.eye(3) - jnp.outer(n, n)) / jnp.linalg.norm(p)
    np.testing.assert_allclose(jax.jit(jax.hessian(distance))(p), expected, atol=1e-12)


@pytest.mark.parametrize(
    "cores", [(Segment, Box), (Box, Box), (BoxPlusEllipsoid, HalfSpace)], ids=pair_name
)
def test_gradient_is_the_transposed_derivative(cores):
    """Reverse mode, which optimisers use, beside forward mode."""
    a, b = random_pairs(cores, seed=7)
    weights = np.random.default_rng(8).normal(size=(PAIRS, 10))

    @jax.jit
    def gradient(a, b):
        def total(a, b):
            d, x, y, n = contact(a, b)
            w = weights
            out = w[:, 0] * d + jnp.sum(w[:, 1:4] * x + w[:, 4:7] * y, -1)
            return jnp.sum(out + jnp.sum(w[:, 7:] * n, -1))

        return jax.grad(total, (0, 1))(a, b)

    grad = gradient(a, b)
    velocity = velocities(a, b, seed=9, sizes=False)
    (da, _), (db, _) = velocity
    _, t = directional_derivative(a, b, da, db)
    stack = np.concatenate([t.distance[:, None], t.point_a, t.point_b, t.normal], 1)
    forward = np.sum(weights * stack)
    pairs = zip(jax.tree.leaves(grad), jax.tree.leaves((da, db)), strict=True)
    backward = sum(np.sum(g * v) for g, v in pairs)
    assert backward == pytest.approx(forward, rel=1e-9)


# -- kinks -----------------------------------------------------------------------------


def kinks():
    """Pairs at a kink, all of them polytopes and segments with poses at hand."""
    up = lambda z: np.array([0.0, 0.0, z])
    I = np.eye(3)
    plate = box([1.0, 1.0, 0.1])
    return {
        "box over plate": ((box([0.3, 0.2, 0.1]), I, up(0.22)), (plate, I, up(0))),
        "box in plate": ((box([0.3, 0.2, 0.1]), I, up(0.19)), (plate, I, up(0))),
        "rounded box over plate": (
            (box([0.3, 0.2, 0.1], 0.02), I, up(0.22)),
            (plate, I, up(0)),
        ),
        "parallel capsules": (
            (capsule(0.3, 0.05), I, np.array([0.2, 0, 0])),
            (capsule(0.2, 0.05), I, up(0.1)),
        ),
        "overlapping parallel capsules": (
            (capsule(0.3, 0.2), I, np.array([0.2, 0, 0])),
            (capsule(0.2, 0.1), I, up(0.1)),
        ),
        "ball in the centre of a cube": (
            (sphere(0.05), I, up(0)),
            (box([0.2, 0.2, 0.2]), I, up(0)),
        ),
        "capsule on a plate": (
            (capsule(0.3, 0.05), rotation([0.5, 0.5, 0.5, 0.5]), up(0.2)),
            (plate, I, up(0)),
        ),
    }


@pytest.mark.parametrize("name", kinks())
def test_gradients_at_kinks_lie_between_one_sided_ones(name):
    [group] = group_by_cores([reference_case(*kinks()[name], {})]).values()
    a, b = batch_cases(group)
    h = 1e-7
    directions = np.concatenate([np.eye(6), -np.eye(6)])
    many = lambda body: select_rows(body, np.zeros(12, int))
    a, b = many(a), many(b)
    for which in (0, 1):
        w, v = directions[:, :3], directions[:, 3:]
        moving = (a, b)[which]
        by = tangent(moving, w, v)
        stays = tangent((b, a)[which])
        pair = (by, stays) if which == 0 else (stays, by)
        mid, got = directional_derivative(a, b, *pair)
        after = displace(moving, by, w, h)
        out = solve(*((after, b) if which == 0 else (a, after)))
        one_sided = (out.distance - mid.distance) / h
        right, left = one_sided[:6], -one_sided[6:]
        low, high = np.minimum(left, right), np.maximum(left, right)
        rate = got.distance[:6]
        assert np.all((low - 1e-5 <= rate) & (rate <= high + 1e-5)), (rate, low, high)
        for x in got:
            assert np.isfinite(x).all()


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


LONG = {"Curved-Curved", "Curved-Hull", "Hull-Hull"}


@pytest.mark.parametrize(
    "cores",
    [
        pytest.param(
            c, id=pair_name(c), marks=[pytest.mark.slow] * (pair_name(c) in LONG)
        )
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


# -- float32 ---------------------------------------------------------------------------

IN_FLOAT32 = [
    c
    if c
    in [
        (Segment, Segment),
        (Segment, Box),
        (Box, Box),
        (BoxPlusEllipsoid, BoxPlusEllipsoid),
    ]
    or HalfSpace in c
    else pytest.param(c, marks=pytest.mark.slow)
    for c in CORE_PAIRS
]


@pytest.mark.parametrize("cores", IN_FLOAT32, ids=lambda c: pair_name(c))
def test_float32(cores):
    """Distances, points, normals and derivatives stay float32 and near float64's."""
    groups = [reference_rows().get(cores), free_bodies().get(cores)]
    pairs = [batch_cases(rows) for rows in groups if rows is not None]
    pairs.append(random_pairs(cores, seed=11, n=PAIRS))
    a, b = (
        select_rows(concatenate_bodies(*x), slice(0, PAIRS))
        for x in zip(*pairs, strict=True)
    )
    a, b = (
        jax.tree.map(lambda x: x.astype(np.float32).astype(float), x) for x in (a, b)
    )
    velocity = velocities(a, b, seed=12, sizes=False)
    (da, _), (db, _) = velocity
    want, _ = directional_derivative(a, b, da, db)
    got, rate = directional_derivative(a, b, da, db, dtype=np.float32)
    for part in (*got, *rate):
        assert part.dtype == np.float32 and np.isfinite(part).all()
    np.testing.assert_allclose(got.distance, want.distance, atol=1e-4)
    np.testing.assert_allclose(separation(a, b, got.normal), want.distance, atol=1e-4)


# -- batches ---------------------------------------------------------------------------


def assert_same(x, y):
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-12), x, y)


@pytest.mark.slow
def test_contact_of_a_batch_equals_contacts_of_its_pairs():
    a, b = random_pairs((Segment, Box), seed=13, n=12)
    wide = jax.tree.map(jnp.asarray, (a, b))
    want = value(*wide)
    assert_same(jax.jit(jax.vmap(contact))(*wide), want)
    single = [value(select_rows(a, k), select_rows(b, k)) for k in range(12)]
    assert_same(jax.tree.map(lambda *x: np.stack(x), *single), want)
    grid = jax.tree.map(lambda x: x.reshape(3, 4, *x.shape[1:]), wide)
    flat = lambda out: jax.tree.map(lambda x: x.reshape(12, *x.shape[2:]), out)
    assert_same(flat(value(*grid)), want)
    assert_same(flat(jax.jit(jax.vmap(jax.vmap(contact)))(*grid)), want)
    assert_same(flat(jax.jit(jax.vmap(contact))(*grid)), want)
    first = select_rows(b, 0)
    among = jax.jit(jax.vmap(contact, in_axes=(0, None)))(wide[0], first)
    repeated = select_rows(b, np.zeros(12, int))
    assert_same(among, value(a, repeated))
    outer = jax.vmap(jax.vmap(contact, in_axes=(None, 0)), in_axes=(0, None))
    table = jax.jit(outer)(
        select_rows(wide[0], slice(0, 3)), select_rows(wide[1], slice(0, 4))
    )
    i, j = np.divmod(np.arange(12), 4)
    assert_same(flat(table), value(select_rows(a, i), select_rows(b, j)))


def test_nested_batches_of_boxes():
    """Pairs of cores whose work depends on the number of overlaps."""
    a, b = random_pairs((Box, Box), seed=13, n=12)
    grid = jax.tree.map(lambda x: jnp.asarray(x).reshape(3, 4, *x.shape[1:]), (a, b))
    out = jax.jit(jax.vmap(jax.vmap(contact)))(*grid)
    flat = jax.tree.map(lambda x: x.reshape(12, *x.shape[2:]), out)
    assert_same(flat, solve(a, b))


def test_contact_without_jit():
    a, b = random_pairs((Segment, Box), seed=13, n=12)
    eager = contact(*jax.tree.map(jnp.asarray, (a, b)))
    np.testing.assert_allclose(eager.distance, solve(a, b).distance, atol=1e-12)


def test_contact_of_empty_batches():
    a, b = random_pairs((Box, Box), seed=13, n=4)
    none = lambda x: jax.tree.map(lambda x: jnp.asarray(x[:0]), x)
    out = contact(none(a), none(b))
    assert out.distance.shape == (0,) and out.normal.shape == (0, 3)
    out = jax.vmap(contact)(none(a), none(b))
    assert out.distance.shape == (0,) and out.point_a.shape == (0, 3)


def test_contact_broadcasts_leading_axes():
    """One body against many, without writing it out."""
    a, b = random_pairs((Segment, Box), seed=13, n=12)
    one = jax.tree.map(lambda x: jnp.asarray(x)[:1], a)
    want = value(select_rows(a, np.zeros(12, int)), b)
    got = value(one, jax.tree.map(jnp.asarray, b))
    np.testing.assert_allclose(got.distance, want.distance, atol=1e-12)


@pytest.mark.parametrize("cores", [(Segment, Box), (Segment, HalfSpace)], ids=pair_name)
def test_contact_with_exchanged_arguments(cores):
    a, b = random_pairs(cores, seed=14)
    out, back = solve(a, b), value(*pad_batch(b, a))
    np.testing.assert_allclose(back.distance, out.distance, atol=1e-12)
    np.testing.assert_allclose(back.normal, -out.normal, atol=1e-12)
    np.testing.assert_allclose(back.point_a, out.point_b, atol=1e-12)
    np.testing.assert_allclose(back.point_b, out.point_a, atol=1e-12)


def test_contact_of_two_planes_raises():
    a = bodies([plane()], np.eye(3)[None], np.zeros((1, 3)))
    with pytest.raises(TypeError, match="half-spaces"):
        contact(*jax.tree.map(jnp.asarray, (a, a)))


def test_contact_in_chunks():
    """More than are computed at a time."""
    a, b = random_pairs((Segment, Box), seed=15, n=3000)
    np.testing.assert_allclose(value(a, b).distance, solve(a, b).distance, atol=1e-12)


# -- the broad phase -------------------------------------------------------------------


@every_pair
def test_lower_bounds_are_below_the_separation_along_their_normal(cores):
    """And so below the distance."""
    a, b = random_pairs(cores, 3)
    d, on_a, on_b, n = (np.asarray(x) for x in distance_lower_bound(a, b))
    assert (d <= separation(a, b, n) + 1e-12).all()
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(on_a - on_b, d[:, None] * n, atol=1e-12)
    assert (d > 0).any()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_support_function_of_a_cylinder_has_a_derivative_on_its_axis(sign):
    """Straight up, where the reach of its rim has a kink."""
    can = BoxPlusEllipsoid(np.array([[0, 0, 0.06]]), np.array([[0.035, 0.035, 0]]))
    far, slope = jax.value_and_grad(
        lambda d: support_function(can, vector_components(d))[0]
    )(jnp.array([[0, 0, sign]]))
    assert far == 0.06
    np.testing.assert_array_equal(slope, [[0, 0, 0.06 * sign]])
