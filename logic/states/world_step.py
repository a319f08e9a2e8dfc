"""One step of the extended states of all objects of a world, by iGibson 2.0's rules.

In this order: water sources, switches, temperatures and their maxima, wetness, dirt,
cuts. Each part changes a dictionary of the states by object.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...robots.config import Config
from ...robots.errors import ConfigError
from ...robots.object_states import ObjectState, Particles
from ...robots.objects import WorldObject
from .dirt import wipe_step
from .surroundings import (
    CONTACT,
    below,
    box,
    first_hits,
    inside,
    is_open,
    origin,
    position,
    touching,
    triangles,
)
from .switches import slice_step, toggle_step
from .temperature import source_active, temperature_step
from .water import SPOUT, stream_step

States = dict[str, ObjectState]
THERMAL = {"cookable", "burnable", "freezable"}
SOURCES = ("heatSource", "coldSource")
FALLING = "straight down"
DOWN = np.array([[0.0, 0.0, -1.0]])


@dataclass(frozen=True, eq=False)
class World:
    """The world at a step, and what was said of its physics."""

    C: Config
    dt: float
    fingers: tuple[str, ...]
    forces: float | dict[tuple[str, str], np.ndarray] | None
    droplets: str | dict[str, np.ndarray] | None
    ambient: float
    decay: float

    def having(self, ability: str) -> list[WorldObject]:
        return [o for o in self.C.objects.values() if ability in o.abilities]

    def step(self, k: int, old: Mapping[str, ObjectState]) -> States:
        states = dict(old)
        dripping = self.drip(states)
        self.toggle(states)
        self.heat(states)
        self.wet(k, states, dripping)
        self.wipe(states)
        self.cut(k, states)
        return states

    def drip(self, states: States) -> list[WorldObject]:
        """Let droplets go; returns the sources of which one falls."""
        dripping = []
        for source in self.having("waterSource"):
            state = states[source.name]
            stream, falls = stream_step(state.stream, self.dt)
            states[source.name] = replace(state, stream=stream)
            dripping += [source] if falls else []
        return dripping

    def toggle(self, states: States) -> None:
        for thing in self.having("toggleable") if self.fingers else ():
            state = states[thing.name]
            tips = np.array([origin(self.C, f) for f in self.fingers])
            button = origin(self.C, thing.link("toggleable"))
            distance = np.linalg.norm(tips - button, axis=-1).min()
            value, near = toggle_step(state.toggled_on, state.near_steps, distance)
            states[thing.name] = replace(state, toggled_on=value, near_steps=near)

    def heat(self, states: States) -> None:
        things = [o for o in self.C.objects.values() if THERMAL & o.abilities.keys()]
        active = [
            (source, kind, source.abilities[kind])
            for kind in SOURCES
            for source in self.having(kind)
            if things and self.active(source, source.abilities[kind], states)
        ]
        temperatures = np.array([a["temperature"] for _, _, a in active])
        rates = np.array([a["heating_rate"] for _, _, a in active])
        for thing in things:
            state = states[thing.name]
            reached = np.array([self.reaches(*s, thing) for s in active], bool)
            T = temperature_step(
                np.asarray(state.temperature, float),
                reached,
                temperatures,
                rates,
                self.dt,
                self.ambient,
                self.decay,
            )
            states[thing.name] = replace(
                state,
                temperature=float(T),
                max_temperature=max(float(T), state.max_temperature),
            )

    def active(self, source: WorldObject, a: dict, states: Mapping) -> bool:
        opened = a["requires_closed"] and is_open(self.C, source.name)
        on = bool(states[source.name].toggled_on)
        needs = a["requires_toggled_on"], a["requires_closed"]
        return bool(source_active(on, opened, *needs))

    def reaches(self, source: WorldObject, kind: str, a: dict, o: WorldObject) -> bool:
        if a["requires_inside"]:
            return inside(self.C, o.name, source.name)
        point = origin(self.C, source.link(kind))
        away = np.linalg.norm(point - position(self.C, o.name))
        return bool(away <= a["distance_threshold"])

    def wet(self, k: int, states: States, dripping: list) -> None:
        caught: dict[str, int] = {}
        if isinstance(self.droplets, dict):
            caught = {n: int(count[k]) for n, count in self.droplets.items()}
        elif dripping and self.having("soakable"):
            for source in dripping:
                name = self.below_spout(k, source)
                caught[name] = caught.get(name, 0) + 1
                if name == source.name:
                    stream = states[name].stream
                    stream = replace(stream, left=stream.left + 1)
                    states[name] = replace(states[name], stream=stream)
        for thing in self.having("soakable"):
            state = states[thing.name]
            new = state.wetness + caught.get(thing.name, 0)
            states[thing.name] = replace(state, wetness=new)
        for source in self.having("waterSource"):
            state = states[source.name]
            on = state.toggled_on or "toggleable" not in source.abilities
            stream = replace(state.stream, running=bool(on))
            states[source.name] = replace(state, stream=stream)

    def below_spout(self, k: int, source: WorldObject) -> str:
        """The object (or frame) that a droplet of a source falls into; "" for none."""
        if self.droplets is None:
            raise ConfigError(
                f"A droplet of {source.name!r} falls at step {k}, and droplets is not"
                f' given; say droplets={FALLING!r}, or give {{"object": (T,)}} counts'
                " of those that reach each soakable object."
            )
        spout = origin(self.C, source.link("waterSource")) + SPOUT
        objects = list(self.C.objects)
        loose = [f.name for f in self.C.frames if f.geometries]
        hit = {n: self.depth(below(self.C, n), spout) for n in objects}
        owned = {p for n in objects for p in below(self.C, n)}
        hit |= {n: self.depth([n], spout) for n in loose if n not in owned}
        name = min(hit, key=hit.__getitem__)
        return name if hit[name] < np.inf else ""

    def depth(self, frames: Sequence[str], spout: np.ndarray) -> float:
        return first_hits(triangles(self.C, frames), spout, DOWN).item()

    def wipe(self, states: States) -> None:
        for tool in self.having("cleaningTool"):
            link = tool.link("cleaningTool")
            for kind, ability in (("dust", "dustyable"), ("stain", "stainable")):
                soaked = kind == "dust" or states[tool.name].wetness >= 1
                for thing in self.having(ability) if soaked else ():
                    if thing.name != tool.name:
                        state = states[thing.name]
                        left: Any = self.left(getattr(state, kind), thing.name, link)
                        states[thing.name] = replace(state, **{kind: left})

    def left(self, dirt: Particles, name: str, link: str) -> Particles:
        """Particles of an object that a tool leaves."""
        if not dirt.active.any():
            return dirt
        i, poses = self.C.index(name), self.C.walk().frames
        where = dirt.positions @ poses.R[i].T + poses.p[i]
        low, high = box(self.C, link)
        left = wipe_step(dirt.active, where, low - CONTACT, high + CONTACT, True)
        if (left == dirt.active).all() or not touching(
            self.C, below(self.C, link), name
        ):
            return dirt
        return replace(dirt, active=left)

    def cut(self, k: int, states: States) -> None:
        for knife in self.having("slicer"):
            blade = below(self.C, knife.link("slicer"))
            for thing in self.having("sliceable"):
                state = states[thing.name]
                if thing.name != knife.name and not state.sliced:
                    force = self.force(k, knife.name, blade, thing.name)
                    cut = slice_step(
                        False,
                        np.array([force]),
                        np.array([True]),
                        thing.abilities["sliceable"]["slice_force"],
                    )
                    states[thing.name] = replace(state, sliced=cut)

    def force(self, k: int, knife: str, blade: Sequence[str], name: str) -> float:
        """Normal force of a blade on an object [N]."""
        if isinstance(self.forces, dict):
            recorded = self.forces.get((knife, name))
            return 0.0 if recorded is None else float(recorded[k])
        if not touching(self.C, blade, name):
            return 0.0
        if self.forces is None:
            raise ConfigError(
                f"The blade of {knife!r} touches {name!r} at step {k}, and forces is"
                f" not given; give forces={{({knife!r}, {name!r}): (T,)}} [N], or one"
                " number that counts as the force of every touch."
            )
        return self.forces
