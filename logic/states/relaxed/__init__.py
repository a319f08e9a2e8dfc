"""Sound relaxations of extended states: plans for paths, and rows over trajectories."""
