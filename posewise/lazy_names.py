"""Public names of a package: loaded where they are first used, or renamed.

A package imports its names under `if TYPE_CHECKING`, for type checkers and readers, and
says in a table where they are found, for Python (PEP 562); tests/test_lazy_names.py
compares the two. This module lies below all folders and imports none of them.
"""

import sys
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def lazy_names(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: its full name.
        places: names, separated by spaces, by the module that has them, which is
            written as in `from .module import name`; modules of the package itself have
            the place ".".

    Returns:
        The three values to assign to those names. A name that was loaded is an ordinary
        attribute of the package from then on.
    """
    place_of = {n: place for place, names in places.items() for n in names.split()}

    def load(name: str) -> object:
        module = sys.modules[package]
        if name not in place_of:
            raise _unknown_name(module, name)
        place = place_of[name]
        if place == ".":
            value: object = import_module(f".{name}", package)
        else:
            value = getattr(import_module(place, package), name)
        setattr(module, name, value)
        return value

    def all_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *place_of})

    return load, all_names, list(place_of)


def renamed(package: str, new_names: Mapping[str, str]) -> Callable[[str], object]:
    """Return `__getattr__` of a package whose old names work for one more release.

    Args:
        package: its full name.
        new_names: new names by the old ones; a use of an old one warns with the new.
    """

    def load(name: str) -> object:
        module = sys.modules[package]
        if name not in new_names:
            raise _unknown_name(module, name)
        new = new_names[name]
        warnings.warn(
            f"{package}.{name} is now {package}.{new}; the old name works for one more"
            " release.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(module, new)

    return load


def _unknown_name(module: ModuleType, name: str) -> AttributeError:
    """Return the error that Python raises for a name that a module has not."""
    message = f"module {module.__name__!r} has no attribute {name!r}"
    return AttributeError(message, name=name, obj=module)
