"""As python-null, driven from an event loop that publishes without awaiting."""

from mqcore import Message, Run, Sink, Source
from mqcore.floor import note_bare_loop


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._done = sink.done
        self._received = sink.received
        if run.filters:
            self.publish = self._publish_and_receive

    async def connect(self) -> None:
        note_bare_loop(self._bare)

    def publish(self, message: Message) -> None:
        self._done(message.slot)

    def _publish_and_receive(self, message: Message) -> None:
        self._received(message.payload)
        self._done(message.slot)

    def _bare(self, message: Message) -> None:
        message.slot  # noqa: B018 - publish() without the core

    async def close(self) -> None: ...
