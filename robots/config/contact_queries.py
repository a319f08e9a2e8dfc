"""Collisions and distances of a world in its state."""

import numpy as np
from jaxtyping import Float, Int

from posewise.collision import Contact

from ..contact.filter import pairs_between
from ..contact.proximity import nearest_contacts, signed_distance
from ..facets.editable_world import EditableWorld
from ..loaders.urdf.srdf import DEFAULT_REASON
from ..typing import FrameName, Frames
from ..validation import number


class ContactQueries(EditableWorld):
    """A world whose frames collide, or are told to ignore that."""

    def ignore_collisions(self, a: Frames, b: Frames | None = None) -> None:
        """Exclude pairs of frames from all collisions, until `restore_collisions`.

        The exclusion belongs to the frames, wherever they are attached later. To
        exclude a frame altogether, `set_contact(frame, 0)`.

        Args:
            a: a frame or an object, which stands for all its parts; or a list of them.
            b: the same; every frame of `a` ignores every one of `b`. None: the frames
                of `a` ignore each other.

        Raises:
            ConfigError: for an unknown name, with near matches, or a single frame.
        """
        pairs = pairs_between(self._tree, self._annotations.objects, a, b)
        self._filter = self._filter.ignoring(dict.fromkeys(pairs, DEFAULT_REASON))

    def restore_collisions(self, a: Frames, b: Frames | None = None) -> None:
        """Undo `ignore_collisions`, also what a model's file has ignored.

        Contact flags are not changed.

        Args:
            a: see `ignore_collisions`.
            b: see `ignore_collisions`.
        """
        pairs = pairs_between(self._tree, self._annotations.objects, a, b)
        self._filter = self._filter.restoring(pairs)

    def collisions(
        self, margin: float = 0.0, self_margin: float | None = None
    ) -> list[tuple[str, str, float]]:
        """Return the pairs of frames that are nearer than a margin, nearest first.

        Args:
            margin: [m]; 0: those that touch or penetrate.
            self_margin: of pairs of one robot, see `pairs.own_links` [m]; None:
                `margin`.

        Returns:
            For each of `pairs.names()` that is: both names and the signed distance.
        """
        margin = number("margin", margin, "one number (metres)")
        own_margin = margin
        if self_margin is not None:
            own_margin = number("self_margin", self_margin, "one number (metres)")
        pairs, names = self.pairs.indices(), self.frame_names
        cutoff = max(margin, own_margin)
        contacts = self.contacts(pairs, float(np.nextafter(cutoff, np.inf)))
        limit = np.where(self.pairs.own_links(pairs), own_margin, margin)
        return [
            (names[pairs[k, 0]], names[pairs[k, 1]], float(contact.distance))
            for k, contact in contacts.items()
            if contact.distance <= limit[k]
        ]

    def contacts(
        self, pairs: Int[np.ndarray, "n 2"], cutoff: float = np.inf
    ) -> dict[int, Contact]:
        """Return the nearest contact of pairs of frame indices, by row of `pairs`.

        Args:
            pairs: frame indices, e.g. `pairs.indices()`.
            cutoff: pairs farther apart are left out [m].
        """
        return nearest_contacts(self._tree, pairs, cutoff)

    def signed_distance(
        self, a: FrameName, b: FrameName
    ) -> tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3"]]:
        """Return the signed distance of two frames or objects, and the witness points.

        Args:
            a: name of a frame, or of an object, which stands for all its parts.
            b: another one.

        Returns:
            The distance [m], negative in penetration; the point of a and the point of b
            in the world.

        Raises:
            ConfigError: for unknown names, and without collision shapes.
        """
        parts_a, parts_b = self.pairs.solid_parts(a), self.pairs.solid_parts(b)
        return signed_distance(self._tree, parts_a, parts_b, (a, b))
