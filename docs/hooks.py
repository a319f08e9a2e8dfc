"""MkDocs hooks that add notebooks and pictures to the site.

Pictures are drawn when there are none, and kept until `make clean`.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "build" / "pictures"


def on_files(files: Files, config: Any) -> Files:
    """Add pictures and notebooks to the files of the site."""
    if not list(PICTURES.glob("*.png")):
        subprocess.run(
            [sys.executable, ROOT / "docs/pictures.py", PICTURES], check=True
        )
    additions = [*PICTURES.glob("*.png"), *(ROOT / "notebooks").glob("*.ipynb")]
    for file in sorted(additions):
        place = f"{file.parent.name}/{file.name}"
        files.append(File.generated(config, place, abs_src_path=str(file)))
    return files
