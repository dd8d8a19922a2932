"""Not a client: measures the host's calls from inside drive(), where a client makes them, and the same
work written in Python. Notes best and median of many short rounds, in nanoseconds a call."""

from __future__ import annotations

import os.path
import struct
import time
from itertools import repeat

import mqcore

ROUNDS = 60
BATCHES = 150  # a round is a few milliseconds: some rounds meet no other process
WINDOW = 64  # messages in flight, as in the scenarios


class Client:
    def __init__(self, run: mqcore.Run, source: mqcore.Source, sink: mqcore.Sink) -> None:
        self._source, self._sink = source, sink

    def connect(self) -> None: ...

    def close(self) -> None: ...

    def publish(self, message: mqcore.Message) -> None:
        """Called once; the rest of the run happens in here."""
        self._sink.done(message.slot)
        path = os.path.join(os.path.dirname(__file__), "calibration.py")
        calibration: dict = {}
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), calibration)
        best, median = calibration["calibrate"]()
        mqcore.log(mqcore.LOG_INFO, f"figure calibration {best:.1f} {median:.1f}")
        calls: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            for name, nanoseconds in (*self._host_round(), *python_round()):
                calls.setdefault(name, []).append(nanoseconds)
        for name, rounds in calls.items():
            rounds.sort()
            mqcore.log(
                mqcore.LOG_INFO, f"figure {name} {rounds[0]:.1f} {rounds[len(rounds) // 2]:.1f}"
            )
        mqcore.log(mqcore.LOG_INFO, "figures are complete")  # whoever asked ends this process now

    def _host_round(self) -> list[tuple[str, float]]:
        source = self._source
        while (message := source.next()) is not None:  # up to the turn that follows 64 messages
            self._sink.done(message.slot)
        return timed(
            "",
            source.next,
            self._sink.done,
            self._sink.received,
            lambda m: m.slot,
            lambda m: m.payload,
        )


def timed(prefix: str, following, done, received, slot_of, payload_of) -> list[tuple[str, float]]:
    """One round of full windows: pull all, receive as many, complete all."""
    next_ns = done_ns = received_ns = 0
    clock = time.perf_counter_ns
    for _ in range(BATCHES):
        messages = []
        keep = messages.append
        begin = clock()
        for _ in repeat(None, WINDOW):
            keep(following())
        next_ns += clock() - begin
        following()  # TURN: not a message
        slots = [slot_of(message) for message in messages]
        payloads = [payload_of(message) for message in messages]
        begin = clock()
        for payload in payloads:
            received(payload)
        middle = clock()
        for slot in slots:
            done(slot)
        done_ns += clock() - middle
        received_ns += middle - begin
    calls = BATCHES * WINDOW
    return [
        (f"{prefix}next", next_ns / calls - APPEND_NS),
        (f"{prefix}done", done_ns / calls - LOOP_NS),
        (f"{prefix}received", received_ns / calls - LOOP_NS),
    ]


def _loop_cost() -> tuple[float, float]:
    """A turn of the measuring loop itself, and one that keeps a result."""
    plain, keeping = [], []
    for _ in range(50):
        kept: list[int] = []
        keep = kept.append
        begin = time.perf_counter_ns()
        for _ in repeat(None, 10_000):
            pass
        middle = time.perf_counter_ns()
        for _ in repeat(None, 10_000):
            keep(1)
        plain.append((middle - begin) / 10_000)
        keeping.append((time.perf_counter_ns() - middle) / 10_000)
    return min(plain), min(keeping)


LOOP_NS, APPEND_NS = _loop_cost()


# ---- the same work in Python: what a harness without the host does for each message ----

HEADER = struct.Struct("<QQI")
BUCKETS = 64


class PythonHalf:
    """Pace, window, stamp, lag; ledger and latency. As plain as it gets, and as fast as it gets."""

    def __init__(self) -> None:
        self.start = time.monotonic_ns()
        self.window_start, self.window_end = self.start, self.start + 10**12
        self.period = 0.0
        self.sequence = self.sent_window = self.completed = self.completed_window = 0
        self.total = self.window = self.damaged = self.stray = self.duplicates = 0
        self.free = list(range(WINDOW))
        self.payloads = [bytearray(256) for _ in range(WINDOW)]
        for payload in self.payloads:
            HEADER.pack_into(payload, 0, 0, 0, 7)
        self.fill = bytes(self.payloads[0][20:])
        self.lag = [0] * (64 * BUCKETS)
        self.transit = [0] * (64 * BUCKETS)
        self.ledger = bytearray(1 << 20)

    def next(self) -> tuple[int, bytes] | None:
        now = time.monotonic_ns()
        if now >= self.window_end:
            return None
        due = self.start + int((self.sequence + 1) * self.period)
        if now < due or not self.free:
            return None
        slot = self.free.pop()
        payload = self.payloads[slot]
        HEADER.pack_into(payload, 0, now, self.sequence, 7)
        self.sequence += 1
        if now >= self.window_start:
            self.sent_window += 1
            record(self.lag, now - due)
        return slot, bytes(payload)

    def done(self, slot: int) -> None:
        now = time.monotonic_ns()
        self.free.append(slot)
        self.completed += 1
        if self.window_start <= now < self.window_end:
            self.completed_window += 1

    def received(self, payload: bytes) -> None:
        now = time.monotonic_ns()
        stamp, sequence, tag = HEADER.unpack_from(payload)
        if tag != 7:
            self.stray += 1
            return
        self.total += 1
        if payload[20:] != self.fill:
            self.damaged += 1
            return
        byte, bit = sequence >> 3 & 0xFFFFF, 1 << (sequence & 7)
        if self.ledger[byte] & bit:
            self.duplicates += 1
        self.ledger[byte] |= bit
        if self.window_start <= now < self.window_end:
            self.window += 1
            record(self.transit, now - stamp)


def record(histogram: list[int], value: int) -> None:
    """Log-linear, 64 buckets an octave, as the core's."""
    shift = max(0, value.bit_length() - 7)
    histogram[shift * BUCKETS + (value >> shift)] += 1


def python_round() -> list[tuple[str, float]]:
    half = PythonHalf()
    return timed("python.", half.next, half.done, half.received, lambda m: m[0], lambda m: m[1])
