"""PyCRAM's queries of a world, exact and relaxed."""
