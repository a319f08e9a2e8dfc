"""rai's graph files (`.g` and `.yml`): reading."""
