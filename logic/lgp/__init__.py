"""Logic-geometric programs: plans by rules whose skeletons have a solution."""
