"""For the null clients: what their own Python costs, so that `mqcore harness-cost` can tell it from what
mqcore costs. `publish` is the client's own without its call of the core; the loop around it is the
shortest there is. The best of short rounds goes into the note "floor.bare_ns", in ns a message."""

from __future__ import annotations

from itertools import repeat
from time import perf_counter_ns

from mqcore import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

ROUNDS = 10
MESSAGES = 2_000  # a round is a fraction of a millisecond: some rounds meet no other process


class StandIn:
    """For a message; its attributes are read as those of one are, as members of the object."""

    __slots__ = ("payload", "slot")

    def __init__(self) -> None:
        self.payload, self.slot = b"", 0


def note_bare_loop(publish: Callable[[Any], object]) -> None:
    rounds = []
    for _ in range(ROUNDS):
        begin = perf_counter_ns()
        for message in repeat(StandIn(), MESSAGES):
            publish(message)
        rounds.append(perf_counter_ns() - begin)
    _note_best(rounds)


async def note_bare_awaited_loop(publish: Callable[[Any], Awaitable[object]]) -> None:
    rounds = []
    for _ in range(ROUNDS):
        begin = perf_counter_ns()
        for message in repeat(StandIn(), MESSAGES):
            await publish(message)
        rounds.append(perf_counter_ns() - begin)
    _note_best(rounds)


def _note_best(rounds: list[int]) -> None:
    note("floor.bare_ns", f"{min(rounds) / MESSAGES:.1f}")
