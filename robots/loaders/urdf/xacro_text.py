"""Expansion of xacro, the macro language of robot descriptions, by its own package.

xacro evaluates expressions and includes files that a description names, wherever they
are: unlike all other readers here, this one is for trusted files only.
"""

import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...dependency_warnings import dependency_warnings_ignored
from ...errors import LoadError, first_few, unknown_name
from ..package_folders import package_folders

XacroArgs = Mapping[str, str | float | bool]
"""Values of `<xacro:arg>` by name."""

_LOCK = threading.Lock()  # the state of the package xacro is global


def is_xacro(file: Path, args: XacroArgs | None) -> bool:
    """Whether a file is expanded: by its suffix, or since arguments are given."""
    return file.suffix.lower() == ".xacro" or args is not None


def expand_xacro(
    text: str,
    file: Path,
    packages: Mapping[str, Path],
    args: XacroArgs | None = None,
) -> tuple[str, dict[str, Path]]:
    """Return the XML that a xacro text stands for.

    Args:
        text: Of the file.
        file: Its path; includes are relative to its folder.
        packages: Folders of packages for `$(find name)`; others are searched as those
            of meshes are.
        args: Values of the arguments that the text declares.

    An argument that nothing in the text asks for costs a warning.

    Returns:
        The XML, and the folders of all packages, given and found.

    Raises:
        LoadError: For macros that cannot be expanded.
        ImportError: Without the package xacro; names the extra.
    """
    try:
        import xacro
    except ImportError as error:
        raise ImportError(
            f'{file}: reading xacro needs the package xacro: pip install "posewise'
            '[xacro]".'
        ) from error
    if args is not None and not isinstance(args, Mapping):
        raise LoadError(
            f"xacro_args is {args!r}, expected values by name, such as"
            " xacro_args={'prefix': 'left_'}."
        )
    values = {str(name): str(value) for name, value in (args or {}).items()}
    arguments = _Arguments(values)
    known_packages = dict(packages)
    with (
        _LOCK,
        dependency_warnings_ignored(),
        _finding_packages(known_packages, file.parent),
    ):
        try:
            xacro.init_stacks(str(file))
            document = xacro.parse(text)
            macros = document.getElementsByTagName("xacro:macro")
            names = [macro.getAttribute("name") for macro in macros]
            xacro.process_doc(document, mappings=arguments)
        except Exception as error:  # expressions raise exceptions of all kinds
            place = " in ".join(str(f) for f in reversed(xacro.filestack or [file]))
            problem = _problem(error)
            raise LoadError(f"{place}: xacro cannot expand it ({problem}") from error
    root = document.documentElement
    if names and not root.getElementsByTagName("*"):
        raise LoadError(
            f"{file}: it defines macros ({first_few(names)}) but calls none, so that"
            " there is no robot in it; give the file that includes this one and calls"
            " them."
        )
    _warn_of_unused(file, values, arguments)
    return document.toxml(), known_packages


class _Arguments(dict[str, str]):
    """Values of arguments by name, with a record of the names that are asked for."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked: dict[str, None] = {}

    def __contains__(self, name: object) -> bool:
        self.asked[str(name)] = None
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked[name] = None
        return super().__getitem__(name)


def _warn_of_unused(
    file: Path, passed_names: Iterable[str], arguments: _Arguments
) -> None:
    unused = [name for name in passed_names if name not in arguments.asked]
    if unused:
        sentences = [unknown_name("argument", n, arguments.asked) for n in unused]
        warnings.warn(
            f"{file}: xacro_args has arguments that the file does not use:"
            f" {first_few(sentences, ' ')}",
            UserWarning,
            stacklevel=2,
        )


def _problem(error: Exception) -> str:
    """Return what a problem of xacro is, and after a parenthesis what to do."""
    cause = getattr(error, "exc", None)
    if not isinstance(cause, OSError):
        text = " ".join(str(error).split()) or type(error).__name__
        return (
            f"{text}); mend it there, or pass what is missing as xacro_args={{name:"
            " value} or packages={name: folder}."
        )
    file = str(cause.filename)
    _, is_uri, place = file.partition("package://")
    if not is_uri:
        return (
            f"the included file {file!r}: {cause.strerror}); mend the name in"
            " <xacro:include>, or pass another folder of its package as"
            " packages={name: folder}."
        )
    package, _, path_in_package = place.partition("/")
    return (
        f"the included file 'package://{place}': xacro knows no package://); write"
        f" <xacro:include filename='$(find {package})/{path_in_package}'/> instead."
    )


@contextmanager
def _finding_packages(known_packages: dict[str, Path], folder: Path) -> Iterator[None]:
    """Let `$(find name)` search as meshes are searched, and record what it finds."""
    from xacro import substitution_args

    def find(name: str) -> str:
        if name not in known_packages:
            place = next(package_folders(name, folder), None)
            if place is None:
                raise LoadError(unknown_name("package", name, known_packages))
            known_packages[name] = place
        return str(known_packages[name])

    # xacro asks ROS, which need not be installed, and has no hook to ask others.
    original = substitution_args._eval_find
    substitution_args._eval_find = substitution_args._eval_dict["find"] = find
    try:
        yield
    finally:
        substitution_args._eval_find = original
        substitution_args._eval_dict["find"] = original
