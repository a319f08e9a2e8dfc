"""The command `posewise bddl`."""

import json

import pytest

from posewise.__main__ import main

CLEARING = """
(define (problem clearing) (:domain igibson)
    (:objects mug.n.04_1 - mug.n.04  table.n.02_1 - table.n.02
        floor.n.01_1 - floor.n.01)
    (:init (ontop mug.n.04_1 table.n.02_1) (inroom floor.n.01_1 kitchen)
        (inroom table.n.02_1 kitchen))
    (:goal (and (onfloor mug.n.04_1 floor.n.01_1)
        (not (ontop mug.n.04_1 table.n.02_1)))))
"""
STUCK = "(not (ontop mug.n.04_1 table.n.02_1))"


@pytest.mark.parametrize(
    ("text", "code", "init", "goal"),
    [
        (CLEARING, 0, True, True),
        (CLEARING.replace("(:goal (and", f"(:goal (and (not {STUCK})"), 1, True, False),
        (CLEARING.replace("(:init", f"(:init {STUCK}"), 1, False, None),
    ],
)
def test_activities(write_problem, capsys, text, code, init, goal):
    file = write_problem(text, "clearing.bddl")
    target = file.parent / "out.json"
    assert main(["bddl", str(file), "--json", str(target)]) == code
    output = capsys.readouterr().out
    assert f"init: {'' if init else 'not '}solved" in output
    data = json.loads(target.read_text())
    assert data["solved"] is (code == 0) and data["init"]["solved"] is init
    if goal is None:
        assert "goal" not in data and "the goal was not tried" in output
    else:
        assert data["goal"]["solved"] is goal
        verdicts = {x["literal"]: x["holds"] for x in data["goal"]["literals"]}
        if goal:
            assert set(verdicts.values()) == {True}
            assert "+ OnFloor('mug.n.04_1', 'floor.n.01_1')" in output
