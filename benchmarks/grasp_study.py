"""A gripper is fitted to random objects by rostok's criteria on live simulations.

    python benchmarks/grasp_study.py [--objects 10] [--steps 3]

A parallel gripper of boxes hangs over an object on the ground; its design is the length
of the fingers, their opening, and the height of the palm. Ten objects (boxes, cylinders
and spheres) and where the design starts are drawn from a seed. Each simulation closes
the fingers by a constant effort and tests the grasp by random forces.

The design climbs the smooth reward (tau = 0.1) of the simulated trace. MuJoCo's steps
have no derivatives here, so that the gradient is by central differences, 3 mm each way,
over six simulations; a step along it is at most 2 cm and is halved until it is better
than those six, else the best of the six is taken. The exact SimulationReward judges the
first design and the last one; it is never looked at before.
"""

import argparse
import time
from dataclasses import dataclass, replace

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402

import posewise as pw  # noqa: E402
from posewise.logic import rostok  # noqa: E402

SECONDS = 0.6
EFFORT, DAMPING = 8.0, 20.0
TEST = 0.25
SLOTS = 48
"""Most contacts at an instant."""
TAU = 0.1
MOST, DIFFERENCE = 0.02, 3e-3
"""Longest step of the design, and of its differences [m]."""
PALM = 0.02


@dataclass(frozen=True)
class Thing:
    """An object to be grasped."""

    kind: str
    shape: object
    half_width: float
    height: float
    mass: float


def things(count: int, rng: np.random.Generator) -> list[Thing]:
    """Boxes, cylinders and spheres in turn, of 300 kg/m³."""
    objects = []
    for k in range(count):
        a, b, h = rng.uniform([0.02, 0.02, 0.04], [0.04, 0.04, 0.09])
        if k % 3 == 0:
            size = (f"box {2e3 * a:.0f} x {2e3 * b:.0f} x {1e3 * h:.0f}", 4 * a * b * h)
            shape = pw.Box([2 * a, 2 * b, h])
        elif k % 3 == 1:
            size = (f"cylinder {2e3 * a:.0f} x {1e3 * h:.0f}", np.pi * a**2 * h)
            shape = pw.Cylinder(h, a)
        else:
            h = 2 * a
            size = (f"sphere {2e3 * a:.0f}", 4 / 3 * np.pi * a**3)
            shape = pw.Sphere(a)
        objects.append(Thing(size[0], shape, a, h, 300 * size[1]))
    return objects


def allowed(design: np.ndarray, thing: Thing) -> np.ndarray:
    """The nearest design (length, half opening, height of the palm) that fits."""
    length, opening, height = design
    opening = np.clip(opening, thing.half_width + 0.004, 0.1)
    height = np.clip(height, thing.height + PALM / 2 + 0.005, 0.2)
    length = np.clip(length, 0.02, height - PALM / 2 - 0.004)
    return np.array([length, opening, height])


def first_design(thing: Thing, rng: np.random.Generator) -> np.ndarray:
    """Fingers along 10 % to 30 % of the object's height, 2 to 4 cm away from it."""
    reach, gap, above = rng.uniform([0.1, 0.02, 0.01], [0.3, 0.04, 0.03])
    height = thing.height + above + PALM / 2
    return allowed(
        np.array([above + reach * thing.height, thing.half_width + gap, height]), thing
    )


def world(design: np.ndarray, thing: Thing) -> pw.Config:
    """The gripper above the object."""
    length, opening, height = design
    C = pw.Config()
    C.add_frame("ground", shape=pw.Plane())
    center = [0, 0, thing.height / 2]
    C.add_frame(
        "thing", joint="free", position=center, shape=thing.shape, mass=thing.mass
    )
    C.add_frame("palm", position=[0, 0, height], shape=pw.Box([0.24, 0.04, PALM]))
    for name, side in (("left", -1.0), ("right", 1.0)):
        follow = {} if side < 0 else {"mimic": "left", "multiplier": -1.0}
        C.add_frame(
            name, "palm", joint="transX", limits=[[-0.1], [0.1]],
            position=[side * (opening + 0.005), 0, -(PALM + length) / 2],
            shape=pw.Box([0.01, 0.03, length]), mass=0.1, **follow,
        )  # fmt: skip
        C.ignore_collisions("palm", name)
    return C


class Study:
    """Rates designs of a gripper for one object."""

    def __init__(self, thing: Thing, seed: int) -> None:
        self.thing, self.count = thing, 0
        self.contact = rostok.EventContact(take_from_body=True)
        self.grasp = rostok.EventGrasp(SECONDS, self.contact)
        timeout = rostok.EventContactTimeOut(SECONDS / 2, self.contact)
        slip = rostok.EventSlipOut(0.05)
        self.events = [
            self.contact,
            timeout,
            rostok.EventFlyingApart(1.0),
            slip,
            self.grasp,
            rostok.EventStopExternalForce(self.grasp, TEST),
        ]
        weight = 9.81 * thing.mass
        push = rostok.RandomForces(6 * weight, 25, seed=seed)
        self.force = rostok.ExternalForces([rostok.NullGravity(thing.mass), push])
        self.force.set_activation_by_event(self.grasp)
        self.reward = rostok.SimulationReward()
        steps = round(SECONDS / 2e-3)
        for criterion, weight in (
            (rostok.TimeCriterion(SECONDS, timeout, self.grasp), 3),
            (rostok.FinalPositionCriterion(0.02, self.grasp, slip), 5),
            (rostok.ForceCriterion(timeout), 1),
            (rostok.InstantObjectCOGCriterion(self.grasp), 1),
            (rostok.InstantForceCriterion(self.grasp), 1),
            (rostok.InstantContactingLinkCriterion(self.grasp), 1),
            (rostok.GraspTimeCriterion(self.grasp, steps), 1),
        ):
            self.reward.add_criterion(criterion, weight)

    def trace(self, design: np.ndarray) -> rostok.Trace:
        """Simulate a grasp to its full length.

        Only the events that activate the force are evaluated during the simulation.
        """
        self.count += 1
        return rostok.simulate_grasp(
            world(design, self.thing),
            "thing",
            ["palm", "left", "right"],
            {"left": pw.Motor(EFFORT, damping=DAMPING)},
            [self.contact, self.grasp],
            seconds=SECONDS,
            force=self.force,
        ).trace

    def exact(self, trace: rostok.Trace) -> tuple[float, str]:
        """The reward, and how the run ends."""
        result = rostok.run_events(trace, self.events)
        return self.reward.calculate_reward(result), result.outcome

    def smooth(self, trace: rostok.Trace) -> float:
        """The smooth reward, with all traces of one shape."""
        arrays = rostok.trace_arrays(trace)
        missing = round(SECONDS / 2e-3) - arrays.n_steps
        room = SLOTS - arrays.points.shape[1]
        if room < 0 or missing:
            raise ValueError(f"{-room} contacts too many, {missing} steps missing.")
        names = ("points", "forces", "incidence")
        pad = lambda a: np.pad(a, ((0, 0), (0, room), (0, 0)))
        arrays = replace(arrays, **{n: pad(getattr(arrays, n)) for n in names})
        run = rostok.smooth_events(arrays, self.events, TAU)
        return float(self.reward.smooth(run))

    def value(self, design: np.ndarray) -> float:
        """The smooth reward of a design."""
        return self.smooth(self.trace(design))

    def around(self, design: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """The slope by central differences, and the best neighbour with its value."""
        slope, tried = np.zeros(3), []
        for j, d in enumerate(DIFFERENCE * np.eye(3)):
            pair = [allowed(design + s * d, self.thing) for s in (-1, 1)]
            low, high = values = [self.value(x) for x in pair]
            slope[j] = (high - low) / (2 * DIFFERENCE)
            tried += zip(values, pair, strict=True)
        value, best = max(tried, key=lambda t: t[0])
        return slope, value, best

    def improved(self, design: np.ndarray, steps: int) -> np.ndarray:
        """The design after some steps uphill."""
        best = self.value(design)
        for _ in range(steps):
            slope, beside, neighbour = self.around(design)
            direction = slope / max(np.linalg.norm(slope), 1e-12)
            for size in MOST * 0.5 ** np.arange(4):
                new = allowed(design + size * direction, self.thing)
                value = self.value(new)
                if value > max(best, beside):
                    design, best = new, value
                    break
            else:
                if beside <= best:
                    break
                design, best = neighbour, beside
        return design


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=10)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    print(
        "| object, mm | reward | smooth | length, opening, palm mm | becomes | ends by"
        " | simulations | s |\n|---|---|---|---|---|---|---|---|"
    )
    risen = 0
    mm = lambda x: ", ".join(f"{1e3 * v:.0f}" for v in x)
    for k, thing in enumerate(things(options.objects, rng)):
        start, study = time.perf_counter(), Study(thing, seed=k)
        first = first_design(thing, rng)
        last = study.improved(first, options.steps)
        traces = [study.trace(d) for d in (first, last)]
        (before, how), (after, end) = map(study.exact, traces)
        smooth = [study.smooth(t) for t in traces]
        risen += after > before
        print(
            f"| {thing.kind} | {before:.2f} → {after:.2f} |"
            f" {smooth[0]:.2f} → {smooth[1]:.2f} | {mm(first)} | {mm(last)} |"
            f" {how} → {end} | {study.count} | {time.perf_counter() - start:.0f} |",
            flush=True,
        )
    print(f"\nThe exact reward rises on {risen} of {options.objects}.")


if __name__ == "__main__":
    main()
