"""Forward kinematics and all frame Jacobians, beside pinocchio and robotic.

    python benchmarks/kinematics.py

Prints microseconds per configuration at batch 1, 64 and 4096, the seconds that
compilation takes, and the cost of `Config.eval`. Panda and PR2 come from the packages
example-robot-data and robotic; what is not installed is left out.
"""

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import FS  # noqa: E402

BATCHES = (1, 64, 4096)


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


def show(name: str, micro: dict[int, float], note: str = "") -> None:
    """One line of the table."""
    cells = "".join(f"{micro[n]:12.2f}" for n in BATCHES)
    print(f"{name:34}{cells}   {note}")


def shared_file(package: str, *parts: str) -> Path | None:
    """A file under a package's share folder, if it is installed."""
    if importlib.util.find_spec(package) is None:
        return None
    import sys

    path = Path(sys.prefix).joinpath(*parts)
    inside = list(Path(sys.prefix).rglob(str(Path(*parts[-3:]))))
    return path if path.is_file() else (inside[0] if inside else None)


def main() -> None:
    """Print the tables."""
    print(f"jax {jax.__version__}, {jax.devices()[0].platform}, float64")
    print(f"{'µs per configuration, batch':34}{''.join(f'{n:12}' for n in BATCHES)}")
    C = pw.load("panda")
    print(eval_row(C, ["panda_hand", "panda_link0"]))
    micro, seconds = posewise_rows(C)
    show("panda (own, 13 frames)", micro, f"compile {seconds:.2f} s")
    for robot, parts in (
        ("panda.urdf", ("robots", "panda_description", "urdf", "panda.urdf")),
        ("pr2.urdf", ("robots", "pr2_description", "urdf", "pr2.urdf")),
    ):
        file = shared_file("example_robot_data", "share", "example-robot-data", *parts)
        if file is None:
            print(f"{robot}: example-robot-data is not installed")
            continue
        C = pw.Config()
        C.add_file(file)
        micro, seconds = posewise_rows(C)
        label = f"posewise {robot} ({len(C.frames)} frames)"
        show(label, micro, f"compile {seconds:.2f} s")
        if importlib.util.find_spec("pinocchio") is not None:
            peer = pinocchio_rows(file)
            ratio = " ".join(f"{peer[n] / micro[n]:.2g}" for n in BATCHES)
            show(f"pinocchio {robot}", peer, f"ratio {ratio}")
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
