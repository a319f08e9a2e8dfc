"""Errors for bad input, and messages that list near matches of a name."""

import difflib
import re
from collections.abc import Iterable, Sequence

_LONG_WORD = re.compile(r"\S{100,}")
MAX_MESSAGE_CHARACTERS = 2000
"""Maximum length of a message (count); a larger one keeps more of long values."""


class PosewiseError(ValueError):
    """A mistake in what the user gave; the message says what to do instead."""

    def __init__(self, message: str) -> None:
        # Long words, such as data in a path, are shortened before anything else.
        if len(message) > MAX_MESSAGE_CHARACTERS:
            message = _LONG_WORD.sub(lambda m: f"{m[0][:40]}…{m[0][-20:]}", message)
        if len(message) > MAX_MESSAGE_CHARACTERS:
            message = f"{message[: MAX_MESSAGE_CHARACTERS - 600]} … {message[-500:]}"
        super().__init__(message)


class ConfigError(PosewiseError):
    """A frame, joint, shape or name that does not fit the world."""


class ProblemWarning(UserWarning):
    """A start or a goal that cannot be as the user gave it."""


class LoadError(PosewiseError):
    """A model file that cannot be read; names the file and the line or element."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> str:
    """Return a sentence for an unknown name, with its near matches.

    Args:
        kind: of what the name is, e.g. "frame".
        name: the unknown name.
        known: all names there are.
    """
    names = list(dict.fromkeys(known))
    text = str(name)
    near = difflib.get_close_matches(text, names, n=4, cutoff=0.5)
    near += [n for n in names if text and text.lower() in n.lower() and n not in near]
    if near:
        return f"No {kind} {name!r}; did you mean {', '.join(map(repr, near[:4]))}?"
    if not names:
        return f"No {kind} {name!r}; there is none at all."
    shown = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    return f"No {kind} {name!r}; there are: {shown}."


def first_few(entries: Sequence[str], separator: str = ", ", count: int = 4) -> str:
    """Return the first entries of a list, and how many more there are.

    Args:
        entries: of a message.
        separator: between them.
        count: number of entries that are shown; more make messages longer.
    """
    shown = list(entries[:count])
    if len(entries) > count:
        shown.append(f"and {len(entries) - count} more")
    return separator.join(shown)
