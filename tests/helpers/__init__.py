"""Shared test data, scenes and scripts that run in processes of their own."""
