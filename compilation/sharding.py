"""Lanes of a batch on a mesh of devices: each has as many, and a program of its own.

Within a round no device waits for another.
"""

from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .packed_pytree import unpack


def put_sharded(mesh: Mesh | None, split: bool, arrays: Any) -> Any:
    """Arrays where a mesh wants them: lanes split among its devices, or all on each."""
    if mesh is None:
        return arrays
    spec = PartitionSpec(mesh.axis_names) if split else PartitionSpec()
    return jax.device_put(arrays, NamedSharding(mesh, spec))


def shard_lanes(
    run: Any, problem: Any, tree: Any, varied: Any, mesh: Mesh | None
) -> Any:
    """A round of some lanes as a round of all, on all devices; see `solve_many`."""
    if mesh is None:
        return run
    whole, split = PartitionSpec(), PartitionSpec(mesh.axis_names)
    leaves = [split if v else whole for v in varied]
    given = leaves, split, split, split, split, whole

    def here(*args: Any) -> Any:
        state, out = run(*args)
        return state, unpack(out)  # it is sealed as that of one device

    return jax.shard_map(
        here, mesh=mesh, in_specs=given, out_specs=split, check_vma=False
    )
