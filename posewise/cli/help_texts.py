"""What `--help` says of each command, with an example that can be copied."""

INVERSE_KINEMATICS_FILE = """\
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

PLACEMENT_FILE = """\
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

GRASP_FILE = """\
scene:
  frames:
    table: {position: [0.6, 0, 0.7], shape: "Box([0.8, 1.2, 0.04])"}
    mug: {joint: free, position: [0.5, 0, 0.77], shape: "Cylinder(0.1, 0.04)"}
    hand: {joint: free, position: [0.5, 0, 1.2], shape: Marker(0.1)}
    palm: {parent: hand, position: [0, 0, 0.12], shape: Marker(0.02)}
komo: {phases: 1, slices: 16, order: 2, duration: 2.0}
objectives:
  - {control: 2, scale: 0.1}
  - {preset: freeze_joint, joints: [mug], times: [0, 1]}
  - {preset: grasp_cylinder, gripper: hand, cylinder: mug, palm: palm, times: [1]}
  - {preset: approach, gripper: hand, distance: 0.1, times: [0.6, 1]}
  - {preset: stop, times: [1]}
"""
"""A grasp made of presets."""

EXIT_CODES = "exit codes: 0 {good}, 1 {bad}, 2 bad input"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


SOLVE = f"""\
A problem file is YAML. What is in the world, in the order it is added:
  scene:       files (models beside the file), models (posewise's own), frames,
               objects, mark (frames that are objects: category, abilities),
               regions (of objects), rooms (size, resolution, floor, rooms), cameras,
               agents, states (dust and stain: places), joints (values), lock (joints);
               arguments are those of Config's methods
  q:           the state: all coordinates, or values by joint
What is solved, one of:
  komo:        phases, slices (of each), order, duration [s], starts: a path, or
               without these one configuration
  placement:   movable, starts, region, collisions, max_solutions, min_separation:
               poses of objects
What is asked for:
  objectives:  feature, frames, type (eq, ineq, sos), times (in phases), target,
               scale, order, name, and options such as margin; or control (0, 1, 2),
               scale: the cost of leaving home, of speed, of acceleration; or
               switch (stable, stableOn, rigid), frames, times; or
               preset (grasp_box, place_box, no_collisions, approach, …), times, and
               its arguments as in posewise.presets
  predicates:  OnTopOf(mug, table) & ~Open(door), or predicate, times, semantics
How:
  solver:      tolerance, max_iterations, and other options of the solver
  seed:        of the random starts

ik.yaml, the hand at a target and pointing down, as near home as possible:

{_indented(INVERSE_KINEMATICS_FILE)}

    posewise solve ik.yaml --json ik.json

place.yaml, a box set down on a table:

{_indented(PLACEMENT_FILE)}

    posewise solve place.yaml --npz place.npz

grasp.yaml, a free hand comes down on a mug, of which nothing else is said:

{_indented(GRASP_FILE)}

    posewise solve grasp.yaml --npz grasp.npz
    posewise view grasp.yaml grasp.npz

Predicates are also checked exactly where the solution is. docs/reference.md lists all
features and predicates.
{EXIT_CODES.format(good="solved", bad="not solved")}
"""

CHECK = f"""\
Each predicate of a problem file is checked exactly in the world as the file describes
it; what is said of solving is left aside. For each: whether it holds (+) or not (-),
and why. See `posewise solve --help` for the file. With place.yaml from there:

    posewise check place.yaml

    0 of 1 predicates hold.
    - OnTopOf('box', 'table')
      box is 40.0 cm above table: not in contact.

{EXIT_CODES.format(good="all hold", bad="some do not")}
"""

VIEW = f"""\
Shows the world of a problem file (.yaml) or of a model (.urdf, .xml, .g, .yml), at a
solution of it where one is given: a path plays, of placements the best one is shown.
The page follows until Ctrl-C; nothing but this machine can reach it. With --html it is
written as one file that plays without a network. A page that was written is opened.

    posewise view place.yaml
    posewise view place.yaml place.npz
    posewise view grasp.yaml grasp.npz --html grasp.html
    posewise view grasp.html

What is carried moves along where a joint of its own can follow.
Needs the viewer: pip install "posewise[viz]".
{EXIT_CODES.format(good="shown, or written", bad="not used")}
"""

BENCH = f"""\
Without names: an inverse kinematics, a path and a placement, the same on any machine.
For each: seconds of the first solve, which compiles unless the program is in the cache
of an earlier run; median milliseconds of a later one; the share that is solved.

    posewise bench

With names, in a clone of the repository: benchmarks/NAME.py, one after the other, with
what each prints. RESULTS.md there has our figures.

    posewise bench komo placement

{EXIT_CODES.format(good="all ran", bad="one ended with an error")}
"""

BDDL = f"""\
A world is made for the activity, :init is made true in it by placing things and setting
states, then the goal. For each literal: whether it holds (+) or not (-), and why.

    posewise bddl bringing_in_mail --seed 1
    posewise bddl ./my_activity.bddl --json solved.json

Names need the package bddl: pip install "posewise[bddl]".
{EXIT_CODES.format(good="both are solved", bad="one is not")}
"""
