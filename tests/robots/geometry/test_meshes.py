"""Mesh files: what is read, and what is explained."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import trimesh

import posewise as pw
from posewise.robots.errors import ConfigError
from posewise.robots.geometry.mesh_files import (
    read_convex_parts,
    read_mesh,
    read_points,
)
from posewise.robots.geometry.shapes import Convex, Mesh
from posewise.robots.loaders.gfile.reader import read_gfile

BOX = trimesh.creation.box((1, 2, 3))


def write_h5(path: Path, **data: np.ndarray) -> Path:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in data.items():
            file[name.replace("__", "/")] = array
    return path


def box_h5(path: Path, **more: np.ndarray) -> Path:
    vertices, faces = BOX.vertices.astype("f4"), BOX.faces.astype("u2")
    data = {"mesh__vertices": vertices, "mesh__faces": faces} | more
    return write_h5(path, **data)


def test_h5(tmp_path):
    colors = np.full((8, 3), 7, "u1")
    mesh = read_mesh(box_h5(tmp_path / "a.h5", mesh__colors=colors))
    np.testing.assert_array_equal(mesh.vertices, BOX.vertices)
    np.testing.assert_array_equal(mesh.faces, BOX.faces)
    assert mesh.visual.vertex_colors[0].tolist() == [7, 7, 7, 255]
    assert mesh.volume == pytest.approx(6)


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "off", "glb"])
def test_formats_of_trimesh(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    BOX.export(path)
    mesh = read_mesh(path)
    assert mesh.volume == pytest.approx(6)
    np.testing.assert_allclose(mesh.bounds, BOX.bounds, atol=1e-6)


def test_forms_of_stl_and_obj(tmp_path):
    binary, text = BOX.export(file_type="stl"), BOX.export(file_type="stl_ascii")
    obj = BOX.export(file_type="obj")
    forms = {
        "binary.STL": binary,
        "text.stl": text.encode(),
        "binary that begins like text.stl": b"solid" + binary[5:],
        "no materials.obj": b"mtllib none.mtl\nusemtl x\n" + obj.encode(),
        "windows.obj": obj.replace("\n", "\r\n").encode(),
    }
    for name, data in forms.items():
        (tmp_path / name).write_bytes(data)
        assert read_mesh(tmp_path / name).volume == pytest.approx(6), name


def test_parts_of_a_scene_become_one_mesh(tmp_path):
    moved = trimesh.transformations.translation_matrix([5, 0, 0])
    scene = trimesh.Scene()
    scene.add_geometry(BOX)
    scene.add_geometry(BOX, transform=moved)
    scene.export(tmp_path / "a.glb")
    mesh = read_mesh(tmp_path / "a.glb")
    assert len(mesh.faces) == 24
    assert mesh.bounds[1][0] == pytest.approx(5.5)


def test_convex_parts_and_points(tmp_path):
    points = np.concatenate([BOX.vertices, BOX.vertices + 5]).astype("f4")
    path = box_h5(
        tmp_path / "a.h5",
        decomp__vertices=points,
        decomp__parts=np.array([0, 8], "u4"),
        points__vertices=points,
    )
    assert [p.tolist() for p in read_convex_parts(path)] == [
        points[:8].tolist(),
        points[8:].tolist(),
    ]
    assert read_points(path).shape == (16, 3)
    text = "a: { mesh: <a.h5>, mesh_decomp: <a.h5>, meshscale: 2 }\nb: { shape: ssCvx,"
    (tmp_path / "a.g").write_text(text + " size: [.1], core: <a.h5> }")
    a, b = read_gfile(tmp_path / "a.g").frames
    kinds = [(type(g.shape), g.collision, g.visual) for g in a.geometries]
    assert kinds == [(Mesh, False, True), (Convex, True, False), (Convex, True, False)]
    assert a.geometries[2].shape.vertices.max() == pytest.approx(13)
    assert a.shape.mesh.volume == pytest.approx(48)
    assert a.shape.mode == "convex"
    assert isinstance(b.shape, Convex) and b.shape.rounding == 0.1


def test_broken_h5(tmp_path):
    path = tmp_path / "a.h5"
    nan = BOX.vertices.copy()
    nan[0, 0] = np.nan
    broken = {
        "no data 'mesh/faces'": {"mesh__vertices": BOX.vertices},
        "NaN": {"mesh__vertices": nan, "mesh__faces": BOX.faces},
        "names vertex 9": {
            "mesh__vertices": BOX.vertices,
            "mesh__faces": BOX.faces + 2,
        },
        "0 triangles": {
            "mesh__vertices": BOX.vertices,
            "mesh__faces": np.zeros((0, 3), int),
        },
        "integers": {"mesh__vertices": BOX.vertices, "mesh__faces": BOX.vertices},
        "vertices have shape": {
            "mesh__vertices": np.zeros((3, 2)),
            "mesh__faces": BOX.faces,
        },
    }
    for message, data in broken.items():
        write_h5(path, **data)
        with pytest.raises(ConfigError, match=f"a.h5.*{message}"):
            read_mesh(path)
    write_h5(path, decomp__vertices=BOX.vertices, decomp__parts=np.array([0, 99]))
    with pytest.raises(ConfigError, match="start indices"):
        read_convex_parts(path)
    path.write_bytes(b"no h5 at all")
    with pytest.raises(ConfigError, match="not a readable .h5"):
        read_mesh(path)


@pytest.mark.parametrize("ending", ["stl", "obj", "ply", "off", "glb", "dae"])
@pytest.mark.parametrize("content", [b"", b"garbage\n1 2 3\n\xff\x00"])
def test_broken_files_of_trimesh(ending, content, tmp_path):
    path = tmp_path / f"a.{ending}"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"a.{ending}"):
        read_mesh(path)


def test_without_h5py(tmp_path, monkeypatch):
    path = box_h5(tmp_path / "a.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r"posewise\[rai\]"):
        read_mesh(path)


def test_no_such_mesh(tmp_path):
    with pytest.raises(ConfigError, match="does not exist"):
        read_mesh(tmp_path / "a.h5")
    with pytest.raises(ConfigError, match="'.arr' cannot be read; convert"):
        read_mesh(tmp_path / "a.arr")
    with pytest.raises(ConfigError, match="does not exist"):
        read_mesh(tmp_path / ("a\0" + "b" * 9000 + ".h5"))


def test_written_descriptions_bring_their_meshes_along(tmp_path):
    """Files outside of the description's folders would be refused by the reader."""
    source, target = tmp_path / "a" / "b", tmp_path / "c" / "d"
    for folder in (source, target):
        folder.mkdir(parents=True)
    trimesh.creation.box([0.1, 0.2, 0.3]).export(source / "box.stl")
    C = pw.Config()
    C.add_frame("part", shape=pw.Mesh(source / "box.stl"))
    C.write_urdf(target / "out.urdf")
    shutil.rmtree(source)
    D = pw.Config()
    D.add_file(target / "out.urdf")
    D.write_urdf(target / "out.urdf")  # onto itself
    (shape,) = {g.shape.source for g in D.frame("part").geometries}
    assert np.allclose(np.ptp(pw.Mesh(shape).mesh.vertices, axis=0), [0.1, 0.2, 0.3])
