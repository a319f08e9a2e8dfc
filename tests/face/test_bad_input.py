"""The bad-input table: what is refused, by which error, naming what and how to mend it.

Each case: a name, what to call with a fresh small world, the error, and pieces of its
message.
"""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import posewise as pw
from posewise import FS, OT, ConfigError, FeatureError, LoadError, ObjectiveError

NAN = float("nan")
INF = float("inf")
HUGE = 10**400
"""No float is so large."""


def world() -> pw.Config:
    """An arm of three hinges, one of them mimicked, a box, and a free mug."""
    C = pw.Config()
    C.add_frame("base", position=[0, 0, 0.1], shape=pw.Box([0.3, 0.3, 0.2]), mass=5.0)
    C.add_frame("shoulder", "base", joint="hingeZ", limits=[[-2.0], [2.0]])
    C.add_frame("upper", "shoulder", position=[0.3, 0, 0.1])
    C.add_frame("elbow", "upper", joint="hingeX", limits=[[-2.0], [2.0]])
    C.add_frame("hand", "elbow", position=[0, 0.3, 0])
    C.add_frame("wrist", "hand", joint="hingeX")
    C.add_frame("finger", "hand", joint="hingeX", mimic="wrist")
    C.add_frame("gripper", "wrist", position=[0, 0.1, 0])
    C.add_frame("mug", joint="free", position=[0.4, 0.2, 0.8])
    return C


def komo(C, **options) -> pw.KOMO:
    """Two phases of three slices, with one cost."""
    problem = pw.KOMO(C, **{"phases": 2, "slices_per_phase": 3, "k_order": 1} | options)
    problem.add_control_objective(order=0)
    return problem


def ask(*options, **more):
    """`Config.eval` with these arguments."""
    return lambda C, tmp: C.eval(*options, **more)


def own(fn):
    """`Config.eval` of a user's function of the mug's pose."""
    return lambda C, tmp: pw.Feature(fn, ["mug"]).eval(C)


def frame(name="new", *options, **more):
    """`Config.add_frame` with these arguments."""
    return lambda C, tmp: C.add_frame(name, *options, **more)


def shape(make):
    """A shape on a new frame."""
    return lambda C, tmp: C.add_frame("new", shape=make())


def path(**more):
    """`KOMO` with these arguments."""
    return lambda C, tmp: komo(C, **more)


def aim(*options, **more):
    """`KOMO.add_objective` with these arguments."""
    return lambda C, tmp: komo(C).add_objective(*options, **more)


def start(value):
    """`KOMO.initialize`."""
    return lambda C, tmp: komo(C).initialize(value)


def solve(**more):
    """`KOMO.solve`."""
    return lambda C, tmp: komo(C).solve(**more)


def text(suffix, content):
    """`Config.add_file` of a file with this content."""

    def call(C, tmp):
        file = tmp / f"model{suffix}"
        file.write_text(content)
        C.add_file(file)

    return call


def assign(value):
    """`Config.q = value`."""

    def call(C, tmp):
        C.q = value

    return call


def vanished(C, tmp):
    problem = komo(C)
    problem.add_objective([1.0], FS.position, ["gripper"], target=[0, 0, 1])
    C.remove("gripper")
    problem.solve()


def grown(C, tmp):
    problem = komo(C)
    problem.initialize(C.q)
    C.add_frame("rail", joint="transX")
    problem.solve()


def locked(C, tmp):
    C.lock(C.joint_names)
    pw.KOMO(C)


CONFIG = [
    ("unknown frame", lambda C, _: C.pose("griper"), ["'griper'", "'gripper'"]),
    ("frame index", lambda C, _: C.pose(99), ["No frame 99", "0 to 9"]),
    ("unknown parent", frame(parent="shouldr"), ["'shouldr'", "'shoulder'"]),
    ("duplicate name", frame("mug"), ["'mug' exists", "another name"]),
    ("name no string", frame(None), ["name is None", "string"]),
    ("empty name", frame(""), ["name is ''", "string"]),
    ("joint type", frame(joint="hingX"), ["'hingX'", "'hingeX'"]),
    ("joint no string", frame(joint=1), ["joint type 1"]),
    ("limits shape", frame(joint="transXY", limits=[0, 1, 2]), ["(3,)", "(2, 2)"]),
    ("mass no float", frame(mass=HUGE), ["mass is 1000"]),
    ("limits swapped", frame(joint="transX", limits=[[1], [0]]), ["lower bound above"]),
    ("limits NaN", frame(joint="transX", limits=[[NAN], [0]]), ["limits", "NaN"]),
    ("limits huge", frame(joint="transX", limits=[[1e300], [1e308]]), ["limits"]),
    ("limits words", frame(joint="transX", limits="big"), ["limits", "'big'"]),
    ("limits without joint", frame(limits=[0, 1]), ["limits", "joint=..."]),
    ("axis shape", frame(joint="hinge", axis=[1, 0]), ["axis", "(2,)", "(3,)"]),
    ("axis zero", frame(joint="hinge", axis=[0, 0, 0]), ["axis is zero"]),
    ("axis NaN", frame(joint="hinge", axis=[0, NAN, 0]), ["axis", "NaN"]),
    ("axis not needed", frame(joint="hingeX", axis=[1, 0, 0]), ["drop axis"]),
    ("joint value", frame(joint="hingeX", q=[1, 2]), ["value", "(2,)", "(1,)"]),
    ("joint value words", frame(joint="hingeX", q="up"), ["value", "'up'"]),
    ("zero ball", frame(joint="quatBall", q=[0, 0, 0, 0]), ["quaternion is zero"]),
    ("zero quaternion", frame(quaternion=[0, 0, 0, 0]), ["quaternion", "(w, x, y, z)"]),
    ("position shape", frame(position=[1, 2]), ["position", "(2,)", "(3,)"]),
    ("position words", frame(position="here"), ["position", "'here'", "3 numbers"]),
    ("pose and position", frame(position=[0] * 3, pose=[0] * 7), ["not both"]),
    ("pose infinite", frame(pose=[INF, 0, 0, 1, 0, 0, 0]), ["pose", "infinite"]),
    ("pose huge", frame(pose=[1e308, 0, 0, 1, 0, 0, 0]), ["pose", "1e+18"]),
    ("negative mass", frame(mass=-1.0), ["mass is -1", ">= 0 kg"]),
    ("mass words", frame(mass="heavy"), ["mass is 'heavy'", ">= 0 kg"]),
    ("contact", frame(contact="no"), ["contact is 'no'", "integer"]),
    ("colour", frame(shape=pw.Marker(), color="red"), ["color is 'red'", "RGB"]),
    ("colour range", frame(shape=pw.Marker(), color=[255, 0, 0]), ["color", "0 to 1"]),
    ("shape", frame(shape="box"), ["shape is str", "Box("]),
    ("mimic unknown", frame(joint="hingeX", mimic="elbo"), ["'elbo'", "'elbow'"]),
    (
        "mimic itself",
        frame("loop", joint="hingeX", mimic="loop"),
        ["mimic", "loop"],
    ),
    (
        "multiplier",
        frame(joint="hingeX", mimic="elbow", multiplier=NAN),
        ["multiplier", "finite"],
    ),
    (
        "multiplier huge",
        frame(joint="hingeX", mimic="elbow", multiplier=1e308),
        ["multiplier", "1e+18"],
    ),
    ("q huge", assign([0, 1e308] + [0] * 5 + [1, 0, 0]), ["1e+308", "'elbow'"]),
    ("q shape", assign([0.0]), ["q has shape (1,)", "(10,)"]),
    ("q NaN", assign([0, NAN] + [0] * 5 + [1, 0, 0]), ["NaN", "'elbow'"]),
    ("q words", assign("home"), ["q is 'home'", "numbers"]),
    ("q no float", assign([HUGE] * 10), ["q is [1000"]),
    ("q zero quaternion", assign([0.0] * 10), ["quaternion", "'mug'"]),
    (
        "out of reach",
        lambda C, _: C.set_pose("elbow", [9, 9, 9, 1, 0, 0, 0]),
        ["'elbow'", "misses", "detach"],
    ),
    (
        "pose of a mimic",
        lambda C, _: C.set_pose("finger", [0, 0, 0, 1, 0, 0, 0]),
        ["mimics 'wrist'", "move that joint"],
    ),
    ("pose of the world", lambda C, _: C.set_pose("world", [0] * 7), ["world", "name"]),
    (
        "attach a loop",
        lambda C, _: C.attach("hand", "base"),
        ["'base'", "own ancestor"],
    ),
    (
        "attach to itself",
        lambda C, _: C.attach("mug", "mug"),
        ["'mug'", "own ancestor"],
    ),
    ("remove a leader", lambda C, _: C.remove("wrist"), ["'finger' mimics 'wrist'"]),
    ("lock unknown", lambda C, _: C.lock("elbw"), ["'elbw'", "'elbow'"]),
    ("lock a mimic", lambda C, _: C.lock("finger"), ["mimics 'wrist'", "that one"]),
    ("select unknown", lambda C, _: C.joints.select(["elbw"]), ["'elbow'"]),
    ("value of a mimic", lambda C, _: C.set_joint("finger", 1), ["set that one"]),
    ("joint value NaN", lambda C, _: C.set_joint("elbow", NAN), ["value", "NaN"]),
    (
        "rigid coordinates",
        lambda C, _: C.joints.coordinates("hand"),
        ["'hand'", "fixed"],
    ),
    ("object part", lambda C, _: C.add_object("o", [3]), ["part 0 is 3", "(shape"]),
    ("set_mass", lambda C, _: C.set_mass("mug", NAN), ["mass of 'mug'", ">= 0 kg"]),
    (
        "new joint",
        lambda C, _: C.joints.set_type("hand", "hing"),
        ["'hing'", "'hinge'"],
    ),
    ("add a Config", lambda C, _: C.add_model(C), ["Config", "model()"]),
]

SHAPES = [
    ("negative radius", shape(lambda: pw.Sphere(-0.1)), ["Sphere: radius is -0.1"]),
    ("huge radius", shape(lambda: pw.Sphere(1e308)), ["radius is 1e+308", "1e+18"]),
    ("radius words", shape(lambda: pw.Sphere("big")), ["radius is 'big'", "number"]),
    ("two radii", shape(lambda: pw.Sphere([1, 2])), ["radius is [1, 2]", "number"]),
    ("box size", shape(lambda: pw.Box([1, 2])), ["size", "(2,)", "3 numbers"]),
    ("box words", shape(lambda: pw.Box("abc")), ["size is 'abc'", "3 numbers"]),
    ("rounding", shape(lambda: pw.Box([1, 1, 0.1], 0.2)), ["rounding 0.2", "half"]),
    ("rim", shape(lambda: pw.Cylinder(1, 0.1, 0.2)), ["rounding 0.2", "half"]),
    ("no vertices", shape(lambda: pw.Convex([])), ["vertices", "(n, 3)"]),
    ("vertices NaN", shape(lambda: pw.Convex([[NAN, 0, 0]])), ["vertices", "NaN"]),
    ("points words", shape(lambda: pw.PointCloud("dust")), ["points is 'dust'"]),
    ("mesh mode", shape(lambda: pw.Mesh("a.obj", mode="hull")), ["'hull'", "'convex'"]),
    ("mesh scale", shape(lambda: pw.Mesh("a.obj", scale=[1, 2])), ["scale", "3"]),
    ("mesh source", shape(lambda: pw.Mesh(3)), ["source is 3", "file"]),
    ("mesh file", shape(lambda: pw.Mesh("no/such.obj").mesh), ["such.obj"]),
]

FILES = [
    (
        "missing file",
        lambda C, tmp: C.add_file(tmp / "no.urdf"),
        ["No file", "no.urdf"],
    ),
    ("suffix", text(".dae", "<x/>"), [".dae", ".urdf"]),
    ("path no path", lambda C, _: C.add_file(3), ["path is 3", "file"]),
    ("urdf syntax", text(".urdf", "<robot>\n<link name='a'\n</robot>"), ["line 3|:3"]),
    (
        "urdf link",
        text(
            ".urdf",
            "<robot name='r'>\n<link name='a'/>\n<joint name='j' type='fixed'>"
            "<parent link='a'/><child link='b'/></joint></robot>",
        ),
        ["'b'", "line 3|:3"],
    ),
    ("g syntax", text(".g", "a: {}\nb (a: { shape: box }\n"), [".g:2"]),
    ("g shape", text(".g", "a: {}\nb (a): { shape: boxx }\n"), [".g:2", "'box'"]),
    ("mjcf", text(".xml", "<mujoco><worldbody><bod/></worldbody></mujoco>"), ["bod"]),
    ("own model", lambda C, _: C.load("pandaa"), ["'pandaa'", "'panda'"]),
]

FEATURES = [
    (
        "unknown frame",
        ask(FS.position, ["griper"]),
        ["'griper'", "'gripper'"],
        ConfigError,
    ),
    ("one frame of two", ask(FS.positionDiff, ["gripper"]), ["got 1", "expected 2"]),
    ("three of two", ask(FS.positionDiff, ["mug"] * 3), ["got 3", "expected 2"]),
    ("frames a number", ask(FS.position, 3), ["frames is 3", "names"]),
    ("frames of numbers", ask(FS.position, [3]), ["frames", "names"]),
    ("a word", ask("position", ["mug"]), ["'position'", "FS"], ConfigError),
    (
        "symbol a word",
        lambda C, _: pw.Feature(FS.position.symbol, ["mug"], margin=1),
        ["no option 'margin'"],
    ),
    ("no symbol", lambda C, _: pw.Feature("position", ["mug"]), ["'position'", "FS"]),
    ("option", ask(FS.aboveBox, ["mug", "base"], margn=0.1), ["'margn'", "margin"]),
    ("option words", ask(FS.aboveBox, ["mug", "base"], margin="a"), ["margin is 'a'"]),
    ("option NaN", ask(FS.aboveBox, ["mug", "base"], margin=NAN), ["margin is nan"]),
    ("order 3", ask(FS.position, ["mug"], order=3), ["order is 3", "0 or 1 or 2"]),
    ("order words", ask(FS.position, ["mug"], order="a"), ["order is 'a'", "0 or 1"]),
    ("order half", ask(FS.position, ["mug"], order=0.5), ["order is 0.5"]),
    ("order below", ask(FS.angularVel, ["mug"], order=0), ["order is 0", "1 or 2"]),
    ("order in eval", ask(FS.position, ["mug"], order=1), ["2 slices", "(2, 10)"]),
    ("target size", ask(FS.position, ["mug"], target=[1, 2]), ["target has 2", "3"]),
    ("target NaN", ask(FS.position, ["mug"], target=NAN), ["target is nan", "finite"]),
    ("target words", ask(FS.position, ["mug"], target="up"), ["target is 'up'"]),
    ("target no float", ask(FS.position, ["mug"], target=HUGE), ["target is 1"]),
    ("scale size", ask(FS.position, ["mug"], scale=[1, 2]), ["scale", "(2,)", "3"]),
    ("scale matrix", ask(FS.position, ["mug"], scale=[[1, 2]]), ["(1, 2)", "(out, 3)"]),
    ("scale cube", ask(FS.position, ["mug"], scale=np.ones((1, 1, 3))), ["at most 2"]),
    ("scale empty", ask(FS.position, ["mug"], scale=[]), ["scale is []", "finite"]),
    (
        "no box",
        ask(FS.aboveBox, ["base", "mug"]),
        ["'mug'", "no shape", "Box"],
        ConfigError,
    ),
    (
        "no cylinder",
        ask(FS.insideCylinder, ["mug", "base"]),
        ["a Box", "Cylinder"],
        ConfigError,
    ),
    (
        "no mass",
        ask(FS.EqCenterOfMass, ["gripper", "mug"]),
        ["'mug'", "mass"],
        ConfigError,
    ),
    ("unknown joint", ask(FS.qItself, ["elbw"]), ["'elbw'", "'elbow'"], ConfigError),
    ("frame for joint", ask(FS.qItself, ["hand"]), ["'hand'", "fixed"], ConfigError),
    ("coordinates", ask(FS.position, ["mug"], coordinates="x"), ["'x'", "'tangent'"]),
    ("own function matrix", own(lambda a: a.R), [r"shape \(3, 3\)|\[3,3\]"]),
    ("own function list", own(lambda a: "up"), ["'up'", "expected an array (D,)"]),
    ("own function fails", own(lambda a, b: a.p), ["failed on 1 poses"]),
    (
        "q of a feature",
        lambda C, _: FS.position.on(["mug"]).eval(C, q=[1.0]),
        ["(1,)", "(10,)"],
    ),
]

PATHS = [
    ("no Config", lambda C, _: pw.KOMO("panda"), ["C is str", "Config"]),
    ("phases 0", path(phases=0), ["phases is 0", "> 0"]),
    ("phases NaN", path(phases=NAN), ["phases is nan", "> 0"]),
    ("phases words", path(phases="two"), ["phases is 'two'", "> 0"]),
    ("slices 0", path(slices_per_phase=0), ["slices_per_phase is 0", ">= 1"]),
    ("slices half", path(slices_per_phase=1.5), ["slices_per_phase is 1.5", "integer"]),
    ("slices words", path(slices_per_phase="a"), ["slices_per_phase is 'a'"]),
    ("k_order", path(k_order=4), ["k_order is 4", "0, 1, 2 or 3"]),
    (
        "too many slices",
        path(slices_per_phase=10**18),
        ["slices_per_phase is 2 x 1e+18", "at most 1000000", "use fewer"],
    ),
    ("duration", path(duration_per_phase=0.0), ["duration_per_phase is 0", "> 0"]),
    (
        "durations",
        path(duration_per_phase=[1.0, 2.0, 1.0]),
        ["[1.0, 2.0, 1.0]", "one number, or 2, one for each phase"],
    ),
    ("nothing moves", locked, ["no moving joint", "unlock"]),
    ("time too late", aim([2.5], FS.position, ["mug"]), ["no slice", "0.333", "to 2"]),
    ("time too early", aim([0.0], FS.position, ["mug"]), ["no slice", "0.333"]),
    ("times swapped", aim([2.0, 1.0], FS.position, ["mug"]), ["no slice"]),
    ("times huge", aim([1e308], FS.position, ["mug"]), ["no slice", "1e+308"]),
    ("three times", aim([1, 1, 2], FS.position, ["mug"]), ["none, one, or two"]),
    ("times NaN", aim([NAN], FS.position, ["mug"]), ["times", "nan"]),
    ("times words", aim("late", FS.position, ["mug"]), ["times", "'late'"]),
    ("order above", aim([], FS.position, ["mug"], order=2), ["order 2", "k_order=2"]),
    ("type a word", aim([], FS.position, ["mug"], "eq"), ["type is 'eq'", "OT.eq"]),
    ("feature and frames", aim([], FS.position.on(["mug"]), ["mug"]), ["own frames"]),
    ("unknown frame", aim([], FS.position, ["mugg"]), ["'mugg'", "'mug'"], ConfigError),
    (
        "target",
        aim([], FS.position, ["mug"], target=[1, 2]),
        ["target has 2"],
        FeatureError,
    ),
    (
        "control order",
        lambda C, _: komo(C).add_control_objective(3),
        ["order is 3"],
        FeatureError,
    ),
    (
        "control scale",
        lambda C, _: komo(C).add_control_objective(1, "x"),
        ["scale is 'x'"],
        FeatureError,
    ),
    ("not an objective", lambda C, _: komo(C).add(FS.position), ["objectives()"]),
    ("nothing to do", lambda C, _: pw.KOMO(C).solve(), ["no objective", "add one"]),
    ("initial shape", start(np.zeros((2, 3))), ["(2, 3)", "(6, 10)", "(10,)"]),
    ("initial NaN", start([NAN] * 10), ["path has NaN"]),
    ("initial words", start("straight"), ["path is 'straight'"]),
    ("starts 0", solve(starts=0), ["starts is 0", "at least 1"]),
    ("starts words", solve(starts="many"), ["starts is 'many'"]),
    ("seed", solve(seed="x", starts=2), ["seed is 'x'", "integer"]),
    ("tolerance 0", solve(tolerance=0.0), ["tolerance is 0", "> 0"]),
    ("tolerance no float", solve(tolerance=HUGE), ["tolerance is 1000", "> 0"]),
    ("tolerance NaN", solve(tolerance=NAN), ["tolerance is nan", "> 0"]),
    ("option", solve(max_iteration=3), ["'max_iteration'", "'max_iterations'"]),
    ("option value", solve(mu=-1.0), ["mu is -1", "> 0"]),
    ("frame removed since", vanished, ["'gripper'"], ConfigError),
    ("joint added since", grown, ["initial path", "(6, 10)", "(6, 11)"]),
]

TABLE = [
    (kind, *case) if len(case) == 4 else (kind, *case, error)
    for kind, cases, error in (
        ("config", CONFIG, ConfigError),
        ("shape", SHAPES, ConfigError),
        ("file", FILES, LoadError),
        ("feature", FEATURES, FeatureError),
        ("komo", PATHS, ObjectiveError),
    )
    for case in cases
]


@pytest.mark.parametrize(
    "call, pieces, error",
    [case[2:] for case in TABLE],
    ids=[f"{case[0]}: {case[1]}" for case in TABLE],
)
def test_bad_input_is_named_with_its_remedy(call, pieces, error, tmp_path):
    with pytest.raises(error) as caught:
        call(world(), tmp_path)
    message = str(caught.value)
    for piece in pieces:
        pattern = piece if "|" in piece else re.escape(piece)
        assert re.search(pattern, message), f"{piece!r} is not in: {message}"
    assert message[0].isupper() or message.split()[0] in message
    assert len(message) < 800


@pytest.mark.slow
def test_the_world_is_unchanged_after_a_refusal(tmp_path):
    for kind, name, call, *_ in TABLE:
        if kind not in ("config", "shape", "file"):
            continue
        C = world()
        before = C.frame_names, C.q, C.poses()
        with pytest.raises(pw.PosewiseError):
            call(C, tmp_path)
        assert C.frame_names == before[0], name
        np.testing.assert_array_equal(C.q, before[1], name)
        np.testing.assert_array_equal(C.poses(), before[2], name)


def test_contradictions_are_named():
    C = world()
    problem = pw.KOMO(C)
    for name, height in (("low", 0.4), ("high", 0.6)):
        problem.add_objective(
            [], FS.position, ["mug"], OT.eq, target=[0.3, 0, height], name=name
        )
    problem.add_objective([], FS.qHome, [], OT.sos, scale=0.1)
    solution = problem.solve()
    assert solution.status is pw.Status.INFEASIBLE
    assert not solution.feasible
    assert "conflict" in solution.message
    assert "low" in solution.message and "high" in solution.message
    assert np.isfinite(solution.path).all()
    assert "INFEASIBLE" in solution.report()


def test_unreachable_targets_are_infeasible():
    C = world()
    problem = pw.KOMO(C)
    problem.add_objective([], FS.position, ["gripper"], OT.eq, target=[5, 5, 5])
    solution = problem.solve()
    assert not solution.feasible
    assert solution.status in (pw.Status.INFEASIBLE, pw.Status.ITERATION_LIMIT)
    assert "position(gripper)" in solution.message
    assert np.isfinite(solution.path).all()


@pytest.mark.sampled
@pytest.mark.parametrize("starts", [1, 3])
@pytest.mark.parametrize("kind", OT)
def test_nan_at_the_start_is_bad_input(kind, starts):
    C = world()
    problem = pw.KOMO(C)
    problem.add_objective([], lambda a: a.p * jnp.nan, ["mug"], kind, name="broken")
    solution = problem.solve(starts=starts)
    assert solution.status is pw.Status.BAD_INPUT
    assert not solution.feasible
    assert "broken" in solution.message
    assert np.isfinite(solution.path).all()
    assert not np.isnan([solution.sos, solution.eq, solution.ineq]).any()
    assert "BAD_INPUT" in solution.report()


@pytest.mark.sampled
@pytest.mark.parametrize("starts", [1, 3])
def test_nan_on_the_way_keeps_the_last_finite_path(starts):
    C = world()
    problem = pw.KOMO(C)
    root = lambda a: jnp.sqrt(0.9 - a.p)
    problem.add_objective([], root, ["mug"], OT.eq, target=[0.7, 0.9, 0.2])
    problem.add_objective([], FS.position, ["mug"], OT.sos, target=[0.2, 0.1, 2.0])
    solution = problem.solve(starts=starts)
    assert np.isfinite(solution.path).all()
    assert np.isfinite(solution.sos) and np.isfinite(solution.eq)
    assert solution.status is not pw.Status.BAD_INPUT


def test_too_few_iterations_say_so():
    C = world()
    problem = pw.KOMO(C)
    problem.add_objective([], FS.position, ["gripper"], target=[0.2, 0.3, 0.4])
    solution = problem.solve(max_iterations=1)
    assert solution.status is pw.Status.ITERATION_LIMIT
    assert "iteration limit" in solution.message
    assert not solution.feasible
