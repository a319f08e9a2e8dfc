"""Edits of the frames of a world: fewer of them, copies, other parents."""

from collections.abc import Callable, Collection, Sequence
from typing import Unpack

import numpy as np

from ..facets.editable_world import EditableWorld
from ..typing import FrameName, JointTypeName
from ..world import edit
from ..world.frame import FrameFields, Joint
from ..world.subtree_copy import copy_subtree


class FrameEdits(EditableWorld):
    """A world whose frames are removed, copied and attached."""

    def remove(self, frame: FrameName) -> None:
        """Remove a frame and everything attached to it.

        Raises:
            ConfigError: for an unknown name, or when a remaining joint mimics one of
                the removed joints.
        """
        self._tree, new_index = edit.remove(self._tree, frame)
        self._filter = self._filter.reindexed(new_index)
        joints = {f.joint.name for f in self.frames if f.joint is not None}
        self._annotations = self._annotations.restricted_to(
            set(self.frame_names), joints
        )

    def replace_frame(self, frame: FrameName, **changes: Unpack[FrameFields]) -> None:
        """Replace fields of a frame without checks; for research code.

        Args:
            frame: its name.
            **changes: fields of `Frame`, such as `origin` or `geometries`.

        Raises:
            ConfigError: for an unknown name, with near matches.
        """
        i = self._tree.own_index(frame)
        self._tree = self._tree.with_frame(i, **changes).checked()

    def copy_subtree(
        self,
        root: FrameName,
        parent: FrameName,
        rename: Callable[[str], str],
        *,
        origin: np.ndarray,
        joint: Joint | None = None,
        without: Collection[str] = (),
    ) -> dict[str, str]:
        """Copy a frame and everything below it; joints inside mimic the original's.

        Args:
            root: the frame.
            parent: the frame that the root's copy is attached to.
            rename: names of the copies, of frames and of joints.
            origin: of the root's copy in the parent (7,), before its joint.
            joint: of the root's copy.
            without: frames that are not copied, nor what is attached to them.

        Returns:
            Names of the copies by those of the originals.

        Raises:
            ConfigError: when the parent is the root or below it.
        """
        self._tree, copy_index = copy_subtree(
            self._tree,
            root,
            parent,
            rename,
            origin=origin,
            joint=joint,
            without=without,
        )
        self._filter = self._filter.with_copies(copy_index)
        names = self.frame_names
        return {names[i]: names[k] for i, k in copy_index.items()}

    def reorder(self, names: Sequence[FrameName]) -> None:
        """Put the frames in another order, which changes nothing but indices and q.

        Programs depend on the order: worlds in which different frames are attached to
        the same link share them if these frames come last, say.

        Args:
            names: of all frames, each once.

        Raises:
            ConfigError: for an unknown name, and when a frame is missing.
        """
        self._tree, new_index = edit.reorder(self._tree, names)
        self._filter = self._filter.reindexed(new_index)

    def attach(self, parent: FrameName, frame: FrameName) -> None:
        """Fix a frame to a new parent, keeping its present world pose.

        Its joint, if any, is replaced by a rigid attachment. Pictures show it as
        another body, in its colour. What a hand holds does not collide with the hand
        and its fingers until it is detached, or attached to another frame. A hand is
        the link of the parent if an arm moves it, or if an agent declares it; fingers
        are the links below on chains of at most four joints.

        Raises:
            ConfigError: for unknown names, and when the parent is below the frame.
        """
        self._tree = edit.attach(self._tree, parent, frame)
        self.hold(frame)

    def detach(self, frame: FrameName, joint: JointTypeName | None = "free") -> None:
        """Loosen a frame from its parent: it keeps its pose, on a joint in the world.

        Args:
            frame: the frame.
            joint: the new joint's type ("free"); None: fixed in the world.

        Raises:
            ConfigError: for an unknown frame or joint type.
        """
        self._tree = edit.detach(self._tree, frame, joint)
        self._release(self._tree.own_index(frame))
