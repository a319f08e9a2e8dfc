"""rai's enumerations and module-level functions."""

import importlib.util
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import posewise as pw
from posewise.robots.loaders.gfile.joints import RAI_JOINT_TYPES
from posewise.robots.loaders.gfile.shapes import SIZE_COUNTS


def raise_unsupported(call: str, feature: str) -> NoReturn:
    """Raise an error for a part of rai that posewise lacks.

    Args:
        call: the call that needs it.
        feature: what is not supported, in the plural.

    Raises:
        FeatureError: always.
    """
    raise pw.FeatureError(
        f"{call}: posewise does not support {feature}; leave it out, or use robotic"
        " for it."
    )


_SYMBOLS = dict(pw.FS.__members__)
FS = SimpleNamespace(**_SYMBOLS, __members__=_SYMBOLS)
"""Feature symbols of posewise."""


def _make_enum(name: str, members: str | list[str]) -> Any:
    # mypy cannot follow enumerations whose members are computed.
    return Enum(name, members)


OT = _make_enum("OT", "f sos ineq eq")
"""Objective types; `KOMO` rejects `f`, a cost that is not a sum of squares."""

JT = _make_enum("JT", ["none", *RAI_JOINT_TYPES, "generic"])
"""Joint types."""

ST = _make_enum("ST", ["none", *SIZE_COUNTS])
"""Shape types."""

SY = _make_enum(
    "SY",
    "touch above inside oppose restingOn poseEq positionEq stableRelPose stablePose "
    "stable stableOn dynamic dynamicOn dynamicTrans quasiStatic quasiStaticOn downUp "
    "stableZero contact contactStick contactComplementary bounce push magic magicTrans "
    "pushAndPlace topBoxGrasp topBoxPlace dampMotion identical alignByInt makeFree "
    "forceBalance relPosY touchBoxNormalX touchBoxNormalY touchBoxNormalZ boxGraspX "
    "boxGraspY boxGraspZ lift stableYPhi stableOnX stableOnY end",
)
"""Symbols of `Skeleton`; `KOMO.addModeSwitch` takes those of modes."""

ArgWord = _make_enum("ArgWord", "_left _right _sequence _path")
"""Arguments of `BotOp`: which gripper."""

SimulationEngine = _make_enum("SimulationEngine", "physx bullet kinematic")
"""Engines of `Simulation`."""

ControlMode = _make_enum("ControlMode", "none position velocity acceleration spline")
"""Meanings of what `Simulation.step` is given."""


def raiPath(path: str) -> str:
    """Return the path of a file of rai's robot models in the installed `robotic` wheel.

    The package is located, not imported.

    Raises:
        LoadError: if the wheel or the file is missing.
    """
    spec = importlib.util.find_spec("robotic")
    if spec is None or spec.origin is None:
        raise pw.LoadError(
            f"raiPath({path!r}): rai's models come with the package robotic, which is"
            ' not installed: pip install "posewise[peers]". posewise has its own'
            ' models, such as posewise.load("panda").'
        )
    models = Path(spec.origin).parent / "rai-robotModels"
    file = models / path.removeprefix("../").removeprefix("rai-robotModels/")
    if not file.exists():
        folders = ", ".join(sorted(p.name for p in models.iterdir() if p.is_dir()))
        raise pw.LoadError(f"No file {path!r} in {models}; its folders are: {folders}.")
    return str(file)


def compiled() -> str:
    """Return the name of the implementation; posewise is compiled when it is used."""
    return "posewise (JAX)"
