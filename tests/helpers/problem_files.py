"""Problem files that use most of the command line's format."""

RICH = """\
scene:
  files:
    - robot.urdf
    - {file: robot.urdf, prefix: b_, pose: [0, 2, 0, 1, 0, 0, 0]}
  models:
    - {model: table, pose: [1, 0, 0, 1, 0, 0, 0]}
  objects:
    mug:
      parts: [{shape: "Cylinder(0.1, radius=0.04)", pose: [0, 0, 0.05, 1, 0, 0, 0]}]
      joint: free
      position: [1, 0, .8]
      category: mug.n.04
      abilities: {cookable: {cook_temperature: 58}}
  frames:
    lever: {parent: table, joint: hingeZ, limits: [[-1], [.inf]], q: 0.25,
            shape: "Box([0.3, 0.3, 0.02], rounding=0.01)"}
    "7": {shape: "Marker(size=0.2)"}
  cameras:
    eye: {position: [0, 0, 1], width: 16, height: 16}
  agents:
    me: {base: tip, camera: eye}
  mark: {lever: {category: door.n.01, abilities: {openable: {}}}}
  regions:
    - {object: table, name: top, kind: support, size: [1, 0.6],
       pose: [0, 0, 0.73, 1, 0, 0, 0]}
  rooms:
    size: [20, 30]
    resolution: 0.5
    rooms: {hall_0: {cells: [0, 0, 20, 30], floor: table}}
  states:
    mug:
      temperature: 80.0
      max_temperature: 60
      dust: [[0, 0, 0.1], [0, 0, 0.2]]
      covering: {mud: [[0, 0, 0.3]]}
      contained: {flour: 3}
  joints: {joint1: 0.1}
  lock: [b_joint1, b_joint2, b_joint3]
q: {lever: 0.5}
komo:
  {phases: 2, slices_per_phase: 3, k_order: 1, duration_per_phase: [1, 2.5], starts: 2}
objectives:
  - {control: 1, scale: 1e-2}
  - {feature: positionDiff, frames: [tip, "7"], times: [1], scale: 10}
  - {feature: standingAbove, frames: [mug, lever], type: ineq, margin: 0.01, name: up}
  - {mode_switch: stable, frames: [tip, mug], times: [1.0]}
  - {preset: no_collisions, pairs: [[mug, lever]], margin: 0.01, times: [2]}
predicates:
  - ~OnTopOf(mug, table) & Cooked(mug) | AtLeast(1, InReachOfAgent(mug, me, reach=3))
  - {predicate: "NextTo(mug, '7')", times: [1.0, 2.0], semantics: igibson}
solver: {tolerance: 1e-4, max_iterations: 40}
seed: 3
"""

POINTING = """\
scene:
  models: [planar3]
komo:
objectives:
  - {feature: position, frames: tip, target: [0.5, 0.6, 0]}
predicates:
  - InReachOfAgent(tip, base, reach=5)
  - Eventually(InReachOfAgent(tip, base, reach=5))
"""


def scene_file(line: str) -> str:
    """Return a problem file with a planar arm and one more line."""
    return f"scene:\n  models: [planar3]\n{line}\n"


def check_file(text: str) -> str:
    """Return a problem file with one predicate."""
    return scene_file(f"  frames: {{mug: }}\npredicates:\n  - {text}")


def objective_file(line: str) -> str:
    """Return a problem file with one objective."""
    return scene_file(f"komo:\nobjectives:\n  - {line}")
