"""Pairs that may be near: none that is nearer than its reach is left out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise.compilation.compaction import empty_indices
from posewise.features.pairs.sources import MIN_RUN, PairSource
from posewise.features.pairs.tables import MIN_WORLD_SIZE, on_nodes, table_of_frames
from posewise.robots.kinematics.forward import forward_pass_nodes

trimesh = pytest.importorskip("trimesh", reason="needs the extra `meshes`")
REACH = 0.05
SHAPES = {
    "box": pw.Box([0.3, 0.2, 0.05]),
    "rounded": pw.Box([0.2, 0.2, 0.2], rounding=0.03),
    "ball": pw.Sphere(0.1),
    "capsule": pw.Capsule(0.3, 0.04),
    "cylinder": pw.Cylinder(0.2, 0.1),
    "hull": pw.Mesh(trimesh.creation.icosahedron().apply_scale(0.1), "convex"),
    "shelf": pw.Box([1.5, 0.5, 0.03]),
}


def scattered() -> tuple[pw.Config, np.ndarray]:
    """Return free bodies of all kinds above a floor, and pairs of their frames."""
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane(), contact=1)
    for name, shape in SHAPES.items():
        C.add_frame(name, joint="free", shape=shape, contact=1)
    moving = [C.index(name) for name in SHAPES]
    pairs = [(a, b) for k, a in enumerate(moving) for b in moving[k + 1 :]]
    pairs += [(a, C.index("floor")) for a in moving]
    return C, np.array(pairs)


def states(C: pw.Config, count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    poses = rng.normal(size=(count, len(SHAPES), 7))
    poses[..., :3] *= 0.3
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    return poses.reshape(count, C.nq)


def near_function(C: pw.Config, pairs: np.ndarray):
    """Return a function from states to which pairs may be near (states, pairs).

    And to whether some pair is nearer than that for certain (states,).
    """
    K = C.tree.model.unnamed_kinematics
    table = table_of_frames(C.frames, pairs, np.zeros(len(pairs)))
    types, params = table.arrays("test", MIN_WORLD_SIZE)

    @jax.jit
    def near(q, moved):
        nodes, _ = forward_pass_nodes(K, q)
        tables = {k: jnp.asarray(x)[None] for k, x in on_nodes(K, params).items()}
        source = PairSource(types, *nodes, tables)
        reach = source.of_pairs(jnp.full((1, source.ends), REACH))
        grown = jnp.full((len(q), source.bodies), moved)
        count = source.pairs * len(q)
        nothing = empty_indices(count)
        known, is_lost = source.append_near(nothing, 0, reach, grown)
        is_listed = jnp.arange(count + 1) < known.length
        mask = jnp.zeros(count + 1, bool).at[known.indices].max(is_listed)[:count]
        return mask.reshape(source.pairs, len(q)).T[:, : len(pairs)], is_lost

    assert not types.has_unions
    return lambda q, moved: [np.asarray(x) for x in near(jnp.asarray(q), moved)]


@pytest.mark.slow
def test_no_near_pair_is_left_out_and_far_ones_are():
    C, pairs = scattered()
    q = states(C, 3 * MIN_RUN)
    near = near_function(C, pairs)
    masks, is_lost = near(q, 0.0)
    names = C.frame_names
    distances = np.zeros(masks.shape)
    for k, row in enumerate(q):
        C.q = row
        for p, (a, b) in enumerate(pairs):
            distances[k, p] = C.signed_distance(names[a], names[b])[0]
    assert masks[distances < REACH].all()
    assert (~masks[distances > 0.4]).mean() > 0.9, "far pairs are left out"
    one_by_one = [near(row[None], 0.0) for row in q]
    np.testing.assert_array_equal(masks, np.concatenate([x for x, _ in one_by_one]))
    np.testing.assert_array_equal(is_lost, np.concatenate([x for _, x in one_by_one]))
    # In some states a pair of boxes is seen to overlap, and in these some pair does.
    assert is_lost.any() and (distances[is_lost].min(1) < REACH).all()
    # Two bodies that have each moved by a distance may be nearer by twice that.
    grown, _ = near(q, 0.1)
    assert grown[distances < REACH + 0.2].all() and (grown | ~masks).all()
