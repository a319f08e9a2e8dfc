"""Events and criteria of grasps on recorded traces: exact, and smooth."""
