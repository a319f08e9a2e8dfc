"""Files of MoveIt: messages in YAML or JSON, and scenes as text (`.scene`)."""

import json
from pathlib import Path
from typing import Any

from posewise.robots.errors import LoadError

from .messages import Message

DIMENSIONS = {"box": 3, "sphere": 1, "cylinder": 2, "cone": 2}
"""Number of dimensions of each primitive."""
MAX_FILE_LENGTH = 50_000_000
"""Largest length of a file [characters]; larger ones are taken for a mistake."""


def read_message(file: Path) -> Message:
    """Return the first message in a file; see `read_messages`."""
    return read_messages(file)[0]


def read_messages(file: Path) -> list[Message]:
    """Return the messages in a file, of which there is one or more.

    Several messages are documents of YAML, as `ros2 topic echo` writes them, or a list.

    Raises:
        LoadError: for a file that cannot be read, with line.
        ImportError: for YAML without pyyaml; names the extra.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise LoadError(f"{file} cannot be read as text: {error}.") from error
    if len(text) > MAX_FILE_LENGTH:
        raise LoadError(f"{file} has {len(text)} characters; it is no scene.")
    if is_scene_text(text):
        return [Message(_SceneText(text, file).scene(), file)]
    if text.lstrip().startswith(("{", "[")):
        try:
            documents = [json.loads(text)]
        except (ValueError, RecursionError) as error:
            raise LoadError(f"{file}: not valid JSON: {error}; correct it.") from None
    else:
        documents = _read_yaml(text, file)
    if len(documents) == 1 and isinstance(documents[0], list):
        documents = documents[0]
    if not documents or not all(isinstance(fields, dict) for fields in documents):
        raise LoadError(
            f"{file}: expected a message with keys such as `world` or"
            " `goal_constraints`, or the text of a .scene file."
        )
    if len(documents) == 1:
        return [Message(documents[0], file)]
    return [Message(fields, file, f"[{k}]") for k, fields in enumerate(documents)]


def _read_yaml(text: str, file: Path) -> list[Any]:
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            f'{file}: YAML needs pyyaml: pip install "posewise[cli]".'
        ) from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # `rostopic echo` ends each message with a line of dashes.
        documents = yaml.load_all(text, Loader=loader)
        return [fields for fields in documents if fields is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise LoadError(
            f"{file}:{line}: not valid YAML: {problem}; correct it."
        ) from error


def is_scene_text(text: str) -> bool:
    """Return whether a text is a scene in MoveIt's own text format.

    After the name of the scene a line "* id" begins each object, and "." ends all.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and (lines[1].startswith("* ") or lines[1] == ".")


class _SceneText:
    """Reader of MoveIt's text format, as a message of the same content.

    The older form has shapes with poses in the world; the newer one first the pose of
    the object, and frames inside it last.
    """

    def __init__(self, text: str, file: Path) -> None:
        self.file, self.number = file, 0
        self.lines = text.splitlines()

    def scene(self) -> dict[str, Any]:
        """Return the scene as a message."""
        name, objects = self._line(), []
        while (line := self._line()) != ".":
            if not line.startswith("* "):
                raise self._error(f"got {line!r}, expected '* id' of an object, or '.'")
            objects.append(self._object(line[2:].strip()))
        world = {"collision_objects": [o for o, _ in objects]}
        colors = [{"id": o["id"], "color": c} for o, c in objects if c is not None]
        return {"name": name, "world": world, "object_colors": colors}

    def _object(self, id: str) -> tuple[dict[str, Any], list[float] | None]:
        first = self._line()
        is_new = len(first.split()) > 1
        obj: dict[str, Any] = {"id": id}
        for key in ("primitive", "plane"):
            obj[f"{key}s"], obj[f"{key}_poses"] = [], []
        obj["meshes"], obj["mesh_poses"] = [], []
        if is_new:
            self.number -= 1
            obj["pose"] = self._pose()
            first = self._line()
        color = None
        for _ in range(self._count(first)):
            kind, shape = self._shape()
            obj["meshes" if kind == "mesh" else f"{kind}s"].append(shape)
            obj[f"{kind}_poses"].append(self._pose())
            rgba = self._numbers(4)
            color = rgba if any(rgba) else color
        if is_new:
            names, poses = [], []
            for _ in range(self._count(self._line())):
                names.append(self._line())
                poses.append(self._pose())
            obj["subframe_names"], obj["subframe_poses"] = names, poses
        return obj, color

    def _shape(self) -> tuple[str, dict[str, Any]]:
        kind = self._line()
        if kind == "plane":
            return "plane", {"coef": self._numbers(4)}
        if kind == "mesh":
            vertices, triangles = self._integers(2)
            return "mesh", {
                "vertices": [self._numbers(3) for _ in range(vertices)],
                "triangles": [
                    {"vertex_indices": self._integers(3)} for _ in range(triangles)
                ],
            }
        if kind not in DIMENSIONS:
            known = ", ".join([*DIMENSIONS, "plane", "mesh"])
            raise self._error(f"the shape is {kind!r}, expected one of {known}")
        sizes = self._numbers(DIMENSIONS[kind])
        if kind in ("cylinder", "cone"):
            # The text has the radius first, messages the height.
            sizes = sizes[::-1]
        return "primitive", {"type": kind, "dimensions": sizes}

    def _pose(self) -> dict[str, Any]:
        return {"position": self._numbers(3), "orientation": self._numbers(4)}

    def _numbers(self, count: int) -> list[float]:
        words = self._line().split()
        # Vertices may stand on one line or several.
        while len(words) < count:
            words += self._line().split()
        try:
            numbers = [float(word) for word in words]
        except ValueError:
            numbers = []
        if len(numbers) != count:
            raise self._error(f"got {' '.join(words)!r}, expected {count} numbers")
        return numbers

    def _integers(self, count: int) -> list[int]:
        numbers = self._numbers(count)
        if not all(0 <= x < MAX_FILE_LENGTH for x in numbers):
            raise self._error(f"got {numbers}, expected {count} counts or indices")
        return [int(x) for x in numbers]

    def _count(self, line: str) -> int:
        if not (line.isascii() and line.isdigit() and len(line) < 10):
            raise self._error(f"got {line!r}, expected a number of shapes or frames")
        return int(line)

    def _line(self) -> str:
        """Return the next line that is not empty."""
        for line in self.lines[self.number :]:
            self.number += 1
            if line.strip():
                return line.strip()
        raise self._error("the file ends too early; a line '.' ends a scene")

    def _error(self, problem: str) -> LoadError:
        return LoadError(f"{self.file}:{self.number}: {problem}.")
