"""Frames of rai's graph files, made from nodes.

Frames are filled in the order of the file, each with its attributes in rai's order;
references to other frames by name (mimics) are resolved by `reader`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...kinematics.transforms import IDENTITY, pose_inverse, pose_multiply
from .joints import JointDraft, initial_transform, joint_type_name, read_joint
from .nodes import Attributes, GraphNode, NodeGraph, SourceLocation
from .poses import read_pose
from .shapes import ShapeDraft, read_shape

MAX_POSE_STEPS = 20_000
"""Largest number of products of poses that place frames given in the world; more are
refused, which bounds the time for hostile files."""


@dataclass(eq=False)
class FrameDraft:
    """A frame that is not complete yet."""

    name: str
    attributes: Attributes | None = None
    parent: int | None = None
    Q: np.ndarray = field(default_factory=IDENTITY.copy)
    joint: JointDraft | None = None
    shape: ShapeDraft | None = None
    mass: float | None = None
    inertia: np.ndarray | None = None
    is_complete: bool = False
    extra: dict[str, Any] = field(default_factory=dict)


class FrameDrafts:
    """The frames of a graph; inserted `_origin` frames are at the end.

    Args:
        graph: The nodes after includes and edits.
        path: The file, for messages.

    Raises:
        LoadError: For invalid attributes; the message names file, line and frame.
    """

    def __init__(self, graph: NodeGraph, path: Path):
        self.path = path
        self.drafts: list[FrameDraft] = []
        self.state: GraphNode | None = None
        """The top-level node `q: [..]`."""
        self._known_poses: dict[int, np.ndarray] = {}
        self._pose_steps = 0
        self._children: dict[int, list[FrameDraft]] = {}
        self._declare(graph)
        self._check_cycles()
        for i in range(len(self.drafts)):
            self._fill(i)

    def _declare(self, graph: NodeGraph) -> None:
        """Make one draft for each node, with its parent."""
        index: dict[int, int] = {}
        for node in graph.nodes:
            if not isinstance(node.value, NodeGraph):
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
            self.drafts.append(FrameDraft(node.key, Attributes(node)))
        for node in graph.nodes:
            if id(node) not in index:
                continue
            parents = [p for p in node.parents if isinstance(p, GraphNode) and p.alive]
            if len(parents) > 1:
                node.fail(
                    f"has {len(parents)} parents, a frame has at most one; rai's old"
                    " joints between two frames are now an attribute `joint`."
                )
            for parent in parents:
                if id(parent) not in index:
                    node.fail(f"its parent {parent.key!r} is not a frame.")
                self.drafts[index[id(node)]].parent = index[id(parent)]

    def _check_cycles(self) -> None:
        """Raise an error when a frame is its own ancestor."""
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
        """Return the attributes of a declared frame."""
        attributes = self.drafts[i].attributes
        if attributes is None:
            return Attributes(GraphNode("", NodeGraph(), SourceLocation(self.path, 1)))
        return attributes

    def _fill(self, i: int) -> None:
        """Fill a frame from its attributes, in rai's order."""
        draft, attributes = self.drafts[i], self.attributes(i)
        declared_parent = draft.parent
        origin = read_pose(attributes, "origin")
        if origin is not None:
            self._insert_origin(i, origin, "origin")
        world = read_pose(attributes, "X")
        if world is not None:
            draft.Q = world
            if declared_parent is not None:  # rai forgets the inserted origin here
                parent = pose_inverse(self._world_pose(declared_parent))
                draft.Q = pose_multiply(parent, world)
        relative = self._relative_pose(i)
        pose = read_pose(attributes, "pose")
        if pose is not None:
            draft.Q = pose
        word = joint_type_name(attributes) if "joint" in attributes else None
        if word is not None:
            self._add_joint(i, word, relative)
        if not np.isfinite(draft.Q).all():
            attributes.node.fail(
                f"its pose overflows: {draft.Q.tolist()}; give smaller numbers."
            )
        draft.shape = read_shape(attributes)
        self._add_mass(draft, attributes)
        self._finish(draft)

    def _finish(self, draft: FrameDraft) -> None:
        """Mark a frame as complete; only a parent's `post` still changes it."""
        draft.is_complete = True
        if draft.parent is not None:
            self._children.setdefault(draft.parent, []).append(draft)

    def _relative_pose(self, i: int) -> np.ndarray | None:
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

    def _insert_origin(self, i: int, pose: np.ndarray, key: str) -> None:
        """Insert a frame `<name>_origin` between a frame and its parent."""
        draft = self.drafts[i]
        if draft.parent is None:
            self.attributes(i).fail(key, "needs a parent frame; name it as in `a(b)`.")
        self.drafts.append(
            FrameDraft(f"{draft.name}_origin", parent=draft.parent, Q=pose)
        )
        self._finish(self.drafts[-1])
        draft.parent = len(self.drafts) - 1

    def _add_joint(self, i: int, word: str, relative: np.ndarray | None) -> None:
        draft, attributes = self.drafts[i], self.attributes(i)
        if draft.parent is None:
            attributes.fail(
                "joint",
                f"a {word} joint needs a parent frame; name it as in `a(b)`.",
            )
        before = next((k for k in ("pre", "A") if k in attributes), "")
        pose = read_pose(attributes, before) if before else None
        if pose is not None and not np.array_equal(pose, IDENTITY):
            self._insert_origin(i, pose, before)
        self._add_post(i, pose)
        if relative is not None:
            draft.Q = relative
        draft.joint = read_joint(attributes, word, draft.Q)
        if draft.joint.joint.dim:
            draft.Q = initial_transform(draft.joint.joint)

    def _add_post(self, i: int, before: np.ndarray | None) -> None:
        """Set the pose of the only child so far."""
        attributes = self.attributes(i)
        after = next((k for k in ("post", "B", "BinvA") if k in attributes), "")
        if not after:
            return
        if after == "BinvA":
            pose = pose_inverse(IDENTITY if before is None else before)
        else:
            pose = read_pose(attributes, after)
        children = self._children.get(i, [])
        if len(children) != 1 or pose is None:
            attributes.fail(
                after,
                f"needs exactly one child that is declared before, there are"
                f" {len(children)}; give the child a `pose` instead.",
            )
        children[0].Q = pose
        self._known_poses.clear()

    def _add_mass(self, draft: FrameDraft, attributes: Attributes) -> None:
        if "mass" not in attributes:
            return
        draft.mass = attributes.number("mass", 0.0)
        if draft.mass < 0:
            attributes.fail("mass", f"is {draft.mass}, expected kilograms >= 0.")
        numbers = attributes.numbers("inertia")
        if numbers is None:
            is_solid = draft.shape is not None and draft.shape.word != "marker"
            draft.inertia = None if is_solid else draft.mass * 1e-4 * np.eye(3)
            return
        match len(numbers):
            case 3:
                draft.inertia = np.diag(numbers)
            case 6:
                xx, xy, xz, yy, yz, zz = numbers
                draft.inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            case 9:
                draft.inertia = numbers.reshape(3, 3)
            case n:
                attributes.fail(
                    "inertia",
                    f"has {n} numbers, expected 3 (diagonal), 6 (xx xy xz yy yz zz)"
                    " or 9.",
                )

    def _world_pose(self, i: int) -> np.ndarray:
        """Return the world pose of a frame at the present state of reading."""
        chain: list[int] = []
        k: int | None = i
        while k is not None and k not in self._known_poses:
            chain.append(k)
            k = self.drafts[k].parent
        self._pose_steps += len(chain)
        if self._pose_steps > MAX_POSE_STEPS:
            self.attributes(i).node.fail(
                "too many world poses X below frames that are declared later; give"
                " relative poses Q."
            )
        is_final = True
        total = IDENTITY if k is None else self._known_poses[k]
        for k in reversed(chain):
            total = pose_multiply(total, self.drafts[k].Q)
            is_final = is_final and self.drafts[k].is_complete
            if is_final:
                self._known_poses[k] = total
        return total
