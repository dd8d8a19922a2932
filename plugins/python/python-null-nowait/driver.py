"""As python-null, driven from an event loop that publishes without awaiting."""

from mqcore import Message, Run, Sink, Source


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._done = sink.done
        self._received = sink.received
        if run.filters:
            self.publish = self._publish_and_receive

    async def connect(self) -> None: ...

    def publish(self, message: Message) -> None:
        self._done(message.slot)

    def _publish_and_receive(self, message: Message) -> None:
        self._received(message.payload)
        self._done(message.slot)

    async def close(self) -> None: ...
