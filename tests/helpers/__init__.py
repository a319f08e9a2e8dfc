"""Shared data, scenes and scripts of the tests."""
