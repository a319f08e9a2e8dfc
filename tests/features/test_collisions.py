"""Collisions of a world and collision features: exact values and derivatives."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.oracle import _shape, reference
from helpers.worlds import central_differences

import posewise as pw
import posewise.rai as ry
from posewise import FS
from posewise.objectives.problem.spec import compile_chain
from posewise.robots import Frame, Geometry, Model

UP = [1.0, 0, 0, 0]


def scene() -> pw.Config:
    """Return a jointed capsule over a table with a ball, a brick, a rod and a floor."""
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane(), contact=1)
    C.add_frame("table", position=[0, 0, 0.3], shape=pw.Box([1, 1, 0.1]), contact=1)
    sign = Geometry(pw.Sphere(0.1), collision=False)
    C.add_model(Model((Frame("sign", geometries=(sign,)),)))
    C.add_frame("ball", position=[0.1, 0.3, 0.43], shape=pw.Sphere(0.1), contact=1)
    C.add_frame(
        "brick",
        pose=[-0.25, 0.1, 0.45, 0.9, 0.1, 0.2, 0.3],
        shape=pw.Box([0.3, 0.2, 0.1], rounding=0.02),
        contact=1,
    )
    C.add_frame("base", position=[0, 0, 0.5], joint="transXYPhi")
    C.add_frame("arm", "base", joint="hinge", axis=[0.48, 0.6, 0.64])
    C.add_frame("rod", "arm", pose=[0, 0.1, 0, 0.7, 0.7, 0.1, 0],
                shape=pw.Capsule(0.3, 0.05), contact=1)  # fmt: skip
    C.add_frame("tool", "arm", position=[0.1, 0.2, 0], contact=1,
                shape=pw.Box([0.1, 0.12, 0.08]))  # fmt: skip
    C.q = [0.05, 0.02, 0.3, 0.4]
    return C


def scene_of_unions() -> pw.Config:
    """Return the scene with several shapes on most frames, hulls among them."""
    C = scene()
    hull = pw.Convex(0.1 * np.random.default_rng(1).normal(size=(12, 3)))
    more = [
        Geometry(hull, np.array([0.1, 0, 0, *UP])),
        Geometry(pw.Cylinder(0.2, 0.03)),
    ]
    for name in ("table", "brick", "rod"):
        C.replace_frame(name, geometries=(*C.frame(name).geometries, *more))
    return C


@pytest.mark.slow
def test_frames_of_several_bodies_collide_as_their_union():
    """The nearest bodies of each pair of frames count, found here one by one."""
    C = scene_of_unions()
    rng = np.random.default_rng(0)
    start, margin, overlapping = np.array(C.q), 0.02, 0
    feature = FS.accumulatedCollisions.on([], margin=margin)
    for _ in range(4):
        C.q = start + rng.uniform(-0.15, 0.15, C.nq)
        lack = 0.0
        for a, b in C.pairs.names():
            least = min(
                with_shapes(C, {a: x, b: y}).signed_distance(a, b)[0]
                for x in C.frame(a).geometries
                for y in C.frame(b).geometries
            )
            lack += max(margin - least, 0.0)
            assert C.signed_distance(a, b)[0] == pytest.approx(least, abs=1e-9)
            if (a, b) == ("brick", "rod"):
                assert C.eval(FS.distance, [a, b])[0] == pytest.approx(-least, abs=1e-9)
        y, J = feature.eval(C)
        assert y[0] == pytest.approx(lack, abs=1e-9)
        value = lambda q: feature.eval(C, q)[0]
        np.testing.assert_allclose(
            J, central_differences(value, np.array(C.q)), atol=2e-6
        )
        rows = C.eval(FS.collisionRows, [], margin=margin)[0]
        assert rows[rows > 0].sum() == pytest.approx(lack, abs=1e-9)
        overlapping += lack > 0
    assert overlapping > 2


def with_shapes(C: pw.Config, chosen: dict[str, Geometry]) -> pw.Config:
    """Return the world with one shape on each of the given frames."""
    alone = C.copy()
    for name, geometry in chosen.items():
        alone.replace_frame(name, geometries=(geometry,))
    return alone


def test_signed_distance_of_frames_and_its_witness_points():
    C = scene()
    d, a, b = C.signed_distance("table", "ball")
    assert d == pytest.approx(-0.02, abs=1e-12)
    np.testing.assert_allclose(a, [0.1, 0.3, 0.35], atol=1e-9)
    np.testing.assert_allclose(b, [0.1, 0.3, 0.33], atol=1e-9)
    d, a, b = C.signed_distance("ground", "ball")
    assert d == pytest.approx(0.33, abs=1e-12)
    np.testing.assert_allclose([a, b], [[0.1, 0.3, 0], [0.1, 0.3, 0.33]], atol=1e-9)
    assert C.signed_distance("base", "table")[0] == pytest.approx(0.15, abs=1e-12)
    forth, back = C.signed_distance("rod", "brick"), C.signed_distance("brick", "rod")
    np.testing.assert_allclose(forth[1:], back[:0:-1], atol=1e-9)
    assert forth[0] == pytest.approx(back[0], abs=1e-12)


def test_collisions_are_the_pairs_nearer_than_the_margin():
    C = scene()
    every = {tuple(sorted(p)) for p in C.pairs.names()}
    assert ("ball", "table") not in every  # both stand still
    assert ("brick", "rod") in every
    for margin in (0.0, 0.05, 10.0):
        collisions = C.collisions(margin)
        distances = [d for _, _, d in collisions]
        assert distances == sorted(distances) and all(d <= margin for d in distances)
        near = {p for p in every if C.signed_distance(*p)[0] <= margin}
        assert {tuple(sorted(x[:2])) for x in collisions} == near
        for a, b, d in collisions:
            assert C.signed_distance(a, b)[0] == pytest.approx(d, abs=1e-12)
    assert len(C.collisions(10.0)) == len(every)
    C.q = C.q + [0, 0, 0, 1.0]
    assert C.collisions(10.0) != collisions


@pytest.mark.parametrize(
    "call, match",
    [
        (lambda C: C.signed_distance("table", "bal"), "did you mean 'ball'"),
        (lambda C: C.signed_distance("table", "sign"), "none for collisions"),
        (lambda C: C.signed_distance("ground", "ground"), "half-spaces"),
        (lambda C: C.collisions("wide"), "margin"),
        (lambda C: C.collisions(np.nan), "margin"),
        (lambda C: C.eval(FS.distance, ["table", "sign"]), "none for collisions"),
    ],
)
def test_errors_name_what_is_wrong(call, match):
    with pytest.raises((pw.ConfigError, pw.FeatureError), match=match):
        call(scene())


def test_the_sum_and_the_rows_count_what_the_margin_lacks():
    C = scene()
    C.q = [-0.2, 0.05, 0.3, 0.4]
    for margin in (0.0, 0.03):
        lack = [max(margin - d, 0.0) for _, _, d in C.collisions(1.0)]
        total, J = C.eval(FS.accumulatedCollisions, [], margin=margin)
        assert total[0] == pytest.approx(sum(lack), abs=1e-12)
        rows, J_rows = C.eval(FS.collisionRows, [], margin=margin)
        assert len(rows) == len(C.pairs.names())
        positive = rows > 0
        np.testing.assert_allclose(rows[positive].sum(), sum(lack), atol=1e-12)
        np.testing.assert_allclose(J_rows[positive].sum(0), J[0], atol=1e-12)
    assert total[0] > 0.05


def between_posts(several: bool) -> pw.Config:
    """Return a sliding rod and two posts, with one or several shapes each."""
    C = pw.Config()
    C.add_frame("left", position=[-0.3, 0, 0], shape=pw.Sphere(0.1), contact=1)
    C.add_frame("right", position=[0.3, 0, 0], shape=pw.Capsule(0.3, 0.1), contact=1)
    C.add_frame("slider", joint="transXYPhi")
    shapes = [pw.Capsule(0.2, 0.05), *[pw.Box([0.1, 0.1, 0.1])] * several]
    parts = tuple(map(Geometry, shapes))
    C.add_model(Model((Frame("rod", geometries=parts, contact=1),)), parent="slider")
    return C


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize(
    "kind, target, scale, has_bound",
    [
        (pw.OT.ineq, 0.0, 2.0, True),
        (pw.OT.ineq, 0.1, 1.0, True),
        (pw.OT.eq, 0.0, 1.0, True),  # the same
        (pw.OT.eq, 0.1, 1.0, False),
        (pw.OT.sos, 0.0, 1.0, False),
        (pw.OT.ineq, -0.1, 1.0, False),  # or it could be met
        (pw.OT.ineq, 0.1, -1.0, False),
    ],
)
def test_where_nothing_collides_inequalities_return_the_least_gap(
    several, kind, target, scale, has_bound
):
    C, margin = between_posts(several), 0.02
    komo = pw.KOMO(C)
    komo.add_objective(
        [],
        FS.accumulatedCollisions,
        [],
        kind,
        scale=scale,
        target=[target],
        margin=margin,
    )
    chain, data, _ = compile_chain(komo.spec)
    rows = jax.jit(lambda x: chain.evaluate(data, x)[0])
    cases = set()
    for q in ([0.2, 0.05, 0.4], [0.113, 0.01, 0.1], [-0.12, 0.01, 0.2], [0, 0.5, 0.3]):
        C.q = q
        lack = margin - np.array([d for *_, d in C.collisions(10.0)])
        want = lack[lack > 0].sum() if (lack > 0).any() else max(lack.max(), -0.03)
        want = want if has_bound else max(want, 0.0)
        got = rows(C.q[None])
        assert got.y[0, 0] == pytest.approx(scale * (want - target), abs=1e-9)
        differences = central_differences(
            lambda q: np.asarray(rows(q[None]).y[0, 0]), np.array(C.q)
        )
        np.testing.assert_allclose(got.J[0, 0, 0], differences, atol=2e-6)
        cases.add("overlap" if want > 0 else "near" if -0.03 < want < 0 else "far")
    assert cases == ({"overlap", "near", "far"} if has_bound else {"overlap", "far"})
    sol = komo.solve(progress=False)
    least = min(scale * (0 - target), scale * (1 - target))
    assert sol.objectives[0].values.min() >= least - 1e-12


PAIRED = [
    FS.distance,
    FS.negDistance,
    FS.pairCollision_negScalar,
    FS.pairCollision_vector,
    FS.pairCollision_normal,
    FS.pairCollision_p1,
    FS.pairCollision_p2,
    FS.oppose,
    FS.opposeCentral,
]


@pytest.mark.long
@pytest.mark.sampled("distance1")
@pytest.mark.parametrize("symbol", PAIRED, ids=lambda s: s.name)
def test_jacobians_of_pairs(symbol):
    """Jacobians equal finite differences and autodiff, apart and in penetration."""
    C = scene()
    ends = ["rod", "tool", "brick"] if "oppose" in symbol.name else ["rod", "brick"]
    fn = jax.jit(symbol.on(ends).function(C))
    derivative = jax.jit(jax.jacfwd(fn))
    for q in ([0.05, 0.02, 0.3, 0.4], [-0.22, 0.05, 0.3, 0.4]):
        C.q = q
        y, J = C.eval(symbol, ends)
        np.testing.assert_allclose(fn(C.q), y, atol=1e-10)
        np.testing.assert_allclose(derivative(C.q), J, atol=1e-9)
        differences = central_differences(lambda q: np.asarray(fn(q)), np.asarray(q))
        np.testing.assert_allclose(J, differences, atol=2e-6)


@pytest.mark.sampled
@pytest.mark.parametrize(
    "symbol, ends", [(FS.distance, ["rod", "brick"]), (FS.accumulatedCollisions, [])]
)
def test_smoothed_distances_are_close_and_shorter(symbol, ends):
    C, tau = scene(), 2e-3
    C.q = [-0.22, 0.05, 0.3, 0.4]
    exact = C.eval(symbol, ends)[0]
    feature = pw.Feature(symbol, ends, smoothing=tau)
    y, J = feature.eval(C)
    bound = (len(C.pairs.names()) if not ends else 1) * tau * np.log(2**3 * 2**3)
    assert exact < y < exact + bound
    differences = central_differences(lambda q: feature.eval(C, q)[0], C.q)
    np.testing.assert_allclose(J, differences, atol=2e-6)
    with pytest.raises(pw.FeatureError, match="smoothing is -1"):
        C.eval(symbol, ends, smoothing=-1)


def test_ignored_pairs_no_longer_count_in_features():
    C = scene()
    C.q = [-0.22, 0.05, 0.3, 0.4]
    total = C.eval(FS.accumulatedCollisions, [])[0][0]
    hit = -C.signed_distance("rod", "brick")[0]
    C.ignore_collisions("rod", "brick")
    remaining = C.eval(FS.accumulatedCollisions, [])[0][0]
    assert hit > 0.01 and remaining == pytest.approx(total - hit, abs=1e-9)


@pytest.mark.sampled
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "symbol, ends", [(FS.negDistance, ["rod", "brick"]), (FS.accumulatedCollisions, [])]
)
def test_orders_are_differences_along_a_path(symbol, ends, order):
    C = scene()
    rng = np.random.default_rng(0)
    path = np.array([-0.2, 0.05, 0.3, 0.4]) + 0.02 * rng.normal(size=(order + 1, 4))
    tau = 0.1
    options = {} if ends else {"margin": 0.02}
    plain = pw.Feature(symbol, ends, **options)
    values = [plain.eval(C, q)[0] for q in path]
    feature = pw.Feature(symbol, ends, order=order, **options)
    y, J = feature.eval(C, path, tau)
    np.testing.assert_allclose(y, np.diff(values, order, axis=0)[0] / tau**order)
    fn = lambda x: feature.eval(C, x, tau)[0]
    differences = central_differences(fn, path).reshape(J.shape)
    np.testing.assert_allclose(J, differences, atol=1e-4)


def oracle_cases():
    plain = {"sphere", "capsule", "box", "ssBox"}
    path = Path(__file__).parents[2].parent / "shared/oracle"
    name = "features/oracle_pairs_0.json"
    if not (path / name).is_file():
        return []
    samples = reference(name)["samples"]
    keep = [s for s in samples if {s["a"]["type"], s["b"]["type"]} <= plain]
    return [pytest.param(s, id=f"{s['a']['kind']}-{s['b']['kind']}") for s in keep]


@pytest.mark.parametrize("sample", oracle_cases())
def test_against_rai(sample):
    """rai's values and Jacobians hold where rai is right, exact geometry everywhere."""
    C = pw.Config()
    for k in "ab":
        C.add_frame(k, joint="free", shape=_shape(sample[k]), contact=1)
    for case in sample["rows"]:
        C.q = case["q"]
        y, J = C.eval(FS.distance, ["a", "b"])
        assert y[0] == pytest.approx(-case["exact_d"], abs=1e-8)
        wrong = abs(case["distance"][0] + case["exact_d"]) > 1e-6
        if wrong or case["J_err"] or case["regime"] == "touching":
            continue
        normal, _ = C.eval(FS.pairCollision_normal, ["a", "b"])
        same = normal @ np.array(case["exact_normal"]) > 1 - 1e-6
        if not same:  # one of several
            continue
        theirs = np.array(case["J_distance"], float).reshape(1, -1)
        if theirs.shape == J.shape:
            np.testing.assert_allclose(J, theirs, atol=1e-4)


@pytest.mark.skipif(
    importlib.util.find_spec("robotic") is None, reason="rai's models are in robotic"
)
def test_the_seed_notebook_scene():
    """PR2 in the kitchen; exact geometry confirms each of the three pairs."""
    C = ry.Config()
    C.addFile(ry.raiPath("pr2/pr2.g"))
    C.addFile(ry.raiPath("objects/kitchen.g"))
    q = C.getJointState()
    q[:3] = [1.5, 1.0, 0.0]
    C.setJointState(q)
    C.computeCollisions()
    distances = {frozenset(x[:2]): x[2] for x in C.getCollisions(0.0)}
    want = {
        ("_10", "coll_base"): -0.1015,
        ("_10", "coll_arm_r"): -0.0974997,
        ("_10", "coll_wrist_r"): -0.0304680,
    }
    assert distances.keys() == {frozenset(k) for k in want}
    for k, d in want.items():
        assert distances[frozenset(k)] == pytest.approx(d, abs=1e-6)
    y, J = C.eval(ry.FS.accumulatedCollisions, [])
    assert y[0] == pytest.approx(0.229468, abs=1e-6)
    # the base's box lies flat on the shelf's: any point of the patch is its witness
    np.testing.assert_allclose(J[0, :3], [1, -1, 0.335], atol=0.02)
    assert C.coll_totalViolation() == pytest.approx(y[0], abs=1e-9)


# which axes the params have: none, those of lanes, of slices, of both
BATCHES = [(None, None), (0, None), (None, 0), (0, 0)]


@pytest.mark.slow  # ten seconds to a minute each
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("lanes, slices", BATCHES)
def test_sums_of_many_worlds_and_slices_are_those_of_each(lanes, slices, several):
    C = scene_of_unions() if several else scene()
    g = FS.accumulatedCollisions.on([], margin=0.3).bind(C)
    rng = np.random.default_rng(0)
    low, high = C.limits
    R, p = np.zeros((2, 3, len(g.frames), 3, 3)), np.zeros((2, 3, len(g.frames), 3))
    for k in np.ndindex(2, 3):
        q = np.clip(C.q + 0.1 * rng.normal(size=C.nq), low, high)
        K = C.kinematics()
        nodes = g.poses(K, K.forward_pass(q[None]).frames, jnp.asarray(q[None]))
        R[k], p[k] = nodes.R[0], nodes.p[0]
    R, p = jnp.asarray(R), jnp.asarray(p)
    params = jax.tree.map(jnp.asarray, g.params_of(K))
    margin = 0.1 + 0.1 * jnp.arange(6.0).reshape(2, 3)
    one = lambda R, p, margin: g.symbol.value_and_wrenches(
        R, p, **{**params, "margin": params["margin"] - 0.3 + margin}
    )
    of = {(None, None): margin[1, 1], (0, None): margin[:, 1],
          (None, 0): margin[1], (0, 0): margin}[lanes, slices]  # fmt: skip
    each = jnp.broadcast_to(
        of[:, None] if (lanes, slices) == (0, None) else of, margin.shape
    )
    inner = jax.vmap(one, (0, 0, slices))
    got = jax.vmap(inner, (0, 0, lanes))(R, p, of)
    for k in np.ndindex(2, 3):
        want = one(R[k], p[k], each[k])
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(np.asarray(a)[k], b, atol=1e-12)
    assert float(np.ptp(got[0])) > 0.01


@pytest.mark.slow  # compiles for some ten seconds
def test_accelerators_take_the_same_nearest_bodies(monkeypatch):
    C = between_posts(several=True)
    g = FS.accumulatedCollisions.on([], margin=0.3).bind(C)
    K = C.kinematics()
    q = np.random.default_rng(0).uniform(-0.6, 0.6, (99, C.nq))
    # With 99 states bodies of one pair of frames are in different chunks.
    nodes = g.poses(K, K.forward_pass(q).frames, jnp.asarray(q))
    sums = []
    for backend in ("cpu", "gpu"):
        monkeypatch.setattr(jax, "default_backend", lambda name=backend: name)
        one = lambda R, p: g.symbol.value_and_wrenches(R, p, **g.params_of(K))
        sums.append(jax.jit(jax.vmap(one))(nodes.R, nodes.p))
    for ours, theirs in zip(*sums, strict=True):
        np.testing.assert_allclose(theirs, ours, atol=1e-12)
    assert 20 < np.sum(sums[0][0] > 0)


@pytest.mark.long
@pytest.mark.sampled
@pytest.mark.parametrize("kind", [pw.OT.eq, pw.OT.ineq, pw.OT.sos])
def test_other_solvers_get_the_sum_itself(kind):
    """As an equation, a gap would be violated where nothing collides."""
    C = between_posts(False)
    komo = pw.KOMO(C)
    komo.add_objective([], FS.accumulatedCollisions, [], kind)
    nlp = komo.nlp()
    for q, free in (([0.2, 0.05, 0.4], False), ([0.13, 0.01, 0.1], True)):
        phi, J = nlp.evaluate(q)
        C.q = q
        want, J_want = C.eval(FS.accumulatedCollisions, [])
        np.testing.assert_allclose(phi, want, atol=1e-12)
        np.testing.assert_allclose(J.toarray(), J_want, atol=1e-12)
        assert (phi[0] == 0) == free
    sol = komo.solve(progress=False)
    assert sol.feasible and sol.objectives[0].values.min() == 0


MARGINS = [(0.2, 0.05), (0.05, 0.2), (0.1, -0.02), (0.1, None)]


@pytest.mark.sampled
@pytest.mark.parametrize("smoothing", [0.0, 0.01])
@pytest.mark.parametrize("margin, self_margin", MARGINS)
def test_margins_of_own_links_and_of_the_world(margin, self_margin, smoothing):
    C = scene()
    C.add_frame("wrist", "arm", position=[0, 0.3, 0], joint="hingeX",
                shape=pw.Capsule(0.2, 0.04), contact=1)  # fmt: skip
    is_own = C.pairs.own_links()
    assert is_own.any() and not is_own.all()
    needed = np.where(is_own, margin if self_margin is None else self_margin, margin)
    options = dict(margin=margin, smoothing=smoothing)
    if self_margin is not None:
        options["self_margin"] = self_margin
    rng = np.random.default_rng(1)
    for _ in range(5):
        C.q = rng.uniform(-0.4, 0.4, C.nq)
        rows, jacobian = C.eval(FS.collisionRows, margin=1.0, smoothing=smoothing)
        rows = rows - 1.0
        near = rows + needed > -0.05  # farther pairs have bounds instead of distances
        with_margins, J = C.eval(FS.collisionRows, **options)
        np.testing.assert_allclose(with_margins[near], (rows + needed)[near], atol=1e-9)
        np.testing.assert_allclose(J[near], jacobian[near], atol=1e-9)
        overlaps = (rows + needed)[near & (rows + needed > 0)]
        total, _ = C.eval(FS.accumulatedCollisions, **options)
        np.testing.assert_allclose(total, overlaps.sum(), atol=1e-9)
        if not smoothing:
            names = {p: n for p, n in zip(C.pairs.names(), needed, strict=True)}
            every = C.collisions(1.0)
            expected = [(a, b, d) for a, b, d in every if d <= names[a, b]]
            assert C.collisions(margin, self_margin) == expected


@pytest.mark.sampled
@pytest.mark.parametrize("balls", [3, 18, 40])
def test_sums_of_many_pairs_count_every_pair(balls):
    """There are 3, 153 or 780 pairs, whose balls are compared 128 pairs at a time."""
    C, rng = pw.Config(), np.random.default_rng(balls)
    centers, radii = rng.uniform(0, 1, (balls, 3)), rng.uniform(0.02, 0.1, balls)
    for k in range(balls):
        shape = pw.Sphere(radii[k])
        C.add_frame(f"ball {k}", joint="free", position=centers[k], shape=shape)
    i, j = np.triu_indices(balls, 1)
    gaps = np.linalg.norm(centers[i] - centers[j], axis=1) - radii[i] - radii[j]
    y, J = C.eval(FS.accumulatedCollisions, [], margin=1.0)
    assert y[0] == pytest.approx(np.maximum(1.0 - gaps, 0.0).sum())
    assert np.isfinite(J).all() and (abs(J).sum(0) > 0).sum() >= 3 * balls
