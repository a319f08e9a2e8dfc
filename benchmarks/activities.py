"""BEHAVIOR's activities: how many reach their start and their goal in generated scenes.

    python benchmarks/activities.py [--definitions FOLDER] [--seed 0] [--limit 120]

For each definition a scene is generated (`logic.bddl.make_scene`), placed so that :init
holds (`solve_init`), and then so that the goal holds (`solve_goal`); both are judged by
the exact evaluation. In addition no two objects may overlap, by exact signed distances.
FOLDER contains definitions in the layout of the package bddl, NAME/problem0.bddl (1.0.1
has the 100 of BEHAVIOR-100); by default those of the installed package are used.
"""

import argparse
import itertools
import signal
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import posewise as pw
from posewise.logic import bddl
from posewise.logic.geometry.frame_groups import FrameGroup, bounding_box, find_object
from posewise.robots.contact.gjk_numpy import min_distance
from posewise.robots.contact.proximity import nearest_contacts

jax.config.update("jax_enable_x64", True)
ROUNDING = 1e-6
"""Largest penetration depth of objects that count as only touching [m]."""
STATES = ("burnt cooked dusty frozen open sliced soaked stained toggled_on").split()


class Run(NamedTuple):
    """Result of one activity."""

    name: str
    things: int
    geometric: bool
    """Whether the goal has any geometric literal."""
    init: bool
    goal: bool
    overlaps: int
    seconds: float
    why: str


def run(source: Path | str, seed: int) -> Run:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = bddl.load(source)
    atoms = {str(a[0]) for c in problem.goal for a in bddl.grammar.atoms_in(c)}
    begin = time.perf_counter()
    init = bddl.solve_init(bddl.make_scene(problem, seed), problem, seed=seed)
    goal = bddl.solve_goal(init.config, problem, seed=seed)
    seconds = time.perf_counter() - begin
    failed = (*init.report.unsatisfied, *goal.report.unsatisfied)
    return Run(
        problem.name,
        len(problem.instances),
        bool(atoms - set(STATES)),
        init.holds,
        goal.holds,
        overlaps(init.config) + overlaps(goal.config),
        seconds,
        "; ".join(f"{f.condition}: {f.reason}" for f in failed),
    )


def overlaps(C: pw.Config) -> int:
    """Pairs of objects that overlap by more than what rounding leaves."""
    solids = {name: find_object(C, name) for name in C.objects}
    boxes = {name: bounding_box(solid) for name, solid in solids.items()}
    found = 0
    for a, b in itertools.combinations(solids, 2):
        (low_a, high_a), (low_b, high_b) = boxes[a], boxes[b]
        if (np.minimum(high_a, high_b) - np.maximum(low_a, low_b) > ROUNDING).all():
            placed = [
                [(C.frames[i], *s.pose(i)) for i in s.collision_frames]
                for s in (solids[a], solids[b])
            ]
            gap = min_distance(*placed)
            meets = gap is not None and gap.distance == 0
            found += meets and depth(solids[a], solids[b]) > ROUNDING
    return found


def depth(a: FrameGroup, b: FrameGroup) -> float:
    """Return the penetration depth of two objects in contact [m]."""
    pairs = list(itertools.product(a.collision_frames, b.collision_frames))
    contacts = nearest_contacts(a.C.tree, pairs, ROUNDING)
    return max((-float(c.distance) for c in contacts.values()), default=0.0)


def stop(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--definitions", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=120, help="seconds for each")
    parser.add_argument("--every", type=int, default=1, help="take every N-th only")
    options = parser.parse_args()
    folder = options.definitions
    sources = sorted(folder.glob("*/problem0.bddl")) if folder else bddl.activities()
    signal.signal(signal.SIGALRM, stop)
    runs, late = [], 0
    chosen = sources[:: options.every]
    for source in chosen:
        signal.alarm(options.limit)
        try:
            runs.append(run(source, options.seed))
        except TimeoutError:
            late += 1
            print(f"{source}: not within {options.limit} s", flush=True)
            continue
        except pw.ConfigError as error:
            print(f"{source}: {error}"[:200], flush=True)
            continue
        finally:
            signal.alarm(0)
        r = runs[-1]
        done = f"init {'yes' if r.init else 'no '} goal {'yes' if r.goal else 'no '}"
        print(f"{r.name:45} {r.things:3} {done} {r.seconds:6.1f} s {r.why}", flush=True)
    report(runs, len(chosen), late)


def report(runs: list[Run], definitions: int, late: int) -> None:
    places = [r for r in runs if r.geometric]
    seconds = np.array([r.seconds for r in runs])
    print(
        "| definitions | evaluated | init holds | goal holds | goals about places |"
        " of these hold | overlaps | not in time | median s | slowest s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    print(
        f"| {definitions} | {len(runs)} | {sum(r.init for r in runs)} |"
        f" {sum(r.goal for r in runs)} | {len(places)} |"
        f" {sum(r.goal for r in places)} | {sum(r.overlaps for r in runs)} | {late} |"
        f" {np.median(seconds):.1f} | {seconds.max():.1f} |"
    )


if __name__ == "__main__":
    main()
