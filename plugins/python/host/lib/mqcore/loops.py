"""The three drive loops. They are part of the instrument: what they cost is billed to the client, so
they are written once, for every client of a shape, and reviewed like the core.

`source.next()` returns a message, or None; then `source.answer` says why:

    WAIT, DRAIN   nothing to send before source.wake_ns, or before a done() if the window is full
    TURN          64 messages went out in a row: give the library's loop a turn, then go on
    STOP          the run is over, or it failed
"""

from __future__ import annotations

import _mqcore

STOP = _mqcore.STOP
TURN = _mqcore.TURN
LIBRARY = _mqcore.LIBRARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from _mqcore import Message, Sink, Source


def sync(
    source: Source,
    publish: Callable[[Message], object],
    wait: Callable[[], object],
    turn: Callable[[], object],
) -> None:
    """One plain thread. `wait` blocks until source.wake_ns or a completion, in the library's own poll
    or in source.wait(); `turn` serves the library without blocking."""
    following = source.next
    while True:
        while (message := following()) is not None:
            publish(message)
        answer = source.answer
        if answer == TURN:
            turn()
        elif answer == STOP:
            return
        else:
            wait()


async def nowait(
    loop: asyncio.AbstractEventLoop,
    source: Source,
    publish: Callable[[Message], object],
    interrupted: asyncio.Future[None],
) -> None:
    """One callback of the event loop publishes without awaiting. It comes back by the loop's own timer,
    at the next turn of the loop, or when a completion ends a full window."""
    following = source.next
    timer: asyncio.TimerHandle | None = None

    def pump() -> None:
        nonlocal timer
        timer = None
        if interrupted.done():
            return
        try:
            while (message := following()) is not None:
                publish(message)
            answer = source.answer
            if answer == TURN:
                loop.call_soon(pump)
            elif answer == STOP:
                interrupted.set_result(None)
            else:
                timer = loop.call_later(source.delay(), pump)
        except Exception as error:
            interrupted.set_exception(error)

    def resume() -> None:
        nonlocal timer
        if timer is not None:
            timer.cancel()
            timer = None
            loop.call_soon(pump)

    source.resume = resume
    try:
        pump()
        await interrupted
    finally:
        source.resume = None
        if timer is not None:
            timer.cancel()


async def awaited(
    loop: asyncio.AbstractEventLoop,
    source: Source,
    sink: Sink,
    publish: Callable[[Message], Awaitable[int | None]],
    interrupted: asyncio.Future[None],
) -> None:
    """`window` reused coroutines, each awaiting its own publish, and one more that learns of DRAIN and
    STOP while all others are inside a publish.

    Whoever has nothing to send parks. One timer wakes one of them at the earliest wake_ns; who then
    gets a message passes the turn to the next before it awaits. If every coroutine slept until wake_ns
    instead, each tick would wake the whole window and bill it to the client."""
    from asyncio import sleep, wait

    following = source.next
    done = sink.done
    parked: list[asyncio.Future[None]] = []
    timer: asyncio.TimerHandle | None = None
    timer_ns = 0
    passing = False  # a parked coroutine was woken and has not run yet

    def wake_one() -> None:
        nonlocal timer, passing
        timer = None
        if parked:
            passing = True
            turn = parked.pop()
            if not turn.done():
                turn.set_result(None)

    async def slot() -> None:
        nonlocal timer, timer_ns, passing
        while True:
            while (message := following()) is not None:
                if parked and timer is None and not passing:
                    wake_one()
                done(message.slot, await publish(message) or 0)
            answer = source.answer
            if answer == TURN:
                await sleep(0)
            elif answer == STOP:
                return
            else:
                wake_ns = source.wake_ns
                if timer is None:
                    timer = loop.call_later(source.delay(), wake_one)
                    timer_ns = wake_ns
                elif wake_ns < timer_ns:
                    timer.cancel()
                    timer = loop.call_later(source.delay(), wake_one)
                    timer_ns = wake_ns
                turn = loop.create_future()
                parked.append(turn)
                await turn
                passing = False

    def ended(task: asyncio.Task[None]) -> None:
        if interrupted.done() or task.cancelled():
            return
        if error := task.exception():
            interrupted.set_exception(error)
        else:
            interrupted.set_result(None)

    slots = [loop.create_task(slot()) for _ in range(source.window + 1)]
    for task in slots:
        task.add_done_callback(ended)
    try:
        await interrupted
    finally:
        if timer is not None:
            timer.cancel()
        for task in slots:
            task.cancel()
        await wait(slots, timeout=1.0)
