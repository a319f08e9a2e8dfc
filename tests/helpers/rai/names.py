"""Snippets for names of robotic beyond its first tutorials.

Each takes the module as `ry`, as those of `rai_tutorials` do.
"""

import warnings

import numpy as np


def states_beyond_joints(ry):
    C = ry.Config()
    C.addFile(ry.raiPath("panda/panda.g"))
    X, out = C.getFrameState(), {}
    C.setFrameState(np.array([[0.3, 0.2, 0.9, 1, 0, 0, 0]]), ["gripper"])
    out["gripper"] = C.getFrame("gripper").getPosition()
    out["palm stays"] = C.getFrame("palm").getPosition() - X[34, :3]
    C.setFrameState(X[:, :] + [0.1, 0.2, 0.3, 0, 0, 0, 0])
    out["moved"] = C.getFrameState()[:, :3]
    C.setFrameState(X)
    out["back"] = C.getJointState()
    C.setJointState([0.02], ["panda_finger_joint1"])
    out["finger"] = C.getFrame("panda_finger_joint2").getPosition()
    C.selectJoints(["panda_joint1", "panda_joint2"])
    C.setJointState([0.7, 0.3], ["panda_joint1", "panda_joint4"])
    out["subset"] = C.getJointState()
    out["left out"] = C.getFrame("panda_joint4").getJointState()
    out["index"] = [C.getFrame(f"panda_joint{k}").getJointQIndex() for k in (1, 2)]
    out["ids"] = C.getJointIDs()
    out["joints"] = [f.name for f in C.getJoints()]
    return out


def dictionaries(ry):
    C, out = ry.Config(), {}
    C.addFile(ry.raiPath("panda/panda.g"))
    for f in C.getFrames():
        entry = f.asDict()
        entry.pop("mesh", None)
        entry.pop("logical", None)
        out[f.name] = {k: v for k, v in entry.items() if k not in ("q", "pose")}
        out[f"{f.name} keys"] = sorted(entry)
    box = C.addFrame("box").setShape(ry.ST.ssBox, [0.1, 0.1, 0.1, 0.01])
    box.setContact(1).setPosition([0.1, 0.2, 0.3])
    for color in ([0.2], [0.2, 0.5], [0.1, 0.2, 0.3], [0.1, 0.2, 0.3, 0.4]):
        out[f"color {color}"] = box.setColor(color).asDict()
    return out


def frame_extras(ry):
    C = ry.Config()
    C.addFile(ry.raiPath("panda/panda.g"))
    C.setJointState([0.1, 0.2, 0.3, -1.0, 0.5, 1.0, 0.4])
    f = C.getFrame("gripper")
    out = {
        "transform": f.getTransform(),
        "relative": f.getTransform(C.getFrame("panda_joint4")),
        "in parent": f.getRelativeTransform(),
        "point": f.trans_rel2world(np.array([1.0, 2, 3])),
        "J": f.get_Jacobian_pos(),
        "angular": f.get_Jacobian_angular(),
        "subtree": [g.name for g in C.getFrame("panda_joint7").getSubtree()],
        "triangles": len(C.getFrame("panda_link0").getMeshTriangles()),
    }
    R = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    a = C.addFrame("a").setRotationMatrix(R)
    out["rotated"] = a.getRotationMatrix()
    b = C.addFrame("b", "a").setRelativeRotationMatrix(R)
    out["twice"] = b.getRotationMatrix()
    d = C.addFrame("d", "a").setRelativeQuaternion([22.0, 0, 0, 9])
    out["normalized"] = d.getQuaternion()
    out["pose normalized"] = d.setPose([1, 2, 3, 2.0, 0, 0, 2]).getPose()
    out["inertia"] = C.addFrame("c").setMass(0.3, np.diag([0.1, 0.2, 0.3])).getMass()
    return out


def attachments(ry):
    out = {}
    C = ry.Config()
    C.addFile(ry.raiPath("scenarios/pandasTable.g"))
    C.attach("l_gripper", "r_gripper")
    out["joints"] = C.getJointNames()
    q = C.getJointState()
    q[0] = 0.3
    C.setJointState(q)
    for name in ("r_gripper", "r_panda_joint4", "r_panda_joint7"):
        out[name] = C.getFrame(name).getPosition()
    C = ry.Config()
    C.addFrame("table").setPosition([0, 0, 1])
    C.addFrame("box", "table").setJoint(ry.JT.rigid).setRelativePosition([0, 0, 0.1])
    C.addFrame("lid", "box")
    C.addFrame("hand").setPosition([1, 0, 0])
    for pair in (("hand", "box"), ("table", "lid"), ("hand", "lid")):
        C.attach(*pair)
        parents = [f.getParent() for f in C.getFrames()]
        out[f"parents {pair}"] = [p.name if p else "" for p in parents]
    return out


def quaternions(ry):
    Q = ry.Quaternion
    r = Q().set([0.5, -0.1, 0.3, 0.7]).normalize()
    n = Q().set([-0.5, 0.1, 0.3, 0.7]).normalize()
    out = {}
    for name, q in (("r", r), ("n", n)):
        out |= {
            f"{name} rad": q.getRad(),
            f"{name} log": np.array(q.getLog()),
            f"{name} matrix": q.getMatrix(),
            f"{name} rpy": q.getRollPitchYaw(),
            f"{name} J": q.getJacobian(),
            f"{name} norm": q.sqrNorm(),
            f"{name} again": Q().setMatrix(q.getMatrix()).asArr(),
        }
    angles = [0.1, 0.2, 0.3]
    quaternions = {
        "product": r * n,
        "inverse": -r,
        "diff": Q().setDiff([1, 0, 0], [0, 1, 0]),
        "no diff": Q().setDiff([1, 2, 0], [2, 4, 0]),
        "rad": Q().setRad(0.3, [0, 2, 0]),
        "exp": Q().setExp(angles),
        "euler": Q().setEuler(angles),
        "rpy": Q().setRollPitchYaw(angles),
        "reverse": Q().setRollPitchYaw(angles, True),
        "proper": Q().setInterpolateProper(0.3, r, n),
        "beyond": Q().setInterpolateProper(1.2, r, n),
        # robotic 0.4.2 normalizes it or not, by a flag that nothing has set
        "embedded": Q().setInterpolateEmbedded(0.3, r, n).normalize(),
        "append": Q().set(r.asArr()).append(n),
        "invert": Q().set(r.asArr()).invert(),
        "flip": Q().set(r.asArr()).flipSign(),
        "zero": Q().setZero(),
    }
    doubled = Q().set(r.asArr())
    doubled.multiply(2.0)
    out |= {k: q.asArr() for k, q in (quaternions | {"doubled": doubled}).items()}
    return out | {"text": str(r), "w": r.w, "z": r.z}


def splines(ry):
    X = np.arange(20.0).reshape(10, 2) ** 1.5
    times, out = np.array([-0.1, 0, 0.2, 1.7, 2.9, 3, 3.1]), {}
    for degree in (1, 2, 3):
        S = ry.BSpline().set(degree, X[:4], np.array([0.0, 1, 2, 3]))
        out[f"{degree} knots"] = S.getKnots()
        out[f"{degree} points"] = S.getCtrlPoints()
        out[f"{degree} x"] = S.eval(times)
        out[f"{degree} B"] = S.getBmatrix(times[1:5], True, True)
        S.append(X[4:6], np.array([0.2, 0.4]))
        S.append(X[6:7], np.array([0.2]), True)
        out[f"{degree} appended"] = S.getKnots()
        out[f"{degree} appended points"] = S.getCtrlPoints()
    S = ry.BSpline()
    start, end = np.array([1.0, 2]), np.array([0.5, 0.1])
    S.set(2, X[:4], np.array([0.0, 1, 2, 3]), setStartVel=start, setEndVel=end)
    out |= {f"derivative {d}": S.eval(times, d) for d in range(3)}
    S.overwriteSmooth(X[7:9], np.array([0.2, 0.5]), 1.3)
    out["overwritten"] = [S.eval3(1.3), S.eval3(1.6)]
    out["overwritten knots"] = S.getKnots()
    return out


def factories(ry):
    def evaluate(x):
        phi = np.array([x[0] - 1, x[1] - 3, x[0] + x[1] - 1])
        return phi, np.array([[1.0, 0], [0, 1], [1, 1]])

    out = {}
    OT = ry.OT
    for kinds in ((OT.sos, OT.sos, OT.eq), (OT.sos, OT.sos, OT.ineq)):
        nlp = ry.NLP_Factory()
        nlp.setDimension(2)
        nlp.setBounds([-2, -2], [2, 2])
        nlp.setTypes(list(kinds))
        nlp.setEvalCallback(evaluate)
        name, x = kinds[-1].name, np.array([0.5, 1.0])
        out[f"{name} phi"], out[f"{name} J"] = nlp.evaluate(x)
        out[f"{name} errors"] = nlp.summarizeErrors(nlp.evaluate(x)[0])
        out[f"{name} types"] = nlp.types
        out[f"{name} bounds"] = [nlp.getBounds(), nlp.getDimension()]
        out[f"{name} checked"] = nlp.checkJacobian(x, 1e-5)
    nlp.setTypes([OT.sos, OT.sos, OT.f])
    out["scalar"] = list(nlp.eval_scalar(x))
    for a, b in ((0.06, 0.06), (0.1, 0.0), (0.0, 0.1), (0.0999, 0.0999)):
        nlp.setTypes([OT.sos, OT.eq, OT.ineq])
        nlp.setEvalCallback(
            lambda x, a=a, b=b: (
                np.array([x[0], a, b]),
                np.array([[1.0, 0], [0, 0], [0, 0]]),
            )
        )
        solver = ry.NLP_Solver(nlp, verbose=0)
        solver.setOptions(verbose=0, stopEvals=30)
        ret = solver.solve()
        out[f"feasible {a} {b}"] = [bool(ret.feasible), ret.eq, ret.ineq]
    return out


def cameras(ry):
    depth = np.array([[1.0, 2, 3], [4, 5, 6]], np.float32)
    return {"cloud": ry.depthImage2PointCloud(depth, np.array([2.0, 4, 1, 0.5]))}


def toy_problems(ry):
    # rai's 2 pi is wrong in the sixth digit, which shows little near 0.
    values = {
        "Rastrigin": 0.01,
        "Ackley": 0.01,
        "Himmelblau": 1.0,
        "SpherePacking": 1.0,
    }
    slopes = "Rosenbrock RastriginSOS Box Modes Wedge HalfCircle".split()
    out = {}
    for name in (*values, *slopes, "Rosenbrock.5", "Box.3", "Modes.3"):
        nlp = ry.make_NLP_Problem(name if "." in name else f"{name}.2")
        x = values.get(name, 1.0) * np.sin(np.arange(nlp.getDimension()) + 0.3)
        phi, J = nlp.evaluate(x)
        out[name] = phi
        out[f"{name} types"] = nlp.types
        out[f"{name} bounds"] = nlp.getBounds().tolist()[:1]
        if name not in values:
            out[f"{name} slopes"] = J
    return out


def loose_arguments(ry):
    C, out = ry.Config(), {}
    C.addFile(ry.raiPath("panda/panda.g"))
    path = np.linspace(0.1, 0.7, 7)[None]
    C.setJointState(path)
    out["path of one slice"] = C.getFrame("gripper").getPosition()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out["missing"] = C.getFrame("nobody")
        box = C.addFrame("box").setShape(ry.ST.box, [0.1, 0.2, 0.3])
        out["bytes"] = box.setColor([255, 0, 64]).asDict()["color"]
    cloud = C.addFrame("cloud").setShape(ry.ST.pointCloud, [2])
    out["cloud"] = cloud.setPointCloud(np.eye(3), [255, 0, 0]).getMeshPoints()
    out["annotated"] = ry._robotic.Config.__name__
    return out


SNIPPETS = (
    states_beyond_joints,
    dictionaries,
    frame_extras,
    attachments,
    quaternions,
    splines,
    factories,
    cameras,
    toy_problems,
    loose_arguments,
)

if __name__ == "__main__":
    from rai_tutorials import print_results

    print_results(SNIPPETS)
