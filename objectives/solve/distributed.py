"""Several processes, on one host or many, that solve the same batch together.

Each runs the same program; `jax.distributed` connects them. Problems are dealt out and
solved without waiting for each other, then all tell all what they have found.
"""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from ..objective import ObjectiveError


def check_mesh(mesh: Any) -> Mesh | None:
    """A mesh on which a batch can be solved.

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
    """The devices of this process along one axis; None for the default device alone."""
    if mesh is None:
        return None
    own = [d for d in mesh.devices.flat if d.process_index == jax.process_index()]
    alone = len(own) == 1 and own[0] == jax.local_devices()[0]
    return None if alone else Mesh(np.array(own), ("lanes",))


def is_distributed(mesh: Mesh | None) -> bool:
    """Whether several processes solve a batch."""
    if mesh is None:
        return False
    return len({d.process_index for d in mesh.devices.flat}) > 1


def allgather_bytes(data: bytes, mesh: Mesh | None) -> list[bytes]:
    """What each process gives, in their order; waits for all of them."""
    if not is_distributed(mesh):
        return [data]
    from jax.experimental.multihost_utils import process_allgather

    sizes = np.ravel(process_allgather(np.array([len(data)], np.int32)))
    padded = np.zeros(sizes.max(), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    every = np.asarray(process_allgather(padded)).reshape(len(sizes), -1)
    return [row[:n].tobytes() for row, n in zip(every, sizes, strict=True)]
