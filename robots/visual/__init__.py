"""Pictures of a world: matplotlib drawings, film strips, the browser viewer."""
