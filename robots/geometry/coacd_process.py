"""coacd in a separate process, because it may print, abort or hang on broken meshes.

The process runs this file as a script, without importing posewise.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

PREPROCESS_RESOLUTION = 30
"""Number of cells along the grid on which coacd makes open surfaces solid. More follow
them more closely, but take longer: 50 take minutes."""


class CoacdError(RuntimeError):
    """A failure of coacd; the message says how its process ended."""


def run_coacd(
    vertices: Float[np.ndarray, "vertices 3"],
    faces: Int[np.ndarray, "faces 3"],
    threshold: float,
    time_limit: float,
) -> list[np.ndarray]:
    """Return the vertices of the convex parts of a mesh.

    Args:
        vertices: Vertices of the mesh.
        faces: Indices of the corners of each triangle.
        threshold: Largest concavity of a part, in coacd's measure.
        time_limit: Time after which the process is stopped [s].

    Raises:
        CoacdError: When coacd ends without parts, or not in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        input_file, output_file = Path(folder) / "mesh.npz", Path(folder) / "parts.npz"
        np.savez(input_file, vertices=vertices, faces=faces)
        command = [
            sys.executable,
            "-P",
            __file__,
            str(input_file),
            str(output_file),
            f"{threshold}",
        ]
        try:
            process = subprocess.run(
                command,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=time_limit,
            )
        except subprocess.TimeoutExpired:
            raise CoacdError(f"coacd did not end within {time_limit:g} s") from None
        if process.returncode or not output_file.is_file():
            last = (process.stderr.strip().splitlines() or ["no message"])[-1]
            raise CoacdError(
                f"coacd ended with code {process.returncode}: {last[:200]}"
            )
        with np.load(output_file, allow_pickle=False) as file:
            parts = [file[name] for name in file.files]
    parts = [part for part in parts if len(part) and np.isfinite(part).all()]
    if not parts:
        raise CoacdError("coacd found no part")
    return parts


def _main(input_file: str, output_file: str, threshold: str) -> None:
    import coacd

    coacd.set_log_level("off")
    with np.load(input_file, allow_pickle=False) as file:
        mesh = coacd.Mesh(file["vertices"], file["faces"])
    parts = coacd.run_coacd(
        mesh,
        threshold=float(threshold),
        preprocess_resolution=PREPROCESS_RESOLUTION,
        seed=0,
    )
    np.savez(output_file, **{str(i): part[0] for i, part in enumerate(parts)})


if __name__ == "__main__":
    _main(*sys.argv[1:])
