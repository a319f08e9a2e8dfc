"""Poses of rai's graph files: 3, 4 or 7 numbers, or a text of small steps."""

import re

import numpy as np

from ...kinematics.transforms import (
    IDENTITY,
    axis_angle_to_quat,
    make_pose,
    pose_multiply,
    quat_multiply,
)
from ...validation import MAX_NUMBER, is_bounded
from .nodes import Attributes, describe

MAX_TEXT_LENGTH = 5000
"""Largest length of a pose written as text [characters]; longer ones are refused."""

_COUNTS = {"t": 3, "q": 4, "r": 4, "d": 4, "E": 3, "p": 7}
_SKIPPED = re.compile(r"[ \t\r\n<]*")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_STEP = re.compile(r"([a-zA-Z])\s*\(([^()]*)\)")
_PLAIN = re.compile(rf"\[?\s*({_NUMBER}(?:[\s,]+{_NUMBER})*)\s*\]?")


def read_pose(attributes: Attributes, key: str) -> np.ndarray | None:
    """Return the pose (7,) of an attribute; None if it is absent.

    Raises:
        LoadError: When the value is no pose.
    """
    attribute = attributes.get(key)
    if attribute is None:
        return None
    value = attribute.value
    if isinstance(value, str):
        return _parse_pose_text(attributes, key, value)
    if not isinstance(value, np.ndarray):
        attributes.fail(
            key,
            f"is {describe(value)}, expected 3, 4 or 7 numbers in brackets or a text"
            ' such as "t(0 0 1) d(90 0 0 1)".',
        )
    numbers = value.reshape(-1)
    if len(numbers) not in (3, 4, 7):
        attributes.fail(
            key,
            f"has {len(numbers)} numbers, expected 3 (position), 4 (quaternion"
            " w x y z) or 7 (both).",
        )
    if not is_bounded(numbers):
        attributes.fail(
            key,
            f"is {numbers.tolist()}, expected finite numbers, at most"
            f" {MAX_NUMBER:g} in size.",
        )
    if len(numbers) == 3:
        return make_pose(numbers)
    if not numbers[-4:].any():
        attributes.fail(key, "has the quaternion 0 0 0 0; identity is 1 0 0 0.")
    quaternion = numbers[-4:] / np.abs(numbers[-4:]).max()
    return make_pose(numbers[:-4] if len(numbers) == 7 else (0, 0, 0), quaternion)


def _parse_pose_text(attributes: Attributes, key: str, text: str) -> np.ndarray:
    if len(text) > MAX_TEXT_LENGTH:
        attributes.fail(
            key, f"is a text of {len(text)} letters, at most {MAX_TEXT_LENGTH}."
        )
    total = IDENTITY.copy()
    position = _skip(_SKIPPED, text, 0)
    if text[position : position + 1] == "|":
        position += 1
    while True:
        position = _skip(_SKIPPED, text, position)
        if position >= len(text) or text[position] in "|>":
            break
        if text[position] == "T":
            position += 1
            continue
        plain, step = _PLAIN.match(text, position), _STEP.match(text, position)
        if plain is not None:
            numbers = [float(n) for n in re.split(r"[\s,]+", plain.group(1))]
            if len(numbers) != 7:
                attributes.fail(
                    key,
                    f"has {len(numbers)} bare numbers in {text!r}, expected 7: x y z"
                    " and the quaternion w x y z.",
                )
            total = _append_step(attributes, key, total, "p", numbers)
            break
        if step is None or step.group(1) not in _COUNTS:
            attributes.fail(
                key,
                f"cannot read {text[position : position + 20]!r} in {text!r}; expected"
                " t(x y z), d(degrees x y z), r(radians x y z), q(w x y z), E(r p y) or"
                " p(x y z w x y z).",
            )
        letter, words = step.group(1), step.group(2).split()
        count = _COUNTS[letter]
        numeric = [w for w in words if re.fullmatch(_NUMBER, w)]
        if len(numeric) != len(words) or len(words) != count:
            attributes.fail(
                key,
                f"{step.group()!r} needs {count} numbers separated by blanks.",
            )
        total = _append_step(attributes, key, total, letter, [*map(float, words)])
        position = step.end()
    if not total[3:].any():
        attributes.fail(key, f"{text!r} has the quaternion 0 0 0 0.")
    return make_pose(total[:3], total[3:])


def _append_step(
    attributes: Attributes,
    key: str,
    total: np.ndarray,
    letter: str,
    numbers: list[float],
) -> np.ndarray:
    if is_bounded(numbers):
        # As in rai, quaternions keep their length until the end, so that it multiplies.
        total = pose_multiply(total, _step_pose(letter, np.array(numbers)))
        if is_bounded(total):
            return total
    attributes.fail(
        key,
        f"its step {letter}({' '.join(map(str, numbers))}) leads beyond"
        f" {MAX_NUMBER:g}; give smaller numbers.",
    )


def _step_pose(letter: str, n: np.ndarray) -> np.ndarray:
    match letter:
        case "t":
            return make_pose(n)
        case "q":
            return np.concatenate([np.zeros(3), n])
        case "p":
            return np.concatenate([n[:3], n[3:]])
        case "E":
            x, y, z = np.eye(3)
            turn = quat_multiply(
                axis_angle_to_quat(x, n[0]), axis_angle_to_quat(y, n[1])
            )
            return make_pose(
                (0, 0, 0), quat_multiply(turn, axis_angle_to_quat(z, n[2]))
            )
        case _:
            angle = np.deg2rad(n[0]) if letter == "d" else n[0]
            return make_pose((0, 0, 0), axis_angle_to_quat(n[1:], angle))


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()
