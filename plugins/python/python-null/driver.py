"""Completes every message at once and connects to nothing. When the run has filters, it hands each
message straight back as an arrival, so that the cost of receiving can be told."""

from mqcore import Message, Run, Sink, Source
from mqcore.floor import note_bare_loop


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._done = sink.done
        self._received = sink.received
        if run.filters:
            self.publish = self._publish_and_receive

    def connect(self) -> None:
        note_bare_loop(self._bare)

    def publish(self, message: Message) -> None:
        self._done(message.slot)

    def _publish_and_receive(self, message: Message) -> None:
        self._received(message.payload)
        self._done(message.slot)

    def _bare(self, message: Message) -> None:
        message.slot  # noqa: B018 - publish() without the core

    def close(self) -> None: ...
