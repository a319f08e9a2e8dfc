"""Contacts against reference cases, certificates, closed forms, finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from collision_cases import (
    CORE_PAIRS,
    PAIRS,
    Shape,
    along,
    batch,
    bodies,
    box,
    capsule,
    cylinder,
    ellipsoid,
    grouped,
    hull,
    join,
    moved,
    outside_core,
    padded,
    pair_name,
    plane,
    random_pairs,
    reach,
    rotation,
    row,
    rows_of,
    searched,
    separation,
    shape_of,
    shifted,
    solve,
    sphere,
    tangent,
    value,
)
from oracle import reference

from posewise.collision import Body, Box, Curved, HalfSpace, Hull, Segment, contact

every_pair = pytest.mark.parametrize("cores", CORE_PAIRS, ids=pair_name)
CURVED = {"cylinder", "ellipsoid"}


def curved(cores) -> bool:
    return Curved in cores and HalfSpace not in cores


# -- reference data --------------------------------------------------------------------


def reference_rows():
    rows = []
    for case in reference("collision/cases.json")["rows"]:
        ends = [
            (shape_of(case[k]["shape"]), rotation(case[k]["quat_wxyz"]), case[k]["pos"])
            for k in "AB"
        ]
        rows.append(row(*ends, case))
    return grouped(rows)


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
    a, b = batch(rows)
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
    np.testing.assert_allclose(out.normal[unique], n[unique], atol=2e-5)
    check_contact(a, b, out)


@every_pair
def test_reference_pairs(cores):
    """Shapes as rai has them: cylinders are prisms."""
    rows = free_bodies().get(cores)
    if rows is None:
        pytest.skip("no such reference case")
    a, b = batch(rows)
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
            rows.append(row(*ends, case))
    return grouped(rows)


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


def check_contact(a, b, out, d_tolerance=1e-7, point_tolerance=2e-6):
    """The certificate; points on the surfaces, one above the other."""
    n = out.normal
    np.testing.assert_allclose(np.linalg.norm(n, axis=-1), 1, atol=1e-12)
    np.testing.assert_allclose(separation(a, b, n), out.distance, atol=d_tolerance)
    np.testing.assert_allclose(
        out.point_a - out.point_b, out.distance[:, None] * n, atol=1e-12
    )
    for body, outward, point in ((a, -n, out.point_a), (b, n, out.point_b)):
        height = np.sum((point - body.p) * outward, -1)
        np.testing.assert_allclose(height, reach(body, outward), atol=d_tolerance)
        outside = outside_core(body, outward, point)
        np.testing.assert_array_less(outside, point_tolerance)


@every_pair
def test_certificate_and_search(cores):
    a, b = random_pairs(cores, seed=1)
    out = solve(a, b)
    assert 0.25 < np.mean(out.distance < 0) < 0.75
    check_contact(a, b, out)
    if HalfSpace not in cores:
        worst = searched(a, b, 1000, zooms=8) - out.distance
        assert worst.max() < 1e-7, (worst.argmax(), worst.max())


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
        if isinstance(body.core, Curved) and sizes:  # a point, a disk stays one
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
    at = [solve(shifted(a, da, wa, k * h), shifted(b, db, wb, k * h)) for k in (-1, 1)]
    mid = solve(a, b)
    per = lambda x, y: jax.tree.map(lambda x, y: (y - x) / h, x, y)
    return per(mid, at[1]), per(at[0], mid)


@every_pair
@pytest.mark.parametrize("sizes", [False, True], ids=["poses", "sizes"])
def test_derivatives_are_finite_differences(cores, sizes):
    a, b = random_pairs(cores, seed=2)
    velocity = velocities(a, b, seed=3, sizes=sizes)
    (da, _), (db, _) = velocity
    out, got = along(a, b, da, db)
    h = 1e-4 if curved(cores) else 1e-5
    forward, backward = differences(a, b, velocity, h)
    for name, limit, jump, share in (
        ("distance", 2e-5 if curved(cores) else 2e-7, 0.05, 0.9),
        ("normal", 2e-2 if curved(cores) else 2e-5, 0.3, 0.7),
        ("point_a", 2e-2 if curved(cores) else 2e-5, 0.3, 0.7),
        ("point_b", 2e-2 if curved(cores) else 2e-5, 0.3, 0.7),
    ):
        f, b_, g = (getattr(x, name).reshape(PAIRS, -1) for x in (forward, backward, got))
        assert np.isfinite(g).all()
        smooth = np.abs(f - b_).max(1) < jump * (1 + np.abs(f).max(1))
        assert smooth.mean() >= share, (name, smooth.mean())
        error = np.abs(g - (f + b_) / 2).max(1) / (1 + np.abs(f).max(1))
        bad = smooth & (error > limit)
        assert not bad.any(), (name, [(i, error[i]) for i in np.nonzero(bad)[0]])
