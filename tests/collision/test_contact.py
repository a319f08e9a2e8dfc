"""Contacts against reference cases, certificates and closed forms; batches."""

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
    directional_derivative,
    distance_from_core,
    group_by_cores,
    has_curved_core,
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
    value,
    velocities,
)
from helpers.oracle import reference

from posewise.collision import (
    Box,
    BoxPlusEllipsoid,
    HalfSpace,
    Segment,
    contact,
    distance_lower_bound,
)
from posewise.collision.cores import support_function
from posewise.collision.vec3_tuple import vector_components

every_pair = pytest.mark.parametrize("cores", CORE_PAIRS, ids=pair_name)
CURVED = {"cylinder", "ellipsoid"}


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


@pytest.mark.sampled
@pytest.mark.long
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
    is_searched = np.array([r.known["method"] == "zoom" for r in rows])
    better = is_searched & proved & (out.distance > d)
    bad = (error > limit) & ~better
    assert not bad.any(), [(rows[i].known["id"], error[i]) for i in np.nonzero(bad)[0]]
    unique = np.array([r.known["normal_unique"] for r in rows])
    n = np.array([r.sign * np.array(r.known["normal_B_to_A"]) for r in rows])
    # at a maximum a search knows the direction to the root of the error only
    limit = np.where(is_searched, 1e-3, 2e-5)[:, None] * np.ones(3)
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


@pytest.mark.long
@pytest.mark.sampled
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
    no_pairs = lambda x: jax.tree.map(lambda x: jnp.asarray(x[:0]), x)
    out = contact(no_pairs(a), no_pairs(b))
    assert out.distance.shape == (0,) and out.normal.shape == (0, 3)
    out = jax.vmap(contact)(no_pairs(a), no_pairs(b))
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
