"""Evaluate and solve small problems; print the results.

Arguments: `forbid` replaces every private interface of JAX by a function that raises;
`missing` hides one of their modules, as in a version of JAX that lacks it.
"""

import json
import sys
from pathlib import Path

import jax
import numpy as np

sys.path[:0] = [str(Path(__file__).parents[2])]
jax.config.update("jax_enable_x64", True)
jax.devices()  # makes the client of JAX itself
if "missing" in sys.argv:
    sys.modules["jax.experimental.serialize_executable"] = None  # type: ignore[assignment]

import posewise as pw  # noqa: E402
from posewise import FS, OT, logic  # noqa: E402
from posewise.compilation import private_jax, uses_plain_jit  # noqa: E402


def forbidden(*args, **kwargs):
    """Raise, because plain `jax.jit` needs no private interface."""
    raise AssertionError("a private interface of JAX was called")


if "forbid" in sys.argv:
    for name in (
        "dce_jaxpr",
        "deserialize_and_load",
        "eval_jaxpr",
        "initialize_lapack",
        "jaxprs_in_params",
        "serialize",
        "set_xla_metadata",
    ):
        assert callable(getattr(private_jax, name))
        setattr(private_jax, name, forbidden)
    import jaxlib.xla_client

    jaxlib.xla_client.make_cpu_client = forbidden

C = pw.load("planar3")
tip = C.frames[-1].name
C.add_frame("wand", tip, shape=pw.Capsule(0.1, 0.02), contact=-2)
C.add_frame("crate", position=[0.45, 0.55, 0], shape=pw.Box([0.1] * 3, 0.01), contact=1)
C.add_frame("ball", shape=pw.Ellipsoid([0.1, 0.2, 0.1]), position=[0.4, 0.5, 0.3])
y, J = C.eval(FS.positionDiff, [tip, "crate"])
distances = [C.signed_distance(name, "crate")[0] for name in ("wand", "ball")]
touching = logic.Touching("ball", "crate")

komo = pw.KOMO(C, 1, 4, 2)
komo.add_control_objective(2, 0.1)
place = dict(scale=np.eye(3)[:2], target=[0.3, 0.6, 0])
goal = komo.add_objective([1.0], FS.position, [tip], OT.eq, **place)
komo.add_objective(None, FS.accumulatedCollisions, [], OT.ineq)
komo.add_objective(None, FS.negDistance, ["wand", "crate"], OT.ineq, target=-0.02)
solutions = [
    komo.solve(progress=False),
    *komo.solve_all(starts=3, progress=False),
]
long = pw.KOMO(C, 1, 180, 2)  # above the size that is solved in one round
long.add_control_objective(2, 0.1)
long.add_objective([1.0], FS.position, [tip], OT.eq, **place)
solutions.append(long.solve(progress=False))
print(
    json.dumps(
        {
            "plain": uses_plain_jit(),
            "status": [s.status.name for s in solutions],
            "paths": [s.path.tolist() for s in solutions],
            "values": [*y.tolist(), *J.ravel().tolist(), *map(float, distances)],
            "violation": float(touching.violation(C)),
        }
    )
)
