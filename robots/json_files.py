"""JSON files: written without NaN, and read with errors that name the file."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from .errors import LoadError


def write_json(file: Path, record: dict[str, Any]) -> None:
    """Write numbers, texts, arrays, lists and mappings.

    Numbers that are not finite become null.
    """
    text = json.dumps(_to_json(record), indent=2, allow_nan=False)
    file.write_text(f"{text}\n", encoding="utf-8")


def read_json(file: Path) -> Any:
    """Return the contents of a file.

    Raises:
        LoadError: for a file that cannot be read, or is no JSON.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        reason = error.strerror or str(error)
        raise LoadError(f"{file} cannot be read: {reason}.") from None
    except (ValueError, RecursionError) as error:
        raise LoadError(f"{file} is no JSON: {error}.") from None


def _to_json(entry: Any) -> Any:
    if isinstance(entry, dict):
        return {str(key): _to_json(v) for key, v in entry.items()}
    if isinstance(entry, list | tuple):
        return [_to_json(v) for v in entry]
    if isinstance(entry, np.ndarray | np.generic):
        return _to_json(entry.tolist())
    if isinstance(entry, float) and not np.isfinite(entry):
        return None
    return entry
