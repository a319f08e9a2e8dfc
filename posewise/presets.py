"""Constraint presets: `komo.add(presets.grasp_box("gripper", "box", "palm"), [1.0])`.

Each constrains what its own description says, in scaled units (a row counts as
satisfied within the solver's tolerance after scaling).
"""

from .objectives.grasping import grasp_box as grasp_box
from .objectives.grasping import grasp_cylinder as grasp_cylinder
from .objectives.grasping import grasp_top_box as grasp_top_box
from .objectives.grasping import place_box as place_box
from .objectives.moving import approach as approach
from .objectives.moving import freeze_joint as freeze_joint
from .objectives.moving import freeze_relative_pose as freeze_relative_pose
from .objectives.moving import no_collisions as no_collisions
from .objectives.moving import retract as retract
from .objectives.moving import stop as stop
from .objectives.moving import straight_push as straight_push
from .objectives.moving import (
    target_relative_xy_position as target_relative_xy_position,
)
from .objectives.moving import target_x_orientation as target_x_orientation
from .objectives.setups import setup_inverse_kinematics as setup_inverse_kinematics
from .objectives.setups import setup_motion as setup_motion
from .objectives.setups import setup_point_to_point as setup_point_to_point
from .objectives.setups import setup_sequence as setup_sequence
from .objectives.setups import sub_motion as sub_motion
