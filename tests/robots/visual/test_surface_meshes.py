"""Meshes of what is seen: areas and places against formulas, and the files."""

import numpy as np
import pytest
import trimesh

import posewise as pw


def scene() -> pw.Config:
    """A turned arm that carries an object of two boxes, and a mesh below."""
    C = pw.Config()
    C.add_frame("arm", joint="hingeZ", q=[np.pi / 2], position=[0, 0, 1])
    parts = [(pw.Box([1, 2, 3]), None), (pw.Box([1, 1, 1]), [5, 0, 0, 1, 0, 0, 0])]
    C.add_object("boxes", parts, parent="arm", pose=[2, 0, 0, 1, 0, 0, 0])
    ball = trimesh.creation.icosphere(subdivisions=1)
    C.add_frame("ball", position=[0, 0, -4], shape=pw.Mesh(ball))
    return C


def test_a_world_is_written_as_one_mesh(tmp_path):
    C = scene()
    for suffix in ("ply", "stl", "glb"):
        C.write_mesh(tmp_path / f"world.{suffix}")
        mesh = trimesh.load(tmp_path / f"world.{suffix}", force="mesh")
        ball = trimesh.creation.icosphere(subdivisions=1)
        assert mesh.area == pytest.approx(2 * (2 + 3 + 6) + 6 + ball.area, rel=1e-5)
        # x of the arm is y of the world
        expected = [[-1, -1, -5], [1, 7.5, 2.5]]
        np.testing.assert_allclose(mesh.bounds, expected, atol=1e-6)


def test_what_cannot_be_written_is_told(tmp_path):
    with pytest.raises(pw.ConfigError, match="no shape is seen"):
        pw.Config().write_mesh(tmp_path / "world.ply")
    with pytest.raises(pw.ConfigError, match=r"foo.*expected a suffix such as \.stl"):
        scene().write_mesh(tmp_path / "world.foo")
    # of points only; what is there stays
    (tmp_path / "world.xyz").write_text("0 0 0")
    with pytest.raises(pw.ConfigError, match=r"expected a suffix such as \.stl"):
        scene().write_mesh(tmp_path / "world.xyz")
    assert (tmp_path / "world.xyz").read_text() == "0 0 0"
