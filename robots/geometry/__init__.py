"""Shapes, meshes, convex hulls and signed distance grids."""
