"""Activities of robots, from goals to certified motions.

    python benchmarks/motions.py [--only stack ...] [--replay]
    python benchmarks/motions.py --seeds 20 [--only drawer ...] [--replay]
    python benchmarks/motions.py --parts [--only drawer ...]

A mobile Panda moves among a table, a shelf and a cupboard, and two Pandas hand
something over. An activity is solved if all its steps are done, each path is certified,
and the exact predicates confirm the goal. `first` is the first plan in this process,
`warm` the second. Activities of one scene share their programs, which the first one
compiles.

With `--seeds` a Panda on a fixed base does five tasks at furniture, each planned with
as many seeds: how many are solved, and how long they take. With `--replay` all of these
motions are played, and count as played if the replay has no doubts.

With `--parts` a table says what share of the processor's seconds of a warm plan goes to
grasps, places, keyframes, paths, their certificates, and the rest.

Otherwise with `--replay` the motion of some is played in MuJoCo: joints follow their
positions, fingers press with a constant force, and friction holds what they grasp.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax

jax.config.update("jax_enable_x64", True)

from staging.motion_scenes import (  # noqa: E402
    door_scene,
    drawer_scene,
    kitchen,
    table_scene,
    two_arms,
)
from staging.plan_parts import PARTS, seconds_by_part  # noqa: E402

import posewise as pw  # noqa: E402
from posewise import logic  # noqa: E402
from posewise.logic.motion import (  # noqa: E402
    CloseJoint,
    Handover,
    Hold,
    MotionPlan,
    OpenJoint,
    Pick,
    Place,
    Push,
    replay,
)


def bddl(goal: str) -> logic.bddl.Problem:
    """Return a problem about the objects of the kitchen."""
    things = {
        "can": "can.n.01",
        "cup": "cup.n.01",
        "carton": "carton.n.02",
        "block": "block.n.01",
        "bowl": "bowl.n.01",
        "table": "table.n.02",
        "shelf": "shelf.n.01",
        "cupboard": "cabinet.n.01",
        "tray": "tray.n.01",
    }
    for name, category in things.items():
        goal = goal.replace(f"{name} ", f"{category}_1 ")
        goal = goal.replace(f"{name})", f"{category}_1)")
    objects = " ".join(f"{c}_1 - {c}" for c in things.values())
    return logic.bddl.parse(
        f"(define (problem p) (:domain igibson) (:objects {objects})"
        f" (:init (ontop can.n.01_1 table.n.02_1)) (:goal {goal}))"
    )


@dataclass(frozen=True)
class Activity:
    """A scene, and steps or a problem."""

    world: Callable[[], pw.Config]
    robot: str
    goal: logic.Predicate
    steps: tuple = ()
    problem: logic.bddl.Problem | None = None

    def plan(self, C: pw.Config, seed: int = 0) -> MotionPlan:
        """Return the plan."""
        if self.problem is not None:
            return logic.solve_activity(C, self.problem, self.robot, seed=seed).motion
        return logic.plan_motion(C, self.robot, list(self.steps), seed=seed)


def stacked() -> pw.Config:
    """Return the kitchen with the block on the carton."""
    C = kitchen()
    C.set_pose("block", [1.0, 0.05, 0.74002 + 0.12 + 0.02502, 1, 0, 0, 0])
    return C


def open_drawer() -> pw.Config:
    """Return the kitchen with the drawer open and the block in it."""
    C = kitchen()
    C.set_joint("drawer_joint", 0.3)
    C.set_pose("block", [0.05, -1.15, 0.695 + 0.02502, 1, 0, 0, 0])
    return C


on, inside = logic.OnTopOf, logic.InsideOf
ACTIVITIES = {
    "put away": Activity(
        kitchen, "base", on("can", "shelf"), problem=bddl("(ontop can shelf)")
    ),
    "stack": Activity(
        kitchen, "base", on("block", "carton"), problem=bddl("(ontop block carton)")
    ),
    "set the tray": Activity(
        kitchen,
        "base",
        on("can", "tray") & on("block", "tray"),
        problem=bddl("(and (ontop can tray) (ontop block tray))"),
    ),
    "clear": Activity(
        stacked, "base", on("carton", "tray"), problem=bddl("(ontop carton tray)")
    ),
    "carry upright": Activity(
        kitchen,
        "base",
        on("cup", "tray"),
        (
            Hold(logic.Upright("cup", tilt=0.2)),
            Pick("cup"),
            Place("cup", on("cup", "tray")),
        ),
    ),
    "bowl": Activity(
        kitchen,
        "base",
        on("bowl", "tray"),
        (Pick("bowl"), Place("bowl", on("bowl", "tray"))),
    ),
    "push into reach": Activity(
        kitchen,
        "base",
        logic.InReachOfAgent("can", "guest", reach=0.85),
        (Push("can", logic.InReachOfAgent("can", "guest", reach=0.85)),),
    ),
    "open the door": Activity(
        kitchen,
        "base",
        logic.Open("cupboard"),
        (OpenJoint("cupboard", "door_joint"),),
    ),
    "into the drawer": Activity(
        kitchen,
        "base",
        inside("block", "cupboard"),
        (
            OpenJoint("cupboard", "drawer_joint"),
            Pick("block"),
            Place("block", inside("block", "cupboard")),
        ),
    ),
    "close the drawer": Activity(
        open_drawer,
        "base",
        ~logic.Open("cupboard") & inside("block", "cupboard"),
        (CloseJoint("cupboard", "drawer_joint"),),
    ),
    "hand over": Activity(
        two_arms,
        "stand",
        on("stick", "right_table"),
        (
            Pick("stick", hand="left_panda_hand"),
            Handover("stick"),
            Place("stick", on("stick", "right_table")),
        ),
    ),
}
SEEDED = {
    "drawer": Activity(
        drawer_scene,
        "panda_link0",
        inside("block", "drawer") & ~logic.Open("cabinet"),
        (
            OpenJoint("cabinet"),
            Pick("block"),
            Place("block", inside("block", "drawer")),
            CloseJoint("cabinet"),
        ),
    ),
    "door": Activity(
        door_scene,
        "panda_link0",
        ~logic.Open("cupboard"),
        (OpenJoint("cupboard"), CloseJoint("cupboard")),
    ),
    "shelf": Activity(
        table_scene,
        "panda_link0",
        on("can", "shelf"),
        (Pick("can"), Place("can", on("can", "shelf"))),
    ),
    "two objects": Activity(
        table_scene,
        "panda_link0",
        on("can", "tray") & on("block", "tray"),
        (
            Pick("can"),
            Place("can", on("can", "tray")),
            Pick("block"),
            Place("block", on("block", "tray")),
        ),
    ),
    "push": Activity(
        table_scene,
        "panda_link0",
        logic.NextTo("block", "can"),
        (Push("block", logic.NextTo("block", "can")),),
    ),
}
"""Tasks that are planned with many seeds."""
REPLAYED = ("put away", "stack", "close the drawer")
"""Activities whose motion is played in MuJoCo."""


def run_seeds(names: list[str], count: int, play: bool) -> None:
    """Plan tasks with many seeds, and print a table."""
    print(
        "| task | steps | solved | certified | median s | slowest s | CPU s | played"
        " | failed |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        activity, seconds, processor, failed = SEEDED[name], [], [], []
        solved = certified = played = 0
        for seed in range(count):
            C, started = activity.world(), time.perf_counter()
            began = time.process_time()
            plan = activity.plan(C, seed)
            seconds.append(time.perf_counter() - started)
            processor.append(time.process_time() - began)
            good = plan.solved and activity.goal.holds(plan.world)
            solved += good
            certified += good and plan.is_certified
            failed += [] if good else [f"{seed}: {plan.reason}"]
            if play and good:
                doubts = replay(plan).doubts
                played += not doubts
                failed += [f"{seed}: {doubts[0]}"] if doubts else []
        # The first one compiles.
        later, used = (sorted(x[1:] or x) for x in (seconds, processor))
        steps = ", ".join(type(step).__name__ for step in activity.steps)
        print(
            f"| {name} | {steps} | {solved} of {count} | {certified}"
            f" | {later[len(later) // 2]:.1f} | {later[-1]:.1f}"
            f" | {used[len(used) // 2]:.1f}"
            f" | {played if play else 'not run'} | {'; '.join(failed)} |",
            flush=True,
        )


def run_parts(names: list[str]) -> None:
    """Plan tasks three times, and print where the seconds of the last plan go."""
    columns = [*PARTS, "rest"]
    print(f"| task | warm CPU s | {' | '.join(columns)} |")
    print("|---|---|" + "---|" * len(columns))
    for name in names:
        activity = {**ACTIVITIES, **SEEDED}[name]
        activity.plan(activity.world())
        started = time.process_time()
        activity.plan(activity.world())
        warm = time.process_time() - started
        seconds = seconds_by_part(partial(activity.plan, activity.world()))
        total = sum(seconds.values())
        shares = [f"{100 * seconds[column] / total:.0f} %" for column in columns]
        print(f"| {name} | {warm:.1f} | {' | '.join(shares)} |", flush=True)


def main() -> None:
    """Run the activities, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*ACTIVITIES, *SEEDED])
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--seeds", type=int, metavar="N")
    parser.add_argument("--parts", action="store_true")
    options = parser.parse_args()
    if options.parts:
        run_parts(options.only or list(SEEDED))
        return
    if options.seeds is not None:
        run_seeds(options.only or list(SEEDED), options.seeds, options.replay)
        return
    print("| activity | steps | solved | certified | first s | warm s | replayed |")
    print("|---|---|---|---|---|---|---|")
    solved = 0
    names = options.only or list(ACTIVITIES)
    for name in names:
        activity, seconds = ACTIVITIES[name], []
        for _ in range(2):
            started = time.perf_counter()
            C = activity.world()
            plan = activity.plan(C)
            seconds.append(time.perf_counter() - started)
        good = plan.solved and activity.goal.holds(plan.world)
        solved += good
        replayed = "" if name not in REPLAYED or not good else "not run"
        if options.replay and replayed:
            end = replay(plan).world
            replayed = "holds" if activity.goal.holds(end) else "fails"
            replayed += f": {activity.goal.explain(end)}"
        steps = ", ".join(type(r.step).__name__ for r in plan.steps)
        print(
            f"| {name} | {steps} | {'yes' if good else 'no: ' + plan.reason}"
            f" | {'yes' if plan.is_certified else 'no'} | {seconds[0]:.1f}"
            f" | {seconds[1]:.1f} | {replayed} |",
            flush=True,
        )
    print(f"{solved} of {len(names)} solved")


if __name__ == "__main__":
    main()
