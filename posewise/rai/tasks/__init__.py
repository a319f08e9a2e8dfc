"""Tasks with rai's names: manipulation, skeletons, and planning over skeletons."""
