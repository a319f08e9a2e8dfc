"""One step of the extended states of all objects of a world.

The order of the rules is iGibson 2.0's: water sources, switches, temperatures and their
maxima, wetness and the contents of containers (a rule of our own), dirt, cuts. Each
method updates a dictionary of the states by object.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float

from posewise.robots.annotations.object_states import WATER, ObjectState, Particles
from posewise.robots.annotations.objects import WorldObject
from posewise.robots.annotations.regions import Region
from posewise.robots.config import Config
from posewise.robots.errors import ConfigError

from ..exact.contact import CONTACT_TOLERANCE
from ..exact.containment import contains_points
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
from ..predicates.joint_openness import Open
from .container_rules import DOWN, droplet_capacity, falls_into
from .dirt_rules import (
    ABILITY_BY_SUBSTANCE,
    DRY_SUBSTANCES,
    PERMANENT_SUBSTANCES,
    wipe_step,
)
from .thermal_range import HeatSemantics, is_centre_within, is_within
from .thermal_rules import is_source_active, temperature_step
from .thermal_sources import ThermalSource, find_thermal_sources
from .toggle_slice_rules import slice_step, toggle_step
from .water_rules import SPOUT_OFFSET, stream_step

States = dict[str, ObjectState]
THERMAL_ABILITIES = {"cookable", "burnable", "flammable", "heatable", "freezable"}
"""Abilities of the objects whose temperature is computed."""
STRAIGHT_DOWN = "straight down"
"""The rule that droplets fall vertically, in place of recorded droplets."""

Forces: TypeAlias = float | dict[tuple[str, str], np.ndarray] | None
"""Force of every contact of a blade [N], or forces by (slicer, object) and step."""
Droplets: TypeAlias = str | dict[str, np.ndarray] | None
"""`STRAIGHT_DOWN`, or numbers of droplets by receiver and step."""


@dataclass(frozen=True, eq=False)
class StateSimulator:
    """A world whose states are stepped, and the inputs from physics.

    Geometric facts come from the exact predicates; arguments are those of `rollout`.
    """

    C: Config
    dt: float
    fingers: tuple[str, ...]
    forces: Forces
    droplets: Droplets
    ambient: float
    decay: float
    semantics: HeatSemantics

    @cached_property
    def groups(self) -> dict[str, FrameGroup]:
        """Objects with all their parts."""
        return {name: find_object(self.C, name) for name in self.C.objects}

    @cached_property
    def droplet_targets(self) -> dict[str, FrameGroup]:
        """Objects, and frames of no object that have shapes: droplets fall on them."""
        owned = {i for group in self.groups.values() for i in group.frames}
        unowned = {
            frame.name: FrameGroup(self.C, frame.name, (i,))
            for i, frame in enumerate(self.C.frames)
            if i not in owned and has_collision_shape(self.C, i)
        }
        return self.groups | unowned

    @cached_property
    def containers(self) -> dict[str, tuple[Region, ...]]:
        """Cavities by object, of fillable objects that have any."""
        cavities = {o.name: o.cavities for o in self.objects_with("fillable")}
        return {name: regions for name, regions in cavities.items() if regions}

    @cached_property
    def links(self) -> dict[tuple[str, str], str]:
        """Names of the frames that abilities refer to, by object and ability."""
        return {
            (name, ability): owner.link(ability)
            for name, owner in self.C.objects.items()
            for ability, parameters in owner.abilities.items()
            if "link" in parameters
        }

    @cached_property
    def working_parts(self) -> dict[tuple[str, str], FrameGroup]:
        """The parts with which tools clean or cut, by object and ability."""
        tools = ("cleaningTool", "slicer")
        links = self.links.items()
        return {
            key: subtree_group(self.C, frame) for key, frame in links if key[1] in tools
        }

    @cached_property
    def sources(self) -> list[ThermalSource]:
        """Sources of heat and of cold."""
        return find_thermal_sources(self.C)

    @cached_property
    def thermal_objects(self) -> list[str]:
        """Names of the objects whose temperature is computed."""
        objects = self.C.objects.items()
        return [name for name, o in objects if THERMAL_ABILITIES & o.abilities.keys()]

    def objects_with(self, ability: str) -> list[WorldObject]:
        """Return the objects that have an ability."""
        return [o for o in self.C.objects.values() if ability in o.abilities]

    def frame_position(self, frame: str) -> Float[np.ndarray, "3"]:
        """Return the origin of a frame in the world [m]."""
        return self.C.forward_pass().frames.p[self.C.index(frame)]

    def step(self, k: int, old: Mapping[str, ObjectState]) -> States:
        """Return the states after step k, at the world's present configuration.

        Args:
            k: number of the step, an index of recorded forces and droplets.
            old: states before the step.
        """
        states = dict(old)
        dripping = self.update_streams(states)
        self.update_switches(states)
        self.update_temperatures(states)
        self.update_water(k, states, dripping)
        self.update_dirt(states)
        self.update_cuts(k, states)
        return states

    def update_streams(self, states: States) -> list[WorldObject]:
        """Advance the streams, and return the sources that release a droplet."""
        dripping = []
        for source in self.objects_with("waterSource"):
            state = states[source.name]
            stream, releases = stream_step(state.stream, self.dt)
            states[source.name] = replace(state, stream=stream)
            if releases:
                dripping.append(source)
        return dripping

    def update_switches(self, states: States) -> None:
        """Flip the switches that fingers have pressed for long enough."""
        for device in self.objects_with("toggleable") if self.fingers else ():
            state = states[device.name]
            tips = np.array([self.frame_position(f) for f in self.fingers])
            button = self.frame_position(self.links[device.name, "toggleable"])
            distance = float(np.linalg.norm(tips - button, axis=-1).min())
            value, near = toggle_step(state.toggled_on, state.near_steps, distance)
            states[device.name] = replace(state, toggled_on=value, near_steps=near)

    def update_temperatures(self, states: States) -> None:
        """Heat and cool the thermal objects, and update their highest temperature."""
        sources = self.sources if self.thermal_objects else []
        active = [s for s in sources if self.is_active(s, states)]
        in_range = np.zeros((len(self.thermal_objects), len(active)), bool)
        for k, source in enumerate(active):
            in_range[:, k] = self.objects_in_range(source)
        old = [states[name].temperature for name in self.thermal_objects]
        new = temperature_step(
            np.array(old, float),
            in_range,
            np.array([s.parameters["temperature"] for s in active]),
            np.array([s.parameters["heating_rate"] for s in active]),
            self.dt,
            self.ambient,
            self.decay,
        )
        for name, T in zip(self.thermal_objects, new.tolist(), strict=True):
            highest = max(T, states[name].max_temperature)
            states[name] = replace(states[name], temperature=T, max_temperature=highest)

    def is_active(
        self, source: ThermalSource, states: Mapping[str, ObjectState]
    ) -> bool:
        """Return whether a source works: switched on and closed, where it needs to."""
        needs_on = source.parameters["requires_toggled_on"]
        needs_closed = source.parameters["requires_closed"]
        on = bool(states[source.owner].toggled_on)
        opened = needs_closed and Open(source.owner).holds(self.C)
        return bool(is_source_active(on, opened, needs_on, needs_closed))

    def objects_in_range(self, source: ThermalSource) -> Bool[np.ndarray, " objects"]:
        """Return which thermal objects are in range of a source."""
        groups = [self.groups[name] for name in self.thermal_objects]
        if source.parameters["requires_inside"]:
            centres = np.array([centre_of_mass(g, root_only=True) for g in groups])
            others = np.array(self.thermal_objects) != source.owner
            return others & contains_points(self.groups[source.owner], centres)
        limit = source.parameters["distance_threshold"]
        point = self.frame_position(source.frame)
        is_near = is_centre_within if self.semantics == "igibson" else is_within
        return np.array([is_near(group, point, limit) for group in groups], bool)

    def update_water(
        self, k: int, states: States, dripping: Sequence[WorldObject]
    ) -> None:
        """Let droplets fall, soak and fill objects, and start or stop the streams."""
        caught, contained = self.caught_droplets(k, states, dripping)
        for soakable in self.objects_with("soakable"):
            state = states[soakable.name]
            wetness = state.wetness + caught[soakable.name]
            absorbed = {**state.absorbed, WATER: wetness}
            states[soakable.name] = replace(state, absorbed=absorbed)
        for container in self.objects_with("fillable"):
            if new := contained[container.name]:
                state = states[container.name]
                room = droplet_capacity(container) - sum(state.contained.values())
                contents = state.contents + min(new, max(room, 0))
                filled = {**state.contained, WATER: contents}
                states[container.name] = replace(state, contained=filled)
        # A tap switched on in this step runs from the next one on.
        for source in self.objects_with("waterSource"):
            state = states[source.name]
            on = state.toggled_on or "toggleable" not in source.abilities
            stream = replace(state.stream, running=bool(on))
            states[source.name] = replace(state, stream=stream)

    def caught_droplets(
        self, k: int, states: States, dripping: Sequence[WorldObject]
    ) -> tuple[Counter[str], Counter[str]]:
        """Return new droplets by the object they meet, and by the container they enter.

        A droplet that falls onto its own source is returned to that source's stream.
        """
        if isinstance(self.droplets, dict):
            recorded = Counter({n: int(c[k]) for n, c in self.droplets.items()})
            return recorded, recorded
        caught, contained = Counter[str](), Counter[str]()
        matters = bool(self.objects_with("soakable") or self.containers)
        for source in dripping if matters else ():
            name, enters = self.droplet_target(k, source)
            caught[name] += 1
            contained[name] += enters
            if name == source.name:
                stream = states[name].stream
                stream = replace(stream, left=stream.left + 1)
                states[name] = replace(states[name], stream=stream)
        return caught, contained

    def droplet_target(self, k: int, source: WorldObject) -> tuple[str, bool]:
        """Return what a droplet of a source falls onto, and whether it is contained.

        Returns:
            The name of an object or frame, "" for none; and whether the droplet falls
            through a cavity there, and stays.
        """
        if self.droplets is None:
            raise ConfigError(
                f"A droplet of {source.name!r} falls at step {k}, and droplets is not"
                f' given; say droplets={STRAIGHT_DOWN!r}, or give {{"object": (T,)}}'
                " counts of those that reach each soakable or fillable object."
            )
        spout = self.frame_position(self.links[source.name, "waterSource"])
        spout = spout + SPOUT_OFFSET
        depth = {
            name: first_hits(group, spout[None], DOWN).item()
            for name, group in self.droplet_targets.items()
        }
        name = min(depth, key=depth.__getitem__)
        if depth[name] == np.inf:
            return "", False
        cavities = self.containers.get(name, ())
        return name, any(falls_into(self.C, r, spout, depth[name]) for r in cavities)

    def update_dirt(self, states: States) -> None:
        """Remove the particles that cleaning tools wipe off."""
        for tool in self.objects_with("cleaningTool"):
            part = self.working_parts[tool.name, "cleaningTool"]
            for name, state in states.items():
                if name != tool.name:
                    covering = {
                        kind: self.wiped_particles(particles, name, part)
                        if self.removes(tool, kind, name, states)
                        else particles
                        for kind, particles in state.covering.items()
                    }
                    states[name] = replace(state, covering=covering)

    def removes(
        self, tool: WorldObject, kind: str, name: str, states: Mapping[str, ObjectState]
    ) -> bool:
        """Return whether a tool can wipe a substance off an object now."""
        # Only a soaked tool removes stains, as in iGibson.
        works = kind in DRY_SUBSTANCES or states[tool.name].wetness >= 1
        needed = ABILITY_BY_SUBSTANCE.get(kind)
        has_ability = needed is None or needed in self.C.objects[name].abilities
        return bool(works and has_ability and kind not in PERMANENT_SUBSTANCES)

    def wiped_particles(
        self, particles: Particles, name: str, part: FrameGroup
    ) -> Particles:
        """Return the particles of an object after a tool's part wiped them.

        Args:
            particles: of the object, before.
            name: of the object.
            part: working part of the tool.
        """
        if not particles.active.any() or not part.collision_frames:
            return particles
        R, p = self.groups[name].pose(self.groups[name].frames[0])
        low, high = bounding_box(part)
        lower, upper = low - CONTACT_TOLERANCE, high + CONTACT_TOLERANCE
        where = particles.positions @ R.T + p
        remaining = wipe_step(particles.active, where, lower, upper, True)
        # The contact test is expensive, so it comes last.
        if (remaining == particles.active).all() or not self.is_touching(part, name):
            return particles
        return replace(particles, active=remaining)

    def is_touching(self, part: FrameGroup, name: str) -> bool:
        """Return whether a part touches an object; without shapes it does not."""
        whole = self.groups[name]
        have_shapes = part.collision_frames and whole.collision_frames
        return bool(have_shapes) and are_within(part, whole, CONTACT_TOLERANCE)

    def update_cuts(self, k: int, states: States) -> None:
        """Cut the sliceable objects that blades press hard enough."""
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
        """Return the normal force of a blade on an object [N]."""
        if isinstance(self.forces, dict):
            recorded = self.forces.get((knife, name))
            return 0.0 if recorded is None else float(recorded[k])
        if not self.is_touching(blade, name):
            return 0.0
        if self.forces is None:
            raise ConfigError(
                f"The blade of {knife!r} touches {name!r} at step {k}, and forces is"
                f" not given; give forces={{({knife!r}, {name!r}): (T,)}} [N], or one"
                " number that counts as the force of every contact."
            )
        return self.forces
