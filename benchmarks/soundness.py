"""Rows of predicates against their exact checks, in random scenes.

    python benchmarks/soundness.py [--scenes 2000] [--only InFoVOfAgent ...]

Scenes are those of tests/helpers/relaxed_scenes.py, with all objects. Prints for each
predicate and for its negation (~): scenes, how many of them it is true of, verdicts
that are unsound (a violation of at most 0 where it is false; there must be none), and
of the true scenes the shares with a violation of at most 0, and of at most the bound
that was asked for, 2 mm.
"""

import argparse
import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

import numpy as np  # noqa: E402
from helpers import relaxed_scenes as scenes  # noqa: E402

from posewise import logic  # noqa: E402

NEAR = ("InContactWith", "OnTopOf", "Under", "InsideOf", "NextTo")


def cases() -> list[tuple]:
    """Return tuples of name, predicate, scene sampler, and its objects."""
    found = []

    def add(kind, arguments, draw, object_names, meanings, **options):
        for meaning in meanings:
            made = getattr(logic, kind)(*arguments, semantics=meaning, **options)
            name = kind if meaning == "posewise" else f"{kind}, {meaning}"
            found.append((name, made, draw, object_names))

    every = ("posewise", "igibson", "document")
    for kind in NEAR:
        meanings = every[:1] if kind == "InContactWith" else every
        add(kind, ("a", "b"), scenes.around, scenes.THINGS, meanings)
    add(
        "InReachOfAgent", ("a", "b"), scenes.around, scenes.THINGS, every[:1], reach=0.3
    )
    add("OnFloor", ("a", "kitchen_0"), scenes.anywhere, scenes.SHAPES, every)
    add("InRoom", ("a", "kitchen"), scenes.anywhere, scenes.SHAPES, every[:2])
    add("InSameRoomAsAgent", ("a", "robot"), scenes.anywhere, scenes.SHAPES, every[:2])
    add("InFoVOfAgent", ("a", "robot"), scenes.ahead, scenes.SHAPES, every[:1])
    add("InHandOfAgent", ("a", "robot"), scenes.between, scenes.SHAPES, every[:1])
    return found


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
    for name, predicate, draw, object_names in cases():
        if options.only and name not in options.only:
            continue
        count = -(-options.scenes // len(object_names))
        for truth in (True, False):
            said, true = [], []
            for thing in object_names:
                judged = scenes.judged(thing, draw, predicate, count)
                true.append(judged == truth)
                said.append(scenes.violations(thing, draw, predicate, count, truth))
            y, t = np.concatenate(said), np.concatenate(true)
            title = name if truth else f"~{name}"
            unsound = int(((y <= 0) & ~t).sum())
            told, bounded = (100 * (y[t] <= b).mean() for b in (0, predicate.bound))
            print(
                f"| {title} | {len(t)} | {t.sum()} | {unsound} | {told:.0f} % |"
                f" {bounded:.0f} % |",
                flush=True,
            )


if __name__ == "__main__":
    main()
