"""The world: a tree of frames with joints, shapes and objects.

A `Config` is edited freely; what is compiled from it are immutable snapshots, made
anew after each edit, so that nothing stale can be used.
"""

import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .loaders.dispatch import read_named
from .world.abilities import model_abilities, parse_abilities
from .world.annotating import AnnotatedWorld
from .world.argument_parsing import finite_vector, parse_part
from .world.frame import Model
from .world.objects import WorldObject

if TYPE_CHECKING:
    from .visual.viewer import View


class Config(AnnotatedWorld):
    """A world of frames; SI units, z up, quaternions `(w, x, y, z)`.

    "world" names the fixed origin unless a frame carries that name.
    """

    def add_object(
        self,
        name: str,
        parts: Any = (),
        *,
        parent: Any = "world",
        pose: Any = None,
        joint: Any = None,
        com: Any = None,
        mass: Any = None,
        category: str | None = None,
        abilities: Any = None,
        **options: Any,
    ) -> WorldObject:
        """Add an object made of rigid parts, each a shape and its pose (or None).

        Args:
            name: of the object and of its root frame.
            parts: shapes with their poses (7,) in the root frame; None: identity.
            parent: the frame it is attached to.
            pose: (7,) in the parent.
            joint: "free" for a movable object.
            com: centre of mass in the root frame (3,) [m].
            mass: [kg].
            category: e.g. a WordNet synset, `"shelf.n.01"`.
            abilities: with their parameters, e.g. `{"cookable": {"cook_temperature":
                58}, "soakable": {}}`.
            **options: as for `add_frame`.

        Raises:
            ConfigError: saying what does not fit.
        """
        made = tuple(parse_part(name, k, part) for k, part in enumerate(parts))
        annotated = parse_abilities(name, {} if abilities is None else abilities)
        self.add_frame(name, parent, pose=pose, joint=joint, mass=mass, **options)
        contact = int(any(g.collision for g in made))
        i = self.index(name)
        self._frames[i] = replace(
            self._frames[i],
            geometries=made,
            contact=options.get("contact", contact),
            com=None if com is None else finite_vector(f"com of {name!r}", com, 3),
        )
        self._forget()
        return self.mark_object(name, category, annotated)

    def load(
        self,
        name: str,
        prefix: str = "",
        parent: Any = "world",
        pose: Any = None,
        joint: Any = None,
    ) -> tuple[str, ...]:
        """Add one of our own models by name; objects are marked, with their regions.

        Args:
            name: "panda", "ur5e", "mug", "table", … (an unknown name lists them).
            prefix: put before every frame and joint name.
            parent: the frame that the model's root is attached to.
            pose: of the model's root in the parent (7,).
            joint: "free" for a movable object.

        Returns:
            The names of the new frames.
        """
        model, info = read_named(name)
        names = self.add_model(
            model, prefix, parent, pose, joint, source=f"model {name!r}"
        )
        if info.get("kind") == "object":
            pairs = zip(model.frames, self._frames[-len(names) :], strict=True)
            joints = {
                old.joint.name: new.joint.name
                for old, new in pairs
                if old.joint is not None and new.joint is not None
            }
            abilities = model_abilities(info, prefix, joints)
            self.mark_object(names[0], info.get("category"), abilities)
            for region, values in info.get("regions", {}).items():
                self.add_region(names[0], region, **values)
        return names

    def copy(self) -> "Config":
        """An independent copy."""
        new = Config()
        new._frames = list(self._frames)
        new._values = dict(self._values)  # arrays are replaced, never changed
        new._objects = {k: replace(o, config=new) for k, o in self._objects.items()}
        new._cameras, new._agents = dict(self._cameras), dict(self._agents)
        new._rooms, new._regions = self._rooms, self._regions
        new._states = dict(self._states)
        new._ignored, new._pairs = self._ignored, self._pairs
        new._jax_kinematics, new._cache = self._jax_kinematics, self._cache
        return new

    __copy__ = copy

    def __deepcopy__(self, memo: dict) -> "Config":
        return self.copy()

    def model(self) -> Model:
        """Frames, joint values and ignored pairs, as a loader would return them."""
        values = copy.deepcopy(self._values)
        return Model(tuple(self._frames), values, self._ignored)

    def write_urdf(self, path: Any, name: str = "posewise") -> None:
        """Write the world as a URDF file; meshes that have no file go to `meshes/`.

        Raises:
            ConfigError: for what URDF cannot say (ball joints, duplicate names).
        """
        from .loaders.urdf.writer import write_urdf

        path = Path(path)
        meshes = path.parent / "meshes"
        path.write_text(write_urdf(self.model(), name, meshes))

    def view(self, path: Any = None, dt: Any = 0.1, browser: bool = True) -> "View":
        """Show the world, or a path of it, in the browser.

        Without a path a second call shows the world as it is then on the same page.

        Args:
            path: coordinates (T, nq) to play; None: the state.
            dt: time from one slice of the path to the next [s].
            browser: whether to open the page, and to say on stderr where it is.

        Returns:
            The view: its `url`, overlays, drag handles, `save` as a page, `close`.

        Raises:
            ConfigError: for a path that is not one of this world.
            ImportError: without viser; names the extra.
        """
        from .visual.viewer import View, path_animation

        if path is not None:
            clip = path_animation(self, path, dt)
            return View(clip.world(0), clip, browser)
        if self._view is None or self._view.closed:
            self._view = View(self, browser=browser)
        else:
            self._view.update()
        return self._view

    def __repr__(self) -> str:
        return (
            f"Config({len(self._frames)} frames, {len(self.joint_names)} joints,"
            f" nq={self.nq}, {len(self._objects)} objects)"
        )


def load(name: str, **options: Any) -> Config:
    """A new world with one of our own models, e.g. `load("panda")`.

    Args:
        name: of the model.
        **options: as for `Config.load`.

    Raises:
        LoadError: for an unknown name, with near matches.
    """
    C = Config()
    C.load(name, **options)
    return C
