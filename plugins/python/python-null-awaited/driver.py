"""As python-null, driven by coroutines that each await their own publish; this one never suspends."""

from mqcore import Message, Run, Sink, Source
from mqcore.floor import note_bare_awaited_loop


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._received = sink.received
        if run.filters:
            self.publish = self._publish_and_receive

    async def connect(self) -> None:
        await note_bare_awaited_loop(self._bare)

    async def publish(self, message: Message) -> None: ...

    async def _publish_and_receive(self, message: Message) -> None:
        self._received(message.payload)

    async def _bare(self, message: Message) -> None: ...

    async def close(self) -> None: ...
