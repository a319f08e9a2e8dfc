"""Fingerprints of values that are equal in every process."""

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
"""Packages whose functions and classes are identified by their names.

Their versions, and the sources of posewise, enter the key of a program separately.
"""


class NotFingerprintable(TypeError):
    """A value of which another process may have a different one of equal looks."""


def fingerprint(value: object) -> str:
    """Return a digest of numbers, arrays, containers, dataclasses or functions.

    Functions of posewise made within other functions are identified by their code and
    by the values in their closures.

    Raises:
        NotFingerprintable: for all other values, such as a user's functions that have
            not been traced.
    """
    return _Fingerprinter().digest(value)


class _Fingerprinter:
    def __init__(self) -> None:
        self.digests: dict[int, tuple[str, Any]] = {}
        """By identity; values are kept alive, so that no other object gets the id."""
        self.stack: list[int] = []
        """Values being digested: the closure of a function may hold the function."""

    def digest(self, v: Any) -> str:
        """Return the digest of one value."""
        if type(v) in SCALAR_TYPES or v is types.NoneType:
            return _hash(type(v).__name__, repr(v))
        if isinstance(v, np.ndarray | np.generic | jax.Array):
            a = np.asarray(v)
            if a.dtype.hasobject:
                raise NotFingerprintable(f"an array of {a.dtype}")
            return _hash("array", a.dtype.str, str(a.shape), a.tobytes().hex())
        # digested once however often it occurs, which also bounds the time for DAGs
        if id(v) in self.digests:
            return self.digests[id(v)][0]
        if id(v) in self.stack:
            # a recursive value refers to itself by its distance in the stack
            return _hash("within", str(self.stack[::-1].index(id(v))))
        self.stack.append(id(v))
        if _is_importable(v):
            digest = _hash("name", v.__module__, v.__qualname__)
        else:
            digest = _hash(type(v).__name__, *map(self.digest, _components(v)))
        self.stack.pop()
        self.digests[id(v)] = digest, v
        return digest


def _hash(*words: str) -> str:
    # lengths make the concatenation unique: ("ab", "c") differs from ("a", "bc")
    text = "".join(f"{len(word)}:{word}" for word in words)
    return hashlib.sha256(text.encode()).hexdigest()


def _components(v: Any) -> tuple[Any, ...]:
    """Return all values that determine a value of a known type."""
    if isinstance(v, Enum):
        return type(v), v.name
    if isinstance(v, tuple | list):
        return (type(v), *v)
    if isinstance(v, Mapping):
        return (*v.keys(), *v.values())
    if isinstance(v, frozenset) and {*map(type, v)} <= {*SCALAR_TYPES}:
        # sorted, because the order of a set of strings differs between processes
        return tuple(sorted(map(repr, v)))
    if isinstance(v, slice):
        return v.start, v.stop, v.step
    if isinstance(v, np.dtype):
        return (v.str,)
    if isinstance(v, functools.partial):
        # bound arguments are data of the function as much as closures are
        return v.func, v.args, v.keywords
    if isinstance(v, types.MethodType):
        return v.__func__, v.__self__
    if isinstance(v, types.FunctionType) and _top_package(v) == "posewise":
        try:
            cells = [c.cell_contents for c in v.__closure__ or ()]
        except ValueError:
            raise NotFingerprintable(
                f"{v.__qualname__} is called before its closure is complete"
            ) from None
        return v.__module__, v.__code__, v.__defaults__, v.__kwdefaults__, cells
    if isinstance(v, types.CodeType):
        # the bytecode too, because two lambdas on one line have the same name
        where = v.co_qualname, v.co_firstlineno
        return *where, v.co_code, v.co_consts, v.co_names, v.co_freevars
    if isinstance(v, jax.tree_util.PyTreeDef):
        return v.node_data(), v.num_leaves, tuple(v.children())
    if hasattr(v, "__fingerprint__"):
        return type(v), *v.__fingerprint__()
    if dataclasses.is_dataclass(v) and not isinstance(v, type):
        fields = [f.name for f in dataclasses.fields(v)]
        return type(v), *(getattr(v, name) for name in fields)
    raise NotFingerprintable(f"{type(v).__name__} {v!r:.80}")


def _top_package(v: object) -> str | None:
    module = getattr(v, "__module__", None)
    return module.split(".")[0] if isinstance(module, str) else None


def _is_importable(v: Any) -> bool:
    """Whether importing the value's name from a trusted package gives the value."""
    name = getattr(v, "__qualname__", None)
    if _top_package(v) not in TRUSTED_PACKAGES or not isinstance(name, str):
        return False
    try:
        imported: Any = importlib.import_module(v.__module__)
        for attribute in name.split("."):
            imported = getattr(imported, attribute)
    except (AttributeError, ImportError):
        return False
    return imported is v
