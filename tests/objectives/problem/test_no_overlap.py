"""Predicates on paths: loose objects overlap nothing, unless told that they may."""

import pytest

import posewise as pw
from posewise import FS, OT, logic
from posewise.objectives.problem.no_overlap import NO_OVERLAP


def table() -> pw.Config:
    """A table with a post in its middle, and a block beside it."""
    C = pw.Config()
    C.add_frame("table", shape=pw.Box([1, 1, 0.1]), position=[0, 0, -0.05])
    C.add_frame("post", shape=pw.Box([0.1, 0.1, 0.4]), position=[0, 0, 0.2])
    pose = [0.4, 0, 0.051, 1, 0, 0, 0]
    C.add_object("block", [(pw.Box([0.1] * 3), None)], pose=pose, joint="free")
    return C


def names(komo: pw.KOMO) -> list[str]:
    return [o.name for o in komo.objectives if o.name == NO_OVERLAP]


ON = logic.OnTopOf("block", "table")


@pytest.mark.long
@pytest.mark.parametrize("collisions", [True, False])
def test_an_object_does_not_end_in_another_one(collisions):
    """A cost draws the block 4 cm into the post."""
    komo = pw.KOMO(table(), 1, 3, 1)
    komo.add_control_objective(1, 0.1)
    komo.add_objective(
        [1], FS.position, "block", OT.sos, target=[0.06, 0, 0.05], scale=3
    )
    komo.add(ON, times=[1], collisions=collisions)
    solution = komo.solve(progress=False)
    assert solution.feasible, solution.message
    # Half the widths of the upright block and of the post are 5 cm each.
    apart = abs(solution.world_at(-1).pose("block")[:2]).max() - 0.1
    assert apart > -2e-3 if collisions else apart < -0.02
    assert any("overlap" in doubt for doubt in solution.doubts) != collisions


def test_the_rows_are_stated_once_and_only_where_they_are_needed():
    komo = pw.KOMO(table(), 1, 3, 1)
    komo.add(ON, times=[1])
    komo.add(logic.Upright("block"))
    assert names(komo) == [NO_OVERLAP]
    # What keeps all pairs apart replaces them, before and after.
    komo.add_objective(None, FS.accumulatedCollisions, type=OT.ineq)
    komo.add(ON, times=[1])
    assert names(komo) == []
    komo = pw.KOMO(table(), 1, 3, 1)
    komo.add(ON, times=[1])
    komo.avoid_collisions()
    komo.add(ON)
    assert names(komo) == []
    # Presets and robots have none.
    arm = pw.load("panda")
    komo = pw.KOMO(arm, 1, 3, 1)
    komo.add(logic.Always(logic.Touching("panda_hand", "panda_link0")))
    assert names(komo) == []
