"""Plans and schedules of formulas, trajectories of states, and search over branches."""
