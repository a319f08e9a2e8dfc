"""Errors of the port of rostok."""

from posewise.robots.errors import PosewiseError


class EventError(PosewiseError):
    """Events, builders, criteria or force laws that do not fit together."""


class TraceError(PosewiseError):
    """A recorded trace that is incomplete or contradicts itself."""
