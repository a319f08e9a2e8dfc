"""Readers and writers of robot description files."""
