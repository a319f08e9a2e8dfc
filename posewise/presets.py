"""Constraint presets: `komo.add(presets.grasp_box("gripper", "box", "palm"), [1.0])`.

Rows are in scaled units: after scaling, a row counts as satisfied within the solver's
tolerance.
"""

from .objectives.presets.grasping import grasp_box as grasp_box
from .objectives.presets.grasping import grasp_cylinder as grasp_cylinder
from .objectives.presets.grasping import grasp_top_box as grasp_top_box
from .objectives.presets.grasping import place_box as place_box
from .objectives.presets.motion import approach as approach
from .objectives.presets.motion import freeze_joint as freeze_joint
from .objectives.presets.motion import freeze_relative_pose as freeze_relative_pose
from .objectives.presets.motion import no_collisions as no_collisions
from .objectives.presets.motion import retract as retract
from .objectives.presets.motion import stop as stop
from .objectives.presets.motion import (
    target_relative_xy_position as target_relative_xy_position,
)
from .objectives.presets.motion import target_x_orientation as target_x_orientation
from .objectives.presets.object_motion import at_rest as at_rest
from .objectives.presets.object_motion import damp_motion as damp_motion
from .objectives.presets.object_motion import down_up as down_up
from .objectives.presets.object_motion import dynamics as dynamics
from .objectives.presets.object_motion import lift as lift
from .objectives.presets.object_motion import move_in_plane as move_in_plane
from .objectives.presets.preset import Preset as Preset
from .objectives.presets.pushing import approach_push as approach_push
from .objectives.presets.pushing import pull as pull
from .objectives.presets.pushing import retract_push as retract_push
from .objectives.presets.pushing import straight_push as straight_push
from .objectives.presets.relations import above as above
from .objectives.presets.relations import centered_along as centered_along
from .objectives.presets.relations import force_balance as force_balance
from .objectives.presets.relations import inside as inside
from .objectives.presets.relations import on_axis as on_axis
from .objectives.presets.relations import oppose as oppose
from .objectives.presets.relations import orthogonal_x as orthogonal_x
from .objectives.presets.relations import resting_on as resting_on
from .objectives.presets.relations import same_pose as same_pose
from .objectives.presets.relations import same_position as same_position
from .objectives.presets.relations import touch as touch
from .objectives.presets.relations import touch_face as touch_face
from .objectives.presets.relations import vertical as vertical
from .objectives.templates import setup_inverse_kinematics as setup_inverse_kinematics
from .objectives.templates import setup_motion as setup_motion
from .objectives.templates import setup_pick_and_place as setup_pick_and_place
from .objectives.templates import setup_point_to_point as setup_point_to_point
from .objectives.templates import setup_sequence as setup_sequence
from .objectives.templates import sub_motion as sub_motion
