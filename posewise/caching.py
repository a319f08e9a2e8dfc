"""Compiled programs kept on disk for the next process."""

import os
from pathlib import Path
from typing import Literal

import jax

from .compilation import cache_folder


def cache_programs(
    folder: str | os.PathLike[str] | Literal[False] | None = None,
) -> Path | None:
    """Choose where compiled programs are kept for the next process.

    Without a call, posewise keeps its own programs in `posewise/jax` in the user's
    cache folder, or in the folder that the environment variable POSEWISE_CACHE names,
    and changes no setting of JAX. `cache_programs(False)` and POSEWISE_CACHE=0 keep
    none.

    With a folder, or without an argument, JAX's own cache is put there as well, which
    also keeps the programs of your own functions: this sets JAX's global configuration.
    Call it before anything is compiled.

    Programs that are read run in your process: the folder has to belong to you, and
    nobody else may be able to write to it. Above 1 GiB the programs of posewise that
    were not used for the longest time are removed. Several processes may use it.

    With POSEWISE_PLAIN_JIT=1 in the environment, only JAX's own cache is used.

    Args:
        folder: default: `posewise/jax` in the user's cache folder; False: no program is
            kept.

    Returns:
        The folder; None for False.

    Raises:
        OSError: if the folder cannot be made, or is not private.
    """
    if folder is False:
        if jax.config.values["jax_compilation_cache_dir"] == str(
            cache_folder.cache_dir()
        ):
            jax.config.update("jax_compilation_cache_dir", None)
        cache_folder.set_cache_dir(None, "cache_programs(False) was called.")
        return None
    path = cache_folder.default_cache_dir() if folder is None else Path(folder)
    path = cache_folder.make_private(path)
    cache_folder.set_cache_dir(path)
    jax.config.update("jax_compilation_cache_dir", str(path))
    # programs of posewise are small and compile fast enough for JAX to skip them
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    return path
