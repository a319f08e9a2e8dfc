"""Scenes and requests of MoveIt as the problem of a command."""

from argparse import Namespace
from pathlib import Path

from posewise.objectives import load_moveit
from posewise.objectives.moveit.files import is_scene_text, read_message
from posewise.robots.errors import LoadError

from .problem_file import ProblemFile, read_problem
from .yaml_entries import Entry

SCENE_KEYS = {
    "world",
    "robot_state",
    "robot_model_name",
    "collision_objects",
    "allowed_collision_matrix",
    "fixed_frame_transforms",
    "operation",
    "link_name",
}
"""Keys of scenes, none of which a problem file has."""
IN_PROBLEM_FILES = {
    "robot": "The robot is there in the scene: `scene: {files: [robot.urdf]}`.",
    "request": "The goal is there in its objectives: `objectives: [...]`.",
    "srdf": "The key srdf is there beside the robot: `scene: {files: [{file:"
    " robot.urdf, srdf: robot.srdf}]}`.",
}
"""Words on what problem files have in place of each option."""


def read_input(options: Namespace) -> ProblemFile:
    """Return the problem of a problem file, or of MoveIt's scene and request.

    Raises:
        PosewiseError: for invalid input, with file, line and key.
        ImportError: without pyyaml.
    """
    packages = dict(options.package)
    moveit_options = [
        n for n in ("robot", "request", "srdf") if getattr(options, n) is not None
    ]
    if not is_moveit(options.file):
        if not moveit_options:
            return read_problem(options.file, packages)
        if is_problem_file(options.file):
            raise LoadError(
                f"--{moveit_options[0]} is for scenes of MoveIt, but {options.file} is"
                f" a problem file. {IN_PROBLEM_FILES[moveit_options[0]]}"
            )
    if options.robot is None:
        raise LoadError(
            f"{options.file} is a scene of MoveIt, without the robot; give its file:"
            " --robot robot.urdf."
        )
    problem = load_moveit(
        options.file,
        options.request,
        options.robot,
        srdf=options.srdf,
        packages=packages,
    )
    top = Entry(None, options.file, 1, "")
    return ProblemFile(problem.world, (), top, {}, problem)


def is_problem_file(file: Path) -> bool:
    """Return whether a file has the key `scene`, as problem files have."""
    try:
        return "scene" in read_message(file).fields
    except (OSError, ValueError):
        return False


def is_moveit(file: Path) -> bool:
    """Return whether a file is a scene of MoveIt."""
    if file.suffix.lower() == ".scene":
        return True
    try:
        text = file.read_text(encoding="utf-8")
        return is_scene_text(text) or bool(
            SCENE_KEYS & read_message(file).fields.keys()
        )
    except (OSError, ValueError):
        # A problem file tells what is wrong with it.
        return False
