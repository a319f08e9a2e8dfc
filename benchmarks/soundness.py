"""Rows of predicates against their exact checks, in random scenes.

    python benchmarks/soundness.py [--scenes 2000] [--only InFoVOfAgent ...]

Scenes are those of tests/helpers/relaxed_scenes.py, with all objects. Prints for each
predicate and for its negation (~): scenes, how many of them it is true of, verdicts
that are unsound (a violation of at most 0 where it is false; there must be none), and
of the true scenes the shares with a violation of at most 0, and of at most the bound
that was asked for, 2 mm. A predicate whose exact check takes long, such as a simulation
or an image of 65 536 rays, is judged in a part of the scenes.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import jax

jax.config.update("jax_enable_x64", True)
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

import numpy as np  # noqa: E402
from helpers import relaxed_scenes as scenes  # noqa: E402

from posewise import logic  # noqa: E402
from posewise.logic.predicates.verdict_predicate import DEFAULT_BOUND  # noqa: E402

NEAR = ("InContactWith", "OnTopOf", "Under", "InsideOf", "NextTo")


class Case(NamedTuple):
    """A predicate, or its negation, in random scenes."""

    title: str
    predicate: logic.Predicate
    truth: bool
    """False for the negation."""
    places: list[tuple]
    """Names of worlds, each with a sampler of its states."""
    share: float
    """Share of the scenes in which it is judged."""


def cases() -> list[Case]:
    """Return all predicates with rows, and their scenes."""
    all_cases = []

    def add(title, predicate, places, share=1.0, truths=(True, False)):
        for truth in truths:
            name = title if truth else f"~{title}"
            all_cases.append(Case(name, predicate, truth, places, share))

    def add_all(kind, arguments, draw, things, meanings, **options):
        for meaning in meanings:
            predicate = getattr(logic, kind)(*arguments, semantics=meaning, **options)
            name = kind if meaning == "posewise" else f"{kind}, {meaning}"
            add(name, predicate, [(thing, draw) for thing in things])

    every = ("posewise", "igibson", "document")
    pair, robot = ("a", "b"), ("a", "robot")
    for kind in NEAR:
        meanings = every[:1] if kind == "InContactWith" else every
        add_all(kind, pair, scenes.around, scenes.THINGS, meanings)
    reach = {"reach": 0.3}
    add_all("InReachOfAgent", pair, scenes.around, scenes.THINGS, every[:1], **reach)
    flat = scenes.SHAPES
    add_all("OnFloor", ("a", "kitchen_0"), scenes.anywhere, flat, every)
    add_all("InRoom", ("a", "kitchen"), scenes.anywhere, flat, every[:2])
    add_all("InSameRoomAsAgent", robot, scenes.anywhere, flat, every[:2])
    add_all("InFoVOfAgent", robot, scenes.ahead, flat, every[:1])
    add_all("InHandOfAgent", robot, scenes.between, flat, every[:1])
    around = [(thing, scenes.around) for thing in scenes.THINGS]
    ahead = [(thing, scenes.ahead) for thing in flat]
    resting = [(f"rest {name}", scenes.resting(name)) for name in scenes.RESTING]
    add("Touching", logic.Touching("a", "b"), around)
    add("Visible", logic.Visible("a", "eyes"), ahead, 0.1, (True,))
    add("Occluding", logic.Occluding("a", "eyes"), ahead, 0.1, (False,))
    add("Stable", logic.Stable("a"), resting, truths=(True,))
    for kind in ("tall", "tray", "mug", "plank"):
        place = [(f"rest {kind}", scenes.resting(kind))]
        add(f"Stable, {kind}", logic.Stable("a"), place, 0.1, (True,))
    table, tower = resting[:1], resting[1:2]
    add("Supporting, table", logic.Supporting("table", "a"), table, 0.1, (True,))
    add("Supporting, tower", logic.Supporting("b", "a"), tower, 0.1, (True,))
    return all_cases


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=2000)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    print(
        "| predicate | scenes | true | unsound | told of the true | within the bound |"
    )
    print("|---|---|---|---|---|---|")
    for title, predicate, truth, places, share in cases():
        if options.only and title.lstrip("~") not in options.only:
            continue
        count = -(-int(options.scenes * share) // len(places))
        violations, true = [], []
        for thing, draw in places:
            judged = scenes.judged(thing, draw, predicate, count)
            true.append(judged == truth)
            violations.append(scenes.violations(thing, draw, predicate, count, truth))
        y, t = np.concatenate(violations), np.concatenate(true)
        unsound = int(((y <= 0) & ~t).sum())
        bound = getattr(predicate, "bound", DEFAULT_BOUND)
        recognized, bounded = (100 * (y[t] <= b).mean() for b in (0, bound))
        print(
            f"| {title} | {len(t)} | {t.sum()} | {unsound} | {recognized:.0f} % |"
            f" {bounded:.0f} % |",
            flush=True,
        )


if __name__ == "__main__":
    main()
