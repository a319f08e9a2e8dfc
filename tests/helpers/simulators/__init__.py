"""Helpers of tests of files for simulators."""
