"""Paths over time as a controller plays them: samples, timing, and files."""
