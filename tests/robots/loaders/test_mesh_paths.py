"""Places of meshes: packages, spellings, and what is out of bounds."""

from pathlib import Path

import pytest
import trimesh
from helpers.cases import case

import posewise as pw
from posewise.robots.loaders.mesh_paths import MeshLocator

MESH = Path("meshes/m.stl")


def write_mesh(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box([1, 2, 3]).export(path)
    return path


def package(folder: Path, name: str | None) -> Path:
    """A package with a mesh, named by its package.xml, or only by its folder."""
    write_mesh(folder / MESH)
    if name is not None:
        text = f"<package format='2'>\n <name> {name} </name>\n</package>"
        (folder / "package.xml").write_text(text)
    return folder


def locator(folder: Path, packages: dict[str, Path] | None = None) -> MeshLocator:
    folder.mkdir(parents=True, exist_ok=True)
    return MeshLocator(folder, packages or {})


SPELLINGS = [
    "package://arm/meshes/m.stl",
    "package://arm/meshes/m.STL",
    "package://arm\\meshes\\m.stl",
    "package:\\\\arm\\meshes\\m.stl",
    "package:\\\\arm/meshes\\m.stl",
    "package:/arm/meshes/m.stl",
    "package:arm/meshes/m.stl",
    "package:///arm/meshes/m.stl",
    "package://arm//meshes/m.stl",
    "package://arm///meshes//m.stl",
    "package:\\\\arm\\\\meshes\\\\m.stl",
    "package://arm/./meshes/../meshes/m.stl",
    "package://arm/meshes/m.stl/",
    "package://arm%2Fmeshes%2Fm.stl",
    "model://arm//meshes/m.stl",
    "..//meshes//m.stl",
    "Package://arm/meshes//m.stl",
    "model://arm/meshes/m.stl",
    "package://arm/%6Deshes/m%2estl",
    " package://arm/meshes/m.stl ",
    "../meshes/m.stl",
    "..\\meshes\\m.stl",
    "../%6Deshes/m.stl",
]


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_of_exporters(name, tmp_path):
    root = package(tmp_path / "arm-2.1", "arm").resolve()
    assert locator(root / "urdf").find(name) == root / MESH


@pytest.mark.parametrize("name", ["my part.stl", "50%25.stl", "naïve.stl"])
def test_odd_names_are_found_as_written_or_encoded(name, tmp_path):
    from urllib.parse import quote

    root = package(tmp_path / "arm", None).resolve()
    mesh = write_mesh(root / "meshes" / name)
    meshes = locator(root / "urdf")
    assert meshes.find(f"package://arm/meshes/{name}") == mesh
    assert meshes.find(f"package://arm/meshes/{quote(name)}") == mesh
    assert meshes.find(f"file://{quote(str(mesh))}") == mesh


def test_capital_suffix_on_disk(tmp_path):
    mesh = write_mesh(tmp_path / "a/M.STL").resolve()
    assert locator(tmp_path / "a").find("M.stl") == mesh


FILES = [
    "file://{}",
    "file:{}",
    "file://localhost{}",
    "FILE://LOCALHOST{}",
    "file:///{}",
    "file://localhost//{}",
    "//{}",
]


@pytest.mark.parametrize("form", FILES)
def test_files_are_found_with_and_without_a_host(form, tmp_path):
    root = package(tmp_path / "my arm", None).resolve()
    (root / "package.xml").write_text("<package/>")
    meshes = locator(root / "urdf")
    for path in (root / MESH, str(root / MESH).replace(" ", "%20")):
        assert meshes.find(form.format(path)) == root / MESH
    assert meshes.find(f"file://elsewhere{root / MESH}") is None


@pytest.mark.parametrize("name", ["my arm", "π"])
def test_packages_of_any_name(name, tmp_path):
    from urllib.parse import quote

    root = package(tmp_path / name, None).resolve()
    meshes = locator(root / "urdf")
    assert meshes.find(f"package://{name}/meshes/m.stl") == root / MESH
    assert meshes.find(f"package://{quote(name)}/meshes/m.stl") == root / MESH


VARIABLES = ["GZ_SIM_RESOURCE_PATH", "IGN_GAZEBO_RESOURCE_PATH"]
VARIABLES += ["GAZEBO_MODEL_PATH", "SDF_PATH"]


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("end", ["", "/"])
def test_places_of_models(variable, end, tmp_path, monkeypatch):
    root = package(tmp_path / "models/arm", None).resolve()
    monkeypatch.setenv(variable, f"{tmp_path}/no:{root.parent}{end}:~:")
    meshes = locator(tmp_path / "ws/urdf")
    for scheme in ("model", "package"):
        assert meshes.find(f"{scheme}://arm/meshes/m.stl") == root / MESH
        assert meshes.find(f"{scheme}://arm//meshes/m.stl") == root / MESH
    assert meshes.find("model://arm/../leg.stl") is None
    assert meshes.find("model://leg/meshes/m.stl") is None
    assert meshes.unknown_packages == {"leg"}


NONSENSE = ["package://", "package:///", "package:", "model://", "file://", "file:"]
NONSENSE += ["/", "//", "///", ".", "..", "\\", "%", "%00.stl", "%ff%fe.stl", "a\0.stl"]
NONSENSE += ["package://arm", "package://arm/", "file://localhost", ".stl", "/.stl"]
NONSENSE += ["package://./m.stl", "package://../m.stl", f"package://{'x' * 9999}/m.stl"]
NONSENSE += ["package://arm/" + "a/" * 5000 + "m.stl", "\ud800.stl", "://", "x://y"]


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_not_found(name, tmp_path, monkeypatch):
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", "/no/such\n:\\x")
    package(tmp_path / "arm", "arm")
    for meshes in (locator(tmp_path / "arm/urdf"), MeshLocator(None)):
        assert meshes.find(name) is None
        assert len(meshes.left_out) == 1


def test_shared_case_of_two_slashes(tmp_path):
    root = package(tmp_path / "my_robot", "my_robot")
    (root / "meshes/m.stl").rename(root / "meshes/b.stl")
    (root / "urdf").mkdir()
    (root / "urdf/r.urdf").write_bytes(case("double_slash.urdf").read_bytes())
    C = pw.Config()
    C.add_file(root / "urdf/r.urdf")
    assert C.frame("a").shape.mesh.volume == pytest.approx(6)


PLACES = {
    "above, named by package.xml": ("ws/arm-2.1", "arm", "ws/arm-2.1/urdf/deep"),
    "above, named by its folder": ("ws/arm", None, "ws/arm/urdf"),
    "beside, named by its folder": ("ws/arm", None, "ws/tool/urdf"),
    "beside, named by package.xml": ("ws/arm-2.1", "arm", "ws/tool/urdf"),
    "ROS path, by folder": ("ros/arm", None, "ws/tool/urdf"),
    "ROS path, by package.xml": ("ros/arm-2.1", "arm", "ws/tool/urdf"),
    "ROS path, in a repository": ("ros/robots/arm-2.1", "arm", "ws/tool/urdf"),
    "ROS path, the package": ("other/arm-2.1", "arm", "ws/tool/urdf"),
    "ament": ("ament/share/arm", "arm", "ws/tool/urdf"),
}


@pytest.mark.parametrize("place, name, urdf", PLACES.values(), ids=PLACES)
def test_places_of_packages(place, name, urdf, tmp_path, monkeypatch):
    root = package(tmp_path / place, name).resolve()
    package(tmp_path / "ws/tool", "tool")
    path = f"{tmp_path}/ros:{tmp_path}/other/arm-2.1"
    monkeypatch.setenv("ROS_PACKAGE_PATH", path)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}/ament")
    meshes = locator(tmp_path / urdf)
    assert meshes.find("package://arm/meshes/m.stl") == root / MESH
    assert meshes.find("package://leg/meshes/m.stl") is None
    assert meshes.unknown_packages == {"leg"}


def test_a_name_in_package_xml_counts_before_a_folder(tmp_path):
    root = package(tmp_path / "ws/arm", "arm").resolve()
    other = package(tmp_path / "ws/arm/arm", "other").resolve()
    meshes = locator(root / "urdf")
    assert meshes.find("package://arm/meshes/m.stl") == root / MESH
    assert meshes.find("package://other/meshes/m.stl") is None
    with_package = locator(root / "urdf", {"arm": other})
    assert with_package.find("package://arm/meshes/m.stl") == other / MESH


@pytest.mark.parametrize("text", ["", "<package/>", "<!DOCTYPE p []><package/>", "\0"])
def test_broken_package_xml_names_nothing(text, tmp_path):
    root = package(tmp_path / "arm", None).resolve()
    (root / "package.xml").write_text(text)
    assert locator(root / "urdf").find("package://arm/meshes/m.stl") == root / MESH


def test_links_and_names_cannot_leave_the_package(tmp_path):
    root = package(tmp_path / "ws/arm-2.1", "arm")
    secret = write_mesh(tmp_path / "secret.stl")
    (root / "link.stl").symlink_to(secret)
    (root / "notes.txt").write_text("x")
    meshes = locator(root / "urdf")
    names = ["package://arm/link.stl", "package://arm/..\\..\\secret.stl"]
    names += ["package:\\\\..\\secret.stl", "..\\..\\..\\secret.stl", str(secret)]
    names += ["package://arm/%2e%2e/%2e%2e/secret.stl", "../notes.txt"]
    names += ["http://example.org/m.stl", "C:\\meshes\\m.stl", "x" * 5000 + ".stl"]
    assert [meshes.find(name) for name in names] == [None] * len(names)
    assert "outside of its package" in meshes.left_out[0]
    assert "no mesh" in meshes.left_out[6]


@pytest.mark.parametrize(
    "data, why",
    [
        (b"", "0 triangles"),
        (b"\0" * 84, "0 triangles"),
        (b"solid x\nendsolid x\n", "0 triangles"),
        (b"version https://git-lfs.github.com/spec/v1\nsize 9\n", "0 triangles"),
        (trimesh.creation.box().export(file_type="stl")[:300], "0 triangles"),
    ],
    ids=["no bytes", "empty", "empty text", "Git LFS", "cut"],
)
def test_small_files_without_a_mesh_are_left_out(data, why, tmp_path):
    (tmp_path / "m.stl").write_bytes(data)
    meshes = locator(tmp_path)
    assert meshes.find("m.stl") is None
    assert why in meshes.left_out[0]


def urdf(*meshes: str) -> str:
    shape = '<collision><geometry><mesh filename="{}"/></geometry></collision>'
    links = [
        f'<link name="l{i}">{shape.format(name)}</link>'
        for i, name in enumerate(meshes)
    ]
    joints = [
        f'<joint name="j{i}" type="continuous"><parent link="l0"/>'
        f'<child link="l{i}"/></joint>'
        for i in range(1, len(meshes))
    ]
    return f'<robot name="r">{"".join(links + joints)}</robot>'


def test_packages_argument(tmp_path):
    root = package(tmp_path / "elsewhere/arm", None).resolve()
    name = "package://arm/meshes/m.stl"
    file = tmp_path / "ws/r.urdf"
    file.parent.mkdir()
    file.write_text(urdf(name))
    warning = r"r.urdf: 1 mesh is left out: .*m.stl' \(not found\).*\{'arm': folder\}"
    with pytest.warns(UserWarning, match=warning):
        pw.Config().add_file(file)
    for add in (
        lambda C: C.add_file(file, packages={"arm": root}),
        lambda C: C.add_text(urdf(name), packages={"arm": str(root)}),
        lambda C: C.add_text(urdf(name), packages={"arm": root.parent}),
        lambda C: C.add_text(urdf("meshes/m.stl"), folder=root),
        lambda C: C.add_text(urdf(f"file://{root / MESH}"), packages={"arm": root}),
    ):
        C = pw.Config()
        add(C)
        assert C.frame("l0").shape.source == root / MESH
    with pytest.warns(UserWarning, match="1 mesh is left out"):
        pw.Config().add_text(urdf("meshes/m.stl"))


@pytest.mark.parametrize(
    "packages", [{"arm": "no/such"}, {"arm": 3}, {3: "."}, ["arm"], "arm"]
)
def test_packages_that_are_none(packages, tmp_path):
    (tmp_path / "r.urdf").write_text(urdf("m.stl"))
    with pytest.raises(pw.LoadError, match="packages"):
        pw.Config().add_file(tmp_path / "r.urdf", packages=packages)


def test_links_without_shapes_say_so_again(tmp_path):
    write_mesh(tmp_path / "m.stl")
    (tmp_path / "r.urdf").write_text(urdf("m.stl", "a.stl", "b.stl"))
    C = pw.Config()
    with pytest.warns(UserWarning, match="2 meshes are left out"):
        C.add_file(tmp_path / "r.urdf")
    again = "Without a shape for collisions are 'l1', 'l2'.*a.stl"
    with pytest.warns(UserWarning, match=again) as caught:
        assert C.collisions() == []
    assert len(caught) == 1
    C.collisions()  # the same frames cost one warning
    D = C.copy()
    D.add_frame("x", shape=pw.Sphere(0.1), joint="free")
    assert D.pairs.names()
    with pytest.warns(UserWarning, match="'l1' and more|are 'l1':"):
        C.signed_distance("l0", "l1")
    E = pw.Config()
    with pytest.warns(UserWarning, match="2 meshes are left out"):
        E.add_file(tmp_path / "r.urdf")
    with pytest.warns(UserWarning, match=again):
        E.eval(pw.FS.accumulatedCollisions)
    F = pw.Config()
    with pytest.warns(UserWarning, match="2 meshes are left out"):
        F.add_file(tmp_path / "r.urdf")
    for name in ("l1", "l2"):
        F.set_shape(name, pw.Sphere(0.1))
    assert F.pairs.names() == [("l1", "l2")]  # given shapes, they are complete


def test_shared_cases():
    C = pw.Config()
    C.add_file(case("pkg/ur_description-2.1/urdf/r.urdf"))
    assert all(len(f.geometries) == 1 for f in C.frames)
    D = pw.Config()
    D.add_file(case("pkg/mm.urdf"))
    assert D.frame("a").shape.mesh.extents == pytest.approx([0.1, 0.1, 0.1])
