"""Forward kinematics and frame Jacobians, beside pinocchio, MuJoCo MJX and robotic.

    python benchmarks/kinematics.py [--many] [--mjx] [--single]

Prints microseconds per configuration at batch 1, 64 and 4096, the seconds that
compilation takes, and the cost of `Config.eval`. Robots come from the packages
example-robot-data and, if it is installed, robotic; so do peers.

`--many` prints configurations a second instead, of 100 000 configurations of a Panda
and of the humanoid G1: poses of all frames, and these with the Jacobian of the frame at
the tip. posewise computes all of them at once by `jit(vmap)`, and in parts of 1000 in a
thread for each core. Peers get 10 000 of them: pinocchio in a loop in Python that keeps
no results; with `--mjx` MJX by `jit(vmap)`, which may take many minutes. `--single`
computes in float32, pinocchio in float64.
"""

import argparse
import importlib.util
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from staging import real_robots  # noqa: E402
from staging.coal_peer import fastest_seconds  # noqa: E402
from staging.service_robots import skeleton  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS  # noqa: E402
from posewise.compilation.threads import count_cores  # noqa: E402

BATCHES = (1, 64, 4096)
MANY, PART, OF_PEERS = 100_000, 1000, 10_000
"""Number of configurations of `--many`, of those in a part, and of peers (count)."""


def best(run: Callable[[], object], repeat: int = 15, least: float = 0.02) -> float:
    """Seconds of the fastest of several rounds."""
    run()
    times = []
    for _ in range(repeat):
        count, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < least:
            run()
            count += 1
        times.append(elapsed / count)
    return min(times)


def posewise_rows(C: pw.Config) -> tuple[dict[int, float], float]:
    """µs per configuration by batch, and the compile seconds of batch 1."""
    K = C.kinematics()

    @jax.jit
    def everything(K, q):
        walk = K.forward_pass(q)
        return walk.frames, K.jacobians(q)

    rng = np.random.default_rng(0)
    start = time.perf_counter()
    everything.lower(K, jnp.asarray(C.q)).compile()
    seconds = time.perf_counter() - start
    micro = {}
    for n in BATCHES:
        q = jnp.asarray(C.q + 0.1 * rng.normal(size=(n, C.nq)))
        q = q[0] if n == 1 else q
        micro[n] = 1e6 * best(lambda q=q: jax.block_until_ready(everything(K, q))) / n
    return micro, seconds


def pinocchio_rows(file: Path) -> dict[int, float]:
    """µs per configuration: all frames' placements and Jacobians."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(file))
    data = model.createData()
    q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
    frames = range(model.nframes)

    def one():
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        for f in frames:
            pin.getFrameJacobian(model, data, f, pin.LOCAL_WORLD_ALIGNED)

    seconds = best(one)
    return {n: 1e6 * seconds for n in BATCHES}


def robotic_rows(files: list[str]) -> dict[int, float]:
    """µs per configuration: position and quaternion with Jacobian of each frame."""
    import robotic as ry

    C = ry.Config()
    for f in files:
        C.addFile(ry.raiPath(f))
    names = [n for n in C.getFrameNames() if n]
    q = C.getJointState()

    def one():
        C.setJointState(q)
        for n in names:
            C.eval(ry.FS.pose, [n])

    seconds = best(one, repeat=3)
    return {n: 1e6 * seconds for n in BATCHES}


def eval_row(C: pw.Config, frames: list[str]) -> str:
    """First and warm call of Config.eval."""
    start = time.perf_counter()
    C.eval(FS.positionDiff, frames)
    first = time.perf_counter() - start
    warm = best(lambda: C.eval(FS.positionDiff, frames))
    q = C.q

    def moved():
        C.q = q
        C.eval(FS.positionDiff, frames)

    return (
        f"Config.eval(positionDiff): first {1e3 * first:.0f} ms, warm"
        f" {1e6 * warm:.0f} µs, after setting q {1e6 * best(moved):.0f} µs"
    )


def rate(run: Callable[[np.ndarray], object], Q: np.ndarray) -> float:
    """Return configurations a second of the fastest of several calls."""
    return len(Q) / fastest_seconds(lambda: run(Q), 3.0)


def in_parts(run: Callable, threads: int) -> Callable[[np.ndarray], list]:
    """Return a function that computes batches part by part in some threads."""

    def of_parts(Q: np.ndarray) -> list:
        parts = np.split(Q, len(Q) // PART)
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda q: jax.block_until_ready(run(q)), parts))

    return of_parts


def many_of_posewise(C: pw.Config, tip: str) -> dict[str, list[Callable]]:
    """Return functions of configurations: poses, and these with a Jacobian."""
    K = C.kinematics()

    def poses(q):
        return K.forward_pass(q).frames

    def with_jacobian(q):
        return poses(q), K.jacobian(q, tip)

    compiled = [jax.jit(jax.vmap(f)) for f in (poses, with_jacobian)]
    return {
        "posewise, at once": [
            lambda Q, f=f: jax.block_until_ready(f(Q)) for f in compiled
        ],
        "posewise, in parts": [in_parts(f, count_cores()) for f in compiled],
    }


def many_of_pinocchio(file: Path, tip: str) -> list[Callable]:
    """Return the same functions of pinocchio, as loops."""
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(file))
    data = model.createData()
    frame = model.getFrameId(tip)

    def poses(Q):
        for q in Q:
            pin.framesForwardKinematics(model, data, q)

    def with_jacobian(Q):
        for q in Q:
            pin.framesForwardKinematics(model, data, q)
            pin.computeFrameJacobian(model, data, q, frame, pin.LOCAL_WORLD_ALIGNED)

    return [poses, with_jacobian]


def many_of_mjx(file: Path) -> list[Callable]:
    """Return the same functions of MJX; the Jacobian is that of the last body."""
    import mujoco
    from mujoco import mjx

    text = ET.tostring(skeleton(file), encoding="unicode")
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.fusestatic = False
    model = mjx.put_model(spec.compile())
    data, last = mjx.make_data(model), model.nbody - 1

    def poses(q):
        moved = mjx.kinematics(model, data.replace(qpos=q))
        return moved.xpos, moved.xmat

    def with_jacobian(q):
        moved = mjx.com_pos(model, mjx.kinematics(model, data.replace(qpos=q)))
        jacobian = mjx.jac(model, moved, moved.xpos[last], last)
        return moved.xpos, moved.xmat, jacobian

    compiled = [jax.jit(jax.vmap(f)) for f in (poses, with_jacobian)]
    return [lambda Q, f=f: jax.block_until_ready(f(Q)) for f in compiled]


def show_many(has_mjx: bool, is_single: bool) -> None:
    """Print configurations a second of many configurations."""
    heads = "".join(f"{head:>15}" for head in ("poses", "with Jacobian"))
    print(f"{'configurations a second':34}{heads}")
    for name in ("panda", "g1"):
        robot = real_robots.ROBOTS[name]
        C = real_robots.load(robot)
        rows = many_of_posewise(C, robot.tip)
        own_labels = list(rows)
        if importlib.util.find_spec("pinocchio"):
            rows["pinocchio"] = many_of_pinocchio(robot.path, robot.tip)
        if has_mjx:
            rows["MJX"] = many_of_mjx(robot.path)
        rng = np.random.default_rng(0)
        for label, functions in rows.items():
            # The second finger of the Panda follows the first one, but not in peers.
            if label in own_labels:
                Q = rng.uniform(-1, 1, (MANY, C.nq))
            else:
                Q = rng.uniform(-1, 1, (OF_PEERS, C.nq + (name == "panda")))
            if is_single and label != "pinocchio":
                Q = Q.astype(np.float32)
            rates = "".join(f"{rate(f, Q):15,.0f}" for f in functions)
            print(f"{name + ': ' + label:34}{rates}", flush=True)


def show(name: str, micro: dict[int, float], note: str = "") -> None:
    """One line of the table."""
    cells = "".join(f"{micro[n]:12.2f}" for n in BATCHES)
    print(f"{name:34}{cells}   {note}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--mjx", action="store_true")
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", not options.single)
    floats = "float32" if options.single else "float64"
    print(f"jax {jax.__version__}, {jax.devices()[0].platform}, {floats}")
    if options.many:
        show_many(options.mjx, options.single)
    else:
        show_micro()


def show_micro() -> None:
    """Print microseconds per configuration, and compile seconds."""
    print(f"{'µs per configuration, batch':34}{''.join(f'{n:12}' for n in BATCHES)}")
    C = pw.load("panda")
    print(eval_row(C, ["panda_hand", "panda_link0"]))
    micro, seconds = posewise_rows(C)
    show("panda (own, 13 frames)", micro, f"compile {seconds:.2f} s")
    for robot in ("panda", "pr2"):
        file = real_robots.ROBOTS[robot].path
        C = real_robots.load(real_robots.ROBOTS[robot])
        micro, seconds = posewise_rows(C)
        label = f"posewise {robot}.urdf ({len(C.frames)} frames)"
        show(label, micro, f"compile {seconds:.2f} s")
        if importlib.util.find_spec("pinocchio") is not None:
            peer = pinocchio_rows(file)
            ratio = " ".join(f"{peer[n] / micro[n]:.2g}" for n in BATCHES)
            show(f"pinocchio {robot}.urdf", peer, f"ratio {ratio}")
    if importlib.util.find_spec("robotic") is None:
        print("robotic is not installed")
        return
    from robotic import raiPath

    for label, files in (
        ("panda.g", ["panda/panda.g"]),
        ("pr2.g + kitchen.g", ["pr2/pr2.g", "objects/kitchen.g"]),
    ):
        C = pw.Config()
        for f in files:
            C.add_file(raiPath(f))
        micro, seconds = posewise_rows(C)
        show(
            f"posewise {label} ({len(C.frames)} frames)",
            micro,
            f"compile {seconds:.2f} s",
        )
        peer = robotic_rows(files)
        ratio = " ".join(f"{peer[n] / micro[n]:.2g}" for n in BATCHES)
        show(f"robotic {label}", peer, f"ratio {ratio}")


if __name__ == "__main__":
    main()
