"""Path problems as values: what is asked, built from objectives and presets."""
