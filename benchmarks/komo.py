"""KOMO problems of the reference data, and four more, compared with rai in one run.

    python benchmarks/komo.py [--only ik_gaze ...] [--oracle ../shared/oracle/komo]

Each problem is solved from the reference data's start points, warm, one start at a
time; `robotic` (when installed) solves the same problem from the same points with both
of its option sets, alternating with posewise. Success: every eq and ineq row is within
1e-3. Prints median milliseconds, success rate, median cost of successes, seconds of the
first solve in a new process (with compilation, and with a filled cache), success rate
with `starts=8` over some seeds, and the median of rai's faster option set divided by
posewise's median (`ratio`).

    python benchmarks/komo.py --batches

Solves batches instead: random starts of one problem at once, compared with rai's mean
over some of them, one after the other. `ratio` compares throughputs, and throughputs of
successes, with rai's faster option set.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging.statements import OF_RAI, PROBLEMS, for_rai, initial, own_starts  # noqa: E402

import posewise as pw  # noqa: E402
from posewise.objectives.problem.spec import initial_paths  # noqa: E402


def first_solve(name: str, folder: Path, oracle: Path) -> float:
    """Return the seconds of the first solve in a new process."""
    words = [sys.executable, __file__, "--first", name, "--cache", str(folder)]
    words += ["--oracle", str(oracle)]
    return float(subprocess.run(words, check=True, capture_output=True).stdout)


class Run(NamedTuple):
    """Solve of one start: the fastest of three rounds."""

    ms: float
    cost: float
    success: bool


def posewise_solver(name: str, komo: pw.KOMO) -> Callable[[list], Run]:
    """Return a function that solves from a start with posewise."""

    def run(x: list) -> Run:
        komo.initialize(initial(name, komo, x))
        rounds = []
        for _ in range(3):
            begin = time.perf_counter()
            solution = komo.solve()
            rounds.append(time.perf_counter() - begin)
        good = max(solution.eq, solution.ineq) < 1e-3
        return Run(1e3 * min(rounds), solution.sos, good)

    return run


def success_with_eight_starts(komo: pw.KOMO) -> float:
    """Return the success rate with eight starts."""
    solutions = [komo.solve(seed=k, starts=8, progress=False) for k in range(SEEDS)]
    return float(np.mean([max(s.eq, s.ineq) < 1e-3 for s in solutions]))


def rai_solver(problem: Callable, options: dict) -> Callable[[list], Run]:
    """Return a function that solves from a start with rai."""
    import robotic as ry

    def run(x: list) -> Run:
        rounds = []
        for _ in range(3):
            K, _ = problem()
            nlp = K.nlp()
            solver = ry.NLP_Solver()
            solver.setProblem(nlp)
            solver.setOptions(**options)
            # Initialization samples are noisy.
            ry.rnd_seed(0)
            solver.setInitialization(for_rai(x, nlp.getInitializationSample()))
            begin = time.perf_counter()
            out = solver.solve()
            rounds.append(time.perf_counter() - begin)
        phi, _ = nlp.evaluate(out.x)
        kinds = nlp.getTypes()
        worst = [
            abs(p) if kind == ry.OT.eq else max(p, 0.0)
            for p, kind in zip(phi, kinds, strict=True)
            if kind in (ry.OT.eq, ry.OT.ineq)
        ]
        good = max(worst, default=0.0) < 1e-3
        return Run(1e3 * min(rounds), float(out.sos), good)

    return run


def solve_alternately(
    solvers: dict[str, Callable[[list], Run]], starts: list
) -> dict[str, list[Run]]:
    """Return the runs of all solvers, the faster of two rounds for each start.

    Solvers alternate, so that a busy machine slows all of them down.
    """
    for run in solvers.values():
        run(starts[0])  # so that compilation is not measured
    first, second = (
        {who: [run(x) for x in starts] for who, run in solvers.items()}
        for _ in range(2)
    )
    return {who: list(map(min, first[who], second[who])) for who in solvers}


def line(name: str, who: str, runs: list[Run], more: str = "") -> str:
    """Return a line of the table."""
    good = [r.cost for r in runs if r.success]
    cost = f"{np.median(good):.4g}" if good else "-"
    ms = [r.ms for r in runs]
    return (
        f"{name:18s} {who:12s} {np.median(ms):9.2f} {max(ms):9.2f}"
        f" {100 * len(good) / len(runs):6.0f} % {cost:>10s}  {more}"
    )


def batch(name: str, komo: pw.KOMO, problem: Callable, count: int, opts: dict) -> str:
    """Return a line that compares a batch with some of its starts in rai."""
    komo.solve_all(starts=count, progress=False)
    rounds = []
    for _ in range(3):
        begin = time.perf_counter()
        solutions = komo.solve_all(starts=count, progress=False)
        rounds.append(1e3 * (time.perf_counter() - begin) / count)
    ms, good = min(rounds), np.mean([max(s.eq, s.ineq) < 1e-3 for s in solutions])
    text = f"{count:5d} {name:18s} posewise {ms:7.3f} ms {100 * good:4.0f} %"
    if not opts:
        return text
    paths = initial_paths(komo.spec, 0, count)[:: count // RAI_STARTS_PER_BATCH]
    ratios, successes = [], []
    for who, options in opts.items():
        runs = [rai_solver(problem, options)(path.ravel()) for path in paths]
        mean = np.mean([r.ms for r in runs])
        share = np.mean([r.success for r in runs])
        text += f"  rai {who} {mean:6.2f} ms {100 * share:4.0f} %"
        ratios.append(mean / ms)
        successes.append(good * mean / ms / max(share, 1e-9))
    return f"{text}  ratio {min(ratios):.1f}, of successes {min(successes):.1f}"


BATCHES = {"ik_gaze": 1000, "ik_shelf_coll": 1000, "planar_path32": 256, "path32": 256}
RAI_STARTS_PER_BATCH = 32
"""Number of starts of a batch that rai solves."""
SEEDS = 20
"""Number of solves with eight starts, each with another seed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(__file__).resolve().parents[1].parent / "shared/oracle/komo"
    parser.add_argument("--oracle", type=Path, default=default)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--batches", action="store_true")
    parser.add_argument("--first", help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not (args.oracle / "x0.json").is_file():
        sys.exit(f"No reference data in {args.oracle}: give --oracle FOLDER.")
    sys.path.insert(0, str(args.oracle))
    import scenes

    makers = {make.__name__: make for make in PROBLEMS}
    if args.first:
        pw.cache_programs(args.cache)
        komo = makers[args.first](scenes)
        begin = time.perf_counter()
        komo.solve()
        return print(time.perf_counter() - begin)

    with_rai = importlib.util.find_spec("robotic") is not None
    if with_rai:
        import problems

        def rai_problem(name: str) -> Callable:
            custom = OF_RAI.get(name)
            return partial(custom, problems) if custom else getattr(problems, name)

    if args.batches:
        for name, count in BATCHES.items():
            problem, opts = (
                (rai_problem(name), problems.OPTS) if with_rai else (None, {})
            )
            print(batch(name, makers[name](scenes), problem, count, opts), flush=True)
        return None
    starts = json.loads((args.oracle / "x0.json").read_text()) | own_starts(scenes)
    print(f"{'problem':18s} {'who':12s} median ms    max ms  success       cost")
    for name, make in makers.items():
        if args.only and name not in args.only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            first, again = (first_solve(name, folder, args.oracle) for _ in range(2))
        solvers = {"posewise": posewise_solver(name, make(scenes))}
        if with_rai:
            for who, options in problems.OPTS.items():
                solvers[f"rai {who}"] = rai_solver(rai_problem(name), options)
        runs = solve_alternately(solvers, starts[name])
        note = f"first {first:.1f} s, cached {again:.2f} s"
        note += f", starts=8 {100 * success_with_eight_starts(make(scenes)):.0f} %"
        median = {
            who: np.median([r.ms for r in all_runs]) for who, all_runs in runs.items()
        }
        mine = runs.pop("posewise")
        for who, all_runs in runs.items():
            print(line(name, who, all_runs))
        if runs:
            fastest = min(median[who] for who in runs)
            note += f"  ratio {fastest / median['posewise']:.2f}"
        print(line(name, "posewise", mine, note), flush=True)
    return None


if __name__ == "__main__":
    main()
