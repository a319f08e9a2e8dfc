"""Lanes of a batch split among the devices of a mesh, each with a program of its share.

Within a round of iterations no device waits for another.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jax.tree_util import PyTreeDef
from jaxtyping import PyTree

from .packed_pytree import unpack


def put_sharded(mesh: Mesh | None, split: bool, arrays: PyTree) -> PyTree:
    """Return a pytree of arrays on the devices of a mesh.

    Args:
        mesh: the devices, along one axis; None leaves the arrays where they are.
        split: whether the leading axis is split among the devices; otherwise each
            device has all of the arrays.
        arrays: the pytree.
    """
    if mesh is None:
        return arrays
    spec = PartitionSpec(mesh.axis_names) if split else PartitionSpec()
    return jax.device_put(arrays, NamedSharding(mesh, spec))


def shard_lanes(
    run: Callable[..., Any],
    problem: object,
    tree: PyTreeDef,
    varied: Sequence[bool],
    mesh: Mesh | None,
) -> Callable[..., Any]:
    """Return a round of all lanes on all devices, from a round of one device's lanes.

    Args:
        run: of the data's leaves, the state, initial paths, which lanes begin afresh,
            penalties, the solver's options, and the number of iterations.
        problem: not used, as all devices share one structure.
        tree: not used, for the same reason.
        varied: for each leaf, whether it has a leading axis of lanes.
        mesh: the devices, along one axis; None returns the function unchanged.
    """
    if mesh is None:
        return run
    whole, split = PartitionSpec(), PartitionSpec(mesh.axis_names)
    leaves = [split if v else whole for v in varied]
    in_specs = leaves, split, split, split, split, whole, whole

    def run_on_device(*args: Any) -> Any:
        state, out = run(*args)
        # Results are packed by one device's lanes; concatenating buffers of several
        # devices would not be the pack of all lanes.
        return state, unpack(out)

    return jax.shard_map(
        run_on_device, mesh=mesh, in_specs=in_specs, out_specs=split, check_vma=False
    )
