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
    STOP while all others are inside a publish. They are made as they are needed.

    Whoever has nothing to send parks, and one timer wakes one of them at the earliest wake_ns. Whoever
    gets a message first passes the turn: it wakes one other, which may find more to send while this one
    awaits. If every coroutine slept until wake_ns instead, each tick would wake the whole window and
    bill it to the client; if all were ready at once, publishes that never suspend would keep the loop
    from its sockets for the whole window times 64 messages."""
    from asyncio import sleep, wait

    following = source.next
    done = sink.done
    most = source.window + 1
    slots: list[asyncio.Task[None]] = []
    parked: list[asyncio.Future[None]] = []
    timer: asyncio.TimerHandle | None = None
    timer_ns = 0
    passing = False  # somebody was woken, or gave the loop a turn, and has not run yet

    def wake_one() -> None:
        nonlocal passing
        if parked:
            passing = True
            parked.pop().set_result(None)
        elif len(slots) < most:
            passing = True
            task = loop.create_task(slot())
            task.add_done_callback(ended)
            slots.append(task)

    def on_timer() -> None:
        nonlocal timer
        timer = None
        wake_one()

    def arm() -> None:
        nonlocal timer, timer_ns
        wake_ns = source.wake_ns
        if timer is not None:
            if wake_ns >= timer_ns:
                return
            timer.cancel()
        timer = loop.call_later(source.delay(), on_timer)
        timer_ns = wake_ns

    async def slot() -> None:
        nonlocal passing
        passing = False
        while True:
            while (message := following()) is not None:
                if not passing and timer is None and (parked or len(slots) < most):
                    wake_one()
                done(message.slot, await publish(message) or 0)
            answer = source.answer
            if answer == STOP:
                return
            if answer == TURN and not passing:
                passing = True
                await sleep(0)
            else:
                if answer != TURN:
                    arm()
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

    wake_one()
    try:
        await interrupted
    finally:
        if timer is not None:
            timer.cancel()
        for task in slots:
            task.cancel()
        await wait(slots, timeout=1.0)
