"""Several processes, on one host or many, that solve the same batch.

Each runs the same program; `jax.distributed` connects them. Each process solves its
share of the problems without waiting for others, and then all exchange their results.
"""

import jax
import numpy as np
from jax.sharding import Mesh

from ..terms.objective import ObjectiveError


def check_mesh(mesh: Mesh | None) -> Mesh | None:
    """Return a mesh after checking that a batch can be solved on it.

    Raises:
        ObjectiveError: for anything else.
    """
    if mesh is None:
        return None
    if not isinstance(mesh, Mesh) or not mesh.size:
        raise ObjectiveError(
            f"mesh is {mesh!r}, expected a jax.sharding.Mesh of devices, e.g."
            " jax.make_mesh((jax.device_count(),), ('devices',))."
        )
    platform, default = mesh.devices.flat[0].platform, jax.default_backend()
    if platform != jax.local_devices()[0].platform:
        raise ObjectiveError(
            f"mesh has devices of platform {platform!r}, expected those of the default"
            f" one, {default!r}; choose it by jax.config.update('jax_platforms', …)."
        )
    processes = {d.process_index for d in mesh.devices.flat}
    if processes not in ({jax.process_index()}, set(range(jax.process_count()))):
        raise ObjectiveError(
            f"mesh has devices of processes {sorted(processes)}, expected those of this"
            f" process, {jax.process_index()}, or of all {jax.process_count()}."
        )
    return mesh


def local_mesh(mesh: Mesh | None) -> Mesh | None:
    """Return the devices of this process along one axis; None: the default device."""
    if mesh is None:
        return None
    local = [d for d in mesh.devices.flat if d.process_index == jax.process_index()]
    is_default = len(local) == 1 and local[0] == jax.local_devices()[0]
    return None if is_default else Mesh(np.array(local), ("lanes",))


def is_distributed(mesh: Mesh | None) -> bool:
    """Return whether the devices of a mesh belong to several processes."""
    if mesh is None:
        return False
    return len({d.process_index for d in mesh.devices.flat}) > 1


def allgather_bytes(data: bytes, mesh: Mesh | None) -> list[bytes]:
    """Return the data of each process, in their order; waits for all of them."""
    if not is_distributed(mesh):
        return [data]
    from jax.experimental.multihost_utils import process_allgather

    sizes = np.ravel(process_allgather(np.array([len(data)], np.int32)))
    padded = np.zeros(sizes.max(), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    every = np.asarray(process_allgather(padded)).reshape(len(sizes), -1)
    return [row[:n].tobytes() for row, n in zip(every, sizes, strict=True)]
