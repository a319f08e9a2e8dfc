"""rai's enumerations and module-level functions."""

import importlib.util
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import posewise as pw
from posewise.robots.loaders.gfile.joints import RAI_JOINT_TYPES
from posewise.robots.loaders.gfile.shapes import SIZE_COUNTS


def raise_unsupported(what: str, floor: str) -> NoReturn:
    """Say what is missing.

    Raises:
        FeatureError: always.
    """
    raise pw.FeatureError(
        f"{what}: {floor} are not in posewise yet; leave it out, or use robotic for it."
    )


_SYMBOLS = dict(pw.FS.__members__)
FS = SimpleNamespace(**_SYMBOLS, __members__=_SYMBOLS)
"""posewise's `FS`."""


def _make_enum(name: str, members: Any) -> Any:
    return Enum(name, members)


OT = _make_enum("OT", "f sos ineq eq")
"""Objective types; `f`, a cost that is no square, is refused by `KOMO`."""

JT = _make_enum("JT", ["none", *RAI_JOINT_TYPES, "generic"])
"""Joint types."""

ST = _make_enum("ST", ["none", *SIZE_COUNTS])
"""Shape types."""

SY = _make_enum("SY", "stable stableOn stableZero dynamic dynamicOn quasiStaticOn")
"""Modes of `KOMO.addModeSwitch`."""


def raiPath(path: str) -> str:
    """Where a file of rai's robot models lies in the installed `robotic` wheel.

    The package is looked for, not imported.

    Raises:
        LoadError: when the wheel or the file is absent.
    """
    spec = importlib.util.find_spec("robotic")
    if spec is None or spec.origin is None:
        raise pw.LoadError(
            f"raiPath({path!r}): rai's models come with the package robotic, which is"
            ' not installed: pip install "posewise[peers]". posewise.load("panda") has'
            " models of our own."
        )
    models = Path(spec.origin).parent / "rai-robotModels"
    found = models / path.removeprefix("../").removeprefix("rai-robotModels/")
    if not found.exists():
        known = ", ".join(sorted(p.name for p in models.iterdir() if p.is_dir()))
        raise pw.LoadError(f"No file {path!r} in {models}; folders there: {known}.")
    return str(found)


def compiled() -> str:
    """Nothing is: posewise is Python, its programs are compiled when first used."""
    return "posewise (JAX)"


def params_add(params: dict[str, Any]) -> None:
    """Accept rai's global parameters; they concern its viewer and simulator only."""


def params_print() -> None:
    """Print nothing: there are no global parameters."""
