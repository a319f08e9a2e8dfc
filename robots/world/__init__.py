"""The frames of a world, and the edits and annotations of that tree."""
