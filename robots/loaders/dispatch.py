"""The choice of a reader by the suffix of a file."""

from pathlib import Path

from ..errors import LoadError
from ..geometry.mesh_paths import is_existing_file
from ..world.frame import Model


def read_file(path: Path) -> tuple[Model, bool]:
    """Return the model in a file, and whether its format allows duplicate frame names.

    Raises:
        LoadError: For an unknown kind of file, a missing one, or a broken one.
    """
    if not is_existing_file(path):
        raise LoadError(f"No file {str(path)!r}; give the path of a model file.")
    match path.suffix.lower():
        case ".urdf":
            from .urdf.reader import read_urdf

            return read_urdf(path), False
        case ".xml" | ".mjcf":
            if "<robot" in path.read_text(errors="replace")[:4096]:
                from .urdf.reader import read_urdf

                return read_urdf(path), False
            from .mjcf.reader import read_mjcf

            return read_mjcf(path), False
        case ".g" | ".yml" | ".yaml":
            from .gfile.reader import read_gfile

            return read_gfile(path), True
        case suffix:
            raise LoadError(
                f"{path}: files of kind {suffix or '(no suffix)'!r} are not known;"
                " expected .urdf, .xml (MJCF), .g or .yml."
            )
