"""The MuJoCo twin of a world, and simulations with motors."""
