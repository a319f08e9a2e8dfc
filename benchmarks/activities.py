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
OVERLAP = 1e-3
"""Largest penetration depth of objects that count as only touching [m]."""
CLOTH = frozenset("draped folded overlaid unfolded".split())
"""Predicates that have no classes; definitions that use them are counted apart."""
PLACES = frozenset("attached inside nextto onfloor ontop touching under".split())
"""Predicates that objects are moved for."""


class Run(NamedTuple):
    """Result of one activity."""

    name: str
    things: int
    goal_predicates: frozenset[str]
    predicates: frozenset[str]
    init: bool
    goal: bool
    overlaps: tuple[str, ...]
    """Pairs of objects that overlap, in either world."""
    seconds: float
    why: str

    @property
    def solved(self) -> bool:
        """Whether both states were reached without overlaps."""
        return self.init and self.goal and not self.overlaps


def run(problem: bddl.Problem, seed: int) -> Run:
    """Solve :init and the goal in a generated scene."""
    atoms = {str(a[0]) for c in problem.goal for a in bddl.grammar.atoms_in(c)}
    begin = time.perf_counter()
    init = bddl.solve_init(bddl.make_scene(problem, seed), problem, seed=seed)
    goal = bddl.solve_goal(init.config, problem, seed=seed)
    seconds = time.perf_counter() - begin
    task = bddl.bind(problem, init.config)
    failed = (*init.report.unsatisfied, *goal.report.unsatisfied)
    return Run(
        problem.name,
        len(problem.instances),
        frozenset(atoms),
        problem.predicates,
        task.init.holds(init.config),
        task.goal.holds(goal.config),
        tuple(dict.fromkeys([*overlaps(init.config), *overlaps(goal.config)])),
        seconds,
        "; ".join(f"{f.condition}: {f.reason}" for f in failed),
    )


def overlaps(C: pw.Config) -> list[str]:
    """Return the pairs of objects that overlap, with the depth."""
    solids = {n: find_object(C, n) for n in C.objects if C.annotations.states[n].real}
    boxes = {name: bounding_box(solid) for name, solid in solids.items()}
    overlapping = []
    for a, b in itertools.combinations(solids, 2):
        (low_a, high_a), (low_b, high_b) = boxes[a], boxes[b]
        if (np.minimum(high_a, high_b) - np.maximum(low_a, low_b) > OVERLAP).all():
            placed = [
                [(C.frames[i], *s.pose(i)) for i in s.collision_frames]
                for s in (solids[a], solids[b])
            ]
            gap = min_distance(*placed)
            if gap is not None and gap.distance == 0:
                deep = depth(solids[a], solids[b])
                if deep > OVERLAP:
                    overlapping.append(f"{a} and {b} by {1e3 * deep:.1f} mm")
    return overlapping


def depth(a: FrameGroup, b: FrameGroup) -> float:
    """Return the penetration depth of two objects in contact [m]."""
    pairs = list(itertools.product(a.collision_frames, b.collision_frames))
    contacts = nearest_contacts(a.C.tree, pairs, OVERLAP)
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
    if not sources:
        parser.error(f"{folder} has no definitions NAME/problem0.bddl")
    problems = [load(source) for source in sources[:: options.every]]
    print(f"{len(problems)} definitions read", flush=True)
    rigid = [p for p in problems if not p.predicates & CLOTH]
    runs, late = [], 0
    for problem in rigid:
        signal.alarm(options.limit)
        try:
            runs.append(run(problem, options.seed))
        except TimeoutError:
            late += 1
            print(f"{problem.name}: not within {options.limit} s", flush=True)
            continue
        except pw.ConfigError as error:
            print(f"{problem.name}: {error}"[:200], flush=True)
            continue
        finally:
            signal.alarm(0)
        r = runs[-1]
        done = f"init {'yes' if r.init else 'no '} goal {'yes' if r.goal else 'no '}"
        why = "; ".join(filter(None, [*r.overlaps, r.why]))
        print(f"{r.name:45} {r.things:3} {done} {r.seconds:6.1f} s {why}", flush=True)
    report(runs, problems, len(rigid), late)


def load(source: Path | str) -> bddl.Problem:
    """Return a problem; remarks about its text are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bddl.load(source)


def report(
    runs: list[Run], problems: list[bddl.Problem], rigid: int, late: int
) -> None:
    """Print a summary, and a table by predicate."""
    places = [r for r in runs if r.goal_predicates & PLACES]
    seconds = np.array([r.seconds for r in runs])
    print(
        "| definitions | without cloth | evaluated | init holds | goal holds |"
        " goals about places | of these hold | with overlaps | solved | not in time |"
        " median s | slowest s |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    print(
        f"| {len(problems)} | {rigid} | {len(runs)} | {sum(r.init for r in runs)} |"
        f" {sum(r.goal for r in runs)} | {len(places)} |"
        f" {sum(r.goal for r in places)} | {sum(bool(r.overlaps) for r in runs)} |"
        f" {sum(r.solved for r in runs)} | {late} |"
        f" {np.median(seconds):.1f} | {seconds.max():.1f} |"
    )
    print("\n| predicate | definitions | without cloth | solved |\n|---|---|---|---|")
    for name in sorted({name for p in problems for name in p.predicates}):
        used = [p for p in problems if name in p.predicates]
        without = sum(not p.predicates & CLOTH for p in used)
        solved = sum(r.solved for r in runs if name in r.predicates)
        print(f"| `{name}` | {len(used)} | {without} | {solved} |")


if __name__ == "__main__":
    main()
