"""The open KOMO problems of the reference data, beside rai in the same run.

    python benchmarks/komo.py [--only ik_gaze ...] [--oracle ../shared/oracle/komo]

Each problem is solved from the reference data's start points, warm, one start at a
time; `robotic` (when installed) solves the same problem from the same points with both
of its option sets. Success: every eq and ineq row within 1e-3. Prints median
milliseconds, success rate, median cost of successes, seconds of the first solve in a
new process (with compilation, and with a filled cache), and rai's median by ours
(`ratio`, of its faster option set).

    python benchmarks/komo.py --inline

The same, with JAX set to compute in the thread that calls it instead of another one.

    python benchmarks/komo.py --batches

Batches instead: random starts of one problem, solved at once, beside rai's mean over
some of them one after the other; `ratio`: of throughputs, for rai's faster option set,
and of the throughputs of successes.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
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


def path32(scenes) -> pw.KOMO:
    C = world(scenes.panda7(post=True))
    C.q = [-0.7, *HOME[1:]]
    komo = pw.KOMO(C, 1, 32, 2)
    basics(komo, True, 2, 1.0)
    goal = dict(type=OT.eq, scale=10, target=BESIDE)
    komo.add_objective([1.0], FS.positionDiff, ["gripper", "post"], **goal)
    komo.add_objective([1.0], FS.qItself, [], OT.eq, order=1)
    return komo


def path32_of_rai(problems):
    """No open problem: a path of the kind that is, around a post."""
    ry = problems.ry
    C = problems.panda(post=True)
    komo = ry.KOMO(C, 1, 32, 2, True)
    komo.addControlObjective([], 2, 1.0)
    komo.addObjective([], ry.FS.accumulatedCollisions, [], ry.OT.eq, [1.0])
    komo.addObjective([], ry.FS.jointLimits, [], ry.OT.ineq, [1.0])
    goal = (ry.OT.eq, [1e1], BESIDE)
    komo.addObjective([1.0], ry.FS.positionDiff, ["gripper", "post"], *goal)
    komo.addObjective([1.0], ry.FS.qItself, [], ry.OT.eq, [1.0], [], 1)
    return komo, "noise:.02"


def pnp_switch(scenes) -> pw.KOMO:
    C = world(scenes.panda7(box_joint=True))
    C.q = HOME
    komo = pw.KOMO(C, 2, 1, 1)
    basics(komo, True, cost=1e-2)
    komo.add_control_objective(1, 0.1)
    komo.add_mode_switch([1.0], "stable", ["gripper", "box"])
    komo.add(pw.presets.grasp_box("gripper", "box", "palm", "x"), [1.0])
    komo.add(pw.presets.place_box("box", "table", "palm", "z", 0.1), [2.0])
    spot = pw.presets.target_relative_xy_position("box", "table", [0.05, 0.1])
    komo.add(spot, [2.0])
    return komo


def place_free(scenes) -> pw.KOMO:
    F, turned = scenes.F, scenes.rpy(0, 0, 0.4)
    solid = lambda name, at, shape, size, **more: F(
        name, "table", at, shape=shape, size=size, contact=1, **more
    )
    frames = [
        F("world"),
        F("table", "world", (0, 0, 0.3), shape="ssBox", size=[1, 0.8, 0.1, 0.02],
          contact=1),
        solid("o1", (0.1, 0.05, 0.1), "ssBox", [0.15, 0.1, 0.1, 0.01], quat=turned),
        solid("o2", (-0.15, 0.1, 0.1), "ssCylinder", [0.1, 0.06, 0.01]),
        solid("o3", (0, -0.15, 0.1), "sphere", [0.05]),
        solid("o4", (0.25, -0.1, 0.12), "capsule", [0.08, 0.04]),
        F("region", "table", (0.05, 0, 0.05), shape="ssBox",
          size=[0.6, 0.5, 0.01, 0.001]),
        F("obj", "world", joint="free", shape="ssBox", size=[0.14, 0.1, 0.2, 0.01],
          contact=1, limits=[[-0.5, -0.4, 0.3, *[-1.1] * 4],
                             [0.5, 0.4, 0.8, *[1.1] * 4]]),
    ]  # fmt: skip
    C = world({"frames": frames})
    komo = pw.KOMO(C)
    komo.add_control_objective(0, 1e-2)
    komo.add_objective(
        None,
        FS.positionDiff,
        ["obj", "table"],
        OT.eq,
        scale=[[0, 0, 10]],
        target=[0, 0, 0.15],
    )
    komo.add_objective(None, FS.vectorZ, ["obj"], OT.eq, target=[0, 0, 1])
    komo.add_objective(
        None, FS.aboveBox, ["obj", "region"], OT.ineq, scale=10, target=-0.05
    )
    for other in ("o1", "o2", "o3", "o4"):
        komo.add_objective(
            None, FS.negDistance, ["obj", other], OT.ineq, scale=10, target=-0.005
        )
    return komo


BESIDE = [0.1, 0.3, 0.1]
"""The end of path32, from the post."""
PROBLEMS: list[Callable] = [
    ik_gaze,
    ik_shelf_coll,
    waypoints4,
    planar_path32,
    path32,
    pnp_switch,
    place_free,
]


def initial(name: str, komo: pw.KOMO, x: list) -> np.ndarray:
    """A path of ours from one of rai's, which has what slices share only once."""
    if name != "pnp_switch":
        return np.reshape(x, (komo.T, -1))
    return np.stack([x[:7], x[-7:]])


def first_solve(name: str, folder: Path, oracle: Path) -> float:
    """Seconds of the first solve in a new process."""
    words = [sys.executable, __file__, "--first", name, "--cache", str(folder)]
    words += ["--oracle", str(oracle)]
    return float(subprocess.run(words, check=True, capture_output=True).stdout)


def ours(name: str, komo: pw.KOMO, starts: list) -> dict:
    """Solve from each start; the best of three rounds of each is its time."""
    komo.initialize(initial(name, komo, starts[0]))
    komo.solve()
    ms, cost, success = [], [], []
    for x in starts:
        komo.initialize(initial(name, komo, x))
        rounds = []
        for _ in range(3):
            begin = time.perf_counter()
            solution = komo.solve()
            rounds.append(time.perf_counter() - begin)
        ms.append(1e3 * min(rounds))
        success.append(max(solution.eq, solution.ineq) < 1e-3)
        cost.append(solution.sos)
    return {"ms": ms, "cost": cost, "success": success}


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


def batch(name: str, komo: pw.KOMO, problem: Callable, count: int, opts: dict) -> str:
    """Random starts at once, beside some of them one by one in rai."""
    komo.solve_all(starts=count, progress=False)
    rounds = []
    for _ in range(3):
        begin = time.perf_counter()
        found = komo.solve_all(starts=count, progress=False)
        rounds.append(1e3 * (time.perf_counter() - begin) / count)
    ms, good = min(rounds), np.mean([max(s.eq, s.ineq) < 1e-3 for s in found])
    text = f"{count:5d} {name:15s} posewise {ms:7.3f} ms {100 * good:4.0f} %"
    if not opts:
        return text
    paths = komo.starts(0, count)[:: count // SOME]
    ratios, successes = [], []
    for who, options in opts.items():
        r = theirs(problem, [path.ravel() for path in paths], options)
        mean, share = np.mean(r["ms"]), np.mean(r["success"])
        text += f"  rai {who} {mean:6.2f} ms {100 * share:4.0f} %"
        ratios.append(mean / ms)
        successes.append(good * mean / ms / max(share, 1e-9))
    return f"{text}  ratio {min(ratios):.1f}, of successes {min(successes):.1f}"


BATCHES = {"ik_gaze": 1000, "ik_shelf_coll": 1000, "planar_path32": 256, "path32": 256}
SOME = 32
"""Of a batch, so many starts are solved by rai."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(__file__).resolve().parents[1].parent / "shared/oracle/komo"
    parser.add_argument("--oracle", type=Path, default=default)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--batches", action="store_true")
    parser.add_argument("--inline", action="store_true")
    parser.add_argument("--first", help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not (args.oracle / "x0.json").is_file():
        sys.exit(f"No reference data in {args.oracle}: give --oracle FOLDER.")
    jax.config.update("jax_cpu_enable_async_dispatch", not args.inline)
    sys.path.insert(0, str(args.oracle))
    import scenes

    makers = {make.__name__: make for make in PROBLEMS}
    if args.first:
        pw.cache_programs(args.cache)
        komo = makers[args.first](scenes)
        begin = time.perf_counter()
        komo.solve()
        return print(time.perf_counter() - begin)

    with_rai = importlib.util.find_spec("robotic") is not None
    if with_rai:
        import problems

        stated = lambda name: getattr(problems, name, lambda: path32_of_rai(problems))
    if args.batches:
        for name, count in BATCHES.items():
            problem, opts = (stated(name), problems.OPTS) if with_rai else (None, {})
            print(batch(name, makers[name](scenes), problem, count, opts), flush=True)
        return None
    starts = json.loads((args.oracle / "x0.json").read_text())
    rng = np.random.default_rng(0)
    still = np.tile([-0.7, *HOME[1:]], 32)
    starts["path32"] = [still + 0.02 * rng.normal(size=224) for _ in range(20)]
    print(f"{'problem':15s} {'who':12s} median ms    max ms  success       cost")
    for name, make in makers.items():
        if args.only and name not in args.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            first, again = (first_solve(name, folder, args.oracle) for _ in range(2))
        mine = ours(name, make(scenes), starts[name])
        note = f"first {first:.1f} s, cached {again:.2f} s"
        if with_rai:
            rai = {
                who: theirs(stated(name), starts[name], options)
                for who, options in problems.OPTS.items()
            }
            fastest = min(np.median(r["ms"]) for r in rai.values())
            for who, r in rai.items():
                print(line(name, f"rai {who}", r))
            note += f"  ratio {fastest / np.median(mine['ms']):.2f}"
        print(line(name, "posewise", mine, note), flush=True)
    return None


if __name__ == "__main__":
    main()
