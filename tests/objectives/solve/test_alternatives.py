"""Alternatives of a statement: one program, shared starts, and an end of the search."""

from dataclasses import replace

import numpy as np
import pytest

import posewise as pw
from posewise import FS, logic
from posewise.objectives.problem.spec import compile_chain
from posewise.objectives.solve.alternative_search import (
    SEARCH_EFFORT,
    solve_alternatives,
)
from posewise.objectives.solve.alternatives import resolve_alternatives
from posewise.objectives.solve.settings import make_settings


def kitchen() -> pw.Config:
    """A steak in a pan that moves freely, a stove and a tap."""
    C = pw.Config()
    plate = [(pw.Box([0.5, 0.5, 0.02]), None)]
    hot = {"heatSource": {"temperature": 500, "heating_rate": 0.1}}
    C.add_object("stove", plate, abilities=hot)
    C.add_object(
        "tap", plate, pose=[1, 0, 0.5, 1, 0, 0, 0], abilities={"waterSource": {}}
    )
    C.add_frame("pan", joint="trans3", position=[1.0, 0.0, 1.0])
    steak = [(pw.Box([0.1, 0.1, 0.02]), None)]
    abilities = {"cookable": {}, "soakable": {"w_soaked": 2}, "sliceable": {}}
    C.add_object("steak", steak, parent="pan", abilities=abilities)
    C.add_object("knife", steak, pose=[0, 1, 0, 1, 0, 0, 0], abilities={"slicer": {}})
    return C


C = kitchen()


def problem(statement: logic.Predicate, T: int = 12, tau: float = 0.5) -> pw.KOMO:
    komo = pw.KOMO(C, 1, T, 1, T * tau)
    komo.add_control_objective(order=1, scale=0.1)
    komo.add(statement)
    return komo


STATEMENTS = [
    (logic.Cooked("steak"), 12, 0.5),
    (logic.Cooked("steak"), 29, 0.3),
    (logic.Soaked("steak"), 24, 0.2),
    (logic.Sliced("steak"), 9, 0.5),
    (logic.Cooked("steak") & logic.Sliced("steak"), 17, 0.5),
    (logic.Cooked("steak") | logic.Sliced("steak"), 12, 0.5),
]


@pytest.mark.parametrize("statement, T, tau", STATEMENTS)
def test_alternatives_share_a_program(statement, T, tau):
    """Though windows of slices and sources have different numbers of rows."""
    specs = resolve_alternatives(problem(statement, T, tau).spec)
    assert 1 < len(specs) <= 8
    compiled = [compile_chain(spec) for spec in specs]
    assert len({one.chain for one in compiled}) == 1
    alone = compile_chain(replace(specs[0], room=()))
    for spec, one in zip(specs, compiled, strict=True):
        rows = sum(len(o.slices) for o in spec.objectives)
        assert sum(len(part.rows) for parts in one.locations for part in parts) == rows
        # Rows that are left over count nothing.
        used = [np.zeros(group.capacity, bool) for group in one.chain.groups]
        for parts in one.locations:
            for part in parts:
                used[part.batch][part.rows] = True
        for mask, batch in zip(used, one.data.batches, strict=True):
            assert not np.asarray(batch.scale)[~mask].any()
    assert len(alone.chain.groups) <= len(compiled[0].chain.groups)


def solved() -> tuple[pw.KOMO, pw.Solution]:
    """A problem with eight alternatives, and a solution of it."""
    komo = problem(logic.Cooked("steak"))
    komo.add_objective([1], FS.position, "steak", target=[1, 0, 1], scale=10)
    return komo, komo.solve(progress=False)


def tried(komo, settings, ends, retry=False) -> list[tuple[int, bool, tuple[str, ...]]]:
    """Starts, retries and names of the alternatives that a search solves.

    `ends(k, spec)` is the solution of the k-th of them.
    """
    calls = []

    def solve(spec, share, again):
        calls.append((share.starts, again, spec.alternatives))
        return [ends(len(calls) - 1, spec)]

    solve_alternatives(komo.spec, settings, solve, retry)
    return calls


@pytest.mark.long
def test_the_search_takes_the_time_of_a_few_solves():
    komo, good = solved()
    assert good.feasible and len(resolve_alternatives(komo.spec)) == 8
    bad = replace(good, tolerance=-1.0)
    assert not bad.feasible
    settings = make_settings(komo.spec, 1e-3, False, {}, starts=20)
    # No path at all: each gets a share of the starts, two of them all starts.
    calls = tried(komo, settings, lambda k, spec: bad, retry=True)
    assert [c[:2] for c in calls] == [(3, False)] * 8 + [(20, True)] * 2
    # The first one is feasible, and no other one is better.
    calls = tried(komo, settings, lambda k, spec: good)
    assert len(calls) == 1 + SEARCH_EFFORT.vain_tries
