"""Runs the cells in `cells.json` of its folder, and writes a line for each."""

import ast
import contextlib
import io
import json
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, ".")

from tutorial_values import plain_values  # noqa: E402

SEED = 7
"""Seed of both modules of random numbers before each cell."""


def run_cell(source: str, namespace: dict) -> tuple[str, object]:
    """Run code, and return what it prints and its last expression."""
    tree = ast.parse(source)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), namespace)
        result = eval(compile(last, "cell", "eval"), namespace) if last else None
    return printed.getvalue(), result


def stop(number: int, frame: object) -> None:
    raise TimeoutError("takes longer than its time limit")


def main() -> None:
    seconds = float(sys.argv[1])
    signal.signal(signal.SIGALRM, stop)
    warnings.simplefilter("ignore")
    time.sleep = lambda seconds: None  # type: ignore[assignment]
    import jax

    jax.config.update("jax_enable_x64", True)
    namespace = {"__name__": "__main__"}
    sources = json.loads(Path("cells.json").read_text(encoding="utf-8"))
    with Path("runs.jsonl").open("w", encoding="utf-8") as log:
        for index, source in enumerate(sources):
            print(json.dumps({"begin": index}), file=log, flush=True)
            np.random.seed(SEED)
            random.seed(SEED)
            before = dict(namespace)
            entry: dict = {"error": "", "values": {}}
            began = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                printed, result = run_cell(source, namespace)
                signal.setitimer(signal.ITIMER_REAL, 0)
                entry["values"] = plain_values(printed, result, before, namespace)
            except (Exception, SystemExit) as error:
                text = " ".join(str(error).split())
                entry["error"] = f"{type(error).__name__}: {text}"[:300]
            signal.setitimer(signal.ITIMER_REAL, 0)
            entry["seconds"] = time.perf_counter() - began
            print(json.dumps(entry), file=log, flush=True)


if __name__ == "__main__":
    main()
