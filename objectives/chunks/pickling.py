"""Problems and results as bytes that another process understands."""

import pickle
from typing import Any

from ..terms.objective import ObjectiveError


def to_pickle(content: object, what: str) -> bytes:
    """Return an object as bytes: by cloudpickle where it is installed.

    Unlike pickle, it takes functions that no module can be asked for, such as lambdas
    and those of a script.

    Args:
        content: the object.
        what: its name, with which a sentence begins.

    Raises:
        ObjectiveError: if a part of it cannot be pickled.
    """
    try:
        import cloudpickle
    except ImportError:
        dumps, hint = pickle.dumps, '. Install "posewise[cluster]", which can send more'
    else:
        dumps, hint = cloudpickle.dumps, ""
    try:
        data: bytes = dumps(content)
    except Exception as error:
        # Each class raises what it likes when it cannot be pickled.
        raise ObjectiveError(
            f"{what} cannot be sent to other processes: {error}{hint}, or give"
            " functions of a module, and arguments instead of what they refer to."
        ) from None
    return data


def stable_pickle(content: object, what: str) -> bytes:
    """Return an object as bytes that are the same in each process, if pickle can.

    cloudpickle gives classes of a script random names.

    Args:
        content: the object.
        what: see `to_pickle`.

    Raises:
        ObjectiveError: if a part of it cannot be pickled.
    """
    try:
        return pickle.dumps(content)
    except Exception:
        return to_pickle(content, what)


def from_pickle(data: bytes) -> Any:
    """Return the object of some bytes, the inverse of `to_pickle`."""
    return pickle.loads(data)
