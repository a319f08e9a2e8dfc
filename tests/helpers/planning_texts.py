"""Texts and messages that accompany a robot: SRDF, those of MoveIt, keyframes."""

import json

import numpy as np

import posewise as pw

SRDF = b"""<?xml version="1.0"?><robot name="r"><group name="arm"><joint name="j"/>
<chain base_link="base" tip_link="arm"/></group><group_state name="up" group="arm">
<joint name="j" value=".5"/></group_state><end_effector name="e" parent_link="arm"
 group="arm"/><virtual_joint name="v" type="floating" parent_frame="map"
 child_link="base"/><disable_collisions link1="base" link2="arm" reason="Adjacent"/>
<passive_joint name="j"/></robot>"""
SCENE = b"""name: s
robot_model_name: r
robot_state: {joint_state: {name: [j], position: [0.2]}, attached_collision_objects: [
  {link_name: arm, object: {id: tool, operation: 0, header: {frame_id: arm},
  primitives: [{type: 3, dimensions: [0.2, 0.1]}],
  primitive_poses: [{position: {x: 0, y: 0, z: 0.1},
  orientation: {x: 0, y: 0, z: 0, w: 1}}]}, touch_links: [arm]}]}
allowed_collision_matrix: {entry_names: [base, arm],
  entry_values: [{enabled: [false, true]}, {enabled: [true, false]}]}
world:
  collision_objects:
  - id: table
    header: {frame_id: base}
    pose: {position: {x: 1, y: 0, z: 0}, orientation: {x: 0, y: 0, z: 0, w: 1}}
    primitives: [{type: 1, dimensions: [1, 2, 0.1]}, {type: box, dimensions: [1, 1, 1]}]
    primitive_poses:
    - {position: [0, 0, 1], orientation: [0, 0, 0, 1]}
    - {position: [0, 0, 2], orientation: [0, 0, 0.7, 0.7]}
  - id: thing
    meshes: [{triangles: [{vertex_indices: [0, 1, 2]}, {vertex_indices: [0, 1, 3]},
      {vertex_indices: [0, 2, 3]}, {vertex_indices: [1, 2, 3]}],
      vertices: [{x: 0, y: 0, z: 0}, {x: 1, y: 0, z: 0}, {x: 0, y: 1, z: 0},
      {x: 0, y: 0, z: 1}]}]
    mesh_poses: [{position: {x: 3, y: 0, z: 0}}]
  - id: floor
    planes: [{coef: [0, 0, 1, 2]}]
    plane_poses: [{position: {x: 0, y: 0, z: 0}}]
"""
REQUEST = b"""group_name: arm
start_state: {joint_state: {name: [j], position: [-0.2]}}
goal_constraints:
- joint_constraints: [{joint_name: j, position: 0.4, tolerance_above: 0.01,
    tolerance_below: 0.01, weight: 1}]
- position_constraints: [{header: {frame_id: base}, link_name: arm,
    constraint_region: {primitives: [{type: 2, dimensions: [0.01]}],
    primitive_poses: [{position: {x: 0, y: 0.2, z: 0.3}}]}, weight: 1}]
  orientation_constraints: [{header: {frame_id: base}, link_name: arm,
    orientation: {x: 0, y: 0, z: 0, w: 1}, absolute_x_axis_tolerance: 0.1,
    absolute_y_axis_tolerance: 0.1, absolute_z_axis_tolerance: 3.2, weight: 1}]
max_velocity_scaling_factor: 0.5
num_planning_attempts: 3
"""
SCENE_TEXT = b"""(noname)+
* table
1
box
1 2 0.1
1 0 0.5
0 0 0 1
0.8 0.8 0.8 1
* can
0.1 0.2 0.3
0 0 0 1
1
cylinder
0.1 0.3
0 0 0
0 0 0.7 0.7
0 0 0 0
1
lid
0 0 0.1
0 0 0 1
* wedge
1
mesh
4 4
0 0 0
1 0 0
0 1 0
0 0 1
0 1 2
0 1 3
0 2 3
1 2 3
3 0 0
0 0 0 1
0 0 0 0
.
"""
KEYFRAMES = b"""<mujoco model="k"><worldbody><body name="a"><freejoint name="f"/>
<geom type="sphere" size=".1"/><body name="b" pos="0 0 .3"><joint name="j" axis="0 1 0"
 range="-1 1"/><geom type="capsule" size=".1 .2"/><body name="c" pos="0 0 .3">
<joint name="k" type="slide" axis="0 0 1"/><geom type="box" size=".1 .1 .1"/></body>
</body></body><body name="d"><joint name="s" type="ball"/><geom size=".1"/></body>
</worldbody><keyframe><key name="home" time="0" qpos="1 2 3 1 0 0 0 .5 .1 1 0 0 0"
 qvel="0 0 0 0 0 0 0 0 0 0 0" ctrl=""/><key name="far" qpos="4 5 6 0 1 0 0 -.5 .2
 0 1 0 0"/><key qpos="1 2 3 2 0 0 0 9 9 0 0 0 2"/></keyframe></mujoco>"""

HALF = np.sqrt(0.5)
ARM_URDF = """<robot name="arm">
<link name="base"/>
<link name="upper"><collision><geometry><sphere radius="0.1"/></geometry></collision>
</link>
<link name="lower"><collision><geometry><sphere radius="0.1"/></geometry></collision>
</link>
<link name="hand"><collision><geometry><sphere radius="0.1"/></geometry></collision>
</link>
<joint name="j1" type="revolute"><parent link="base"/><child link="upper"/>
  <axis xyz="0 0 1"/><limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<joint name="j2" type="revolute"><parent link="upper"/><child link="lower"/>
  <origin xyz="1 0 0"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<joint name="j3" type="revolute"><parent link="lower"/><child link="hand"/>
  <origin xyz="1 0 0"/><axis xyz="0 1 0"/>
  <limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
</robot>"""
TURNED = {"x": 0.0, "y": 0.0, "z": HALF, "w": HALF}
"""A quarter turn about z, as ROS writes it."""


def point(*xyz) -> dict:
    return dict(zip("xyz", map(float, xyz), strict=True))


def pose(*xyz, orientation=None) -> dict:
    return {"position": point(*xyz), "orientation": orientation or {"w": 1.0}}


def box(id: str, *xyz, **more) -> dict:
    shape = {"type": 1, "dimensions": [0.2, 0.4, 0.6]}
    return {"id": id, "primitives": [shape], "primitive_poses": [pose(*xyz)], **more}


def world_of(*objects, **more) -> dict:
    return {"world": {"collision_objects": list(objects)}, **more}


def load_problem(tmp_path, scene, request=None, robot=None, **options):
    """Return the problem of a scene and a request, written to files."""
    paths = []
    for name, message in (("scene.json", scene), ("request.json", request)):
        file = tmp_path / name
        file.write_text(json.dumps(message))
        paths.append(None if message is None else file)
    return pw.load_moveit(*paths, robot, **options)


def orientation_excess(desired, current, tolerances, parameterization=0) -> float:
    """Return the largest excess over a tolerance [rad], as MoveIt decides."""
    error = desired.inv() * current
    if parameterization == 1:
        angles = desired.apply(error.as_rotvec())
    else:
        angles = error.as_euler("XYZ")
    return float((np.abs(angles) - tolerances).max())
