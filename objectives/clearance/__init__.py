"""Clearance along paths that are straight between slices."""
