"""The extension module, for type checkers and for people; objects.cpp is what runs."""

from collections.abc import Callable

from typing_extensions import Buffer

OK: int
UNSUPPORTED: int
CONFIG: int
NETWORK: int
LIBRARY: int
V311: int
V5: int
LOG_DEBUG: int
LOG_INFO: int
LOG_WARNING: int
LOG_ERROR: int
WAIT: int
DRAIN: int
STOP: int
TURN: int
NONE: int

class Message:
    """One a slot, reused: what is read from it holds until done()."""

    topic: str  # the same object every time
    payload: bytes  # stamped by the core
    qos: int
    retain: bool
    slot: int
    connection: int

class Source:
    answer: int  # after next() returned None: WAIT, DRAIN, STOP or TURN
    window: int
    wake_ns: int  # CLOCK_MONOTONIC instant at which to ask again
    resume: Callable[[], object] | None  # called when a done() ends a full window

    def next(self) -> Message | None: ...
    def wait(self) -> None:
        """Blocks until wake_ns or until the window has room, without the GIL."""
    def poll(self, fd: int, write: bool, block: bool) -> int:
        """As wait(), for one second at most, or until the socket is readable (1) or writable (2). 0: ask
        next() again. Without block it only looks."""
    def delay(self) -> float:
        """Seconds until wake_ns."""
    def put_back(self, message: Message) -> None:
        """The library is full: the message is handed out again, after a turn of the loop."""

class Sink:
    def done(self, slot: int, status: int = ..., /) -> None:
        """Once for every message; any status but OK counts it as failed. From any thread."""
    def received(self, payload: Buffer, filter: int = ..., connection: int = ..., /) -> None:
        """Once for every message that arrives. From any thread."""

def fail(status: int, text: str, /) -> None: ...
def log(level: int, text: str, /) -> None: ...
def note(key: str, value: str, /) -> None: ...
