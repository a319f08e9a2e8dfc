"""Compiled programs kept on disk, for the next process."""

import os
from pathlib import Path
from typing import Any

import jax

from .compilation.program_cache import set_cache_dir


def cache_programs(folder: Any = None) -> Path:
    """Keep what JAX compiles in a folder, private to the user; see JAX's documentation.

    Call it before anything is compiled. It sets JAX's global configuration. Whoever can
    write to the folder can run code in your processes.

    Args:
        folder: default: `posewise/jax` in the user's cache folder.

    Returns:
        The folder.

    Raises:
        OSError: when it cannot be made.
    """
    if folder is None:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        folder = Path(base) / "posewise" / "jax"
    folder = Path(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    set_cache_dir(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder
