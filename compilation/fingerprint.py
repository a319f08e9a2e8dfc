"""What a value is made of, as a mark that is the same in every process."""

import dataclasses
import functools
import hashlib
import importlib
import types
from collections.abc import Mapping
from enum import Enum
from typing import Any

import jax
import numpy as np

SCALAR_TYPES = type(None), bool, int, float, complex, str, bytes, type(Ellipsis)
TRUSTED_PACKAGES = frozenset(
    "posewise jax jaxlib jaxtyping numpy optax builtins functools operator math"
    " collections".split()
)
"""What is named in these is told by its name: their versions are fixed elsewhere."""


class NotFingerprintable(TypeError):
    """A value that could be different though it looks the same."""


def fingerprint(value: Any) -> str:
    """A digest of a value: numbers, arrays, containers, dataclasses, functions.

    Functions made within others count with the values that they hold.

    Raises:
        Unmarked: for anything whose parts are not known, functions of users among it.
    """
    return _Fingerprinter().of(value)


class _Fingerprinter:
    def __init__(self) -> None:
        self.known: dict[int, tuple[str, Any]] = {}
        """By identity; the values are kept, so that no other gets it."""
        self.within: list[int] = []
        """What is being marked: functions may hold themselves."""

    def of(self, v: Any) -> str:
        """The digest of one value."""
        if type(v) in SCALAR_TYPES or v is types.NoneType:
            return _hash(type(v).__name__, repr(v))
        if isinstance(v, np.ndarray | np.generic | jax.Array):
            a = np.asarray(v)
            if a.dtype.hasobject:
                raise NotFingerprintable(f"an array of {a.dtype}")
            return _hash("array", a.dtype.str, str(a.shape), a.tobytes().hex())
        if id(v) in self.known:
            return self.known[id(v)][0]
        if id(v) in self.within:
            return _hash("within", str(self.within[::-1].index(id(v))))
        self.within.append(id(v))
        if _is_importable(v):
            found = _hash("name", v.__module__, v.__qualname__)
        else:
            found = _hash(type(v).__name__, *map(self.of, _components(v)))
        self.within.pop()
        self.known[id(v)] = found, v
        return found


def _hash(*words: str) -> str:
    told = "".join(f"{len(word)}:{word}" for word in words)
    return hashlib.sha256(told.encode()).hexdigest()


def _components(v: Any) -> tuple[Any, ...]:
    """All that makes a value what it is."""
    if isinstance(v, Enum):
        return type(v), v.name
    if isinstance(v, tuple | list):
        return (type(v), *v)
    if isinstance(v, Mapping):
        return (*v.keys(), *v.values())
    if isinstance(v, frozenset) and {*map(type, v)} <= {*SCALAR_TYPES}:
        return tuple(sorted(map(repr, v)))
    if isinstance(v, slice):
        return v.start, v.stop, v.step
    if isinstance(v, np.dtype):
        return (v.str,)
    if isinstance(v, functools.partial):
        return v.func, v.args, v.keywords
    if isinstance(v, types.MethodType):
        return v.__func__, v.__self__
    if isinstance(v, types.FunctionType) and _top_package(v) == "posewise":
        try:
            cells = [c.cell_contents for c in v.__closure__ or ()]
        except ValueError:
            raise NotFingerprintable(f"{v.__qualname__} is not complete") from None
        return v.__module__, v.__code__, v.__defaults__, v.__kwdefaults__, cells
    if isinstance(v, types.CodeType):
        # of functions on one line the names are the same
        where = v.co_qualname, v.co_firstlineno
        return *where, v.co_code, v.co_consts, v.co_names, v.co_freevars
    if isinstance(v, jax.tree_util.PyTreeDef):
        return v.node_data(), v.num_leaves, tuple(v.children())
    if dataclasses.is_dataclass(v) and not isinstance(v, type):
        fields = [f.name for f in dataclasses.fields(v)]
        return type(v), *(getattr(v, name) for name in fields)
    if hasattr(v, "__marks__"):
        return type(v), *v.__fingerprint__()
    raise NotFingerprintable(f"{type(v).__name__} {v!r:.80}")


def _top_package(v: Any) -> str | None:
    module = getattr(v, "__module__", None)
    return module.split(".")[0] if isinstance(module, str) else None


def _is_importable(v: Any) -> bool:
    """Whether it is what its name in a known library stands for."""
    name = getattr(v, "__qualname__", None)
    if _top_package(v) not in TRUSTED_PACKAGES or not isinstance(name, str):
        return False
    try:
        found: Any = importlib.import_module(v.__module__)
        for part in name.split("."):
            found = getattr(found, part)
    except (AttributeError, ImportError):
        return False
    return found is v
