"""Many distances of a robot for research code, beside coal called from Python.

    python benchmarks/research.py [--batch 4096] [--only hulls ...] [--reverse]

An arm of six joints with one body a link, and three obstacles: 18 pairs of bodies at
each configuration. Kinds of bodies are capsules, boxes, hulls of 32 vertices and
cylinders; "ur5" is the UR5 of `example-robot-data` with its meshes as hulls, and three
boxes. Printed are the seconds of the first call, and pairs a second of distances
(`value`) and of these with Jacobians (`+J`), by `pw.distances` from an array of
configurations on all cores; and coal's, of distances with witness points, where shapes
and poses are made beforehand, in one thread, as Python leaves it. `ratio` is `+J` by
coal. `--reverse` adds `jit(vmap(jacrev))`, which compiles another program.
"""

import argparse
import importlib.util
import os
import platform
import time
from collections.abc import Callable

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from staging import service_robots  # noqa: E402
from staging.coal_peer import coal_shape, fastest_seconds  # noqa: E402

import posewise as pw  # noqa: E402
from posewise.robots.contact.bodies import frame_bodies  # noqa: E402

NUM_LINKS, NUM_OBSTACLES = 6, 3
KINDS = ("capsules", "boxes", "hulls", "cylinders", "ur5")
COAL_CONFIGURATIONS = 200
"""Number of configurations at which coal measures all pairs (count)."""


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


def arm_with_obstacles(kind: str, seed: int = 0) -> tuple[pw.Config, list]:
    """Return the world, and the names of the frames of its pairs."""
    rng = np.random.default_rng(seed)
    if kind == "ur5":
        C = service_robots.ur5().world
        links = [f.name for f in C.frames if f.geometries and f.name != "base_link"]
    else:
        C, parent, links = pw.Config(), None, []
        for i in range(NUM_LINKS):
            links.append(f"link{i}")
            axis = ("hingeZ", "hingeY", "hingeX")[i % 3]
            C.add_frame(
                links[-1],
                parent,
                position=[0, 0, 0.25],
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
    return C, [(a, b) for a in links[-NUM_LINKS:] for b in obstacles]


def coal_seconds(C: pw.Config, pairs: list, Q: np.ndarray) -> tuple[float, int]:
    """Return coal's time for all pairs at some configurations [s], and its calls."""
    import coal

    jobs = []
    for q in Q:
        C.q = q
        R, p = C.forward_pass().frames
        for a, b in pairs:
            bodies = [posed_shapes(C, C.index(name), R, p) for name in (a, b)]
            jobs += [(*x, *y) for x in bodies[0] for y in bodies[1]]
    request, result = coal.DistanceRequest(True), coal.DistanceResult()
    request.enable_signed_distance = True

    def run():
        for job in jobs:
            result.clear()
            coal.distance(*job, request, result)

    return fastest_seconds(run, 1.0), len(jobs)


SHAPES: dict[bytes, object] = {}


def posed_shapes(C: pw.Config, index: int, R: np.ndarray, p: np.ndarray) -> list:
    """Return coal's shapes of a frame, with their poses."""
    import coal

    posed = []
    for group in frame_bodies(C.frames[index]):
        body = group.body
        for k in range(len(group)):
            core = jax.tree.map(lambda x, k=k: np.asarray(x)[k], body.core)
            key = b"".join(np.asarray(x).tobytes() for x in (*core, body.radius[k]))
            if key not in SHAPES:
                SHAPES[key] = coal_shape(core, body.radius[k])
            pose = R[index] @ body.R[k], R[index] @ body.p[k] + p[index]
            posed.append((SHAPES[key], coal.Transform3s(*pose)))
    return posed


def first_seconds(run: Callable[[], object]) -> float:
    """Return the time of a call [s]."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def print_row(kind: str, batch: int, has_reverse: bool) -> None:
    """Measure one kind and print its line."""
    C, pairs = arm_with_obstacles(kind)
    rng = np.random.default_rng(1)
    Q = rng.uniform(-2, 2, (batch, C.nq))
    measure = pw.distances(C, pairs)
    count = batch * len(pairs)

    def value():
        return jax.block_until_ready(measure(Q))

    def with_jacobian():
        return jax.block_until_ready(measure.value_and_jacobian(Q))

    first = first_seconds(value)
    overlaps = np.mean(np.asarray(value()) < 0)
    with_jacobian()
    rates = [count / fastest_seconds(f, 3.0) for f in (value, with_jacobian)]
    line = f"{kind:10} {100 * overlaps:4.0f} %  first {first:5.1f} s"
    line += f"  value {rates[0]:9,.0f}  +J {rates[1]:9,.0f}"
    if importlib.util.find_spec("coal"):
        seconds, calls = coal_seconds(C, pairs, Q[:COAL_CONFIGURATIONS])
        # Of frames with several bodies all pairs of bodies are measured.
        peer = COAL_CONFIGURATIONS * len(pairs) / seconds
        line += f"  coal {peer:9,.0f} ({calls / seconds:9,.0f} calls)"
        line += f"  ratio {rates[1] / peer:4.2f}"
    print(line, flush=True)
    if has_reverse:
        reverse = jax.jit(jax.vmap(jax.jacrev(measure)))
        seconds = first_seconds(lambda: jax.block_until_ready(reverse(Q)))
        rate = count / fastest_seconds(lambda: jax.block_until_ready(reverse(Q)), 3.0)
        print(f"{'':10} jit(vmap(jacrev)) first {seconds:5.1f} s  {rate:9,.0f}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--reverse", action="store_true")
    options = parser.parse_args()
    print(
        f"Python {platform.python_version()}, jax {jax.__version__},"
        f" {os.cpu_count()} cores, {options.batch} configurations"
    )
    for kind in options.only:
        print_row(kind, options.batch, options.reverse)


if __name__ == "__main__":
    main()
