"""The frames of a world: the tree of them, its kinematics and its edits."""
