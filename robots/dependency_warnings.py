"""Warnings from inside libraries that read or compute for posewise."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def dependency_warnings_ignored() -> Iterator[None]:
    """Run a library's function whatever the caller's filters say of its warnings.

    Such warnings speak to the library's authors, typically of a newer NumPy. Under a
    filter "error" they would end the function, and a sound file would look broken. What
    posewise itself warns of is said outside of such a block.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
