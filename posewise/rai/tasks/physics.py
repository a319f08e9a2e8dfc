"""MuJoCo's model of a configuration: what falls, what is driven, what touches."""

from collections.abc import Sequence

import numpy as np

import posewise as pw
from posewise.robots.kinematics.transforms import quat_to_matrix
from posewise.robots.loaders.mjcf.contact_settings import TIME_STEP
from posewise.robots.mujoco_extra import import_mujoco
from posewise.robots.simulation.model import build_twin_model
from posewise.robots.simulation.motion import check_stable
from posewise.robots.world.frame import Frame

from ..parameters import params_get

FLOOR = "simulation_floor"
"""Name of the half-space below height 0."""
STIFFNESS, DAMPING, FRICTION = 1000.0, 100.0, 1.0
"""rai's motors [N/m or N m/rad, and times s], unless `physx/motorKp` or `motorKd` are
added as parameters: a stiffer motor follows closer; and friction [1] of frames
without an attribute `friction`: a larger one slides less."""
DIFFERENCE_STEP = 1e-6
"""Step of finite differences between rates and MuJoCo's velocities [s]; a larger one
adds errors where quaternions turn."""


class Physics:
    """Bodies and motors of a configuration in MuJoCo, in a state.

    Attributes:
        world: the world that is simulated, with more joints than the configuration.
        roots: bases of arms, which have the attribute `multibody`.
        loose: frames of bodies that move freely.
        held: joints that are not in the joint state of the configuration.

    Args:
        C: the configuration.
        kinematic: whether joints are put at their references, and nothing else moves.

    Raises:
        ConfigError: for worlds that MuJoCo cannot represent.
        ImportError: without MuJoCo; the message names the extra.
    """

    def __init__(self, C: pw.Config, kinematic: bool) -> None:
        self._mujoco = import_mujoco("Simulation")
        self._is_kinematic = kinematic
        self.roots = [f.name for f in C.frames if f.attributes.get("multibody")]
        arms = {name for root in self.roots for name in C.subtree(root)}
        self.loose = [f.name for f in C.frames if _is_loose(f) and f.name not in arms]
        self.world = world = _physical_world(C, self.roots, self.loose)
        joints = [n for n in world.joint_names if n not in self.loose]
        self.held = [n for n in joints if n not in C.joint_names]
        self._driven = world.joints.coordinates(C.joint_names)
        twin = build_twin_model(
            world, frozenset(world.tree.joint_frame(n) for n in joints)
        )
        self._model, self._coordinates = twin.model, twin.coordinates
        self.data = self._mujoco.MjData(self._model)
        self._set_motors()

    def _set_motors(self) -> None:
        """Give springs and dampers to all coordinates that do not move freely."""
        model, parameters, kinds = self._model, params_get(), self._mujoco.mjtJoint
        is_free = model.jnt_type == kinds.mjJNT_FREE
        # Joints that mimic others are moved by these.
        follows = np.isin(np.arange(model.njnt), model.eq_obj1id)
        stiffness = parameters.get("physx/motorKp", STIFFNESS)
        damping = parameters.get("physx/motorKd", DAMPING)
        model.jnt_stiffness[:] = np.where(is_free | follows, 0.0, stiffness)
        self._damping = np.where((is_free | follows)[model.dof_jntid], 0.0, damping)
        model.dof_damping[:] = self._damping
        self._carried = ~is_free[model.dof_jntid]
        sizes = np.where(is_free, 7, 1 + 3 * (model.jnt_type == kinds.mjJNT_BALL))
        self._driven_entries = ~np.repeat(is_free, sizes)

    def advance(self, reference: np.ndarray, rate: np.ndarray, tau: float) -> None:
        """Advance by a time while motors follow a reference.

        Args:
            reference: coordinates (nq,) of the world, which move.
            rate: their rate (nq,).
            tau: the time [s].

        Raises:
            SimulationError: when the simulation becomes unstable.
        """
        model, data, mujoco = self._model, self.data, self._mujoco
        count = max(round(tau / TIME_STEP), 1)
        model.opt.timestep = tau / count
        forward = self._damping * self._velocity(reference, rate)
        for _ in range(count):
            reference += rate * model.opt.timestep
            target = self._coordinates.to_qpos(reference, model.nq)
            if self._is_kinematic:
                data.qpos[self._driven_entries] = target[self._driven_entries]
                data.time += model.opt.timestep
                continue
            model.qpos_spring[:] = target
            mujoco.mj_step1(model, data)
            # Motors carry the arm: its own weight and inertial forces do not count.
            data.qfrc_applied[:] = self._carried * data.qfrc_bias + forward
            mujoco.mj_step2(model, data)
        check_stable(mujoco, [data])

    def _velocity(self, q: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Return MuJoCo's velocity of a rate (nq,) of the coordinates of the world."""
        after = q + DIFFERENCE_STEP * rate
        ends = (self._coordinates.to_qpos(x, self._model.nq) for x in (q, after))
        velocity = np.zeros(self._model.nv)
        self._mujoco.mj_differentiatePos(self._model, velocity, DIFFERENCE_STEP, *ends)
        return velocity

    @property
    def q(self) -> np.ndarray:
        """Coordinates (nq,) of the simulated world."""
        return self._coordinates.to_q(np.array(self.data.qpos))

    @property
    def rate(self) -> np.ndarray:
        """Rate (nq,) of the coordinates."""
        qpos = np.array(self.data.qpos)
        velocity = np.array(self.data.qvel)
        self._mujoco.mj_integratePos(self._model, qpos, velocity, DIFFERENCE_STEP)
        return (self._coordinates.to_q(qpos) - self.q) / DIFFERENCE_STEP

    def set_state(self, q: np.ndarray, rate: np.ndarray) -> None:
        """Set coordinates (nq,) and their rate (nq,); loose bodies are at rest."""
        self.data.qpos[:] = self._coordinates.to_qpos(q, self._model.nq)
        self.data.qvel[:] = self._velocity(q, rate)
        self._mujoco.mj_forward(self._model, self.data)

    def entries(self, joint: str) -> np.ndarray:
        """Return the entries of a joint, or of a loose body, in the coordinates."""
        return self.world.joints.coordinates(joint)

    @property
    def driven(self) -> np.ndarray:
        """Entries of the joint state of the configuration in the coordinates."""
        return self._driven

    def twist(self, frame: str) -> np.ndarray:
        """Return linear and angular velocity (2, 3) of a loose body in the world."""
        dof = self._first_dof(frame)
        linear, angular = self.data.qvel[dof : dof + 6].reshape(2, 3)
        return np.stack([linear, self._rotation(frame) @ angular])

    def set_twist(self, frame: str, twist: np.ndarray) -> None:
        """Set linear and angular velocity (2, 3) of a loose body in the world."""
        dof = self._first_dof(frame)
        angular = self._rotation(frame).T @ twist[1]
        self.data.qvel[dof : dof + 6] = [*twist[0], *angular]

    def _rotation(self, frame: str) -> np.ndarray:
        # MuJoCo tells angular velocities of free bodies in their own axes.
        return np.asarray(quat_to_matrix(self.q[self.entries(frame)][3:]))

    def _first_dof(self, frame: str) -> int:
        body = self._model.body(str(self.world.index(frame))).id
        return int(self._model.body_dofadr[body])


def _is_loose(frame: Frame) -> bool:
    """Return whether a frame outside arms has a mass, and nothing that moves it."""
    joint = frame.joint
    is_link = joint.dim == 0 if joint is not None else frame.parent is None
    return bool(frame.mass) and is_link


def _physical_world(
    C: pw.Config, roots: Sequence[str], loose: Sequence[str]
) -> pw.Config:
    """Return a copy with a floor, all joints, and free joints of loose bodies."""
    world = C.copy()
    arms = [world.subtree(root) for root in roots]
    in_arms = {name for arm in arms for name in arm}
    for name in loose:
        world.detach(name)
    jointed = [f for f in C.frames if f.joint and f.joint.dim and not f.joint.active]
    world.unlock([f.name for f in jointed if f.joint and f.joint.mimic is None])
    world.add_frame(FLOOR, shape=pw.Plane())
    for frame in C.frames:
        color = frame.attributes.get("color", ())
        is_clear = len(color) in (2, 4) and color[-1] < 1
        # Meshes of arms are seen; their capsules, which are clear, touch.
        if not frame.contact and not is_clear and frame.name not in in_arms:
            world.set_contact(frame.name, 1)
        friction = frame.attributes.get("friction", FRICTION)
        world.set_attributes(frame.name, contact_friction=friction)
    for arm in arms:
        world.ignore_collisions(arm, arm)
    return world
