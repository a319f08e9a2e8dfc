"""Names of rai that differ here or are not here, each with a sentence.

The table of docs/coming_from.md is made of these.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import posewise as pw

_STRUCTURE = "worlds are simplified where programs are made, not in the world itself"
_DYNAMICS = "use `Simulation`, or write the world by `C.C.write_mjcf` for MuJoCo"
_INERTIA = "inertias are those of the shapes, or set by `setMass`"
_SURFACE = "use `setMesh` with a mesh by `marching_cubes` of scikit-image"
_COLLADA = "use `writeMesh`, `writeURDF` or `posewise.Config.write_usd`"
_FORCE = "use `posewise.KOMO.add_contact`, whose forces are variables of the problem"
_SKELETON = "its model is not part of robotic; give a `Skeleton` your own"
_LAUNCH = "there are no threads of robots and cameras; use a robot's own driver"
_PHYSX = "it is PhysX; write the world by `C.C.write_mjcf` and use MuJoCo"
_ATTACH = "use `Config.attach` or `Config.delFrame`, and make a new `Simulation`"
_WINDOW = "it is about rai's own window"
_OPTIONS = "pass options to `NLP_Solver.setOptions`"

ABSENT = {
    "CameraViewSensor": "`CameraView.setCamera` returns its own camera",
    "DataGen": _PHYSX,
    "ImageViewer": "show images by matplotlib",
    "KOMO_Objective": "objectives are `posewise.Objective`",
    "NLP_SolverOptions": _OPTIONS,
    "OptBench_Skeleton_Handover": _SKELETON,
    "OptBench_Skeleton_Pick": _SKELETON,
    "OptBench_Skeleton_StackAndBalance": _SKELETON,
    "OptBenchmark_InvKin_Endeff": "write its three objectives by `KOMO`",
    "StepObservation": "use `BotOp.move` with `overwrite`",
    "algo": "it is rai's test code",
    "calib": "posewise has no calibration; use OpenCV",
    "getArucoImage": "use OpenCV",
    "params_file": "read the file yourself, and pass a dictionary to `params_add`",
    "rai_path": "use `raiPath`",
    "setRaiPath": "paths of files are given in full",
    "test": "it is rai's test code",
    "BotOp.attach": _ATTACH,
    "BotOp.cheat_setFramePose": "use `Simulation.setState`",
    "BotOp.detach": _ATTACH,
    "BotOp.floating": "no gains; use `hold`",
    "BotOp.get_tauExternal": "torques of contacts are not measured",
    "BotOp.launch_arucoObjTracker": _LAUNCH,
    "BotOp.launch_arucos": _LAUNCH,
    "BotOp.launch_baslers": _LAUNCH,
    "BotOp.launch_camera": _LAUNCH,
    "BotOp.launch_franka": _LAUNCH,
    "BotOp.launch_simulation": _LAUNCH,
    "BotOp.launch_trossen": _LAUNCH,
    "BotOp.setCompliance": "motors are equally stiff in all directions",
    "BotOp.setControllerWriteData": "it is rai's test code",
    "BotOp.sound": "there is no sound",
    "BotOp.stepAction": "use `BotOp.move` with `overwrite`",
    "BotOp.stepObservation": "use `BotOp.get_q` and `BotOp.get_qDot`",
    "Config.addH5Object": "make a frame and use `setMeshFile`, which reads `.h5`",
    "Config.dyn_F0": _DYNAMICS,
    "Config.dyn_MF": _DYNAMICS,
    "Config.makeMeshesSSCvx": "use `posewise.Config.fit_collisions`",
    "Config.processInertias": _INERTIA,
    "Config.processStructure": _STRUCTURE,
    "Config.recalibrateJointsToZero": "set `origin` by `posewise.Config.replace_frame`",
    "Config.setJointStateSlice": "use `KOMO.getFrameState(t)`",
    "Config.writeCollada": _COLLADA,
    "Config.writeConvexStls": _COLLADA,
    "Config.writeMeshes": _COLLADA,
    "ConfigurationViewer.focus": "use `setCameraPose`",
    "ConfigurationViewer.getEventCursor": _WINDOW,
    "ConfigurationViewer.getEventCursorObject": _WINDOW,
    "ConfigurationViewer.getGLFWWindow": _WINDOW,
    "ConfigurationViewer.setQuad": _WINDOW,
    "CameraView.computeSegmentationID": "images have colors and depths only",
    "CameraView.computeSegmentationImage": "images have colors and depths only",
    "Simulation.attach": _ATTACH,
    "Simulation.detach": _ATTACH,
    "Frame.computeCompoundInertia": _INERTIA,
    "Frame.convertDecomposedShapeToChildFrames": (
        "meshes in convex parts are one shape; use `posewise.Mesh(file, mode='parts')`"
    ),
    "Frame.makeRoot": "use `unLink`, or `Config.attach` to turn a chain around",
    "Frame.setImplicitSurface": _SURFACE,
    "Frame.setJointSampleStdDev": "random starts are uniform within limits",
    "Frame.setLines": "there are no shapes of lines; use `setPointCloud`",
    "Frame.setMeshAsLines": "there are no shapes of lines; use `setPointCloud`",
    "Frame.setTensorShape": f"rai only draws it, and fails for distances; {_SURFACE}",
    "Frame.setTextureFile": "meshes have colors, not textures",
    "Frame.transformToDiagInertia": _INERTIA,
    "KOMO.addContactForceFrame": _FORCE,
    "KOMO.addContact_WithPoaFrame": _FORCE,
    "KOMO.addTimeOptimization": (
        "use `free_durations` and `add_time_objective` of `posewise.KOMO`"
    ),
    "KOMO.initPhaseWithDofsPath": "use `initWithPath`",
    "NLP.aug_lag": "use `posewise.NLP`, and a solver's own penalties",
    "NLP.checkHessian": "Hessians are Gauss-Newton's; use `eval_scalar`",
    "NLP.getFHessian": "Hessians are Gauss-Newton's; use `eval_scalar`",
    "NLP_Solver.dual": "use `reportLagrangeGradients`",
    "NLP_Solver.getOptions": _OPTIONS,
}
"""Why a name of rai is not here, and what to use instead."""

DIFFERS = {
    "BotOp": "a simulation by MuJoCo; time passes in `sync`; drives no real robot",
    "FS": "also has symbols of posewise",
    "NLP_Factory": "SciPy's SLSQP solves it",
    "NLP_Sampler": "ignores costs, and rai's options",
    "NLP_Solver": "goes on to 1e-3 in every row, where rai stops at 1e-2 of steps",
    "OptMethod": "every method stands for the one solver of a problem",
    "RRT_PathFinder": "paths are certified between configurations, too; no options",
    "SY": "has the modes that posewise has",
    "Simulation": "by MuJoCo (extra `mujoco`); bodies do not bounce",
    "SimulationEngine": "`physx` and `bullet` are MuJoCo",
    "SolverReturn": "also has `every_row_holds` and posewise's `solution`",
    "compiled": "names posewise",
    "clear_params": "is `params_clear`",
    "get_NLP_Problem_names": "those of mathematics, and not of robots and meshes",
    "get_params": "is `params_get`",
    "make_NLP_Problem": "Jacobians of all, and dense; rai's 2π is off by 1e-5",
    "set_params": "is `params_add`",
    "params_add": "`noInteractivity`, `physx/motorKp`, `physx/motorKd` have effects",
    "version": "of posewise",
    "Config.addFrame": "a name in use is an error",
    "Config.animate": "plays in the browser, and at once",
    "Config.animateSpline": "plays in the browser, and at once",
    "Config.asDict": "a joint of posewise may have an `origin`",
    "Config.asYaml": "as `asDict`",
    "Config.getCollidablePairs": "without pairs that no joint can move",
    "Config.getCollisions": "the deepest first",
    "Config.getJointNames": "a name for each coordinate, and no mimic joints",
    "Config.setFrameState": "also counts joints that mimic others",
    "Config.view": "is a page in the browser, and returns 0; no key is waited for",
    "Config.watchFile": "loads once if there is no screen",
    "Config.write": "as `asDict`; all digits",
    "ConfigurationViewer.getEvents": "there are none",
    "ConfigurationViewer.getRgb": "is drawn by posewise, with its light and floor",
    "CameraView.computeImageAndDepth": "is drawn by posewise; no noise",
    "Frame.getMesh": "round shapes have other triangles",
    "Frame.getInertia": "of the solid shape, not of its surface",
    "Frame.setMesh": "its convex hull collides",
    "KOMO.addModeSwitch": "stable, stableOn and stableZero",
    "KOMO.addQuaternionNorms": "does nothing: quaternions always have unit length",
    "KOMO.getFeatureNames": "names are those of FS",
    "KOMO.info_objectiveNames": "names are those of FS",
    "KOMO.report": "names are those of FS",
    "KOMO.view": "is a page in the browser",
    "KOMO.view_play": "is a page in the browser",
    "NLP_Solver.reportLagrangeGradients": "by multipliers that balance the costs",
    "NLP_Solver.setOptions": "other options than seven only warn",
    "NLP_Solver.setTracing": "Python functions are always traced, KOMO never",
    "Simulation.moveGripper": "at the speed it is told",
    "Simulation.setSimulateDepthNoise": "depths have no noise",
    "Simulation.step": "in steps of 2 ms; no accelerations",
    "Quaternion.applyOnPointArray": "changes the points; in rai it does not",
}
"""Sentences on names that are here, but differ."""


class NotInPosewise(pw.FeatureError, AttributeError):
    """A name of rai that is not here."""


class Absent:
    """Class whose missing names tell why they are missing."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            owners = [base.__name__ for base in type(self).__mro__]
            raise_absent(name, owners)


def raise_absent(name: str, owners: Sequence[str] = ("",)) -> NoReturn:
    """Raise an error for a name that is missing.

    Args:
        name: the name.
        owners: names of the class that lacks it and of its bases; none: the module.

    Raises:
        NotInPosewise: for names of rai.
        AttributeError: for all others.
    """
    for owner in owners:
        key = f"{owner}.{name}" if owner else name
        if key in ABSENT:
            raise NotInPosewise(f"{key} is not in posewise: {ABSENT[key]}.")
    raise AttributeError(f"{owners[0] or 'posewise.rai'} has no attribute {name!r}")
