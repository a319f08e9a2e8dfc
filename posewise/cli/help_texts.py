"""Texts of `--help` for each command, with examples that can be copied."""

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
"""Problem file of an inverse kinematics."""

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
"""Problem file of a placement, whose predicates can be checked too."""

GRASP_FILE = """\
scene:
  frames:
    table: {position: [0.6, 0, 0.7], shape: "Box([0.8, 1.2, 0.04])"}
    mug: {joint: free, position: [0.5, 0, 0.77], shape: "Cylinder(0.1, 0.04)"}
    hand: {joint: free, position: [0.5, 0, 1.2], shape: Marker(0.1)}
    palm: {parent: hand, position: [0, 0, 0.12], shape: Marker(0.02)}
komo: {phases: 1, slices_per_phase: 16, k_order: 2, duration_per_phase: 2.0}
objectives:
  - {control: 2, scale: 0.1}
  - {preset: freeze_joint, joints: [mug], times: [0, 1]}
  - {preset: grasp_cylinder, gripper: hand, cylinder: mug, palm: palm, times: [1]}
  - {preset: approach, gripper: hand, distance: 0.1, times: [0.6, 1]}
  - {preset: stop, times: [1]}
"""
"""Problem file of a grasp that consists of presets."""

EXIT_CODES = "exit codes: 0 {success}, 1 {failure}, 2 bad input"


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


PREPARE = """\
Compiles the programs of a path problem into the cache, once a machine: afterwards the
first solve of it compiles nothing, nor does one among other bodies, of any shapes. What
is compiled depends on the robot, the number of slices and the kinds of objectives.
example: posewise prepare reach.yaml --bodies 4 20
"""
SOLVE = f"""\
A problem file is YAML. The world, in the order in which it is built:
  scene:       files (models beside the problem file, absolute, or package://NAME/FILE
               with --package; as `file: ur5.urdf`, `srdf: ur5.srdf`, the pairs of
               links that may touch), models (see `posewise models`), fit_collisions,
               frames, objects, mark (frames that are objects: category, abilities),
               regions (of objects), rooms (size, resolution, floor, rooms), cameras,
               agents, states (temperature, dust, ...), joints (values), lock
               (joints), ignore_collisions ([[a, b], [a, [b, c]]]: pairs that may
               touch); arguments are those of Config's methods
  q:           the state: all coordinates, or values by joint
The kind of problem, one of:
  komo:        phases, slices_per_phase, k_order, duration_per_phase [s], starts: a
               path, or without these arguments one configuration; and for paths
               avoid_collisions (margin, self_margin, between, allow: [[a, b, times]]),
               motion_limits (velocity, acceleration, jerk, joints), start_velocity,
               free_durations (min, max) with time_objective (scale)
  placement:   movable, starts, region, collisions, count, min_separation:
               poses of objects
  motion:      robot, steps (pick, place, push, open, close, handover, hold, until;
               as `pick: mug`): a motion whose paths are certified
Costs and constraints:
  objectives:  feature, frames, type (eq, ineq, sos), times (in phases), target,
               scale, order, name, between, and options such as margin; or
               control (0, 1, 2), scale: the cost of distance from home, of velocity,
               of acceleration; or
               mode_switch (stable, stableOn, rigid), frames, times; or
               preset (grasp_box, place_box, no_collisions, approach, …), times, and
               the arguments of the preset in posewise.presets
  predicates:  OnTopOf(mug, table) & ~Open(door), or predicate, times, semantics
Options:
  solver:      tolerance, max_iterations, and other options of the solver
  seed:        seed of the random starts

ik.yaml moves the hand to a target, pointing down, as near home as possible:

{_indented(INVERSE_KINEMATICS_FILE)}

    posewise solve ik.yaml --json ik.json

place.yaml sets a box down on a table:

{_indented(PLACEMENT_FILE)}

    posewise solve place.yaml --npz place.npz

grasp.yaml moves a free hand down to grasp a mug:

{_indented(GRASP_FILE)}

    posewise solve grasp.yaml --npz grasp.npz
    posewise view grasp.yaml grasp.npz

The path over time for a controller, 100 samples per second with positions, velocities
and accelerations, as the fields of a ROS JointTrajectory (or .csv, .npz):

    posewise solve grasp.yaml --trajectory grasp.json --rate 100

Its speed jumps at slices; with --rounded corners are rounded by parabolas, on which the
limits of `motion_limits` hold at all times. With --retime it is as fast as these limits
and the speed limits of the model allow.

A path or a configuration for each of many targets, solved together: an objective has
`targets` in place of `target`, a list of rows, or a file beside it (.csv, .npy):

    objectives:
      - {{feature: position, frames: [panda_hand_tcp], targets: points.csv}}

    posewise solve many.yaml --checkpoint out --npz many.npz

With --checkpoint it goes on after any end. In a job array each job solves a share, as
`--share 3/20`; the same command without --share then reports all:

    posewise solve many.yaml --checkpoint out --share $SLURM_ARRAY_TASK_ID/20

Expressions such as "Box([1, 1, 1])" are in quotes where they have brackets.

A scene of MoveIt (.yaml, .json, .scene) with a motion request is a problem too:

    posewise solve scene.yaml --request request.yaml --robot ur5.urdf --srdf ur5.srdf

Predicates are also checked exactly at the solution. docs/reference.md lists all
features and predicates.
{EXIT_CODES.format(success="solved", failure="not solved")}
"""

CHECK = f"""\
Checks each predicate of a problem file exactly in the world of the file. The output
says for each predicate whether it holds (+) or not (-), and why. Of a path problem it
says what is wrong or doubtful before a solve: starts and goals outside of limits or in
collision, numbers in another unit, targets out of reach. `posewise solve --help`
describes the file. With place.yaml from there:

    posewise check place.yaml

    0 of 1 predicates hold.
    - OnTopOf('box', 'table')
      box is 40.0 cm above table: not in contact.

With a path, as `solve --json`, `--npz` or `--trajectory` write it, or a CSV or NPZ of
positions, the path is checked against the problem: limits, objectives, collisions,
predicates, and with avoid_collisions the distances on the whole path. Velocities and
accelerations in the file have to follow from its positions and times. What the file
does not tell is not checked, which the output says (?). A retimed path has other
velocities than the problem: only limits of these are checked; its .csv and .npz tell in
the column slice where it passes the slices. Of a motion of steps the collisions on the
whole path are checked, what hands move, and where objects end. Placements are checked
each in turn:

    posewise check grasp.yaml grasp.npz
    posewise check place.yaml place.npz

{EXIT_CODES.format(success="all hold", failure="some do not")}
"""

VIEW = f"""\
Shows the world of a problem file (.yaml) or of a model (.urdf, .xml, .g, .yml). With
a solution, as `solve --json`, `--npz` or `--trajectory` write it, it plays the path, or
shows the best placement. The page stays open until
Ctrl-C and is reachable from this machine only. With --html it is written as one file
that plays without a network. A written page can be opened again.

    posewise view place.yaml
    posewise view place.yaml place.npz
    posewise view grasp.yaml grasp.npz --html grasp.html
    posewise view grasp.html

Carried objects move along if their own joints can follow the motion.
Needs the viewer: pip install "posewise[viz]".
{EXIT_CODES.format(success="shown, or written", failure="not used")}
"""

BENCH = f"""\
Without names: times an inverse kinematics, a path and a placement, the same on any
machine. The table lists the time of the first solve, which compiles unless the program
cache has the program; the median time of later solves; and the success rate.

    posewise bench

With names, in a clone of the repository: runs benchmarks/NAME.py one after the other,
with their own output. RESULTS.md in that folder has our figures.

    posewise bench komo placement

{EXIT_CODES.format(success="all ran", failure="one ended with an error")}
"""

BDDL = f"""\
Makes a world for the activity, makes :init true by placing objects and setting
states, then the goal. Both are worlds; `posewise.logic.solve_activity` plans the motion
of a robot between them, in a world with a robot. The output says for each literal
whether it holds (+) or not (-), and why.

    posewise bddl bringing_in_mail --seed 1
    posewise bddl ./my_activity.bddl --json solved.json

Names of activities need the package bddl: pip install "posewise[bddl]".
{EXIT_CODES.format(success="both are solved", failure="one is not")}
"""
