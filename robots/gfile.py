"""Reading rai's graph files (`.g`, `.yml`) into a `Model`.

The frames are those that rai makes of the file, in its order and with its names
(duplicate and empty ones too); parents may come later than their children.
"""

import warnings
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .errors import unknown
from .frame import Frame, Joint, Model
from .gfile_graph import read_graph
from .gfile_joints import JointDraft, follow, joint_word, load_motion, read_joint
from .gfile_nodes import Attributes, Graph, Node
from .gfile_poses import read_pose
from .gfile_shapes import ShapeDraft, read_shape
from .transforms import IDENTITY, pose_inverse, pose_multiply

MAX_POSE_STEPS = 100_000
"""Poses multiplied to place frames given in the world; a bound on hostile files."""


def read_gfile(path: str | PathLike[str]) -> Model:
    """Read a `.g` or `.yml` file of rai, with everything it includes.

    Args:
        path: the file; `<files>` in it are relative to the file that names them.

    Returns:
        The frames in rai's order, with rai's attributes, and the joint values of a
        top-level `q: [..]`.

    Raises:
        LoadError: naming file, line and frame of what is wrong.
        ImportError: for `.yml` without pyyaml.

    Warns:
        UserWarning: once per file, for missing meshes and for poses of joint frames
            that their joint cannot reach.
    """
    path = Path(path)
    builder = _Builder(read_graph(path), path)
    return builder.model()


@dataclass(eq=False)
class _Draft:
    """A frame in the making."""

    name: str
    attributes: Attributes | None = None
    parent: int | None = None
    Q: np.ndarray = field(default_factory=IDENTITY.copy)
    joint: JointDraft | None = None
    shape: ShapeDraft | None = None
    mass: float | None = None
    inertia: np.ndarray | None = None
    done: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


class _Builder:
    def __init__(self, graph: Graph, path: Path):
        self.path = path
        self.drafts: list[_Draft] = []
        self.state: Node | None = None
        self.known_poses: dict[int, np.ndarray] = {}
        self.pose_steps = 0
        self.declare(graph)
        self.check_cycles()
        for i in range(len(self.drafts)):
            self.fill(i)
        self.last = {d.name: i for i, d in enumerate(self.drafts)}
        self.mimic_shapes()
        self.joints = self.resolve_joints()

    def declare(self, graph: Graph) -> None:
        """One draft per node, with its parent."""
        index: dict[int, int] = {}
        for node in graph.nodes:
            if not isinstance(node.value, Graph):
                if node.key != "q":
                    node.fail(
                        "only frames `name: { attributes }` and `q: [numbers]` may"
                        " stand at the top level; the brace { must be on the line of"
                        " the name."
                    )
                self.state = self.state or node
                continue
            for attribute in node.value.nodes:
                if attribute.parents:
                    attribute.fail("an attribute cannot have parents in parentheses.")
            index[id(node)] = len(self.drafts)
            self.drafts.append(_Draft(node.key, Attributes(node)))
        for node in graph.nodes:
            if id(node) not in index:
                continue
            parents = [p for p in node.parents if isinstance(p, Node) and p.alive]
            if len(parents) > 1:
                node.fail(
                    f"has {len(parents)} parents, a frame has at most one; rai's old"
                    " joints between two frames are now an attribute `joint`."
                )
            for parent in parents:
                if id(parent) not in index:
                    node.fail(f"its parent {parent.key!r} is not a frame.")
                self.drafts[index[id(node)]].parent = index[id(parent)]

    def check_cycles(self) -> None:
        """Fail when a frame is its own ancestor."""
        state = [0] * len(self.drafts)
        for start in range(len(self.drafts)):
            chain = []
            i: int | None = start
            while i is not None and state[i] == 0:
                state[i] = 1
                chain.append(i)
                i = self.drafts[i].parent
            if i is not None and state[i] == 1:
                names = " → ".join(self.drafts[k].name for k in chain[:6])
                self.attributes(i).node.fail(
                    f"is its own ancestor ({names}); give one of them another parent."
                )
            for k in chain:
                state[k] = 2

    def attributes(self, i: int) -> Attributes:
        """The attributes of a declared frame."""
        attributes = self.drafts[i].attributes
        return attributes if attributes is not None else Attributes(_nobody(self.path))

    def fill(self, i: int) -> None:
        """Everything a frame's attributes say, in rai's order."""
        draft, attributes = self.drafts[i], self.attributes(i)
        origin = read_pose(attributes, "origin")
        if origin is not None:
            self.insert_origin(i, origin, "origin")
        world = read_pose(attributes, "X")
        if world is not None:
            draft.Q = world
            if draft.parent is not None:
                parent = pose_inverse(self.world_pose(draft.parent))
                draft.Q = pose_multiply(parent, world)
        relative = self.relative_pose(i)
        pose = read_pose(attributes, "pose")
        if pose is not None:
            draft.Q = pose
        word = joint_word(attributes) if "joint" in attributes else None
        if word is not None:
            self.add_joint(i, word, relative)
        draft.shape = read_shape(attributes)
        self.add_mass(draft, attributes)
        draft.done = True

    def relative_pose(self, i: int) -> np.ndarray | None:
        draft, attributes = self.drafts[i], self.attributes(i)
        relative = read_pose(attributes, "Q")
        if relative is not None:
            if draft.parent is None:
                attributes.fail(
                    "Q",
                    "is relative to a parent, but the frame has none; use X, or name"
                    " the parent (a deleted parent is lost to its children).",
                )
            draft.Q = relative
        return relative

    def insert_origin(self, i: int, pose: np.ndarray, key: str) -> None:
        """A frame `<name>_origin` between a frame and its parent."""
        draft = self.drafts[i]
        if draft.parent is None:
            self.attributes(i).fail(key, "needs a parent frame; name it as in `a(b)`.")
        self.drafts.append(
            _Draft(f"{draft.name}_origin", parent=draft.parent, Q=pose, done=True)
        )
        draft.parent = len(self.drafts) - 1

    def add_joint(self, i: int, word: str, relative: np.ndarray | None) -> None:
        draft, attributes = self.drafts[i], self.attributes(i)
        if draft.parent is None:
            attributes.fail(
                "joint",
                f"a {word} joint needs a parent frame; name it as in `a(b)`.",
            )
        before = next((k for k in ("pre", "A") if k in attributes), "")
        pose = read_pose(attributes, before) if before else None
        if pose is not None and not np.array_equal(pose, IDENTITY):
            self.insert_origin(i, pose, before)
        self.add_post(i, pose)
        if relative is not None:
            draft.Q = relative
        draft.joint = read_joint(attributes, word, draft.Q)
        if draft.joint.joint.dim:
            draft.Q = load_motion(draft.joint.joint)

    def add_post(self, i: int, before: np.ndarray | None) -> None:
        """The pose of the only child so far."""
        attributes = self.attributes(i)
        after = next((k for k in ("post", "B", "BinvA") if k in attributes), "")
        if not after:
            return
        if after == "BinvA":
            pose = pose_inverse(IDENTITY if before is None else before)
        else:
            pose = read_pose(attributes, after)
        children = [d for d in self.drafts if d.done and d.parent == i]
        if len(children) != 1 or pose is None:
            attributes.fail(
                after,
                f"needs exactly one child that is declared before, there are"
                f" {len(children)}; give the child a `pose` instead.",
            )
        children[0].Q = pose
        self.known_poses.clear()

    def add_mass(self, draft: _Draft, attributes: Attributes) -> None:
        if "mass" not in attributes:
            return
        draft.mass = attributes.number("mass", 0.0)
        if draft.mass < 0:
            attributes.fail("mass", f"is {draft.mass}, expected kilograms >= 0.")
        given = attributes.numbers("inertia")
        if given is None:
            solid = draft.shape is not None and draft.shape.word != "marker"
            draft.inertia = None if solid else draft.mass * 1e-4 * np.eye(3)
            return
        match len(given):
            case 3:
                draft.inertia = np.diag(given)
            case 6:
                xx, xy, xz, yy, yz, zz = given
                draft.inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            case 9:
                draft.inertia = given.reshape(3, 3)
            case n:
                attributes.fail(
                    "inertia",
                    f"has {n} numbers, expected 3 (diagonal), 6 (xx xy xz yy yz zz)"
                    " or 9.",
                )
        if not np.isfinite(draft.inertia).all():
            attributes.fail("inertia", "has infinite entries.")

    def world_pose(self, i: int) -> np.ndarray:
        """A frame's pose as it is at this moment of reading."""
        chain: list[int] = []
        k: int | None = i
        while k is not None and k not in self.known_poses:
            chain.append(k)
            k = self.drafts[k].parent
        self.pose_steps += len(chain)
        if self.pose_steps > MAX_POSE_STEPS:
            self.attributes(i).node.fail(
                "too many world poses X below frames that are declared later; give"
                " relative poses Q."
            )
        final = True
        total = IDENTITY if k is None else self.known_poses[k]
        for k in reversed(chain):
            total = pose_multiply(total, self.drafts[k].Q)
            final = final and self.drafts[k].done
            if final:
                self.known_poses[k] = total
        return total

    def mimic_shapes(self) -> None:
        """Frames that show another frame's shape."""
        for draft in self.drafts:
            attributes = draft.attributes
            name = None if attributes is None else attributes.word("mimic_shape")
            if attributes is None or name is None:
                continue
            if draft.shape is not None:
                attributes.fail("mimic_shape", "the frame already has its own shape.")
            source = self.drafts[self.last[name]] if name in self.last else None
            if source is None or source.shape is None:
                attributes.fail(
                    "mimic_shape",
                    unknown(
                        "frame with a shape",
                        name,
                        [d.name for d in self.drafts if d.shape is not None],
                    ),
                )
            draft.shape = source.shape

    def resolve_joints(self) -> dict[int, Joint]:
        """The joint of each frame index, followers after the joints they follow."""
        joints: dict[int, Joint] = {}
        for start in range(len(self.drafts)):
            chain: list[int] = []
            i = start
            while i not in joints:
                draft = self.drafts[i].joint
                if draft is None:
                    break
                if i in chain:
                    self.attributes(i).fail(
                        "mimic", "this joint mimics itself, directly or in a circle."
                    )
                chain.append(i)
                if draft.mimic is None or not draft.joint.dim:
                    joints[i] = draft.joint
                    break
                i = self.followed(i, draft.mimic)
            for k in reversed(chain):
                draft = self.drafts[k].joint
                if k in joints or draft is None or draft.mimic is None:
                    continue
                target = self.followed(k, draft.mimic)
                joints[k] = follow(draft, joints[target], self.attributes(k))
                root = self.drafts[target].extra.get("mimic_index", target)
                self.drafts[k].extra["mimic_index"] = root
        return joints

    def followed(self, i: int, name: str) -> int:
        """Index of the frame whose joint is mimicked: the last of that name."""
        target = self.last.get(name)
        if target is None or self.drafts[target].joint is None:
            self.attributes(i).fail(
                "mimic",
                unknown(
                    "frame with a joint",
                    name,
                    [d.name for d in self.drafts if d.joint is not None],
                ),
            )
        return target

    def model(self) -> Model:
        """The finished frames."""
        self.warn()
        frames = tuple(self.frame(i) for i in range(len(self.drafts)))
        return Model(frames, self.values(frames))

    def frame(self, i: int) -> Frame:
        draft = self.drafts[i]
        joint = self.joints.get(i)
        attributes = draft.attributes.plain() if draft.attributes is not None else {}
        attributes |= draft.extra
        shape = draft.shape
        if shape is not None:
            attributes |= shape.described()
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

    def values(self, frames: tuple[Frame, ...]) -> dict[int, np.ndarray]:
        """The joint values of a top-level `q`, by frame index."""
        if self.state is None:
            return {}
        given = self.state.value
        moving = [
            (i, f.joint.dim)
            for i, f in enumerate(frames)
            if f.joint and f.joint.dim and f.joint.active and f.joint.mimic is None
        ]
        total = sum(dim for _, dim in moving)
        if isinstance(given, float | int) and not isinstance(given, bool):
            given = np.array([float(given)])
        if not isinstance(given, np.ndarray) or given.size != total:
            count = given.size if isinstance(given, np.ndarray) else "no"
            self.state.fail(
                f"has {count} numbers, the active joints have {total} in all."
            )
        if not np.isfinite(given).all():
            self.state.fail(f"is {given.tolist()}, expected finite numbers.")
        parts = np.split(given.reshape(-1), np.cumsum([dim for _, dim in moving])[:-1])
        return {i: part.copy() for (i, _), part in zip(moving, parts, strict=False)}

    def warn(self) -> None:
        """One warning about what was left out."""
        missing = [p for d in self.drafts if d.shape for p in d.shape.missing]
        lost = [
            d
            for d in self.drafts
            if d.joint and not d.joint.mimic and d.joint.left > 1e-6
        ]
        notes = []
        if missing:
            notes.append(
                f"{len(missing)} meshes are missing, the kinematics are kept; the first"
                f" is {missing[0]}"
            )
        if lost:
            notes.append(
                f"{len(lost)} joint frames have a pose that their joint cannot reach"
                f" (first {lost[0].name!r}); put the constant part into `pre` or a"
                " parent frame"
            )
        if notes:
            warnings.warn(f"{self.path}: {'. '.join(notes)}.", stacklevel=4)


def _nobody(path: Path) -> Node:
    from .gfile_nodes import Place

    return Node("", Graph(), Place(path, 1))
