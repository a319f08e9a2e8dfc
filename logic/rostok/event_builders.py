"""rostok's builders, which make new events for each run in the order of calls."""

from collections.abc import Iterable, Mapping
from typing import Any

from .body_events import EventBodyTooLow, EventFlyingApart
from .contact_events import (
    EventContact,
    EventContactInInitialPosition,
    EventContactTimeOut,
    EventSlipOut,
)
from .errors import EventError
from .event import SimulationSingleEvent
from .grasp_events import EventGrasp, EventStopExternalForce


class EventBuilder:
    """Builder that adds an event of one class to a container without such an event.

    Builders can be reused: each run gets new events, and criteria use the builder to
    find their event in the result.

    Args:
        event_class: class of the event.
        arguments: arguments of the class by name; builders in them stand for the events
            that they have built in the same container.
        found_class: class that `find_event` looks for; by default `event_class`.

    Raises:
        EventError: for arguments that the class rejects.
    """

    def __init__(
        self,
        event_class: type[SimulationSingleEvent],
        arguments: Mapping[str, Any] | None = None,
        found_class: type[SimulationSingleEvent] | None = None,
    ) -> None:
        self.event_class = event_class
        self.found_class = found_class or event_class
        self.arguments = dict(arguments or {})
        # A first event checks the arguments where the user passes them.
        prototypes: dict[str, Any] = {
            name: value.prototype if isinstance(value, EventBuilder) else value
            for name, value in self.arguments.items()
        }
        self.prototype: SimulationSingleEvent = event_class(**prototypes)

    def __repr__(self) -> str:
        return f"EventBuilder({self.event_class.__name__})"

    def find_event(
        self, event_list: Iterable[SimulationSingleEvent]
    ) -> SimulationSingleEvent | None:
        """Return the first event of the class in a container, or None."""
        return next((e for e in event_list if type(e) is self.found_class), None)

    def build_event(self, event_list: list[SimulationSingleEvent]) -> None:
        """Append a new event to a container.

        Raises:
            EventError: if the container has an event of the class, or lacks an event
                that the new one requires.
        """
        if self.find_event(event_list) is not None:
            raise EventError(
                f"The container has an {self.found_class.__name__} already; a container"
                " holds one event of each class."
            )
        arguments: dict[str, Any] = {
            name: self._built(value, event_list)
            if isinstance(value, EventBuilder)
            else value
            for name, value in self.arguments.items()
        }
        event_list.append(self.event_class(**arguments))

    def _built(
        self, builder: "EventBuilder", event_list: list[SimulationSingleEvent]
    ) -> SimulationSingleEvent:
        event = builder.find_event(event_list)
        if event is None:
            raise EventError(
                f"{self.event_class.__name__} needs an {builder.event_class.__name__}"
                " in the container; build that event first."
            )
        return event


def EventContactBuilder(take_from_body: bool = False) -> EventBuilder:
    """Return a builder of `EventContact`."""
    return EventBuilder(EventContact, {"take_from_body": take_from_body})


def EventContactTimeOutBuilder(
    ref_time: float, event_contact_builder: EventBuilder
) -> EventBuilder:
    """Return a builder of `EventContactTimeOut`."""
    contact = _check_builder(
        "EventContactTimeOutBuilder", event_contact_builder, EventContact
    )
    return EventBuilder(
        EventContactTimeOut, {"ref_time": ref_time, "contact_event": contact}
    )


def EventFlyingApartBuilder(max_distance: float) -> EventBuilder:
    """Return a builder of `EventFlyingApart`."""
    return EventBuilder(EventFlyingApart, {"max_distance": max_distance})


def EventSlipOutBuilder(ref_time: float) -> EventBuilder:
    """Return a builder of `EventSlipOut`."""
    return EventBuilder(EventSlipOut, {"ref_time": ref_time})


def EventGraspBuilder(
    grasp_limit_time: float,
    event_contact_builder: EventBuilder,
    verbosity: int = 0,
    simulation_stop: bool = False,
) -> EventBuilder:
    """Return a builder of `EventGrasp`."""
    contact = _check_builder("EventGraspBuilder", event_contact_builder, EventContact)
    arguments = {
        "grasp_limit_time": grasp_limit_time,
        "contact_event": contact,
        "verbosity": verbosity,
        "simulation_stop": simulation_stop,
    }
    return EventBuilder(EventGrasp, arguments)


def EventStopExternalForceBuilder(
    event_grasp_builder: EventBuilder, force_test_time: float
) -> EventBuilder:
    """Return a builder of `EventStopExternalForce`."""
    grasp = _check_builder(
        "EventStopExternalForceBuilder", event_grasp_builder, EventGrasp
    )
    arguments = {"grasp_event": grasp, "force_test_time": force_test_time}
    return EventBuilder(EventStopExternalForce, arguments)


def EventBodyTooLowBuilder(ref_height: float, *, legacy: bool = False) -> EventBuilder:
    """Return a builder of `EventBodyTooLow`.

    Repaired: rostok's builder looks for an EventStopExternalForce instead of an
    EventBodyTooLow, so that it clashes with that event and can build its event twice.

    Args:
        ref_height: smallest allowed y coordinate [m, world].
        legacy: whether to reproduce rostok.
    """
    found_class = EventStopExternalForce if legacy else None
    return EventBuilder(EventBodyTooLow, {"ref_height": ref_height}, found_class)


def EventContactInInitialPositionBuilder(*, legacy: bool = False) -> EventBuilder:
    """Return a builder of `EventContactInInitialPosition`.

    Repaired: as `EventBodyTooLowBuilder`.

    Args:
        legacy: whether to reproduce rostok.
    """
    found_class = EventStopExternalForce if legacy else None
    return EventBuilder(EventContactInInitialPosition, found_class=found_class)


def _check_builder(
    owner: str, builder: EventBuilder, event_class: type[SimulationSingleEvent]
) -> EventBuilder:
    """Return a builder if it builds events of the expected class."""
    if not isinstance(builder, EventBuilder) or builder.event_class is not event_class:
        raise EventError(
            f"{owner} got {builder!r}, expected its {event_class.__name__}Builder."
        )
    return builder
