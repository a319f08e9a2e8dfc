"""Meshes: the devices of this process on which a batch is solved."""

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
    processes = {device.process_index for device in mesh.devices.flat}
    if processes != {jax.process_index()}:
        raise ObjectiveError(
            f"mesh has devices of processes {sorted(processes)}, expected those of this"
            f" process, {jax.process_index()}; other processes solve by `executor`."
        )
    return mesh


def lane_mesh(mesh: Mesh | None) -> Mesh | None:
    """Return the devices of a mesh along one axis; None: the default device."""
    if mesh is None:
        return None
    devices = list(mesh.devices.flat)
    is_default = devices == jax.local_devices()[:1]
    return None if is_default else Mesh(np.array(devices), ("lanes",))
