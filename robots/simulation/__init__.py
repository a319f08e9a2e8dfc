"""The MuJoCo twin of a world."""
