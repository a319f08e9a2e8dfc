"""Definitions of BEHAVIOR-1K: read, bound, and solved in scenes made for them."""

import warnings
from itertools import combinations, product

import numpy as np
import pytest

import posewise as pw
from posewise.logic import bddl
from posewise.logic.geometry.frame_groups import bounding_box, find_object
from posewise.robots.contact.proximity import nearest_contacts

CLOTH = frozenset("draped folded overlaid unfolded".split())
FEW = [
    "clean_a_watch",
    "cook_peppers",
    "changing_bulbs",
    "boil_water",
    "clean_a_glass_windshield",
    "fixing_broken_chair",
    "setting_the_fire",
    "slicing_vegetables",
    "cook_a_frozen_pie",
    "make_cookies",
    "dispose_of_medication",
    "halve_an_egg",
]
"""Together they have each predicate."""


def definition(name: str) -> bddl.Problem:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return bddl.load(name)


def names() -> tuple[str, ...]:
    """Activities of bddl 3; none where it is not installed."""
    try:
        known = bddl.activities()
    except ImportError:
        return ()
    return known if len(known) > 1000 else ()


def overlaps(C: pw.Config) -> list[tuple[str, str, float]]:
    """Pairs of objects that exist and overlap deeper than 1 mm."""
    solids = {n: find_object(C, n) for n in C.objects if C.annotations.states[n].real}
    boxes = {n: np.array(bounding_box(group)) for n, group in solids.items()}
    deep = []
    for a, b in combinations(solids, 2):
        low, high = np.stack([boxes[a], boxes[b]], 1)
        if (high.min(0) - low.max(0) > 1e-3).all():
            frames = product(solids[a].collision_frames, solids[b].collision_frames)
            contacts = nearest_contacts(C.tree, list(frames), 1e-6).values()
            depth = max((-float(c.distance) for c in contacts), default=0.0)
            if depth > 1e-3:
                deep.append((a, b, depth))
    return deep


def failures(name: str) -> list[str]:
    """Reasons why an activity is not solved."""
    p = definition(name)
    begin = bddl.solve_init(bddl.make_scene(p), p)
    end = bddl.solve_goal(begin.config, p)
    faults = [
        f"{name}: {r.condition}: {r.reason}"
        for r in (*begin.report.unsatisfied, *end.report.unsatisfied)
    ]
    task = bddl.bind(p, begin.config)
    if not task.init.holds(begin.config) or not task.goal.holds(end.config):
        faults = faults or [f"{name} does not hold"]
    pairs = [*overlaps(begin.config), *overlaps(end.config)]
    return [*faults, *(f"{name}: {a} and {b}: {d} m" for a, b, d in pairs)]


pytestmark = pytest.mark.skipif(not names(), reason="bddl 3 is not installed")


def test_the_few_have_all_predicates():
    used = frozenset().union(*(definition(name).predicates for name in FEW))
    missing = (
        frozenset().union(*(definition(n).predicates for n in names()[::7]))
        - CLOTH
        - used
    )
    assert missing <= {"under", "touching", "nextto"}


@pytest.mark.sampled
@pytest.mark.parametrize("name", FEW)
def test_solved(name):
    assert failures(name) == []


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["cook_peppers", "changing_bulbs"])
def test_bddls_own_evaluation_agrees(name):
    """Its formulas, over our predicates, of substances and rules' products too."""
    activity = pytest.importorskip("bddl.activity", reason="bddl cannot be imported")
    p = definition(name)
    begin = bddl.solve_init(bddl.make_scene(p), p)
    end = bddl.solve_goal(begin.config, p)
    conditions = activity.Conditions(name, 0, "omnigibson")
    truths = {}
    for world in (begin.config, end.config):
        scope, backend = bddl.bind(p, world).scope(world), bddl.backend(world)
        for kind in ("initial", "goal"):
            make = getattr(activity, f"get_{kind}_conditions")
            heads = make(conditions, backend, scope, generate_ground_options=False)
            truths.setdefault(kind, []).append(all(h.evaluate() for h in heads))
    assert truths["initial"][0] and truths["goal"] == [False, True]


@pytest.mark.slow
def test_most_are_solved():
    """Every tenth, and at least 95 % of those without cloth."""
    chosen = [n for n in names()[::10] if not definition(n).predicates & CLOTH]
    faults = {name: failures(name) for name in chosen}
    failed = [why for causes in faults.values() for why in causes[:1]]
    assert len(chosen) > 85 and len(failed) <= 0.05 * len(chosen), "\n".join(failed)
