"""Contacts of random pairs of bodies, compared with coal.

    python benchmarks/collision.py [--quick] [--only hull16 ...]

Prints microseconds per pair at batch 1, 1000 and 100 000, of distance, witness points
and normal, and of these with the gradient with respect to both poses, in float32 and
float64; the seconds that compilation takes; and coal's time, with objects and poses
made beforehand, in a single thread, with the Python call. `ratio` is coal's time by
ours; posewise uses all cores. `--quick` leaves out 100 000 and float32.
"""

import argparse
import importlib.util
import os
import platform
import time

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from staging.coal_peer import coal_shape, fastest_seconds  # noqa: E402

from posewise.collision import Body, Box, BoxPlusEllipsoid, Hull, Segment, contact  # noqa: E402

COAL_PAIRS = 4000
KINDS = {
    "capsule-capsule": ("capsule", "capsule"),
    "sphere-box": ("sphere", "box"),
    "capsule-box": ("capsule", "box"),
    "box-box": ("box", "box"),
    "hull8": ("hull8", "hull8"),
    "hull16": ("hull16", "hull16"),
    "hull32": ("hull32", "hull32"),
    "hull64": ("hull64", "hull64"),
    "cylinder-cylinder": ("cylinder", "cylinder"),
    "ellipsoid-ellipsoid": ("ellipsoid", "ellipsoid"),
}


def rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return n uniformly distributed rotations."""
    w, x, y, z = (q := rng.normal(size=(n, 4))).T / np.linalg.norm(q, axis=1)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), -1, 0)


def shapes(kind: str, rng: np.random.Generator, n: int):
    """Return cores and radii; only 32 hulls are made, which repeat."""
    no = np.zeros(n)
    match kind:
        case "sphere":
            return Segment(no), rng.uniform(0.1, 0.4, n)
        case "capsule":
            return Segment(rng.uniform(0.1, 0.7, n)), rng.uniform(0.05, 0.2, n)
        case "box":
            return Box(rng.uniform(0.1, 0.6, (n, 3))), no
        case "cylinder":
            r = rng.uniform(0.1, 0.5, n)
            half = np.stack([no, no, rng.uniform(0.1, 0.6, n)], -1)
            return BoxPlusEllipsoid(half, np.stack([r, r, no], -1)), no
        case "ellipsoid":
            return BoxPlusEllipsoid(np.zeros((n, 3)), rng.uniform(0.1, 0.6, (n, 3))), no
    vertices = rng.normal(size=(32, int(kind.removeprefix("hull")), 3))
    vertices *= 0.6 / np.linalg.norm(vertices, axis=-1, keepdims=True)
    vertices *= rng.uniform(0.5, 1, (32, 1, 3))
    return Hull(vertices[rng.integers(32, size=n)]), no


def random_pairs(kinds: tuple[str, str], n: int, seed: int = 0) -> tuple[Body, Body]:
    """Return pairs at random poses, about a third of which overlap."""
    rng = np.random.default_rng(seed)
    far = 1.3 if "capsule" in kinds or "sphere" in kinds else 1.8
    u = rng.normal(size=(n, 3))
    u *= rng.uniform(0.1, far, (n, 1)) / np.linalg.norm(u, axis=1, keepdims=True)
    a, b = (
        Body(*shapes(k, rng, n), rotations(rng, n), p)
        for k, p in zip(kinds, (0 * u, u), strict=True)
    )
    return a, b


def repeat_selected(a: Body, b: Body, mask: np.ndarray, n: int) -> tuple[Body, Body]:
    """Return n pairs where a mask holds, repeated as often as needed."""
    indices = np.resize(np.nonzero(mask)[0], n)
    return jax.tree.map(lambda x: x[indices], (a, b))


value = jax.jit(contact)


@jax.jit
def with_gradient(a: Body, b: Body):
    """Return contacts and the gradient of each distance with respect to both poses."""

    def total(poses):
        (R, p), (S, q) = poses
        out = contact(a._replace(R=R, p=p), b._replace(R=S, p=q))
        return jnp.sum(out.distance), out

    return jax.value_and_grad(total, has_aux=True)(((a.R, a.p), (b.R, b.p)))


def compile_seconds(fn, args) -> float:
    """Return the time of a fresh compilation [s]."""
    jax.clear_caches()
    start = time.perf_counter()
    fn.lower(*args).compile()
    return time.perf_counter() - start


def coal_microseconds(a: Body, b: Body) -> float:
    """Return coal's time per pair [µs] for distance, witness points and normal."""
    import coal

    n = min(COAL_PAIRS, len(a.p))
    shapes_by_key: dict[bytes, object] = {}

    def shape_and_pose(body: Body, k: int):
        core = jax.tree.map(lambda x: x[k], body.core)
        key = b"".join(np.asarray(x).tobytes() for x in (*core, body.radius[k]))
        if key not in shapes_by_key:
            shapes_by_key[key] = coal_shape(core, body.radius[k])
        return shapes_by_key[key], coal.Transform3s(body.R[k], body.p[k])

    jobs = [(*shape_and_pose(a, k), *shape_and_pose(b, k)) for k in range(n)]
    request, result = coal.DistanceRequest(True), coal.DistanceResult()
    request.enable_signed_distance = True

    def run():
        for job in jobs:
            result.clear()
            coal.distance(*job, request, result)

    return 1e6 * fastest_seconds(run, 0.5) / n


def print_rows(
    name: str, a: Body, b: Body, batches, dtypes, min_seconds: float
) -> None:
    """Print the lines of one kind of pair."""
    peer = coal_microseconds(a, b) if importlib.util.find_spec("coal") else None
    inside = np.mean(np.asarray(value(*head((a, b), 1000, float)).distance) < 0)
    title = f"{name}, {100 * inside:.0f} % overlap"
    if peer is not None:
        print(f"{title:46}{'coal':>18}{'':17}{peer:9.2f}", flush=True)
    for dtype in dtypes:
        for quantity, fn in (("value", value), ("+gradient", with_gradient)):
            seconds = compile_seconds(fn, head((a, b), batches[-1], dtype))
            cells = []
            for n in batches:
                args = head((a, b), n, dtype)
                run = lambda args=args, fn=fn: jax.block_until_ready(fn(*args))
                cells.append(1e6 * fastest_seconds(run, min_seconds) / n)
            line = "".join(f"{x:9.2f}" for x in cells)
            ratio = "" if peer is None else " ".join(f"{peer / x:.2g}" for x in cells)
            kind = f"{np.dtype(dtype).name} {quantity}"
            print(
                f"{title:46}{kind:>18}{line}  compile {seconds:5.1f} s  ratio {ratio}",
                flush=True,
            )


def head(pair: tuple[Body, Body], n: int, dtype) -> tuple[Body, Body]:
    """Return the first n pairs on the device; without a batch axis if n is 1."""
    rows = 0 if n == 1 else slice(n)
    return jax.tree.map(lambda x: jnp.asarray(x[rows], dtype), pair)


def arm_among_boxes(dtype, min_seconds: float) -> None:
    """Print times of every one of seven capsules with twenty boxes, in thirty steps."""
    rng = np.random.default_rng(0)
    links = (30, 7)
    n = 30 * 7
    core, radius = shapes("capsule", rng, n)
    shaped = lambda x: jnp.asarray(x, dtype).reshape(*links, 1, *np.shape(x)[1:])
    half = shaped(0.3 * core.half)
    spots = rng.normal(size=(n, 3)) * 0.6
    arm = Body(Segment(half), shaped(radius), shaped(rotations(rng, n)), shaped(spots))
    boxes, radii = shapes("box", rng, 20)
    among = Body(boxes, radii, rotations(rng, 20), rng.normal(size=(20, 3)))
    wide = lambda x: jnp.asarray(x, dtype)
    among = jax.tree.map(wide, among)
    pick = lambda x, tail: jnp.broadcast_to(x, (*links, 20, *tail))

    def all_contacts(R, p, fn):
        a = Body(Segment(pick(half, ())), pick(arm.radius, ()), R, p)
        b = jax.tree.map(lambda x: pick(x, x.shape[1:]), among)
        return fn(a, b)

    poses = pick(arm.R, (3, 3)), pick(arm.p, (3,))
    for quantity, fn in (("value", contact), ("+gradient", with_gradient)):
        run = jax.jit(lambda R, p, fn=fn: all_contacts(R, p, fn))
        seconds = fastest_seconds(
            lambda run=run: jax.block_until_ready(run(*poses)), min_seconds
        )
        print(
            f"7 links, 20 boxes, 30 steps: 4200 capsule-box, {np.dtype(dtype).name}"
            f" {quantity}: {1e3 * seconds:.2f} ms",
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer batches and types")
    parser.add_argument("--only", nargs="*", choices=KINDS, help="some of the kinds")
    options = parser.parse_args()
    batches = (1, 1000) if options.quick else (1, 1000, 100_000)
    dtypes = (np.float64,) if options.quick else (np.float32, np.float64)
    min_seconds = 0.2 if options.quick else 1.0
    most = batches[-1]
    cores = len(os.sched_getaffinity(0))
    print(
        f"jax {jax.__version__}, {jax.devices()[0].platform}, {platform.machine()},"
        f" {cores} of {os.cpu_count()} cores"
    )
    print(f"{'µs per pair, batch':64}{''.join(f'{n:9}' for n in batches)}")
    for name, kinds in KINDS.items():
        if options.only and name not in options.only:
            continue
        a, b = random_pairs(kinds, most)
        print_rows(name, a, b, batches, dtypes, min_seconds)
        if name.startswith("hull"):
            a, b = repeat_selected(a, b, np.ones(1000, bool), 1000)
            apart = np.asarray(value(*head((a, b), 1000, float)).distance) > 0
            for label, which in (("apart", apart), ("overlapping", ~apart)):
                some = repeat_selected(a, b, which, 1000)
                print_rows(f"{name} {label}", *some, (1, 1000), dtypes, min_seconds)
    for dtype in dtypes:
        arm_among_boxes(dtype, min_seconds)


if __name__ == "__main__":
    main()
