"""Expansion of xacro, the macro language of robot descriptions, by its own package.

xacro evaluates expressions and includes files that a description names, wherever they
are: unlike all other readers here, this one is for trusted files only.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...errors import LoadError, unknown_name
from ...geometry.package_folders import package_folders

XacroArgs = Mapping[str, str | float | bool]
"""Values of `<xacro:arg>` by name."""

_LOCK = threading.Lock()  # the state of the package xacro is global


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
    mappings = {str(name): str(value) for name, value in (args or {}).items()}
    found = dict(packages)
    with _LOCK, _finding_packages(found, file.parent):
        try:
            xacro.init_stacks(str(file))
            document = xacro.parse(text)
            xacro.process_doc(document, mappings=mappings)
            return document.toxml(), found
        except Exception as error:  # expressions raise exceptions of all kinds
            place = " in ".join(str(f) for f in reversed(xacro.filestack or [file]))
            reason = " ".join(str(error).split()) or type(error).__name__
            raise LoadError(
                f"{place}: xacro cannot expand it ({reason}); mend it there, or pass"
                " what is missing as xacro_args={name: value} or packages={name:"
                " folder}."
            ) from error


@contextmanager
def _finding_packages(found: dict[str, Path], folder: Path) -> Iterator[None]:
    """Let `$(find name)` search as meshes are searched, and record what it finds."""
    from xacro import substitution_args

    def find(name: str) -> str:
        if name not in found:
            place = next(package_folders(name, folder), None)
            if place is None:
                raise LoadError(unknown_name("package", name, found))
            found[name] = place
        return str(found[name])

    # xacro asks ROS, which need not be installed, and has no hook to ask others.
    original = substitution_args._eval_find
    substitution_args._eval_find = substitution_args._eval_dict["find"] = find
    try:
        yield
    finally:
        substitution_args._eval_find = original
        substitution_args._eval_dict["find"] = original
