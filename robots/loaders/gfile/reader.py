"""Reader of rai's graph files (`.g`, `.yml`).

The frames are those that rai makes of the file, in the same order and with the same
names (including duplicate and empty ones); parents may come later than children.
"""

import warnings
from os import PathLike
from pathlib import Path

import numpy as np

from ...errors import unknown_name
from ...kinematics.transforms import IDENTITY
from ...validation import MAX_NUMBER, is_bounded
from ...world.frame import Frame, Joint, Model
from .frames import FrameDraft, FrameDrafts
from .graph import read_graph
from .joints import make_mimic


def read_gfile(path: str | PathLike[str]) -> Model:
    """Read a `.g` or `.yml` file of rai, with everything it includes.

    Args:
        path: The file; `<files>` in it are relative to the file that names them.

    Returns:
        The frames in rai's order, with rai's attributes, and the joint values of a
        top-level `q: [..]`.

    Raises:
        LoadError: For an invalid file; the message names file, line and frame.
        ImportError: When a `.yml` file needs pyyaml, which is not installed.

    Warns:
        UserWarning: Once per file, for missing meshes and for poses of joint frames
            that their joint cannot reach.
    """
    path = Path(path)
    reading = FrameDrafts(read_graph(path), path)
    names = {draft.name: i for i, draft in enumerate(reading.drafts)}
    _mimic_shapes(reading, names)
    joints = _JointResolver(reading, names).joints
    _warn(path, reading.drafts)
    frames = tuple(_make_frame(d, joints.get(i)) for i, d in enumerate(reading.drafts))
    return Model(frames, _state_values(reading, frames))


def _mimic_shapes(reading: FrameDrafts, names: dict[str, int]) -> None:
    """Give frames with `mimic_shape` the shape of the last frame of that name."""
    for draft in reading.drafts:
        attributes = draft.attributes
        name = None if attributes is None else attributes.word("mimic_shape")
        if attributes is None or name is None:
            continue
        if draft.shape is not None:
            attributes.fail("mimic_shape", "the frame already has its own shape.")
        source = reading.drafts[names[name]] if name in names else None
        if source is None or source.shape is None:
            shown = [d.name for d in reading.drafts if d.shape is not None]
            attributes.fail(
                "mimic_shape", unknown_name("frame with a shape", name, shown)
            )
        draft.shape = source.shape


class _JointResolver:
    """The joints by frame index, mimics resolved to the final joint they follow."""

    def __init__(self, reading: FrameDrafts, names: dict[str, int]):
        self.reading = reading
        self.names = names
        self.joints: dict[int, Joint] = {}
        for i in range(len(reading.drafts)):
            self.resolve(i)

    def resolve(self, i: int) -> None:
        """Resolve the joint of a frame, and all joints that it follows."""
        drafts = self.reading.drafts
        chain: dict[int, None] = {}
        while i not in self.joints:
            draft = drafts[i].joint
            if draft is None:
                break
            if i in chain:
                self.reading.attributes(i).fail(
                    "mimic", "this joint mimics itself, directly or in a circle."
                )
            if draft.mimic is None or not draft.joint.dim:
                self.joints[i] = draft.joint
                break
            chain[i] = None
            i = self.leader(i, draft.mimic)
        for k in reversed(chain):
            draft = drafts[k].joint
            if draft is not None:
                attributes = self.reading.attributes(k)
                self.joints[k] = make_mimic(draft, self.joints[i], attributes)
                drafts[k].extra["mimic_index"] = drafts[i].extra.get("mimic_index", i)
            i = k

    def leader(self, i: int, name: str) -> int:
        """Return the index of the frame whose joint is mimicked: the last of a name."""
        drafts = self.reading.drafts
        target = self.names.get(name)
        if target is None or drafts[target].joint is None:
            shown = [d.name for d in drafts if d.joint is not None]
            self.reading.attributes(i).fail(
                "mimic", unknown_name("frame with a joint", name, shown)
            )
        return target


def _make_frame(draft: FrameDraft, joint: Joint | None) -> Frame:
    attributes = draft.attributes.plain() if draft.attributes is not None else {}
    attributes |= draft.extra
    shape = draft.shape
    if shape is not None:
        attributes |= shape.rai_attributes()
    moving = joint is not None and joint.dim > 0
    return Frame(
        draft.name,
        draft.parent,
        origin=IDENTITY.copy() if moving else draft.Q,
        joint=joint,
        geometries=() if shape is None else shape.geometries,
        contact=0 if shape is None else shape.contact,
        mass=draft.mass,
        inertia=draft.inertia,
        attributes=attributes,
    )


def _state_values(
    reading: FrameDrafts, frames: tuple[Frame, ...]
) -> dict[int, np.ndarray]:
    """Return the joint values of a top-level `q`, by frame index."""
    state = reading.state
    if state is None:
        return {}
    moving = [
        (i, f.joint.dim)
        for i, f in enumerate(frames)
        if f.joint and f.joint.dim and f.joint.active and f.joint.mimic is None
    ]
    total = sum(dim for _, dim in moving)
    values = state.value
    if not isinstance(values, np.ndarray) or values.size != total:
        count = f"{values.size}" if isinstance(values, np.ndarray) else "no list of"
        state.fail(f"has {count} numbers, the active joints have {total} in all.")
    if not is_bounded(values):
        state.fail(
            f"is {values.tolist()}, expected finite numbers, at most {MAX_NUMBER:g} in"
            " size."
        )
    ends = np.cumsum([dim for _, dim in moving])[:-1]
    parts = np.split(values.reshape(-1), ends)
    return {i: part.copy() for (i, _), part in zip(moving, parts, strict=False)}


def _warn(path: Path, drafts: list[FrameDraft]) -> None:
    """Warn once of missing meshes and unreachable poses."""
    missing = [p for d in drafts if d.shape for p in d.shape.missing]
    lost = [
        d
        for d in drafts
        if d.joint and not d.joint.mimic and d.joint.unreachable > 1e-6
    ]
    notes = []
    if missing:
        notes.append(
            f"{len(missing)} meshes are missing, or outside of the model's folders; the"
            f" kinematics are kept; the first is {missing[0]}"
        )
    if lost:
        notes.append(
            f"{len(lost)} joint frames have a pose that their joint cannot reach (first"
            f" {lost[0].name!r}); put the constant part into `pre` or a parent frame"
        )
    if notes:
        warnings.warn(f"{path}: {'. '.join(notes)}.", stacklevel=3)
