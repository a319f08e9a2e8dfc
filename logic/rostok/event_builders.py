"""rostok's builders: each makes an event of a run, in the order of calls."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from posewise.robots.validation import number

from .body_events import EventBodyTooLow, EventFlyingApart
from .contact_events import (
    EventContact,
    EventContactInInitialPosition,
    EventContactTimeOut,
    EventSlipOut,
)
from .event import EventError, SimulationSingleEvent, check_kind, check_limit
from .grasp_events import EventGrasp, EventStopExternalForce


class EventBuilder(ABC):
    """Puts an event of a class into a container that has none of it yet.

    Builders may be kept: each run gets new events, and criteria find theirs in the
    result by the builder.

    Args:
        event_class: the class of the event.
    """

    def __init__(self, event_class: type[SimulationSingleEvent]) -> None:
        self.event_class = event_class

    def find_event(
        self, event_list: Iterable[SimulationSingleEvent]
    ) -> SimulationSingleEvent | None:
        """The first event of this class in a container, or None."""
        return next((e for e in event_list if type(e) is self.event_class), None)

    def build_event(self, event_list: list[SimulationSingleEvent]) -> None:
        """Append the event to a container.

        Raises:
            EventError: when the container has an event of this class already, or lacks
                the one that this one needs.
        """
        if self.find_event(event_list) is not None:
            raise EventError(
                f"There is an {self.event_class.__name__} in the container already;"
                " a container holds one event of each class."
            )
        event_list.append(self._make_event(event_list))

    @abstractmethod
    def _make_event(
        self, event_list: list[SimulationSingleEvent]
    ) -> SimulationSingleEvent:
        """The event; what it needs is looked up in the container."""

    def _required_event(
        self, builder: "EventBuilder", event_list: list[SimulationSingleEvent]
    ) -> SimulationSingleEvent:
        found = builder.find_event(event_list)
        if found is None:
            raise EventError(
                f"{self.event_class.__name__} needs an {builder.event_class.__name__}"
                " in the container; build that one first."
            )
        return found


class EventContactBuilder(EventBuilder):
    """Makes an `EventContact`; see there."""

    def __init__(self, take_from_body: Any = False) -> None:
        super().__init__(EventContact)
        self.from_body = bool(take_from_body)

    def _make_event(self, event_list: list[SimulationSingleEvent]) -> EventContact:
        return EventContact(self.from_body)


class EventContactTimeOutBuilder(EventBuilder):
    """Makes an `EventContactTimeOut`; see there."""

    def __init__(self, ref_time: Any, event_contact_builder: Any) -> None:
        super().__init__(EventContactTimeOut)
        self.reference_time = check_limit(
            "EventContactTimeOutBuilder: ref_time", ref_time
        )
        self.event_contact_builder = check_kind(
            self, event_contact_builder, EventContactBuilder
        )

    def _make_event(
        self, event_list: list[SimulationSingleEvent]
    ) -> EventContactTimeOut:
        contact = self._required_event(self.event_contact_builder, event_list)
        return EventContactTimeOut(self.reference_time, contact)


class EventFlyingApartBuilder(EventBuilder):
    """Makes an `EventFlyingApart`; see there."""

    def __init__(self, max_distance: Any) -> None:
        super().__init__(EventFlyingApart)
        what = "EventFlyingApartBuilder: max_distance"
        self.max_distance = check_limit(what, max_distance)

    def _make_event(self, event_list: list[SimulationSingleEvent]) -> EventFlyingApart:
        return EventFlyingApart(self.max_distance)


class EventSlipOutBuilder(EventBuilder):
    """Makes an `EventSlipOut`; see there."""

    def __init__(self, ref_time: Any) -> None:
        super().__init__(EventSlipOut)
        self.reference_time = check_limit("EventSlipOutBuilder: ref_time", ref_time)

    def _make_event(self, event_list: list[SimulationSingleEvent]) -> EventSlipOut:
        return EventSlipOut(self.reference_time)


class EventGraspBuilder(EventBuilder):
    """Makes an `EventGrasp`; see there."""

    def __init__(
        self,
        grasp_limit_time: Any,
        event_contact_builder: Any,
        verbosity: Any = 0,
        simulation_stop: Any = False,
    ) -> None:
        super().__init__(EventGrasp)
        what = "EventGraspBuilder: grasp_limit_time"
        self.grasp_limit_time = check_limit(what, grasp_limit_time)
        self.event_contact_builder = check_kind(
            self, event_contact_builder, EventContactBuilder
        )
        self.verbosity = verbosity
        self.simulation_stop = simulation_stop

    def _make_event(self, event_list: list[SimulationSingleEvent]) -> EventGrasp:
        contact = self._required_event(self.event_contact_builder, event_list)
        return EventGrasp(
            self.grasp_limit_time, contact, self.verbosity, self.simulation_stop
        )


class EventStopExternalForceBuilder(EventBuilder):
    """Makes an `EventStopExternalForce`; see there."""

    def __init__(self, event_grasp_builder: Any, force_test_time: Any) -> None:
        super().__init__(EventStopExternalForce)
        self.event_grasp_builder = check_kind(
            self, event_grasp_builder, EventGraspBuilder
        )
        what = "EventStopExternalForceBuilder: force_test_time"
        self.force_test_time = check_limit(what, force_test_time)

    def _make_event(
        self, event_list: list[SimulationSingleEvent]
    ) -> EventStopExternalForce:
        grasp = self._required_event(self.event_grasp_builder, event_list)
        return EventStopExternalForce(grasp, self.force_test_time)


class EventBodyTooLowBuilder(EventBuilder):
    """Makes an `EventBodyTooLow`; see there.

    Repaired: rostok's builder looks for an EventStopExternalForce where it should look
    for its own class: it clashes with that one, and may be built twice.

    Args:
        ref_height: the least y that is allowed [m, world].
        legacy: as rostok.
    """

    def __init__(self, ref_height: Any, *, legacy: bool = False) -> None:
        super().__init__(EventStopExternalForce if legacy else EventBodyTooLow)
        what = "EventBodyTooLowBuilder: ref_height"
        self.ref_height = number(what, ref_height, error=EventError)

    def _make_event(self, event_list: list[SimulationSingleEvent]) -> EventBodyTooLow:
        return EventBodyTooLow(self.ref_height)


class EventContactInInitialPositionBuilder(EventBuilder):
    """Makes an `EventContactInInitialPosition`; see there.

    Repaired: as `EventBodyTooLowBuilder`.

    Args:
        legacy: as rostok.
    """

    def __init__(self, *, legacy: bool = False) -> None:
        cls = EventStopExternalForce if legacy else EventContactInInitialPosition
        super().__init__(cls)

    def _make_event(
        self, event_list: list[SimulationSingleEvent]
    ) -> EventContactInInitialPosition:
        return EventContactInInitialPosition()
