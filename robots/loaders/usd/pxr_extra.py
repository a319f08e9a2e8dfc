"""The modules of OpenUSD, which an optional extra installs."""

from types import ModuleType
from typing import NamedTuple


class Pxr(NamedTuple):
    """Modules of the package `pxr`."""

    Gf: ModuleType
    Tf: ModuleType
    Usd: ModuleType
    UsdGeom: ModuleType
    UsdPhysics: ModuleType
    UsdShade: ModuleType
    Vt: ModuleType


def import_pxr(purpose: str) -> Pxr:
    """Return the modules of OpenUSD.

    Args:
        purpose: What needs them, e.g. "Reading USD"; the message begins with it.

    Raises:
        ImportError: When OpenUSD is not installed; the message names the extra.
    """
    try:
        from pxr import Gf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt
    except ImportError as error:
        raise ImportError(
            f'{purpose} needs OpenUSD; install it with `pip install "posewise[usd]"`.'
        ) from error
    return Pxr(Gf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt)
