"""Files of placements: poses as JSON, and the world that they are for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError, LoadError, first_few
from posewise.robots.json_files import read_json
from posewise.robots.typing import StrPath
from posewise.robots.validation import CONVERSION_ERRORS, float_array
from posewise.robots.world.frame_digests import differing_frames, frame_digests

FORMAT = "posewise placements"
FORMAT_VERSION = 1
"""Version number of the format; files of a larger one are refused."""
UNITS = {
    "poses": "x y z [m], quaternion w x y z, in the world",
    "joints": "m, rad; quaternions w x y z",
}


@dataclass(frozen=True, eq=False, repr=False)
class SavedPlacement:
    """A placement as a file has it, to be set in the world that it was made for."""

    poses: dict[str, Float[np.ndarray, "7"]]
    """World poses by name, a frame before those attached to it."""
    joints: dict[str, Float[np.ndarray, " dim"]]
    """Values of all other joints by name, at which it was made."""
    world: dict[str, str]
    """Digest of each frame of its world, by name."""
    solved: bool
    """Whether every constraint was met."""
    status: str
    """Name of the `SolveStatus`, such as "CONVERGED"."""
    message: str
    """The status in a sentence."""

    def __repr__(self) -> str:
        state = "solved" if self.solved else "not solved"
        return f"SavedPlacement({', '.join(self.poses)}, {state})"

    def apply(self, C: Config) -> None:
        """Set the poses in a world, and the joints that the placement was made at.

        Raises:
            ConfigError: for another world, whose differing frames are named.
        """
        digests = frame_digests(C.frames, self.poses)
        if differing := differing_frames(self.world, digests):
            raise ConfigError(
                "The placement was made for another world, which differs in"
                f" {first_few(differing)}; apply it to a world with the same frames,"
                " joints and shapes."
            )
        for name, joint_value in self.joints.items():
            C.set_joint(name, joint_value)
        for name, pose in self.poses.items():
            C.set_pose(name, pose)


def placement_header(C: Config, placed: Collection[str]) -> dict[str, Any]:
    """Return what a file of placements begins with.

    Args:
        C: The world that they are for, at its state.
        placed: Names of the frames that are placed.
    """
    joints = {
        C.tree.joint(i).name: joint_value
        for i, joint_value in sorted(C.tree.values.items())
        if C.frames[i].name not in placed and C.tree.joint(i).mimic is None
    }
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "units": UNITS,
        "world": frame_digests(C.frames, placed),
        "joints": joints,
    }


def read_placement(file: StrPath) -> SavedPlacement:
    """Return the best placement of a file; see `Placement.load`."""
    path = Path(file)
    record = read_json(path)
    fields = record if isinstance(record, dict) else {}
    if fields.get("format") != FORMAT:
        raise LoadError(
            f"{path} has no placements; expected what `Placement.save` or `posewise"
            " solve FILE --json` writes."
        )
    version = fields.get("version")
    if not isinstance(version, int) or not 1 <= version <= FORMAT_VERSION:
        raise LoadError(
            f"{path} is of version {version!r}, expected at most {FORMAT_VERSION};"
            " read it with a newer posewise."
        )
    try:
        best = fields["placements"][fields["best"]]
        return SavedPlacement(
            poses=_arrays(path, "poses", best["poses"], 7),
            joints=_arrays(path, "joints", fields["joints"], None),
            world={str(name): str(v) for name, v in fields["world"].items()},
            solved=bool(best["solved"]),
            status=str(best["status"]),
            message=str(best["message"]),
        )
    except LoadError:
        raise
    except (*CONVERSION_ERRORS, KeyError, IndexError, AttributeError) as error:
        raise LoadError(
            f"{path} is damaged: {type(error).__name__} {error}; write it again."
        ) from None


def _arrays(
    path: Path, label: str, entries: Mapping[str, Any], size: int | None
) -> dict[str, np.ndarray]:
    """Return arrays of finite numbers by name."""
    arrays = {}
    for name, numbers in entries.items():
        place = f"{path}: {label} of {name!r}"
        expected = "finite numbers" if size is None else f"{size} finite numbers"
        array = float_array(place, numbers, expected, LoadError)
        is_sized = array.ndim == 1 and size in (None, len(array))
        if not is_sized or not np.isfinite(array).all():
            raise LoadError(f"{place} is {numbers!r:.80}, expected {expected}.")
        arrays[name] = array
    return arrays
