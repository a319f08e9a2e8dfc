"""rai's graph files against `robotic` itself, and files that must not load."""

import importlib.util
import json
import random
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from posewise.robots.errors import ConfigError, LoadError
from posewise.robots.geometry.shapes import Box, Capsule, Convex, Cylinder, Marker, Mesh
from posewise.robots.kinematics import joint_types
from posewise.robots.kinematics.transforms import IDENTITY, pose_multiply
from posewise.robots.loaders.gfile import frames
from posewise.robots.loaders.gfile.reader import read_gfile
from posewise.robots.world.frame import Model

HERE = Path(__file__).parent
EXPECTED = HERE.parents[3] / "shared/oracle/gfile/expected.json"
_SPEC = importlib.util.find_spec("robotic")
MODELS = (
    Path(_SPEC.origin).parent / "rai-robotModels" if _SPEC and _SPEC.origin else None
)
needs_robotic = pytest.mark.skipif(MODELS is None, reason="robotic is not installed")

SAMPLE = ["panda/panda.g", "pr2/pr2.g", "ur10/ur10.g", "g1/g1.yml", "tests/arm.g"]
SAMPLE += ["trossen/trossen.yml", "allegro/allegro.yml", "ranger/ranger.g"]
SAMPLE += ["scenarios/workshopTable.g", "objects/shelf.g", "objects/kitchen.g"]


def world_poses(model: Model) -> list[np.ndarray]:
    """Forward kinematics, as slow and plain as it gets."""
    q = {i: f.joint.q for i, f in enumerate(model.frames) if f.joint and f.joint.dim}
    q |= model.q
    poses: dict[int, np.ndarray] = {}

    def pose(i: int) -> np.ndarray:
        if i not in poses:
            frame = model.frames[i]
            total = IDENTITY if frame.parent is None else pose(frame.parent)
            total = pose_multiply(total, frame.origin)
            joint = frame.joint
            if joint is not None and joint.dim:
                value = q[i]
                if joint.mimic is not None:
                    value = joint.multiplier * q[frame.attributes["mimic_index"]]
                step = joint_types.joint_transform(
                    joint.type, joint.axis, joint.scale * value
                )
                total = pose_multiply(total, step)
            poses[i] = total
        return poses[i]

    return [pose(i) for i in range(len(model.frames))]


def flat(value):
    """A matrix row by row; anything else as it is."""
    nested = isinstance(value, list | tuple) and value and isinstance(value[0], list)
    return [x for row in value for x in row] if nested else value


def joint_names_and_q(model: Model) -> tuple[list[str], np.ndarray]:
    names, values = [], []
    for i, frame in enumerate(model.frames):
        joint = frame.joint
        if joint is None or not joint.dim or not joint.active:
            continue
        many = [f"{frame.name}:{k}" for k in range(joint.dim)]
        names += many if joint.dim > 1 else [frame.name]
        if joint.mimic is None:
            values.append(model.q.get(i, joint.q))
    return names, np.concatenate([*values, np.zeros(0)])


def assert_same(model: Model, expected: dict, tolerance: float, meshes: bool) -> None:
    """Every frame equals what robotic made of it."""
    frames = expected["frames"]
    assert [f.name for f in model.frames] == [f["name"] for f in frames]
    assert [f.parent for f in model.frames] == [f["parent_index"] for f in frames]
    for frame, pose, want in zip(model.frames, world_poses(model), frames, strict=True):
        p, quat = np.array(want["pose"][:3]), np.array(want["pose"][3:])
        quat = quat * np.sign(quat @ pose[3:])
        np.testing.assert_allclose(pose[:3], p, atol=tolerance, err_msg=frame.name)
        np.testing.assert_allclose(pose[3:], quat, atol=tolerance, err_msg=frame.name)
        joint, attributes = frame.joint, frame.attributes
        kind = "none" if joint is None else joint.type
        assert ("generic" if kind[0] == "_" else kind) == want["joint"], frame.name
        assert attributes.get("shape", "none") == want["shape"], frame.name
        if frame.geometries or want["size"]:
            assert attributes["size"] == pytest.approx(want["size"]), frame.name
        assert frame.contact == want["contact"], frame.name
        assert (frame.mass or 0) == want["mass"], frame.name
        if frame.inertia is not None and want.get("inertia") is not None:
            np.testing.assert_allclose(frame.inertia, want["inertia"], atol=1e-9)
        assert flat(attributes.get("note")) == flat(want.get("note")), frame.name
        if joint is not None and joint.dim and joint.mimic is None:
            limits = [] if joint.limits is None else joint.limits.reshape(-1)
            expected_limits = want["limits"][: 2 * joint.dim]
            np.testing.assert_allclose(limits, expected_limits, atol=tolerance)
            assert joint.scale == want["joint_scale"]
        if joint is not None and joint.dim and want["mimic"]:
            assert attributes["mimic"] == want["mimic"]
            assert model.frames[attributes["mimic_index"]].name == joint.mimic
            assert joint.multiplier == (-1 if want["joint_scale"] == -1 else 1)
        if meshes and want["n_mesh_vertices"]:
            assert isinstance(frame.shape, Mesh)
            assert len(frame.shape.mesh.vertices) == want["n_mesh_vertices"]
    names, q = joint_names_and_q(model)
    assert names == expected["joint_names"]
    np.testing.assert_allclose(q, expected["q"], atol=tolerance)


def ask_robotic(paths: list[Path], folder: Path) -> list[dict | None]:
    """Return the frames that `robotic` reads from files; None where it fails."""
    command = [
        sys.executable,
        str(HERE.parents[1] / "processes/robotic_dump.py"),
        *map(str, paths),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300)
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


# ---- files of rai-robotModels -----------------------------------------------------


@needs_robotic
@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["panda/panda.g", "pr2/pr2.g", "objects/kitchen.g", "ur10/ur10.g"]
)
def test_shipped_file_as_recorded(name):
    if not EXPECTED.is_file():
        pytest.skip(f"{EXPECTED} is not there")
    expected = json.loads(EXPECTED.read_text())["files"][name]
    assert_same(read_gfile(MODELS / name), expected, 1e-9, meshes=True)


@needs_robotic
@pytest.mark.long
def test_sample_of_shipped_files_live(tmp_path):
    answers = ask_robotic([MODELS / name for name in SAMPLE], tmp_path)
    for name, expected in zip(SAMPLE, answers, strict=True):
        assert expected is not None, name
        assert_same(read_gfile(MODELS / name), expected, 1e-12, meshes=False)


@needs_robotic
@pytest.mark.long
@pytest.mark.slow
def test_every_shipped_file_live(tmp_path):
    files = sorted([*MODELS.rglob("*.g"), *MODELS.rglob("*.yml")])
    loadable = 0
    for file, expected in zip(files, ask_robotic(files, tmp_path), strict=True):
        if expected is None:
            with warnings.catch_warnings(action="ignore"):
                loads_or_explains(file)
            continue
        loadable += 1
        assert_same(read_gfile(file), expected, 1e-12, meshes=True)
    assert loadable >= 53


# ---- rules, each checked against robotic ------------------------------------------

P = "p: {}\n"
BALL = "shape: sphere, size: [.1]"
INNER = "x: { note: 1 }\ny (x): { pose: [1 0 0] }\n"
RULES: dict[str, str | dict[str, str]] = {
    "keys, commas and comments": "# c\na: { note: 3 # c\n, flag, x y: 2 }, b(a): {Q: "
    "[0, , .2 1]},\n(b) { pose: [1 0 0] }",
    "braces round the file": "{ a: {}\n b(a): { Q: [1 2 3] } }",
    "flags": "a: { b!, note: ! }\nc: { note }\nd: { note: ~ }",
    "strings": "a: { note: 'it; is, {so} #1' }\nb: { note: \"two\nlines\" }",
    "word arrays": "a: { note: [a b\n c, d] }\nb: { note: [\"a b\" 'c'] }".replace(
        "'c'", '"c"'
    ),
    "matrix": "a: { note: [1 2\n\n 3 4; 5 6] }",
    "quaternions are normalised": P + "a(p): { Q: [0 0 1 0 0 0 3] }\n"
    "b(p): { Q: [-1 0 0 -1] }",
    "pose programme": P + 'a(p): { Q: "t(1 0 0) d(90 0 0 1) t(1 0 0)" }\n'
    'b(p): { Q: "E(.1 .2 .3) r(.3 0 2 0)" }\nc(p): { Q: "p(1 2 3 1 1 0 0)t(0 1 0)" }\n'
    'd(p): { Q: "1 2 3 1 0 0 1" }\ne(p): { Q: "[1, 2, 3, 0, 0, 0, 1]" }\n'
    'f(p): { Q: "<T t (0 0 1) | t(1 0 0)" }\ng(p): { Q: "" }\n'
    'h(p): { Q: "d(90 0 0 0)" }\ni(p): { Q: "q(1 1 0 0) t(0 1 0)" }',
    "later poses win": P + "a(p): { pose: [3 0 0], Q: [2 0 0], X: [1 0 0] }\n"
    "b(p): { X: [1 0 0], Q: [2 0 0] }",
    "X is relative to the parent of the moment": "c(o): { X: [3 3 3] }\n"
    'o: { X: "t(1 0 0) d(90 0 0 1)" }\nd(o): { X: [3 3 3] }',
    "X below a joint": P + "j(p): { joint: hingeZ, q: 1 }\nc(j): { X: [3 3 3] }",
    "pre and origin insert frames": P + "o(p): { joint: hingeX, pre: [0 0 1], origin: "
    "[1 0 0], q: .2 }\nr(p): { joint: rigid, pre: [0 0 1], Q: [1 0 0] }\n"
    "s(p): { joint: hingeX, pre: [0 0 0] }\nt(p): { joint: transX, A: [0 0 2] }\n"
    "u(p): { pre: [0 0 1], Q: [1 0 0] }\nv(u): { joint: none, pre: [1 1 1] }",
    "origin then X": P + "o(p): { origin: [0 0 1], X: [1 1 1] }\nc(o): { X: [3 3 3] }",
    "post needs a child": "c(o): {}\n" + P + "o(p): { joint: hingeX, post: [0 0 1] }",
    "forward references": "b(a): { Q: [1 0 0] }\na: { X: [0 1 0] }\nc(b): {}",
    "duplicate and empty names": "a: {}\na: { X: [0 0 1] }\nb(a): {}\n{ note: 1 }"
    "\n(b) { note: 2 }",
    "every joint": P
    + "\n".join(
        f"j{i}(p): {{ joint: {name}, q: {q} }}"
        for i, (name, q) in enumerate(
            [
                *((n, ".3") for n in ("hingeX", "hingeY", "hingeZ")),
                *((n, ".3") for n in ("transX", "transY", "transZ")),
                ("transXY", "[.1 .2]"),
                ("trans3", "[.1 .2 .3]"),
                ("transXYPhi", "[.1 .2 .3]"),
                ("phiTransXY", "[.1 .2 .3]"),
                ("transYPhi", "[.1 .2]"),
                ("universal", "[.4 -.5]"),
                ("quatBall", "[.5 .5 .5 .5]"),
                ("free", "[1 2 3 .5 .5 .5 -.5]"),
                ("XBall", "[1 .5 .5 .5 .5]"),
                ("_xyc", "[.1 .2 .3]"),
                ("transXYPhi", ".2"),
            ]
        )
    ),
    "values read off Q": P + 'a(p): { joint: hingeX, Q: "d(60 1 0 0)" }\n'
    "b(p): { joint: hinge, axis: [0 0 2], q: .5 }\n"
    'c(p): { joint: transXYPhi, Q: "t(1 2 0) d(60 0 0 1)" }\n'
    'd(p): { joint: phiTransXY, Q: "t(1 2 0) d(60 0 0 1)" }\n'
    'e(p): { joint: universal, Q: "d(60 1 0 0) d(40 0 1 0)" }\n'
    'f(p): { joint: free, Q: "t(1 2 3) d(60 1 2 0)" }\n'
    'g(p): { joint: quatBall, Q: "d(60 1 2 0)" }\n'
    'h(p): { joint: XBall, Q: "t(1 0 0) d(60 1 2 0)" }\n'
    "i(p): { joint: transX, X: [2 0 0] }\n"
    'j(p): { joint: hinge, axis: [0 0 2], Q: "d(60 0 0 -1)" }',
    "joint_scale": P + "a(p): { joint: hingeX, joint_scale: 2, q: .5 }\n"
    'b(p): { joint: hingeX, joint_scale: 2, Q: "d(60 1 0 0)" }\n'
    "c(p): { joint: trans3, joint_scale: -3, Q: [1 2 3] }",
    "limits": P + "a(p): { joint: hingeX, limits: [-1 1 5 6 7] }\n"
    "b(p): { joint: transXY, limits: [-1 -2 1 2], ctrl_limits: [1 2 3], q: [9 9] }\n"
    "c(p): { joint: rigid, limits: [1], q: 3 }",
    "inactive joints": P + "a(p): { joint: hingeX, joint_active: false, q: .3 }\n"
    "b(p): { joint: hingeX, q: .2 }\nc(p): { joint: hingeX, mimic: a }",
    "mimic takes the last of a name": P + "b(p): { joint: hingeX, mimic: a }\n"
    "a(p): { joint: hingeX, q: .3 }\na(p): { joint: hingeX, q: 1 }\n"
    'd(p): { joint: hingeX, mimic: "a", joint_scale: -1 }',
    "mimic of several coordinates": P + "a(p): { joint: transXYPhi, q: [1 2 .3] }\n"
    "b(p): { joint: transXYPhi, mimic: a, joint_scale: -1 }",
    "state at the end": P + "q: [.3 .1]\na(p): { joint: hingeX, q: 1 }\n"
    "b(p): { joint: hingeX, joint_active: False, q: 1 }\nc(p): { joint: transX }",
    "state is edited": P + "q: [.3]\na(p): { joint: hingeX, q: 1 }\nEdit(q): [.5]",
    "shapes": "a: { shape: box, size: [1 2 3], contact }\n"
    "b: { shape: capsule, size: [1 2], contact: -2.7 }\nc: { type: cylinder, size: "
    "[1 2], contact: false }\nd: { shape: ssBox, size: [1 2 3 .1], color: [.5] }\n"
    "e: { shape: ssCylinder, size: [.1 .2 .3] }\nf: { shape: quad, size: [1 2] }\n"
    "g: { shape: marker, size: [.1 .2 .3 0] }\nh: { shape: camera }\n"
    "i: { shape: ssCvx, size: [.1], core: [0 0 0 1 0 0 0 1 0 0 0 1] }\n"
    "j: { shape: ssBoxElip, size: [.1 .2 .3 .04 .05 .06 .02] }\nk: { shape: mesh }\n"
    "l: { shape: ssBox, size: [1 1 1 0] }\nm: { shape: pointCloud }\nn: { contact }",
    "mimic_shape": f"a: {{ {BALL}, contact: 1 }}\nb: {{ mimic_shape: a }}",
    "masses": f"a: {{ mass: 2 }}\nb: {{ mass: 2, inertia: [1 2 3], {BALL} }}\n"
    "c: { mass: 2, inertia: [1 .2 .3 4 .5 6] }\nd: { inertia: [1 2 3] }\n"
    f"e: {{ mass: 1, {BALL} }}",
    "of two edits the earlier wins": "Edit a: { note: 1 }\na: { note: 0 }\n"
    "Edit a: { note: 2, x: 3 }",
    "an edit of another type is not seen": P + "a(p): { Q: [0 0 1] }\n"
    'Edit a: { Q: "t(0 0 2)" }\nb: { shape: sphere, size: [1], contact }\n'
    "Edit b: { contact: 2, size: [2] }",
    "an edit changes parents": "a: {}\nb: {}\nc(a): { Q: [1 0 0] }\nEdit c(b): {}\n"
    "Edit(a b): {}",
    "an edit reaches all of a name": "a: {}\na: {}\nEdit a: { note: 1 }",
    "a group is merged, not replaced": "a: { g: { x: 1 }, note: 0 }\n"
    "Edit a: { g: { y: 2 }, note: 5 }",
    "parents lost to a pending edit": "Edit a: { note: 1 }\nb(a): {}\na: {}",
    "edits before an include": {
        "main.g": "Edit x: { note: 3 }\nInclude: <i.g>\nz: {}",
        "i.g": INNER,
    },
    "edits in an include win": {
        "main.g": "Edit x: { note: 3 }\nInclude: <i.g>\nz: {}",
        "i.g": INNER + "Edit x: { note: 2 }",
    },
    "edits after an include": {
        "main.g": "Include: <i.g>\nEdit x: { note: 3 }",
        "i.g": INNER + "Edit x: { note: 2 }",
    },
    "edits in an include reach outwards": {
        "main.g": "x: { note: 0 }\nPrefix: l_\nInclude: <i.g>\nz: {}",
        "i.g": "Edit x: { note: 2 }\nw(x): {}\ny(w): {}",
    },
    "pending edits miss prefixed nodes": {
        "main.g": "Edit x: { note: 3 }\nEdit l_y: { note: 4 }\nPrefix: l_\n"
        "Include: <i.g>\nz: {}",
        "i.g": INNER,
    },
    "a prefix serves one include": {
        "main.g": 'Prefix: "l_"\nInclude: <i.g>\nInclude: <i.g>\nPrefix: r_\n'
        "a: {}\nb(r_a): {}\nPrefix!\nc: {}",
        "i.g": INNER,
    },
    "prefixes nest and end with their file": {
        "main.g": "Prefix: r_\nInclude: <i.g>\nz: {}",
        "i.g": "Prefix: l_\nx: {}\nInclude: <j.g>",
        "j.g": "y: {}",
    },
    "prefix and mimic": {
        "main.g": P + "Prefix: l_\nInclude: <i.g>\nPrefix: r_\nInclude: <i.g>\n"
        "Edit l_a: { q: .7 }",
        "i.g": "base: {}\na(base): { joint: hingeX, q: .2 }\n"
        "b(base): { joint: hingeX, mimic: a, joint_scale: -1 }\n{ note: 1 }",
    },
    "delete": "a: {}\nb(a): {}\nc(b): {}\nDelete: b\nd: {}",
    "delete in an include shifts the prefix": {
        "main.g": "a: {}\nPrefix: l_\nInclude: <i.g>\nz: {}",
        "i.g": "Delete: a\nx: {}\ny: {}",
    },
    "delete a branch": "a: {}\nb(a): {}\nc(b): {}\nd: {}\nDeleteBranch a: {}",
    "attributes from a file": {
        "main.g": "a: { Include: <i.g>, x: 1 }",
        "i.g": "note: 1\nQ2: [1 2 3]",
    },
    "yaml": {
        "main.yml": "p: {}\na (p): {Q: [1, 2, 3], note: 870.}\nb (p): {origin: "
        '[0, 0, 1], joint: hingeX, limits: [-1, 1], q: 1}\nc: {note: "yes"}\n'
        "Edit b: {q: .5}\nEdit(a): {note: 3.}\nd:\n  note: [a, 1]\n"
    },
    "yaml in an include": {
        "main.g": "Prefix: l_\nInclude: <m.yml>\nEdit l_a: { note: 2 }",
        "m.yml": "a: {note: 1.}\nb (a): {Q: [1, 0, 0]}\nDelete: none\nDelete: b\n",
    },
}


def write(files: str | dict[str, str], folder: Path) -> Path:
    """Write files; the path of the first."""
    files = {"main.g": files} if isinstance(files, str) else files
    folder.mkdir(exist_ok=True, parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder / next(iter(files))


@needs_robotic
@pytest.mark.long
def test_rules_as_robotic_has_them(tmp_path):
    paths = [write(f, tmp_path / str(i)) for i, f in enumerate(RULES.values())]
    failed = []
    for rule, path, want in zip(
        RULES, paths, ask_robotic(paths, tmp_path), strict=True
    ):
        try:
            assert want is not None, "robotic fails"
            assert_same(read_gfile(path), want, 1e-9, meshes=False)
        except (AssertionError, LoadError) as error:
            failed.append(f"{rule}: {error}")
    assert not failed, "\n".join(failed)


def test_shapes_and_colors(tmp_path):
    model = read_gfile(write(RULES["shapes"], tmp_path))
    shapes = {f.name: f.shape for f in model.frames}
    assert isinstance(shapes["b"], Capsule) and shapes["b"].length == 1
    assert isinstance(shapes["d"], Box) and shapes["d"].rounding == 0.1
    assert isinstance(shapes["e"], Cylinder)
    assert (shapes["e"].length, shapes["e"].radius) == (0.6, 0.3)
    assert isinstance(shapes["f"], Box) and shapes["f"].size[2] == 0
    assert isinstance(shapes["g"], Marker)
    assert isinstance(shapes["j"], Convex)
    outer = shapes["j"].vertices.max(0) + shapes["j"].rounding
    np.testing.assert_allclose(outer, [0.09, 0.15, 0.21])
    by_name = {f.name: f for f in model.frames}
    assert by_name["d"].geometries[0].color == (0.5, 0.5, 0.5, 1.0)
    assert not by_name["g"].geometries[0].collision
    assert by_name["k"].geometries == () and by_name["k"].shape is None


def test_joint_fields(tmp_path):
    model = read_gfile(write(RULES["limits"], tmp_path))
    a, b, c = (model.frames[i].joint for i in (1, 2, 3))
    np.testing.assert_array_equal(a.limits, [[-1], [1]])
    np.testing.assert_array_equal(b.velocity, [1, 1])
    np.testing.assert_array_equal(b.effort, [2, 2])
    assert c.type == "rigid" and c.limits is None
    model = read_gfile(write(RULES["state at the end"], tmp_path))
    np.testing.assert_array_equal(model.q[1], [0.3])
    np.testing.assert_array_equal(model.frames[1].joint.q, [1.0])


def test_mimic_chain_follows_the_root(tmp_path):
    text = P + "a(p): { joint: hingeX, q: .3, joint_scale: 2 }\nb(p): { joint: hingeX,"
    text += " mimic: a, joint_scale: -1 }\nc(p): { joint: hingeX, mimic: b,"
    text += " joint_scale: -1 }\nd(p): { joint: hingeX, mimic: b, joint_scale: 3 }"
    model = read_gfile(write(text, tmp_path))
    relations = [
        (j.mimic, j.multiplier, j.scale) for j in (f.joint for f in model.frames[2:])
    ]
    assert relations == [("a", -1, 2), ("a", 1, 2), ("a", -1, 2)]


def test_missing_meshes_and_lost_poses_warn_once(tmp_path):
    text = (
        P + "a(p): { joint: hingeX, Q: [0 .2 0], mesh: <no.h5> }\nb: { mesh: <no.stl> }"
    )
    with pytest.warns(UserWarning) as caught:
        model = read_gfile(write(text, tmp_path))
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "2 meshes are missing" in message and "'a'" in message
    with pytest.raises(ConfigError, match="no.h5.*does not exist"):
        _ = model.frames[1].shape.mesh


# ---- files that must not load -----------------------------------------------------

BROKEN: dict[str, tuple[str | dict[str, str], str]] = {
    "open brace": ("a: {}\nb: { x: 1", r"main.g:2: this brace { is never closed"),
    "stray brace": ("a: {} } b: {}", r"main.g:1: found '}'"),
    "open bracket": ("a: {\n x: [1 2\n", r"main.g:2: this bracket \["),
    "open quote": ('a: { x: "foo }', r"main.g:1: this quote"),
    "open file": ("a: { x: <foo }\n", r"main.g:1: this file name"),
    "ragged matrix": ("a: {\n\n x: [1 2; 3 4 5] }", r"main.g:3: a row"),
    "plus": ("a: { x: +3 }", r"main.g:1: a value cannot start with '\+'"),
    "number with letters": ("a: { x: 3abc }", r"main.g:1: '3abc' is not a number"),
    "too deep": ("{" * 100, r"main.g:1: braces are nested deeper"),
    "flag at the top": ("a: {}\nfoo\n", r"main.g:2: 'foo': only frames"),
    "brace on the next line": ("a:\n{ x: 1 }", r"main.g:1: 'a': only frames"),
    "unknown parent": ("arm: {}\n\nb(arn): {}", r"main.g:3: frame 'b'.*'arm'"),
    "own ancestor": ("a(b): {}\nb(a): {}", r"main.g:[12]:.*its own ancestor"),
    "two parents": ("a: {}\nb: {}\nc(a b): {}", r"main.g:3: frame 'c': has 2 parents"),
    "Q without parent": ("a: { Q: [1 0 0] }", r"main.g:1: .*'Q': is relative"),
    "Q of five numbers": (P + "a(p): { Q: [1 2 3 4 5] }", r"main.g:2: .*has 5 numbers"),
    "Q programme": (P + 'a(p): { Q: "t(1,0,0)" }', r"main.g:2: .*needs 3 numbers"),
    "Q unknown step": (P + 'a(p): { Q: "t(1 0 0) z(3)" }', r"main.g:2: .*cannot read"),
    "zero quaternion": (P + "a(p): { Q: [0 0 0 0] }", r"main.g:2: .*0 0 0 0"),
    "unknown joint": (P + "a(p): { joint: hingX }", r"main.g:2: .*'hingeX'"),
    "circleZ": (P + "a(p): { joint: circleZ }", r"main.g:2: .*not supported"),
    "joint without parent": ("a: { joint: hingeX }", r"main.g:1: .*needs a parent"),
    "wrong q": (P + "a(p): { joint: hingeX, q: [1 2] }", r"main.g:2: .*1 finite"),
    "enormous q": (P + "a(p): { joint: hingeX, q: 1e308 }", r"main.g:2: .*1e\+18"),
    "enormous turn": (P + 'a(p): { Q: "d(1e308 0 0 1)" }', r"main.g:2: .*1e\+18"),
    "enormous product": (
        P + 'a(p): { Q: "q(1e17 0 0 0) q(1e17 0 0 0)" }',
        r"main.g:2: .*its step q",
    ),
    "tiny scale": (
        P + "a(p): { joint: hingeX, joint_scale: 1e-300 }",
        r"main.g:2: .*never move",
    ),
    "limits out of reach": (
        P + "a(p): { joint: hingeX, limits: [1e300 1e300] }",
        r"main.g:2: .*exceed",
    ),
    "few limits": (
        P + "a(p): { joint: transXY, limits: [1 2] }",
        r"main.g:2: .*needs 4",
    ),
    "swapped limits": (
        P + "a(p): { joint: hingeX, limits: [1 0] }",
        r"main.g:2: .*exceed",
    ),
    "axis": (P + "a(p): { joint: hingeX, axis: [1 0 0] }", r"main.g:2: .*own axis"),
    "mimic unknown": (P + "a(p): { joint: hingeX, mimic: b }", r"main.g:2: .*'b'"),
    "mimic itself": (P + "a(p): { joint: hingeX, mimic: a }", r"main.g:2: .*itself"),
    "mimic other type": (
        P + "a(p): { joint: hingeX }\nb(p): { joint: hingeY, mimic: a }",
        r"main.g:3: .*same type",
    ),
    "unknown shape": ("a: { shape: bix, size: [1] }", r"main.g:1: .*'box'"),
    "wrong size": ("a: {\n shape: box, size: [1 2] }", r"main.g:2: .*exactly 3"),
    "negative size": ("a: { shape: sphere, size: [-1] }", r"main.g:1: .*>= 0"),
    "rounding too large": (
        "a: { shape: ssBox, size: [.1 .1 .1 .05] }",
        r"main.g:1: .*twice the rounding",
    ),
    "mesh as string": ('a: { mesh: "a.h5" }', r"main.g:1: .*as in <a.h5>"),
    "color": (f"a: {{ {BALL}, color: [1 2 3 4 5] }}", r"main.g:1: .*RGBA"),
    "contact": (f"a: {{ {BALL}, contact: yes }}", r"main.g:1: .*expected one number"),
    "mass": ("a: { mass: -1 }", r"main.g:1: .*kilograms"),
    "inertia": ("a: { mass: 1, inertia: [1 2] }", r"main.g:1: .*has 2 numbers"),
    "state": (P + "a(p): { joint: hingeX }\nq: [1 2]", r"main.g:3: .*has 2 numbers"),
    "missing include": ("a: {}\nInclude: <no.g>", r"main.g:2: .*no.g.*no such file"),
    "include of another kind": ("Include: <no.txt>", r"main.g:1: .*ends in '.txt'"),
    "include as string": ('Include: "a.g"', r"main.g:1: .*as in <panda.g>"),
    "include of itself": ("Include: <main.g>", r"main.g:1: .*includes itself"),
    "include in a circle": (
        {"main.g": "Include: <b.g>", "b.g": "\nInclude: <main.g>"},
        r"b.g:2: .*includes itself",
    ),
    "error in an include": (
        {"main.g": "Include: <b.g>", "b.g": "a: {}\nb(c): {}"},
        r"b.g:2: frame 'b'",
    ),
    "prefix": ("Prefix: 3\na: {}", r"main.g:1: 'Prefix'"),
    "delete": ("a: {}\nDelete: [1 2]", r"main.g:2: 'Delete'"),
    "yaml": ({"main.yml": "a: {\nb: [1,\n"}, r"main.yml:\d: not valid YAML"),
    "yaml alias": ({"main.yml": "a: &x {}\nb: *x\n"}, r"main.yml:2: aliases"),
    "yaml nested list": ({"main.yml": "a: {b: [[1]]}\n"}, r"main.yml:1: a list"),
    "yaml list": ({"main.yml": "- 1\n"}, r"main.yml:1: expected"),
    "yaml depth": ({"main.yml": "a: " + "{a: " * 99}, r"main.yml:1: "),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_file(name, tmp_path):
    files, message = BROKEN[name]
    with pytest.raises(LoadError, match=message):
        read_gfile(write(files, tmp_path))


def test_files_that_are_no_text(tmp_path):
    (tmp_path / "a.g").write_bytes(b"\xff\xfe\x00a: {}")
    with pytest.raises(LoadError, match="UTF-8"):
        read_gfile(tmp_path / "a.g")
    with pytest.raises(LoadError, match="no such file"):
        read_gfile(tmp_path / "b.g")
    (tmp_path / "c.g").mkdir()
    with pytest.raises(LoadError, match="no such file"):
        read_gfile(tmp_path / "c.g")


def test_include_bomb_is_bounded(tmp_path):
    for i in range(10):
        text = f"Include: <f{i + 1}.g>\n" * 10
        (tmp_path / f"f{i}.g").write_text(text)
    (tmp_path / "f10.g").write_text("a: {}\n")
    start = time.perf_counter()
    with pytest.raises(LoadError, match="in all"):
        read_gfile(tmp_path / "f0.g")
    assert time.perf_counter() - start < 5


@pytest.mark.long
def test_edit_bomb_is_bounded(tmp_path):
    many = ", ".join(f"x{i}" for i in range(3000))
    text = "a: {}\n" * 3000 + f"Edit a: {{ {many} }}"
    with pytest.raises(LoadError, match="not a model"):
        read_gfile(write(text, tmp_path))


def test_long_chain_with_world_poses_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(frames, "MAX_POSE_STEPS", 2000)
    text = "f0: { X: [1 0 0] }\n" + "".join(
        f"f{i}(f{i - 1}): {{ X: [{i} 0 0] }}\n" for i in range(1, 200)
    )
    model = read_gfile(write(text, tmp_path))
    np.testing.assert_allclose(model.frames[-1].origin[:3], [1, 0, 0], atol=1e-9)
    lines = text.splitlines()
    with pytest.raises(LoadError, match="too many world poses"):
        read_gfile(write("\n".join(reversed(lines)), tmp_path))


def test_without_pyyaml(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match=r"posewise\[rai\]"):
        read_gfile(write({"main.yml": "a: {}"}, tmp_path))


# ---- mutations --------------------------------------------------------------------


def loads_or_explains(path: Path) -> None:
    """A file gives a model or a `PosewiseError` with a place, and in good time."""
    start = time.perf_counter()
    try:
        read_gfile(path)
    except LoadError as error:
        assert re.search(r"\.(g|yml)\b", str(error))
    except ConfigError:
        pass
    assert time.perf_counter() - start < 5


def mutated(text: str, rng: random.Random) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        i = rng.randrange(len(text))
        return text[:i] + chr(rng.randrange(1, 256)) + text[i + 1 :]
    if kind == 1:
        return text[: rng.randrange(len(text))]
    if kind == 2:
        lines = text.splitlines()
        del lines[rng.randrange(len(lines))]
        return "\n".join(lines)
    i, j = sorted(rng.randrange(len(text)) for _ in range(2))
    return text[:j] + text[i : min(j, i + 200)] + text[j:]


@pytest.mark.long
@pytest.mark.sampled("yml")
@pytest.mark.parametrize("kind", ["g", "yml"])
def test_mutated_files_load_or_explain(kind, tmp_path):
    if kind == "g":
        texts = [t for t in RULES.values() if isinstance(t, str)]
        text = texts[0]
        for more in ("shapes", "every joint", "values read off Q", "limits", "masses"):
            text += "\n" + str(RULES[more]).replace(P, "")
        text = P + text + "\nPrefix: l_\nInclude: <in.g>\nEdit l_x: { Q: [1 2 3] }\n"
        text += "Delete: l_y\n" + str(RULES["pose programme"]).replace(P, "")
    else:
        text = RULES["yaml"]["main.yml"]
    (tmp_path / "in.g").write_text(INNER)
    rng = random.Random(0)
    with warnings.catch_warnings(action="ignore"):
        for i in range(110):
            changed = text
            for _ in range(rng.randrange(1, 4)):
                changed = mutated(changed, rng) or text
            path = tmp_path / f"{i}.{kind}"
            path.write_text(changed)
            loads_or_explains(path)


@needs_robotic
@pytest.mark.long
def test_mutated_panda_loads_or_explains(tmp_path):
    folder = MODELS / "panda"
    text = (folder / "panda.g").read_text()
    text = text.replace("<panda_", f"<{folder}/panda_")
    rng = random.Random(1)
    with warnings.catch_warnings(action="ignore"):
        for i in range(80):
            path = tmp_path / f"{i}.g"
            path.write_text(mutated(text, rng) or text)
            loads_or_explains(path)
