"""One step of the extended states of all objects of a world, by iGibson 2.0's rules.

In this order: water sources, switches, temperatures and their maxima, wetness and what
is in containers (a rule of our own), dirt, cuts. Each part changes a dictionary of the
states by object.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.config import Config
from posewise.robots.errors import ConfigError
from posewise.robots.world.object_states import ObjectState, Particles
from posewise.robots.world.objects import WorldObject
from posewise.robots.world.regions import Region

from ..exact.contact import CONTACT_TOLERANCE
from ..exact.containment import contains_points
from ..exact.joint_openness import Open
from ..geometry.frame_groups import (
    FrameGroup,
    are_within,
    bounding_box,
    centre_of_mass,
    find_object,
    first_hits,
    has_collision_shape,
    subtree_group,
)
from .container_rules import DOWN, droplet_capacity, falls_into
from .dirt_rules import wipe_step
from .thermal_rules import is_source_active, temperature_step
from .thermal_sources import ThermalSource, find_thermal_sources
from .toggle_slice_rules import slice_step, toggle_step
from .water_rules import SPOUT_OFFSET, stream_step

States = dict[str, ObjectState]
THERMAL_ABILITIES = {"cookable", "burnable", "flammable", "heatable", "freezable"}
STRAIGHT_DOWN = "straight down"


@dataclass(frozen=True, eq=False)
class StateSimulator:
    """The world at a step, and what was said of its physics.

    Of the geometry it asks the exact predicates; see `rollout`.
    """

    C: Config
    dt: float
    fingers: tuple[str, ...]
    forces: float | dict[tuple[str, str], np.ndarray] | None
    droplets: str | dict[str, np.ndarray] | None
    ambient: float
    decay: float

    @cached_property
    def solids(self) -> dict[str, FrameGroup]:
        """Objects with all their parts."""
        return {name: find_object(self.C, name) for name in self.C.objects}

    @cached_property
    def catchers(self) -> dict[str, FrameGroup]:
        """What droplets fall into: objects, and frames of none that have shapes."""
        owned = {i for solid in self.solids.values() for i in solid.frames}
        loose = {
            frame.name: FrameGroup(self.C, frame.name, (i,))
            for i, frame in enumerate(self.C.frames)
            if i not in owned and has_collision_shape(self.C, i)
        }
        return self.solids | loose

    @cached_property
    def containers(self) -> dict[str, tuple[Region, ...]]:
        """Cavities of what is fillable, by object; of those that have any."""
        found = {o.name: o.cavities for o in self.objects_with("fillable")}
        return {name: regions for name, regions in found.items() if regions}

    @cached_property
    def links(self) -> dict[tuple[str, str], str]:
        """The frames that abilities speak of, by object and ability."""
        return {
            (name, ability): owner.link(ability)
            for name, owner in self.C.objects.items()
            for ability, parameters in owner.abilities.items()
            if "link" in parameters
        }

    @cached_property
    def working_parts(self) -> dict[tuple[str, str], FrameGroup]:
        """What tools clean or cut with, by object and ability."""
        tools = ("cleaningTool", "slicer")
        links = self.links.items()
        return {key: subtree_group(self.C, at) for key, at in links if key[1] in tools}

    @cached_property
    def sources(self) -> list[ThermalSource]:
        """Sources of heat and of cold."""
        return find_thermal_sources(self.C)

    @cached_property
    def thermal_objects(self) -> list[str]:
        """Names of the objects that have a temperature."""
        objects = self.C.objects.items()
        return [name for name, o in objects if THERMAL_ABILITIES & o.abilities.keys()]

    def objects_with(self, ability: str) -> list[WorldObject]:
        return [o for o in self.C.objects.values() if ability in o.abilities]

    def frame_position(self, frame: str) -> Float[np.ndarray, "3"]:
        return self.C.forward_pass().frames.p[self.C.index(frame)]

    def step(self, k: int, old: Mapping[str, ObjectState]) -> States:
        states = dict(old)
        dripping = self.update_streams(states)
        self.update_switches(states)
        self.update_temperatures(states)
        self.update_water(k, states, dripping)
        self.update_dirt(states)
        self.update_cuts(k, states)
        return states

    def update_streams(self, states: States) -> list[WorldObject]:
        """Let droplets go; returns the sources of which one falls."""
        dripping = []
        for source in self.objects_with("waterSource"):
            state = states[source.name]
            stream, falls = stream_step(state.stream, self.dt)
            states[source.name] = replace(state, stream=stream)
            dripping += [source] if falls else []
        return dripping

    def update_switches(self, states: States) -> None:
        for device in self.objects_with("toggleable") if self.fingers else ():
            state = states[device.name]
            tips = np.array([self.frame_position(f) for f in self.fingers])
            button = self.frame_position(self.links[device.name, "toggleable"])
            distance = np.linalg.norm(tips - button, axis=-1).min()
            value, near = toggle_step(state.toggled_on, state.near_steps, distance)
            states[device.name] = replace(state, toggled_on=value, near_steps=near)

    def update_temperatures(self, states: States) -> None:
        active = [
            s for s in self.sources if self.thermal_objects and self.active(s, states)
        ]
        solids = [self.solids[name] for name in self.thermal_objects]
        centres = np.array([centre_of_mass(x, root=True) for x in solids])
        reached = np.zeros((len(solids), len(active)), bool)
        for k, source in enumerate(active):
            reached[:, k] = self.objects_in_range(source, centres)
        new = temperature_step(
            np.array(
                [states[name].temperature for name in self.thermal_objects], float
            ),
            reached,
            np.array([s.parameters["temperature"] for s in active]),
            np.array([s.parameters["heating_rate"] for s in active]),
            self.dt,
            self.ambient,
            self.decay,
        )
        for name, T in zip(self.thermal_objects, new.tolist(), strict=True):
            highest = max(T, states[name].max_temperature)
            states[name] = replace(states[name], temperature=T, max_temperature=highest)

    def active(self, source: ThermalSource, states: Mapping[str, ObjectState]) -> bool:
        needs_on = source.parameters["requires_toggled_on"]
        needs_closed = source.parameters["requires_closed"]
        on = bool(states[source.owner].toggled_on)
        opened = needs_closed and Open(source.owner).holds(self.C)
        return bool(is_source_active(on, opened, needs_on, needs_closed))

    def objects_in_range(
        self, source: ThermalSource, centres: Float[np.ndarray, "heated 3"]
    ) -> Bool[np.ndarray, " heated"]:
        """Which objects a source warms, or cools, with their centres of mass there."""
        if source.parameters["requires_inside"]:
            others = np.array(self.thermal_objects) != source.owner
            return others & contains_points(self.solids[source.owner], centres)
        away = np.linalg.norm(self.frame_position(source.frame) - centres, axis=-1)
        return away <= source.parameters["distance_threshold"]

    def update_water(self, k: int, states: States, dripping: list) -> None:
        caught, held = Counter[str](), Counter[str]()
        if isinstance(self.droplets, dict):
            caught = Counter({n: int(c[k]) for n, c in self.droplets.items()})
            held = caught
        elif dripping and (self.objects_with("soakable") or self.containers):
            for source in dripping:
                name, into = self.droplet_target(k, source)
                caught[name] += 1
                held[name] += into
                if name == source.name:
                    stream = states[name].stream
                    stream = replace(stream, left=stream.left + 1)
                    states[name] = replace(states[name], stream=stream)
        for soakable in self.objects_with("soakable"):
            state = states[soakable.name]
            new = state.wetness + caught[soakable.name]
            states[soakable.name] = replace(state, wetness=new)
        for container in self.objects_with("fillable"):
            if new := held[container.name]:
                state = states[container.name]
                room = max(droplet_capacity(container) - state.contents, 0)
                contents = state.contents + min(new, room)
                states[container.name] = replace(state, contents=contents)
        for source in self.objects_with("waterSource"):
            state = states[source.name]
            on = state.toggled_on or "toggleable" not in source.abilities
            stream = replace(state.stream, running=bool(on))
            states[source.name] = replace(state, stream=stream)

    def droplet_target(self, k: int, source: WorldObject) -> tuple[str, bool]:
        """The object (or frame) that a droplet of a source falls onto, "" for none, and
        whether it goes through a cavity there, and stays."""
        if self.droplets is None:
            raise ConfigError(
                f"A droplet of {source.name!r} falls at step {k}, and droplets is not"
                f' given; say droplets={STRAIGHT_DOWN!r}, or give {{"object": (T,)}}'
                " counts of those that reach each soakable or fillable object."
            )
        spout = (
            self.frame_position(self.links[source.name, "waterSource"]) + SPOUT_OFFSET
        )
        hit = {
            n: first_hits(x, spout[None], DOWN).item() for n, x in self.catchers.items()
        }
        name = min(hit, key=hit.__getitem__)
        if hit[name] == np.inf:
            return "", False
        regions = self.containers.get(name, ())
        return name, any(falls_into(self.C, r, spout, hit[name]) for r in regions)

    def update_dirt(self, states: States) -> None:
        for tool in self.objects_with("cleaningTool"):
            area = self.working_parts[tool.name, "cleaningTool"]
            for kind, ability in (("dust", "dustyable"), ("stain", "stainable")):
                soaked = kind == "dust" or states[tool.name].wetness >= 1
                for dirty in self.objects_with(ability) if soaked else ():
                    if dirty.name != tool.name:
                        state = states[dirty.name]
                        left: Any = self.left(getattr(state, kind), dirty.name, area)
                        states[dirty.name] = replace(state, **{kind: left})

    def left(self, dirt: Particles, name: str, area: FrameGroup) -> Particles:
        """Particles of an object that a tool's area leaves."""
        if not dirt.active.any() or not area.collision_frames:
            return dirt
        R, p = self.solids[name].pose(self.solids[name].frames[0])
        low, high = bounding_box(area)
        where = dirt.positions @ R.T + p
        left = wipe_step(
            dirt.active, where, low - CONTACT_TOLERANCE, high + CONTACT_TOLERANCE, True
        )
        if (left == dirt.active).all() or not self.is_touching(area, name):
            return dirt
        return replace(dirt, active=left)

    def is_touching(self, part: FrameGroup, name: str) -> bool:
        """Whether a part touches an object; what has no shape touches nothing."""
        whole = self.solids[name]
        shapes = part.collision_frames and whole.collision_frames
        return bool(shapes) and are_within(part, whole, CONTACT_TOLERANCE)

    def update_cuts(self, k: int, states: States) -> None:
        for knife in self.objects_with("slicer"):
            blade = self.working_parts[knife.name, "slicer"]
            for food in self.objects_with("sliceable"):
                state = states[food.name]
                if food.name != knife.name and not state.sliced:
                    force = self.blade_force(k, knife.name, blade, food.name)
                    cut = slice_step(
                        False,
                        np.array([force]),
                        np.array([True]),
                        food.abilities["sliceable"]["slice_force"],
                    )
                    states[food.name] = replace(state, sliced=cut)

    def blade_force(self, k: int, knife: str, blade: FrameGroup, name: str) -> float:
        """Normal force of a blade on an object [N]."""
        if isinstance(self.forces, dict):
            recorded = self.forces.get((knife, name))
            return 0.0 if recorded is None else float(recorded[k])
        if not self.is_touching(blade, name):
            return 0.0
        if self.forces is None:
            raise ConfigError(
                f"The blade of {knife!r} touches {name!r} at step {k}, and forces is"
                f" not given; give forces={{({knife!r}, {name!r}): (T,)}} [N], or one"
                " number that counts as the force of every touch."
            )
        return self.forces
