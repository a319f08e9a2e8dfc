"""Helpers of tests that compare with robotic."""
