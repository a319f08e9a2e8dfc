"""Files are read whatever the caller's filters say of a library's own warnings."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh

from posewise.robots.dependency_warnings import dependency_warnings_ignored
from posewise.robots.geometry.mesh_files import read_mesh
from posewise.robots.loaders.urdf.xacro_text import expand_xacro

TETRAHEDRON = trimesh.Trimesh(
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
)


def read_triangles(path: Path) -> int:
    return len(read_mesh(path).faces)


def write_mesh(path: Path) -> None:
    TETRAHEDRON.export(path)


def write_h5(path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["mesh/vertices"] = np.array(TETRAHEDRON.vertices)
        file["mesh/faces"] = np.array(TETRAHEDRON.faces)


def write_collada(path: Path) -> None:
    pytest.importorskip("collada")
    TETRAHEDRON.export(path)


def write_xacro(path: Path) -> None:
    pytest.importorskip("xacro")
    path.write_text('<robot name="r"><link name="${1 + 1}"/></robot>', "utf-8")


def read_xacro(path: Path) -> int:
    text, _ = expand_xacro(path.read_text("utf-8"), path, {}, None)
    return text.count('name="2"')


READERS = {
    "m.stl": (write_mesh, "trimesh.load", read_triangles, 4),
    "m.obj": (write_mesh, "trimesh.load", read_triangles, 4),
    "m.dae": (write_collada, "trimesh.load", read_triangles, 4),
    "m.h5": (write_h5, "h5py.File", read_triangles, 4),
    "r.xacro": (write_xacro, "xacro.process_doc", read_xacro, 1),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    "category", [DeprecationWarning, FutureWarning, RuntimeWarning, UserWarning]
)
def test_a_reader_that_warns_still_reads(name, category, tmp_path, monkeypatch):
    write, reader, read, expected = READERS[name]
    write(tmp_path / name)
    module, _, function = reader.rpartition(".")
    original = getattr(pytest.importorskip(module), function)

    def warns(*args, **options):
        warnings.warn("an array's shape was assigned to", category, stacklevel=2)
        return original(*args, **options)

    monkeypatch.setattr(reader, warns)
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        assert read(tmp_path / name) == expected
    assert records == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(tmp_path / name) == expected


def test_the_callers_filters_return():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with dependency_warnings_ignored():
            warnings.warn("inside", UserWarning, stacklevel=1)
        with pytest.raises(UserWarning, match="after"):
            warnings.warn("after", UserWarning, stacklevel=1)
