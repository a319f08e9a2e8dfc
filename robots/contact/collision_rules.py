"""Which frames of a world can collide, and how users change that."""

from collections.abc import Iterable
from itertools import combinations, product
from typing import Any

import numpy as np
from jaxtyping import Int

from ..errors import ConfigError, unknown_name
from ..loaders.urdf.srdf import read_srdf
from ..validation import number
from ..world.state import WorldState
from .collision_pairs import FramePair, collision_pairs, ordered_pairs
from .proximity import nearest_contacts


class CollisionRules(WorldState):
    """A world that knows which pairs of its frames can collide."""

    def collision_pairs(self) -> list[tuple[str, str]]:
        """Names of the frames that can collide, in order of the frames.

        Both have a shape for collision and a contact flag other than 0, a moving joint
        is between them, and neither their contact flags (see `set_contact`) nor
        `ignore_collisions` take them out. In URDF and MJCF models the links on the two
        sides of a joint are taken out from the start.
        """
        names = self.frame_names
        return [(names[a], names[b]) for a, b in self._collision_pairs().tolist()]

    def ignore_collisions(self, a: Any, b: Any = None) -> None:
        """Take pairs of frames out of all collisions, until `restore_collisions`.

        That belongs to the frames, wherever they are attached later. To take a frame
        out altogether, `set_contact(frame, 0)`.

        Args:
            a: a frame or an object, which stands for all its parts; or a list of them.
            b: the same; every frame of `a` ignores every one of `b`. None: the frames
                of `a` ignore each other.

        Raises:
            ConfigError: for an unknown name, with near matches, or a single frame.
        """
        self._ignored |= self._between(a, b)
        self._renew()

    def restore_collisions(self, a: Any, b: Any = None) -> None:
        """Undo `ignore_collisions`, also what a model's file has ignored.

        Contact flags stay as they are.

        Args:
            a: see `ignore_collisions`.
            b: see `ignore_collisions`.
        """
        self._ignored -= self._between(a, b)
        self._renew()

    def read_srdf(self, path: Any, prefix: str = "") -> None:
        """Ignore the collisions that an SRDF file (MoveIt) disables; all or nothing.

        Its order does not matter: `<disable_default_collisions>`, a link with every
        other frame present, then `<enable_collisions>`, then `<disable_collisions>`.
        All else in the file is passed over.

        Args:
            path: the file.
            prefix: put before every link name, as in `add_file`.

        Raises:
            LoadError: for a file that is no SRDF, or names a link that is not here.
        """
        srdf = read_srdf(path)
        names = self.frame_names
        index = {name: i for i, name in reversed([*enumerate(names)])}

        def pairs(kind: str) -> set[FramePair]:
            found: set[FramePair] = set()
            for links, element in srdf[kind].items():
                for name in links:
                    if prefix + name not in index:
                        raise element.error(unknown_name("link", prefix + name, names))
                frames = [index[prefix + name] for name in links]
                others = frames[1:] or range(len(self._frames))
                found |= ordered_pairs(product(frames[:1], others))
            return found

        by_default = pairs("disable_default_collisions")
        enabled, disabled = pairs("enable_collisions"), pairs("disable_collisions")
        self._ignored = (self._ignored | by_default) - enabled | disabled
        self._renew()

    def signed_distance(self, a: Any, b: Any) -> tuple[float, np.ndarray, np.ndarray]:
        """Signed distance of two frames or objects, and the witness points.

        Args:
            a: name of a frame, or of an object, which stands for all its parts.
            b: another one.

        Returns:
            The distance [m], negative in penetration; the point of a and the point of b
            in the world.

        Raises:
            ConfigError: for unknown names, and without collision shapes.
        """
        pairs = [(i, j) for i in self._solid_parts(a) for j in self._solid_parts(b)]
        found = self._contacts(pairs)
        if not found:
            raise ConfigError(f"{a!r} and {b!r}: two half-spaces have no distance.")
        best = min(found.values(), key=lambda c: c.distance)
        return float(best.distance), best.point_a, best.point_b

    def collisions(self, margin: Any = 0.0) -> list[tuple[str, str, float]]:
        """Pairs of frames that are nearer than a margin, nearest first.

        Args:
            margin: [m]; 0: those that touch or penetrate.

        Returns:
            For each of `collision_pairs()` that is: both names and the signed distance.
        """
        margin = number("margin", margin, "one number (metres)")
        pairs = self._collision_pairs()
        found = self._contacts(pairs, float(np.nextafter(margin, np.inf)))
        names = self.frame_names
        return [
            (names[pairs[k][0]], names[pairs[k][1]], float(c.distance))
            for k, c in sorted(found.items(), key=lambda x: x[1].distance)
        ]

    def _contacts(self, pairs: Any, cutoff: float = np.inf) -> dict[int, Any]:
        poses = self.forward_pass().frames
        return nearest_contacts(self._frames, poses.R, poses.p, pairs, cutoff)

    def _solid_parts(self, name: Any) -> list[int]:
        if name not in self._objects:
            return [self.index(name)]
        parts = [self.index(n) for n in self._objects[name].parts]
        solid = [
            i for i in parts if any(g.collision for g in self._frames[i].geometries)
        ]
        return solid or [self.index(name)]

    def _collision_pairs(self) -> Int[np.ndarray, "n 2"]:
        """Index pairs of the frames that can collide, kept until the next edit."""
        if self._pairs is None:
            nodes = self._snapshot()[0].tree.frame_nodes
            self._pairs = collision_pairs(self._frames, nodes, self._ignored)
        return self._pairs

    def _renew(self) -> None:
        """Another snapshot, of the same kinematics: who can collide has changed."""
        self._pairs = None
        if self._cache is not None:
            layout, kinematics = self._cache
            self._cache = layout, kinematics

    def _between(self, a: Any, b: Any) -> set[FramePair]:
        first = self._indices("a", a)
        if b is not None:
            return ordered_pairs(product(first, self._indices("b", b)))
        if len(first) == 1:
            raise ConfigError(
                f"a is {a!r}, a single frame, and b is not given; name as b the other"
                f" side of the pairs (to end all of them: set_contact({a!r}, 0))."
            )
        return ordered_pairs(combinations(first, 2))

    def _indices(self, what: str, names: Any) -> list[int]:
        """Indices of frames and of all parts of objects."""
        alone = isinstance(names, str) or not isinstance(names, Iterable)
        listed = [names] if alone else list(names)
        if not all(isinstance(name, str | int | np.integer) for name in listed):
            raise ConfigError(
                f"{what} is {names!r}, expected the name of a frame or an object, or a"
                " list of names."
            )
        frames = []
        for name in listed:
            parts = self._objects[name].parts if name in self._objects else (name,)
            frames += [self.index(part) for part in parts]
        if len(self._frames) in frames:
            raise ConfigError(
                f"{what} has 'world', the fixed origin, which has no shape; name a"
                " frame."
            )
        return frames
