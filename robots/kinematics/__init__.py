"""Joint types, transforms, and batched forward kinematics with Jacobians."""
