"""Alternatives of a formula and the schedules that make one of them true."""
