"""Names that packages load where they are first used."""

import ast
import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import house
import pytest

from posewise.lazy_names import lazy_names

LAZY = ("posewise", "posewise.objectives", "posewise.robots")
"""Packages whose names are lazy."""


def stated_imports(package: str) -> dict[str, str]:
    """Return the names under `if TYPE_CHECKING` of a package, each with its place."""
    (block,) = (
        node
        for node in house.parse(Path(import_module(package).__file__).resolve()).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    return {
        alias.asname: "." * node.level + (node.module or "")
        for node in block.body
        for alias in node.names
    }


def stated_table(package: str) -> dict[str, str]:
    """Return the names that a package passes to `lazy_names`, each with its place."""
    tree = house.parse(Path(import_module(package).__file__).resolve())
    (call,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names"
    )
    table = ast.literal_eval(call.args[1])
    return {name: place for place, names in table.items() for name in names.split()}


@pytest.mark.parametrize("package", LAZY)
def test_type_checkers_and_python_find_the_same_names(package):
    assert stated_table(package) == stated_imports(package)


def test_all_packages_with_lazy_names_are_compared():
    users = {
        house.module_name(file)
        for file in house.product_files()
        if "= lazy_names(" in file.read_text("utf-8")
    }
    assert users == set(LAZY)


@pytest.mark.parametrize("package", LAZY)
def test_each_name_is_what_its_module_has(package):
    module = import_module(package)
    for name, place in stated_imports(package).items():
        source = import_module(f".{name}" if place == "." else place, package)
        value = source if place == "." else getattr(source, name)
        assert getattr(module, name) is value
    assert set(module.__all__) == set(stated_imports(package)) <= set(dir(module))


def test_a_star_imports_every_name():
    scope = {}
    exec("from posewise.robots import *", scope)
    assert set(stated_imports("posewise.robots")) <= set(scope)


def test_an_unknown_name_is_an_error_of_the_module():
    find, _, _ = lazy_names("posewise.robots", {".config": "Config"})
    with pytest.raises(AttributeError, match="'posewise.robots' has no attribute 'x'"):
        find("x")


def loaded_after(statement: str) -> set[str]:
    """Return the modules that a fresh Python has after a statement."""
    code = f"{statement}\nimport json, sys; print(json.dumps(list(sys.modules)))"
    out = subprocess.check_output([sys.executable, "-c", code], cwd=house.ROOT)
    return set(json.loads(out))


BUILT_ON_THE_CORE = (
    "cli demo logic rai torch objectives.moveit objectives.placement "
    "objectives.report.filming objectives.report.plotting objectives.report.viewing "
    "robots.loaders.gfile robots.loaders.mjcf robots.simulation.twin "
    "robots.visual.film robots.visual.viewer"
)
"""Rooms that a path problem does not need before they are used."""
HEAVY = (
    "bddl coacd h5py matplotlib mujoco optax robotic scipy torch toppra trimesh viser "
    "xacro yaml yourdfpy"
)
"""Packages of others, apart from those that JAX loads itself."""


@pytest.mark.parametrize(
    ("package", "old", "new"),
    [
        ("posewise.logic.motion", "Open", "OpenJoint"),
        ("posewise.logic.motion", "Close", "CloseJoint"),
        ("posewise.logic.motion", "Until", "MoveUntil"),
        ("posewise.logic.rostok", "Contact", "TraceContact"),
    ],
)
def test_renamed_classes_answer_to_their_old_names(package, old, new):
    module = import_module(package)
    with pytest.warns(DeprecationWarning, match=rf"{old} is now {package}\.{new};"):
        renamed = getattr(module, old)
    assert renamed is getattr(module, new)
    with pytest.raises(AttributeError, match="no attribute 'Opne'"):
        _ = module.Opne


@pytest.mark.long
def test_the_face_loads_nothing_before_it_is_used():
    loaded = loaded_after("import posewise")
    ours = {m for m in loaded if m.split(".")[0] == "posewise"}
    assert ours == {"posewise", "posewise.lazy_names"}
    assert loaded.isdisjoint({"jax", "numpy"})


@pytest.mark.long
def test_the_core_loads_nothing_that_is_built_on_it():
    loaded = loaded_after("from posewise import FS, KOMO, OT, Box, Config")
    rooms = {f"posewise.{room}" for room in BUILT_ON_THE_CORE.split()}
    assert rooms.isdisjoint(loaded)
    assert loaded.isdisjoint(HEAVY.split())


@pytest.mark.long
def test_a_world_loads_no_objectives():
    loaded = loaded_after("from posewise import Box, Config")
    floors = {m.split(".")[1] for m in loaded if m.startswith("posewise.")}
    assert floors == {"collision", "compilation", "lazy_names", "robots"}
