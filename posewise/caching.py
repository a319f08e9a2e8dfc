"""Compiled programs kept on disk for the next process."""

import os
from pathlib import Path

import jax

from .compilation.program_cache import set_cache_dir


def cache_programs(folder: str | os.PathLike[str] | None = None) -> Path:
    """Keep the programs that JAX compiles in a folder that only the user can access.

    Call it before anything is compiled. It sets JAX's global configuration, so that
    programs of your own functions are kept there as well. Whoever can write to the
    folder can run code in your processes.

    With POSEWISE_PLAIN_JIT=1 in the environment, only JAX's own cache is used.

    Args:
        folder: default: `posewise/jax` in the user's cache folder.

    Returns:
        The folder.

    Raises:
        OSError: if the folder cannot be made.
    """
    if folder is None:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        folder = Path(base) / "posewise" / "jax"
    folder = Path(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # `mode` has no effect on a folder that was there before
    folder.chmod(0o700)
    set_cache_dir(folder)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # programs of posewise are small and compile fast enough for JAX to skip them
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return folder
