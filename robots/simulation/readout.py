"""Bodies and contacts of a twin, in terms of the frames of its world."""

from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ..config import Config
from ..errors import ConfigError
from ..typing import FrameName
from .model import TwinModel
from .motion import SimulatedContact

if TYPE_CHECKING:
    from mujoco import MjData


def frame_body(C: Config, twin_model: TwinModel, frame: FrameName) -> int:
    """Return MuJoCo's body of a frame.

    Raises:
        ConfigError: For an unknown name, with near matches, and for the world.
    """
    i = C.index(frame)
    if i == len(C.frames):
        raise ConfigError("'world' is the fixed origin; name a frame.")
    return int(twin_model.frame_bodies[i])


def read_contacts(
    mujoco: ModuleType, C: Config, twin_model: TwinModel, data: "MjData"
) -> list[SimulatedContact]:
    """Return the contacts, with their forces, in MuJoCo's data."""
    frames, geom_frames = C.frames, twin_model.geom_frames
    contacts = []
    for k in range(data.ncon):
        contact, force = data.contact[k], np.zeros(6)
        mujoco.mj_contactForce(twin_model.model, data, k, force)
        # The rows of `contact.frame` are the axes of the contact; its x axis is the
        # normal from the first geom to the second.
        axes = np.array(contact.frame).reshape(3, 3)
        a, b = (frames[geom_frames[geom]].name for geom in contact.geom)
        contacts.append(
            SimulatedContact(
                a,
                b,
                point=np.array(contact.pos),
                normal=axes[0],
                force=force[:3] @ axes,
                distance=float(contact.dist),
            )
        )
    return contacts
