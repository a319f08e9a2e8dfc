"""Snippets in the style of robotic's tutorials, for `robotic` and `posewise.rai`.

Each takes the module as `ry` and returns numbers by name. As a script it runs all of
them with `robotic`, each in a forked child since `robotic` may end the process, and
prints one JSON object; snippets that fail give null.
"""

import json
import os
import sys

import numpy as np


def unsigned(poses):
    """Return poses (n, 7) with a unique sign of each quaternion."""
    poses = np.array(poses, float).reshape(-1, 7)
    largest = np.abs(poses[:, 3:]).round(6).argmax(1) + 3
    sign = np.sign(poses[np.arange(len(poses)), largest])
    poses[:, 3:] *= sign[:, None]
    return poses


def state_of(C):
    """Return joint state, limits and frame state."""
    return {
        "q": C.getJointState(),
        "dim": C.getJointDimension(),
        "limits": C.getJointLimits(),
        "frames": C.getFrameNames(),
        "poses": unsigned(C.getFrameState()),
    }


def features_of(C, ry, *requests):
    """Return value and Jacobian of each (symbol, frames, scale, target)."""
    out = {}
    for i, (symbol, *arguments) in enumerate(requests):
        y, J = C.eval(getattr(ry.FS, symbol), *arguments)
        out[f"y{i} {symbol}"], out[f"J{i} {symbol}"] = y, J
    return out


def hinge_and_shapes(ry):
    C = ry.Config()
    C.clear()
    f = C.addFrame(name="first")
    f.setShape(type=ry.ST.marker, size=[0.3])
    f.setPosition([0.0, 0.0, 0.5])
    f.setQuaternion([1.0, 0.3, 0.0, 0.0])
    out = {"first": [*f.getPosition(), *f.getQuaternion()], "name": f.name}
    f = C.addFrame(name="second", parent="first")
    f.setJoint(ry.JT.hingeX)
    f.setShape(type=ry.ST.marker, size=[0.4])
    f.setColor([1, 0, 0])
    out["names"] = C.getJointNames()
    q = C.getJointState()
    q[0] = q[0] + 0.2
    C.setJointState(q)
    shapes = [
        C.addFrame("ball", "second").setShape(ry.ST.sphere, [0.1]),
        C.addFrame("box", "second").setShape(ry.ST.ssBox, [0.3, 0.2, 0.1, 0.02]),
        C.addFrame("rod", "second").setShape(ry.ST.capsule, [0.3, 0.05]),
        C.addFrame("can", "second").setShape(ry.ST.cylinder, [0.3, 0.05]),
        C.addFrame("brick", "second").setShape(ry.ST.box, [0.3, 0.05, 0.2]),
    ]
    for k, s in enumerate(shapes):
        s.setColor([0.0, 1.0, 0.5]).setRelativePosition([-0.3 + 0.2 * k, 0.0, 0.2])
        s.setMass(0.1 * k + 0.1).setContact(1)
        out[f"size {s.name}"] = s.getSize()
        out[f"mass {s.name}"] = s.getMass()
        out[f"type {s.name}"] = s.getShapeType().name
        out[f"relative {s.name}"] = unsigned(s.getRelativePose())
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.1
    c = C.addFrame("cvx").setConvexMesh(points, [255, 0, 0], 0.02)
    out["cvx"] = [c.getShapeType().name, *c.getSize()]
    out["joint"] = C.getFrame("second").getJointType().name
    out["children"] = [c.name for c in C.getFrame("second").getChildren()]
    return out | state_of(C)


def joints(ry):
    C = ry.Config()
    C.addFrame("base").setPosition([0.1, 0.2, 0.3])
    C.addFrame("a", "base").setJoint(ry.JT.transXY, [-1, -2, 1, 2])
    C.addFrame("b", "a").setJoint(ry.JT.hingeZ, [[-1.0], [2.0]])
    C.addFrame("tip", "b").setRelativePose([0.1, 0, 0, 0.8, 0.6, 0, 0])
    C.addFrame("c", "base").setRelativePosition([0.1, 0.2, 0]).setJoint(
        ry.JT.transXYPhi, [-1, -1, -3, 1, 1, 3]
    )
    free = C.addFrame("mug", "base").setRelativePosition([0.3, 0, 0.1])
    free.setJoint(ry.JT.free)
    out = {"names": C.getJointNames(), "start": C.getJointState()}
    C.setJointState([0.3, 0.4, 0.5], ["a", "b"])
    free.setRelativePose([0.1, 0.2, 0.3, 0.8, 0, 0.6, 0])
    out |= features_of(
        C,
        ry,
        ("position", ["tip"]),
        ("positionRel", ["tip", "mug"], [1e1], [0, 0, 0.5]),
        ("vectorZDiff", ["tip", "mug"]),
        ("poseDiff", ["tip", "mug"]),
    )
    before = C.getFrame("tip").getPose()
    C.getFrame("tip").setParent(C.getFrame("mug"), True)
    out["kept"] = unsigned([before, C.getFrame("tip").getPose()])
    C.getFrame("tip").setParent(C.getFrame("base"))
    out["parent"] = C.getFrame("tip").getParent().name
    out["relative to"] = unsigned(C.getFrame("tip").getPose(C.getFrame("mug")))
    C.getFrame("tip").unLink()
    out["root"] = C.getFrame("tip").getParent() is None
    out["rotation"] = C.getFrame("mug").getRotationMatrix()
    C.selectJoints(["a", "mug"])
    out["selected"] = C.getJointNames()
    C.selectJoints(["mug"], notThose=True)
    out["others"] = C.getJointNames()
    return out | state_of(C)


def texts(ry):
    C = ry.Config()
    C.addFrame("A").setPoseByText("t(0 0 .5) d(30 1 0 0) t(0 0 .5) d(30 1 0 0)")
    C.addFrame("B", "A", "{ Q: [0, 0, .1], shape: sphere, size: [.1] }")
    C.addFrame("C", "B", "joint: hingeX, limits: [-1, 1], q: .3")
    copy = ry.Config()
    copy.addConfigurationCopy(C)
    copy.addConfigurationCopy(C, "b_")
    copy.getFrame("b_A").setPosition([1.0, 0, 0])
    copy.delFrame(copy.getFrame("B"))
    return {"copy": state_of(copy)} | state_of(C)


def panda(ry):
    C = ry.Config()
    C.addFile(ry.raiPath("panda/panda.g"))
    C.addFile(ry.raiPath("panda/panda.g"), "r_")
    C.getFrame("r_panda_base").setPosition([0.0, 0.5, 0.0])
    out = {"names": C.getJointNames()[:7]}
    q = C.getJointState()
    q[0] += 0.3
    q[8] -= 0.2
    C.setJointState(q)
    out |= features_of(
        C,
        ry,
        ("position", ["gripper"]),
        ("position", ["gripper"], [[0, 0, 1]], [0, 0, 0.5]),
        ("vectorX", ["gripper"]),
        ("positionRel", ["gripper", "r_gripper"], [1e1]),
        ("scalarProductXZ", ["gripper", "r_gripper"], [1e1], [0.3]),
        ("jointLimits", []),
    )
    X = C.getFrameState()
    C.setFrameState(X)
    C.setJointState(q)
    return out | state_of(C)


def pr2_kitchen(ry):
    C = ry.Config()
    C.addFile(ry.raiPath("pr2/pr2.g"))
    C.addFile(ry.raiPath("objects/kitchen.g"))
    out = {"all": state_of(C)}
    C.selectJoints(["worldTranslationRotation"])
    C.setJointState([1.5, 1, 0])
    out |= features_of(
        C, ry, ("position", ["coll_wrist_r"]), ("positionDiff", ["pr2L", "_10"])
    )
    return out | state_of(C)


def inverse_kinematics(ry):
    C = ry.Config()
    C.addFile(ry.raiPath("scenarios/pandaSingle.g"))
    target = C.addFrame("target", "table")
    target.setShape(ry.ST.marker, [0.1]).setRelativePosition([0.0, 0.3, 0.3])
    home = C.getJointState()
    komo = ry.KOMO(C, 1, 1, 0, False)
    komo.addObjective([], ry.FS.jointState, [], ry.OT.sos, [1e-1], home)
    komo.addObjective([], ry.FS.positionDiff, ["l_gripper", "target"], ry.OT.eq, [1e1])
    ret = ry.NLP_Solver(komo.nlp(), verbose=0).solve()
    path = komo.getPath()
    C.setJointState(path[0])
    y, _ = C.eval(ry.FS.positionDiff, ["l_gripper", "target"])
    return _result(ret, path) | {"worst": float(np.abs(y).max())}


def waypoints(ry):
    C = ry.Config()
    C.addFile(ry.raiPath("scenarios/pandaSingle.g"))
    places = [[0.4, 0.2, 1.0], [0.4, 0.2, 1.4], [-0.4, 0.2, 1.0], [-0.4, 0.2, 1.4]]
    komo_order, worst = 1, 0.0
    for k, p in enumerate(places):
        C.addFrame(f"way{k}").setShape(ry.ST.marker, [0.1]).setPosition(p)
    komo = ry.KOMO(C, 4, 1, komo_order, False)
    komo.addControlObjective([], 0, 1e-1)
    komo.addControlObjective([], 1, 1e0)
    for k in range(4):
        frames = ["l_gripper", f"way{k}"]
        komo.addObjective([k + 1], ry.FS.positionDiff, frames, ry.OT.eq, [1e1])
    ret = ry.NLP_Solver(komo.nlp(), verbose=0).setOptions(stopTolerance=1e-4).solve()
    path = komo.getPath()
    for k in range(4):
        C.setJointState(path[k])
        y, _ = C.eval(ry.FS.positionDiff, ["l_gripper", f"way{k}"])
        worst = max(worst, float(np.abs(y).max()))
    return _result(ret, path) | {"worst": worst}


def path_optimization(ry):
    C = ry.Config()
    C.addFile(ry.raiPath("scenarios/pandaSingle.g"))
    C.addFrame("way").setShape(ry.ST.marker, [0.1]).setPosition([0.4, 0.2, 1.0])
    komo = ry.KOMO(C, 1, 10, 2, False)
    komo.addControlObjective([], 2, 1e0)
    komo.addObjective([1.0], ry.FS.positionDiff, ["l_gripper", "way"], ry.OT.eq, [1e1])
    komo.addObjective([1.0], ry.FS.jointState, [], ry.OT.eq, [1e1], [], order=1)
    ret = ry.NLP_Solver(komo.nlp(), verbose=0).setOptions(stopTolerance=1e-4).solve()
    path = komo.getPath()
    C.setJointState(path[-1])
    y, _ = C.eval(ry.FS.positionDiff, ["l_gripper", "way"])
    return _result(ret, path) | {"worst": float(np.abs(y).max()), "T": komo.getT()}


def pick_and_place(ry):
    C = ry.Config()
    C.addFile(ry.raiPath("scenarios/pandaSingle.g"))
    C.addFrame("box").setShape(ry.ST.ssBox, [0.06, 0.06, 0.06, 0.005]).setPosition(
        [-0.25, 0.1, 0.68]
    )
    komo = ry.KOMO(C, 2, 1, 1, False)
    komo.addControlObjective([], 0, 1e-1)
    komo.addControlObjective([], 1, 1e0)
    komo.addModeSwitch([1.0, -1.0], ry.SY.stable, ["l_gripper", "box"])
    pair = ["l_gripper", "box"]
    komo.addObjective([1.0], ry.FS.positionDiff, pair, ry.OT.eq, [1e1])
    komo.addObjective([1.0], ry.FS.vectorZ, ["l_gripper"], ry.OT.eq, [1e0], [0, 0, 1])
    goal = [0.4, 0.3, 0.9]
    komo.addObjective([2.0], ry.FS.position, ["box"], ry.OT.eq, [1e1], goal)
    ret = ry.NLP_Solver(komo.nlp(), verbose=0).setOptions(stopTolerance=1e-4).solve()
    path = komo.getPath()
    C.setJointState(path[1])
    y, _ = C.eval(ry.FS.position, ["l_gripper"], [], goal)
    result = _result(ret, path) | {"worst": float(np.abs(y).max()), "x": None}
    return result | {"T": komo.getT()}


def moved_scene(ry):
    """Places of gripper and goal after each change of the scene that rai takes over."""
    C = ry.Config()
    C.addFile(ry.raiPath("scenarios/pandaSingle.g"))
    box = C.addFrame("box").setShape(ry.ST.ssBox, [0.06, 0.06, 0.06, 0.005])
    box.setPosition([-0.25, 0.1, 0.98]).setContact(1)
    target = C.addFrame("target", "table").setShape(ry.ST.marker, [0.1])
    target.setRelativePosition([0.0, 0.3, 0.3])
    komos = {}
    for goal in ("box", "target"):
        komo = komos[goal] = ry.KOMO(C, 1, 1, 0, False)
        komo.addControlObjective([], 0, 1e-1)
        komo.addObjective([], ry.FS.positionDiff, ["l_gripper", goal], ry.OT.eq, [1e1])

    def relative(name, *numbers):
        C.getFrame(name).setRelativePosition(list(numbers))

    def attach():
        C.attach("table", "box")
        box.setPosition([0.3, 0.1, 1.0])

    changes = {
        "root": ("box", lambda: box.setPosition([0.3, 0.2, 1.1])),
        "on table": ("target", lambda: relative("target", 0.2, 0.3, 0.4)),
        "table": ("box", lambda: relative("table", 0.0, 0.1, 0.7)),
        "robot": ("box", lambda: relative("l_panda_base", -0.2, -0.1, 0.1)),
        "world": ("target", lambda: C.getFrame("world").setPosition([0, 0.1, 0.1])),
        "turn": ("box", lambda: C.getFrame("table").setQuaternion([0.9, 0, 0, 0.3])),
        "state": (
            "box",
            lambda: C.setFrameState(np.array([[0.2, 0.3, 1, 1, 0, 0, 0]]), ["box"]),
        ),
        "joints": ("box", lambda: C.setJointState(C.getJointState() + 0.2)),
        "attach": ("box", attach),
    }
    out = {"roots": [f.name for f in C.getRoots()]}
    names = C.getFrameNames()
    for name, (goal, change) in changes.items():
        change()
        komos[goal].updateRootObjects(C)
        ret = ry.NLP_Solver(komos[goal].nlp(), verbose=0).solve()
        assert ret.feasible, name
        poses = komos[goal].getPathFrames()[0]
        for frame in ("l_gripper", goal):
            out[f"{name} {frame}"] = poses[names.index(frame)][:3]
    return out


def _result(ret, path):
    return {
        "feasible": bool(ret.feasible),
        "sos": ret.sos,
        "eq": ret.eq,
        "x": list(np.shape(ret.x)),
        "path": list(np.shape(path)),
    }


GEOMETRY = (hinge_and_shapes, joints, texts, panda, pr2_kitchen)
SOLVES = (inverse_kinematics, waypoints, path_optimization, pick_and_place)


def plain(value):
    """Numbers and lists for JSON."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def in_child(snippet, ry):
    """A snippet's result from a forked process; None if that fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            text = json.dumps(plain(snippet(ry)))
        except BaseException as error:
            print(snippet.__name__, repr(error), file=sys.stderr)
            text = "null"
        with os.fdopen(writing, "w") as pipe:
            pipe.write(text)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text or "null")


def print_results(snippets):
    """Print the results of robotic as JSON."""
    import robotic

    results = {s.__name__: in_child(s, robotic) for s in snippets}
    print("RESULT " + json.dumps(results))


if __name__ == "__main__":
    print_results((*GEOMETRY, *SOLVES, moved_scene))
