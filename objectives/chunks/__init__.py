"""Chunks of many solves: stored in a folder, solved by workers of an executor."""
