"""The open KOMO problems of the reference data, beside rai in the same run.

    python benchmarks/komo.py [--only ik_gaze ...] [--oracle ../shared/oracle/komo]

Each problem is solved from the reference data's start points, warm, one start at a
time; `robotic` (when installed) solves the same problem from the same points with both
of its option sets. Success: every eq and ineq row within 1e-3. Prints median
milliseconds, success rate, median cost of successes, seconds of the first solve (with
compilation), and rai's median by ours (`ratio`, of its faster option set).
"""

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS, OT  # noqa: E402

XY = np.eye(3)[:2]
HOME = [0.0, -0.5, 0.0, -2.0, 0.0, 2.0, 0.785]


def world(scene: dict) -> pw.Config:
    """The Config of a scene in the reference data's own format."""
    C = pw.Config()
    for f in scene["frames"]:
        options: dict = {"pose": f["rel"]} if "rel" in f else {}
        if joint := f.get("joint"):
            options = {"joint": joint["type"], "limits": joint["limits"]}
            if joint["axis"] is not None:
                options["axis"] = joint["axis"]
        if shape := f.get("shape"):
            options |= {"shape": _shape(**shape), "contact": shape["contact"]}
        C.add_frame(f["name"], f["parent"] or "world", mass=f.get("mass"), **options)
    return C


def _shape(type: str, size: list, verts: list | None, contact: int):
    match type:
        case "ssBox":
            return pw.Box(size[:3], rounding=size[3])
        case "sphere":
            return pw.Sphere(size[0])
        case "capsule":
            return pw.Capsule(*size)
        case "ssCylinder":
            return pw.Cylinder(*size)
        case "marker":
            return pw.Marker()
    raise ValueError(type)


def basics(komo: pw.KOMO, collisions: bool, order: int = 0, cost: float = 0.1) -> None:
    """What all problems have: control cost, collisions, limits."""
    komo.add_control_objective(order, cost)
    if collisions:
        komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
    komo.add_objective(None, FS.jointLimits, [], OT.ineq)


def ik_gaze(scenes) -> pw.KOMO:
    C = world(scenes.panda7())
    C.q = HOME
    komo = pw.KOMO(C)
    basics(komo, False)
    komo.add_objective(None, FS.positionDiff, ["gripper", "target"], OT.eq, scale=10)
    komo.add_objective(None, FS.positionRel, ["ball", "camera"], OT.eq, scale=XY)
    return komo


def ik_shelf_coll(scenes) -> pw.KOMO:
    C = world(scenes.panda7())
    C.q = HOME
    komo = pw.KOMO(C)
    basics(komo, True)
    komo.add_objective(
        None,
        FS.positionRel,
        ["gripper", "shelf"],
        OT.eq,
        scale=10,
        target=[-0.05, -0.12, 0.05],
    )
    for link in ("palm", "cap7", "cap6", "fingL", "fingR"):
        komo.add_objective(
            None, FS.negDistance, [link, "shelf"], OT.ineq, scale=10, target=-0.01
        )
    return komo


def waypoints4(scenes) -> pw.KOMO:
    C = world(scenes.panda7())
    C.q = HOME
    komo = pw.KOMO(C, 4, 1, 1)
    basics(komo, True, cost=1e-2)
    komo.add_control_objective(1, 0.1)
    goals = [
        ("target", None),
        ("ball", [0, 0, 0.15]),
        ("box", [0, 0, 0.1]),
        ("tray", [0, 0, 0.12]),
    ]
    for k, (frame, above) in enumerate(goals):
        komo.add_objective(
            [k + 1.0],
            FS.positionDiff,
            ["gripper", frame],
            OT.eq,
            scale=10,
            target=above,
        )
    for t in (3.0, 4.0):
        komo.add_objective([t], FS.vectorZ, ["gripper"], OT.eq, target=[0, 0, 1])
    return komo


def planar_path32(scenes) -> pw.KOMO:
    C = world(scenes.planar3())
    C.q = [2.2, -0.5, -0.5]
    komo = pw.KOMO(C, 1, 32, 2)
    basics(komo, True, 2, 1.0)
    komo.add_objective([1.0], FS.positionDiff, ["tip", "target"], OT.eq, scale=10 * XY)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo


PROBLEMS: list[Callable] = [ik_gaze, ik_shelf_coll, waypoints4, planar_path32]


def ours(komo: pw.KOMO, starts: list) -> dict:
    """Solve from each start; the best of three rounds of each is its time."""
    first = time.perf_counter()
    komo.initialize(np.reshape(starts[0], (komo.T, -1)))
    komo.solve()
    first = time.perf_counter() - first
    ms, cost, success = [], [], []
    for x in starts:
        komo.initialize(np.reshape(x, (komo.T, -1)))
        rounds = []
        for _ in range(3):
            begin = time.perf_counter()
            solution = komo.solve()
            rounds.append(time.perf_counter() - begin)
        ms.append(1e3 * min(rounds))
        success.append(max(solution.eq, solution.ineq) < 1e-3)
        cost.append(solution.sos)
    return {"ms": ms, "cost": cost, "success": success, "first": first}


def theirs(problem: Callable, starts: list, options: dict) -> dict:
    """rai from the same starts."""
    import robotic as ry

    ms, cost, success = [], [], []
    for x in starts:
        rounds = []
        for _ in range(3):
            K, _ = problem()
            nlp = K.nlp()
            solver = ry.NLP_Solver()
            solver.setProblem(nlp)
            solver.setOptions(**options)
            solver.setInitialization(np.array(x))
            begin = time.perf_counter()
            out = solver.solve()
            rounds.append(time.perf_counter() - begin)
        phi, _ = nlp.evaluate(out.x)
        kinds = nlp.getTypes()
        worst = [
            abs(p) if kind == ry.OT.eq else max(p, 0.0)
            for p, kind in zip(phi, kinds, strict=True)
            if kind in (ry.OT.eq, ry.OT.ineq)
        ]
        ms.append(1e3 * min(rounds))
        success.append(max(worst, default=0.0) < 1e-3)
        cost.append(float(out.sos))
    return {"ms": ms, "cost": cost, "success": success}


def line(name: str, who: str, r: dict, more: str = "") -> str:
    good = np.array(r["cost"])[np.array(r["success"])]
    cost = f"{np.median(good):.4g}" if len(good) else "-"
    return (
        f"{name:15s} {who:12s} {np.median(r['ms']):9.2f} {max(r['ms']):9.2f}"
        f" {100 * np.mean(r['success']):6.0f} % {cost:>10s}  {more}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(__file__).resolve().parents[1].parent / "shared/oracle/komo"
    parser.add_argument("--oracle", type=Path, default=default)
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    if not (args.oracle / "x0.json").is_file():
        sys.exit(f"No reference data in {args.oracle}: give --oracle FOLDER.")
    sys.path.insert(0, str(args.oracle))
    import scenes

    with_rai = importlib.util.find_spec("robotic") is not None
    if with_rai:
        import problems
    starts = json.loads((args.oracle / "x0.json").read_text())
    print(f"{'problem':15s} {'who':12s} median ms    max ms  success       cost")
    for make in PROBLEMS:
        name = make.__name__
        if args.only and name not in args.only:
            continue
        mine = ours(make(scenes), starts[name])
        note = f"first {mine['first']:.1f} s"
        if with_rai:
            rai = {
                who: theirs(getattr(problems, name), starts[name], options)
                for who, options in problems.OPTS.items()
            }
            fastest = min(np.median(r["ms"]) for r in rai.values())
            for who, r in rai.items():
                print(line(name, f"rai {who}", r))
            note += f"  ratio {fastest / np.median(mine['ms']):.2f}"
        print(line(name, "posewise", mine, note), flush=True)


if __name__ == "__main__":
    main()
