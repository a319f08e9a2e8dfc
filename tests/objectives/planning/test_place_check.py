"""Places that keep all distances, against exact distances, one by one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise.features.pairs.tables import MIN_WORLD_SIZE, table_of_frames
from posewise.objectives.planning.place_check import place_check

trimesh = pytest.importorskip("trimesh", reason="needs the extra `meshes`")
COUNT = 48
SHAPES = {
    "box": pw.Box([0.3, 0.2, 0.05]),
    "ball": pw.Sphere(0.1),
    "capsule": pw.Capsule(0.3, 0.04),
    "cylinder": pw.Cylinder(0.2, 0.1),
    "hull": pw.Mesh(trimesh.creation.icosahedron().apply_scale(0.1), "convex"),
}


@pytest.mark.sampled
@pytest.mark.parametrize(
    "names",
    [
        ["ball", "box", "capsule"],
        pytest.param(["box", "hull"], marks=pytest.mark.long),
        pytest.param([*SHAPES], marks=pytest.mark.slow),
    ],
)
def test_places_are_free_where_all_pairs_keep_their_distances(names):
    C = pw.Config()
    C.add_frame("floor", shape=pw.Plane(), contact=1)
    for name in names:
        C.add_frame(name, joint="free", shape=SHAPES[name], contact=1)
    frames = [C.index(name) for name in names]
    pairs = [(a, b) for k, a in enumerate(frames) for b in frames[k + 1 :]]
    if "hull" in names:
        pairs += [(a, C.index("floor")) for a in frames]
    table = table_of_frames(C.frames, np.array(pairs), np.zeros(len(pairs)))
    types, params = table.arrays("test", MIN_WORLD_SIZE)
    rng = np.random.default_rng(0)
    required = np.full(len(params["margin"]), -np.inf)
    required[: len(pairs)] = rng.uniform(0, 0.05, len(pairs))
    q = rng.normal(size=(COUNT, len(names), 7))
    q[..., :3] = 0.25 * q[..., :3] + [0, 0, 0.3]
    q[..., 3:] /= np.linalg.norm(q[..., 3:], axis=-1, keepdims=True)
    q = q.reshape(COUNT, C.nq)
    counts = np.arange(COUNT) % 5 > 0

    @jax.jit
    def check(q):
        K = C.tree.model.unnamed_kinematics
        return place_check(types, K, params, jnp.asarray(required))(q, counts)

    is_free = np.asarray(check(jnp.asarray(q)))
    for k in np.flatnonzero(counts):
        C.q = q[k]
        gaps = [
            C.signed_distance(C.frame_names[a], C.frame_names[b])[0] - least
            for (a, b), least in zip(pairs, required, strict=False)
        ]
        assert is_free[k] == (min(gaps) >= 0), (k, min(gaps))
    assert 0.1 < is_free[counts].mean() < 0.9
