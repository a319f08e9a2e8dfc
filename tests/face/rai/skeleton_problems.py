"""The three skeleton problems of rai's benchmarks, for both packages.

The model and the skeletons are those of `OptBench_Skeleton_Pick`, `_Handover` and
`_StackAndBalance`, whose model file the wheel of `robotic` lacks; one rounding is
smaller, since posewise refuses boxes that are all rounding. Run as a module, it prints
the results of `robotic` as one JSON object.
"""

import json
import tempfile
from functools import partial
from pathlib import Path

from helpers.rai_tutorials import in_child

BLOCK = "joint: rigid, mass: .1, shape: ssBox, size: [.1, .1, .1, .02]"
WORLD = f"""
world: {{}}
table(world): {{ Q: "t(0 0 .6)", shape: ssBox, size: [2, 2, .1, .02] }}
box0(table): {{ Q: "t(0 -.3 .1)", {BLOCK} }}
box1(table): {{ Q: "t(0 -.1 .1)", joint: rigid, mass: .1, shape: ssBox,
  size: [.4, .2, .04, .015] }}
box2(table): {{ Q: "t(0 .1 .1)", {BLOCK} }}
box3(table): {{ Q: "t(0 .3 .1)", {BLOCK} }}
stick(table): {{ Q: "t(.6 .5 .08) d(90 1 0 0)", joint: rigid, shape: ssBox,
  size: [.05, .05, .6, .02] }}
ball(table): {{ Q: "t(-.8 .8 .09)", joint: rigid, shape: sphere, size: [.04],
  contact: 1 }}
"""

PICK = [([1.0], "touch", "R_endeff box3"), ([1.0], "stable", "R_endeff box3")]
HANDOVER = [
    ([1.0], "touch", "R_endeff stick"),
    ([1.0, 2.0], "stable", "R_endeff stick"),
    ([2.0], "touch", "L_endeff stick"),
    ([2.0, -1.0], "stable", "L_endeff stick"),
    ([3.0, -1.0], "touch", "stick ball"),
]


def _carry(hand, box, start, end, support, until=-1.0):
    """A pick and a place, with straight ways down and up."""
    return [
        ([start], "touch", f"{hand} {box}"),
        ([start, end], "stable", f"{hand} {box}"),
        ([end], "touch", f"{support} {box}"),
        ([end, until], "stable", f"{support} {box}"),
        ([end - 0.1, end + 0.1], "downUp", hand),
    ]


def _balance(support, box, times):
    return [(times, "forceBalance", box), (times, "contact", f"{support} {box}")]


STACK = [
    *_carry("R_endeff", "box0", 1.0, 2.0, "table"),
    ([0.9, 1.1], "downUp", "R_endeff"),
    *_carry("L_endeff", "box1", 1.5, 3.0, "box0"),
    ([1.4, 1.5], "downUp", "L_endeff"),
    *_balance("box0", "box1", [3.0, 4.0]),
    *_carry("R_endeff", "box2", 4.0, 5.0, "box1"),
    ([3.9, 4.5], "downUp", "R_endeff"),
    *_balance("box1", "box2", [5.0]),
    *_balance("box0", "box1", [5.0, -1.0]),
    *_carry("L_endeff", "box3", 4.0, 5.0, "box1", 5.5),
    ([3.9, 4.5], "downUp", "L_endeff"),
    ([5.0], "touch", "box2 box3"),
    *_balance("box1", "box3", [5.0]),
]
SKELETONS = {"pick": PICK, "handover": HANDOVER, "stack": STACK}


def world(ry):
    """Two arms on a table with boxes, a stick and a ball."""
    C = ry.Config()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "skeleton.g"
        file.write_text(WORLD, encoding="utf-8")
        C.addFile(str(file))
    for side, x in (("L_", -0.5), ("R_", 0.5)):
        C.addFile(ry.raiPath("scenarios/simpleArm.g"), side)
        base = C.getFrame(f"{side}base")
        base.setParent(C.getFrame("table"))
        base.setRelativePose([x, -0.5, 0.1, 1, 0, 0, 0])
    return C


def skeleton(ry, name):
    """Return a skeleton by its name."""
    S = ry.Skeleton()
    for times, symbol, frames in SKELETONS[name]:
        S.addEntry(times, getattr(ry.SY, symbol), frames.split())
    return S


def solve(ry, name, kind):
    """Return what a solve of waypoints, of the path or of the last slice finds."""
    S, C = skeleton(ry, name), world(ry)
    if kind == "waypoints":
        komo = S.getKomo_waypoints(C, 1e-1, 1e-2, 1e1)
    elif kind == "path":
        komo = S.getKomo_path(C, 30, 1.0, 0.0, 1e-2, 1e1)
    else:
        komo = S.getKomo_finalSlice(C, 1e-1, 1e-2, 1e1)
    ret = ry.NLP_Solver(komo.nlp(), 0).solve()
    path = komo.getPath()
    return {
        "feasible": bool(ret.feasible),
        "sos": ret.sos,
        "phases": S.getMaxPhase(),
        "path": [len(path), len(path[0])],
    }


PROBLEMS = [
    (name, kind) for name in SKELETONS for kind in ("waypoints", "path", "final")
]

if __name__ == "__main__":
    import robotic

    robotic.params_add({"disableGui": True})
    results = {}
    for name, kind in PROBLEMS:
        problem = partial(solve, name=name, kind=kind)
        problem.__name__ = f"{name} {kind}"
        results[problem.__name__] = in_child(problem, robotic)
    print("RESULT " + json.dumps(results))
