"""What `--help` says of each command, with an example that can be copied."""

REACHING = """\
scene:
  models: [panda]
  lock: [panda_finger_joint1]
  frames:
    target: {position: [0.5, 0.2, 0.5], shape: Marker(0.1)}
komo: {starts: 4}
objectives:
  - {control: 0, scale: 0.1}
  - {feature: positionDiff, frames: [panda_hand_tcp, target], scale: 10}
  - {feature: vectorZ, frames: [panda_hand_tcp], target: [0, 0, -1]}
"""
"""An inverse kinematics."""

PLACING = """\
scene:
  models: [table]
  objects:
    box:
      parts: ["Box([0.08, 0.06, 0.12])"]
      joint: free
      pose: [0, 0, 1.2, 1, 0, 0, 0]
placement: {movable: [box], starts: 16}
predicates:
  - OnTopOf(box, table)
seed: 0
"""
"""A placement, of which the predicates can be checked too."""

CODES = "exit codes: 0 {good}, 1 {bad}, 2 bad input"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


SOLVE = f"""\
A problem file is YAML. What is in the world, in the order it is added:
  scene:       files (models beside the file), models (posewise's own), frames,
               objects, cameras, agents, states, joints (values), lock (joints);
               arguments are those of Config's methods
  q:           the state: all coordinates, or values by joint
What is solved, one of:
  komo:        phases, slices (of each), order, duration [s], starts: a path, or
               without these one configuration
  placement:   movable, starts, region, collisions, enough, apart: poses of objects
What is asked for:
  objectives:  feature, frames, type (eq, ineq, sos), times (in phases), target,
               scale, order, name, and options such as margin; or control (0, 1, 2),
               scale: the cost of leaving home, of speed, of acceleration; or
               switch (stable, stableOn, rigid), frames, times
  predicates:  OnTopOf(mug, table) & ~Open(door), or predicate, times, semantics
How:
  solver:      tolerance, max_iterations, and other options of the solver
  seed:        of the random starts

ik.yaml, the hand at a target and pointing down, as near home as possible:

{_indented(REACHING)}

    posewise solve ik.yaml --json ik.json

place.yaml, a box set down on a table:

{_indented(PLACING)}

    posewise solve place.yaml --npz place.npz

Predicates are also checked exactly where the solution is. docs/reference.md lists all
features and predicates.
{CODES.format(good="solved", bad="not solved")}
"""

CHECK = f"""\
Each predicate of a problem file is checked exactly in the world as the file describes
it; what is said of solving is left aside. For each: whether it holds (+) or not (-),
and why. See `posewise solve --help` for the file. With place.yaml from there:

    posewise check place.yaml

    0 of 1 predicates hold.
    - OnTopOf('box', 'table')
      box is 40.0 cm above table: not in contact.

{CODES.format(good="all hold", bad="some do not")}
"""

BDDL = f"""\
A world is made for the activity, :init is made true in it by placing things and setting
states, then the goal. For each literal: whether it holds (+) or not (-), and why.

    posewise bddl bringing_in_mail --seed 1
    posewise bddl ./my_activity.bddl --json solved.json

Names need the package bddl: pip install "posewise[bddl]".
{CODES.format(good="both are solved", bad="one is not")}
"""
