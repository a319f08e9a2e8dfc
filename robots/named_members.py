"""Enumerations whose unknown members are refused with their near matches."""

from enum import EnumType
from typing import TYPE_CHECKING

from .errors import unknown_name


class NamedMembers(EnumType):
    """The type of enumerations that users name members of, such as `FS.position`."""

    # Type checkers know the members, and must not take all names for some.
    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> object:
            # Python 3.11 finds members here, later ones only what is none.
            if name in cls._member_map_:
                return cls._member_map_[name]
            if name.startswith("_"):
                raise AttributeError(name)
            kind = f"{cls.__name__} member"
            raise AttributeError(unknown_name(kind, name, cls._member_map_))
