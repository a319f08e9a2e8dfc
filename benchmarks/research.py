"""Many distances of a robot for research code, beside coal, pinocchio and MuJoCo MJX.

    python benchmarks/research.py [--batch 4096] [--only hulls ...] [--reverse]
        [--single]

An arm of six joints with one body a link, and three obstacles: 18 pairs of bodies at
each configuration. Kinds of bodies are capsules, boxes, hulls of 32 vertices and
cylinders; "ur5" is the UR5 of `example-robot-data` with its meshes as hulls, and three
boxes; "g1" is the humanoid G1 with itself, all 402 pairs of its links, at an eighth of
the configurations. Printed are

- how many distances are negative, the seconds of the first call of `pw.distances` in a
  new process without a cache of programs, and in a second one, which reads the program;
- pairs a second of distances (`value`) and of these with Jacobians (`+J`) from an array
  of configurations, on all cores;
- `coal`: of distances with witness points, where shapes and poses are made beforehand,
  in one thread, as Python leaves it; `pinocchio`: its `computeDistances`, which calls
  coal from C++, once for each configuration; `MJX`: its contacts, without derivatives,
  where it knows the pairs. What is not installed is left out. `ratio` is `+J` by coal.

`--reverse` adds `jit(vmap(jacrev))`, which compiles another program, and its time by
that of the values. `--single` computes in float32; coal and pinocchio do so in float64.
"""

import argparse
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging import real_robots, service_robots  # noqa: E402
from staging.coal_peer import fastest_seconds  # noqa: E402
from staging.distance_peers import (  # noqa: E402
    LINK_OFFSET,
    Scene,
    coal_rates,
    mjx_rate,
    pinocchio_rate,
)

import posewise as pw  # noqa: E402

NUM_LINKS, NUM_OBSTACLES = 6, 3
KINDS = ("capsules", "boxes", "hulls", "cylinders", "ur5", "g1")
SHARE_OF_G1 = 8
"""Part of the configurations at which the G1 is measured, for its many pairs."""
PEER_CONFIGURATIONS = 200
"""Number of configurations at which coal and pinocchio measure all pairs (count)."""


def body_shape(kind: str, rng: np.random.Generator):
    """Return a random shape of a kind, of the size of a link."""
    match kind:
        case "capsules":
            return pw.Capsule(rng.uniform(0.1, 0.3), rng.uniform(0.04, 0.08))
        case "boxes":
            return pw.Box(rng.uniform(0.08, 0.3, 3))
        case "cylinders":
            return pw.Cylinder(rng.uniform(0.1, 0.3), rng.uniform(0.04, 0.08))
    points = rng.normal(size=(32, 3))
    return pw.Convex(0.12 * points / np.linalg.norm(points, axis=1, keepdims=True))


def make_scene(kind: str, seed: int = 0) -> Scene:
    """Return an arm with obstacles, or a humanoid alone."""
    rng, urdf = np.random.default_rng(seed), None
    if kind == "g1":
        robot = real_robots.ROBOTS["g1"]
        C = real_robots.load(robot)
        return Scene(C, C.pairs.names(), robot.path)
    if kind == "ur5":
        C, urdf = service_robots.ur5().world, real_robots.ROBOTS["ur5"].path
        links = [f.name for f in C.frames if f.geometries and f.name != "base_link"]
    else:
        C, parent, links = pw.Config(), None, []
        for i in range(NUM_LINKS):
            links.append(f"link{i}")
            axis = ("hingeZ", "hingeY", "hingeX")[i % 3]
            C.add_frame(
                links[-1],
                parent,
                position=LINK_OFFSET,
                joint=axis,
                shape=body_shape(kind, rng),
            )
            parent = links[-1]
    obstacles = [f"obstacle{k}" for k in range(NUM_OBSTACLES)]
    for k, name in enumerate(obstacles):
        angle = 2 * np.pi * k / NUM_OBSTACLES
        position = [0.7 * np.cos(angle), 0.7 * np.sin(angle), rng.uniform(0.3, 0.9)]
        shape = body_shape("boxes" if kind == "ur5" else kind, rng)
        C.add_frame(name, position=position, shape=shape)
    pairs = [(a, b) for a in links[-NUM_LINKS:] for b in obstacles]
    return Scene(C, pairs, urdf)


def configurations(kind: str, C: pw.Config, batch: int) -> np.ndarray:
    """Return random configurations of the default precision."""
    rng = np.random.default_rng(1)
    if kind == "g1":
        Q = real_robots.random_states(C, rng, -(-batch // SHARE_OF_G1))
    else:
        Q = rng.uniform(-2, 2, (batch, C.nq))
    return Q.astype(jax.numpy.result_type(float))


def first_seconds(run: Callable[[], object]) -> float:
    """Return the time of a call [s]."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def first_and_cached(kind: str, batch: int, is_single: bool) -> list[float]:
    """Return the time of the first call in two new processes with one cache [s]."""
    words = [sys.executable, __file__, "--first", kind, "--batch", str(batch)]
    words += ["--single"] if is_single else []
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"POSEWISE_CACHE": folder}
        pipes = dict(check=True, stdout=subprocess.PIPE, env=environment)
        runs = [subprocess.run(words, **pipes) for _ in range(2)]
    return [float(run.stdout) for run in runs]


def print_row(kind: str, batch: int, has_reverse: bool, is_single: bool) -> None:
    """Measure one kind and print its line."""
    seconds = first_and_cached(kind, batch, is_single)
    scene = make_scene(kind)
    Q = configurations(kind, scene.world, batch)
    measure = pw.distances(scene.world, scene.pairs)
    count, few = len(Q) * len(scene.pairs), PEER_CONFIGURATIONS

    def value():
        return jax.block_until_ready(measure(Q))

    def with_jacobian():
        return jax.block_until_ready(measure.value_and_jacobian(Q))

    distances = np.asarray(value())
    rates = [count / fastest_seconds(f, 3.0) for f in (value, with_jacobian)]
    line = f"{kind:10} {100 * np.mean(distances < 0):3.0f} %  first {seconds[0]:5.1f} s"
    line += f"  cached {seconds[1]:4.2f} s  value {rates[0]:9,.0f}  +J {rates[1]:9,.0f}"
    if importlib.util.find_spec("coal"):
        peer, calls = coal_rates(scene, Q[:few], distances[:few])
        # Of frames with several bodies all pairs of bodies are measured.
        line += f"  coal {peer:9,.0f} ({calls:9,.0f} calls)"
        line += f"  ratio {rates[1] / peer:4.2f}"
    if importlib.util.find_spec("pinocchio"):
        peer = pinocchio_rate(scene, Q[:few], distances[:few])
        line += f"  pinocchio {peer:9,.0f}"
    if not scene.urdf and importlib.util.find_spec("mujoco.mjx"):
        peer = mjx_rate(scene, Q)
        line += f"  MJX {peer:9,.0f}" if peer else "  MJX refuses"
    print(line, flush=True)
    if has_reverse:
        reverse = jax.jit(jax.vmap(jax.jacrev(measure)))
        first = first_seconds(lambda: jax.block_until_ready(reverse(Q)))
        rate = count / fastest_seconds(lambda: jax.block_until_ready(reverse(Q)), 3.0)
        line = f"{'':10} jit(vmap(jacrev)) first {first:5.1f} s  {rate:9,.0f}"
        print(f"{line}  {rates[0] / rate:.1f} times the values", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--reverse", action="store_true")
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--first", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", not options.single)
    if options.first:
        scene = make_scene(options.first)
        Q = configurations(options.first, scene.world, options.batch)
        measure = pw.distances(scene.world, scene.pairs)
        print(first_seconds(lambda: jax.block_until_ready(measure(Q))))
        return
    print(
        f"Python {platform.python_version()}, jax {jax.__version__},"
        f" {os.cpu_count()} cores, {options.batch} configurations,"
        f" {'float32' if options.single else 'float64'}"
    )
    for kind in options.only:
        print_row(kind, options.batch, options.reverse, options.single)


if __name__ == "__main__":
    main()
