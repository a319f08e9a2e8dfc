"""Kernels and waits in each iteration of batches on an NVIDIA H100, without one.

    pip install --no-deps jax-cuda12-plugin jax-cuda12-pjrt    (of JAX's version)
    python benchmarks/kernels.py [--only targets paths placements meshes] [--json]

Programs are compiled for the GPU and not run. Of the loop over iterations are counted

- kernels: what the GPU starts, with those of loops of known length as often as they
  run, and of loops of unknown length once;
- calls: of libraries, which no CUDA graph of a whole loop may hold;
- waits: loops and branches of which the host decides how they go on.

The problems are those of `benchmarks/gpu.py`, and a table of 8 objects.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import wall
from jax.experimental import topologies
from staging import batch_problems
from staging.device_target import H100
from staging.table_scenes import SCENES

import posewise as pw
from posewise.compilation.precision import full_matmul_precision
from posewise.solvers import multistart

COUNTS = dict(targets=4096, paths=1024, placements=64, meshes=1024)
"""Number of lanes of each batch."""
FREE = set(
    "bitcast tuple get-tuple-element parameter constant after-all opt-barrier"
    " partition-id replica-id".split()
)
"""Operations that start no kernel."""


class Counts(NamedTuple):
    kernels: int
    calls: int
    waits: int


def placements(count: int) -> Callable[[], Any]:
    problem = SCENES["table of 8, predicates"](0)
    return lambda: pw.solve_placement(
        problem.C, problem.constraints, problem.names, starts=count, progress=False
    )


PROBLEMS: dict[str, Callable[[int], Callable[[], Any]]] = {
    "targets": batch_problems.targets,
    "paths": batch_problems.paths,
    "placements": placements,
    "meshes": batch_problems.meshes,
}


class _Compiled(Exception):
    """The program of a batch, in place of its first call."""


def compiled_text(name: str, sharding: Any) -> str:
    """Return the optimised program of a batch, as text of XLA's HLO."""
    program = multistart._advance_lanes_compiled

    def shape(a: Any) -> jax.ShapeDtypeStruct:
        array = a if hasattr(a, "dtype") else jnp.asarray(a)
        return jax.ShapeDtypeStruct(np.shape(array), array.dtype, sharding=sharding)

    def compile_only(*args: Any) -> None:
        static, arrays = args[:4], args[4:]

        def run(*arrays: Any) -> Any:
            return full_matmul_precision(program.fn)(*static, *arrays)

        lowered = jax.jit(run).lower(*jax.tree.map(shape, arrays))
        raise _Compiled(lowered.compile().as_text())

    multistart._advance_lanes_compiled = compile_only
    try:
        PROBLEMS[name](COUNTS[name])()
    except _Compiled as found:
        return str(found)
    finally:
        multistart._advance_lanes_compiled = program
    raise RuntimeError(f"{name}: no batch was solved.")


def computations_of(text: str) -> dict[str, list[str]]:
    """Return the instructions of each computation; that of the program is "ENTRY"."""
    every: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if head := re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{$", line):
            lines = every["ENTRY" if head[1] else head[2]] = []
        elif re.match(r"\s+(ROOT )?%?[\w.\-]+ = ", line):
            lines.append(line)
    return every


def operation(line: str) -> str:
    """Return the name of an instruction's operation, which follows its type."""
    kind, depth = line.split(" = ", 1)[1], 0
    ends = []
    for k, letter in enumerate(kind):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == " " and depth == 0:
            ends.append(k)
    return kind[ends[0] + 1 :].split("(", 1)[0]


def count(every: dict[str, list[str]], name: str) -> Counts:
    """Return the counts of one run of a computation."""
    kernels = calls = waits = 0
    for line in every[name]:
        op = operation(line)
        if op in FREE:
            continue
        if op not in ("while", "call", "conditional"):
            kernels += 1
            calls += op == "custom-call"
            continue
        trips = re.search(r'known_trip_count[^}]*?"n":"(\d+)"', line)
        times = int(trips[1]) if trips else 1
        waits += op == "conditional" or (op == "while" and not trips)
        for inner in re.findall(r"(?:body|to_apply)=%?([\w.\-]+)", line):
            part = count(every, inner)
            kernels += times * part.kernels
            calls += times * part.calls
            waits += times * part.waits
    return Counts(kernels, calls, waits)


def loops(every: dict[str, list[str]]) -> Iterator[str]:
    """Yield the bodies of the program's loops."""
    for line in every["ENTRY"]:
        if operation(line) == "while":
            yield re.search(r"body=%?([\w.\-]+)", line)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", choices=PROBLEMS, default=[*PROBLEMS])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    pw.cache_programs(False)
    jax.devices()
    # The form for accelerators; arrays stay on the CPU, since nothing is run.
    jax.default_backend = lambda: "gpu"
    target = topologies.get_topology_desc(
        platform="cuda", target_config=H100, topology="1x1x1"
    )
    mesh = topologies.make_mesh(target, (1,), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    wall.ends = lambda C: (SimpleNamespace(q=C.q), None)
    results = {}
    for name in args.only:
        every = computations_of(compiled_text(name, sharding))
        results[name] = max(count(every, body) for body in loops(every))
    if args.json:
        print(json.dumps({name: r._asdict() for name, r in results.items()}))
        return
    print("| problem | lanes | kernels | calls | waits |\n|" + " --- |" * 5)
    for name, r in results.items():
        print(f"| {name} | {COUNTS[name]} | {r.kernels} | {r.calls} | {r.waits} |")


if __name__ == "__main__":
    main()
