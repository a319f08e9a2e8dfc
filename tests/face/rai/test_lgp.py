"""`LGP_Tool` with rai's names, on a file in rai's language."""

import pytest

import posewise as pw
import posewise.rai as ry

RULES = """
DecisionRule pick_touch {
  Obj, From, Hand,
  { (is_gripper Hand) (is_object Obj) (on From Obj) (busy Hand)! }
  { (on From Obj)! (on Hand Obj) (busy Hand) }
}
DecisionRule place_straightOn {
  Obj, Hand, To,
  { (is_gripper Hand) (is_object Obj) (is_place To) (on Hand Obj) }
  { (busy Hand)! (on Hand Obj)! (on To Obj) }
}
"""
PROBLEM = """
fol: <rules.fol>
terminal: "(on tray red)"
genericCollisions: false
coll: [red hand]
"""
WORLD = """
world: {}
table(world): { shape: ssBox, size: [1, 1, .1, .01], logical: { is_place } }
tray(table): { Q: [.3, 0, .055], shape: ssBox, size: [.2, .2, .01, .004],
  logical: { is_place } }
red(table): { Q: [-.2, 0, .1], joint: rigid, shape: ssBox, size: [.06, .06, .1, .005],
  logical: { is_object } }
lift(world): { Q: [0, 0, .6] }
hand(lift): { joint: trans3, limits: [-1, -1, -1, 1, 1, 1], shape: sphere, size: [.02],
  logical: { is_gripper } }
"""


@pytest.fixture
def files(tmp_path):
    for name, text in (("rules.fol", RULES), ("a.lgp", PROBLEM), ("a.g", WORLD)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.slow
def test_a_plan_its_motions_and_its_path(files):
    C = ry.Config()
    C.addFile(files / "a.g")
    lgp = ry.LGP_Tool(C, ry.default_LGP_TAMP_Abstraction(C, files / "a.lgp"))
    lgp.solve(0)
    assert lgp.getSolvedPlan() == [
        ["pick_touch", "red", "table", "hand"],
        ["place_straightOn", "red", "hand", "tray"],
    ]
    assert lgp.getSolvedKOMO().getPath().shape == (2, 3)
    assert [p.shape for p in lgp.solvePiecewiseMotions(0)] == [(50, 3)] * 2
    komo = lgp.solveFullMotion(0)
    assert komo.solution.feasible
    assert komo.getPath().shape == (60, 3)


def test_mistakes_are_told(files):
    C = ry.Config()
    C.addFile(files / "a.g")
    tool = ry.LGP_Tool(C, ry.default_LGP_TAMP_Abstraction(C, files / "a.lgp"))
    with pytest.raises(pw.ObjectiveError, match="call solve"):
        tool.getSolvedPlan()
    (files / "a.lgp").write_text("terminal: nothing")
    with pytest.raises(pw.LoadError, match="no entry 'fol'"):
        ry.default_LGP_TAMP_Abstraction(C, files / "a.lgp")
