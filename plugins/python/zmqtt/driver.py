"""zmqtt: every publish() is awaited by a coroutine of its own, and one more takes what arrives from
the subscription's queue. README.md has the evidence for each choice."""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from contextlib import suppress

from zmqtt import (
    MQTTClient,
    MQTTConnectError,
    MQTTDisconnectedError,
    MQTTPublishError,
    MQTTSubscribeError,
    PublishProperties,
    QoS,
    ReconnectConfig,
)

import mqcore
from mqcore import (
    LIBRARY,
    LOG_WARNING,
    NETWORK,
    OK,
    V5,
    Failure,
    Message,
    Run,
    Sink,
    Source,
    check_granted,
    tls_context,
)

QOS = tuple(QoS)
RECEIVE_BUFFER = 1000  # messages, the library's default


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._run = run
        self._received = sink.received
        self._properties = _publish_properties(run)
        self._logged = _LoggedEvents()
        self._client = MQTTClient(
            run.host,
            run.port,
            client_id=run.client_id,
            keepalive=run.keepalive_s,
            clean_session=True,
            tls=tls_context(run) if run.ca_file else False,
            reconnect=ReconnectConfig(enabled=False),  # a dropped client must stay down
            on_connection_recovery_failed=_on_lost,
            version="5.0" if run.protocol == V5 else "3.1.1",
            receive_maximum=run.receive_maximum or None,
        )

    async def connect(self) -> None:
        try:
            await self._client.connect()
            if self._run.filters:
                await self._subscribe(self._run)
        except MQTTConnectError as error:
            raise Failure(NETWORK, f"the broker refused the connection: {error}") from error
        except MQTTDisconnectedError as error:
            raise _lost(error) from error

    async def _subscribe(self, run: Run) -> None:
        # When the queue is full the library reads no further, so it must hold what a window of
        # requests can bring back: a publish waits for its PUBACK behind it.
        self._subscription = self._client.subscribe(
            *run.filters,
            qos=QOS[run.filter_qos],
            receive_buffer_size=max(RECEIVE_BUFFER, run.window),
        )
        self._logged.listen()
        with suppress(MQTTSubscribeError):  # the codes say it too
            await self._subscription.start()
        check_granted(self._logged.suback(), run)

    async def publish(self, message: Message) -> int:
        try:
            await self._client.publish(
                message.topic,
                message.payload,
                qos=QOS[message.qos],
                retain=message.retain,
                properties=self._properties,
            )
        except MQTTPublishError:
            return LIBRARY
        except MQTTDisconnectedError as error:
            raise _lost(error) from error
        return OK

    def receivers(self) -> list[Coroutine]:
        return [self._receive()] if self._run.filters else []

    async def _receive(self) -> None:
        received = self._received
        try:
            async for message in self._subscription:
                received(message.payload)
        except MQTTDisconnectedError as error:
            raise _lost(error) from error

    async def close(self) -> None:
        await self._client.disconnect()


class _LoggedEvents(logging.Handler):
    """What the library tells its log only: a protocol error, and a subscription's granted QoS."""

    def __init__(self) -> None:
        super().__init__()
        self._codes: list[int] = []
        self._logger = logger = logging.getLogger("zmqtt")  # parent of every logger of the library
        logger.setLevel(logging.WARNING)  # below it there are several lines a packet
        logger.propagate = False
        logger.handlers = [self]

    def listen(self) -> None:
        self._logger.setLevel(logging.DEBUG)  # "Received %r", with the packet as its argument

    def suback(self) -> list[int]:
        self._logger.setLevel(logging.WARNING)
        return self._codes

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            mqcore.fail(LIBRARY, record.getMessage())
        elif record.levelno >= logging.WARNING:
            mqcore.log(LOG_WARNING, record.getMessage())
        else:
            for argument in record.args or ():
                self._codes.extend(getattr(argument, "return_codes", ()))


def _publish_properties(run: Run) -> PublishProperties | None:
    asked = run.properties
    if asked is None:
        return None
    return PublishProperties(
        content_type=asked.content_type,
        response_topic=asked.response_topic,
        correlation_data=asked.correlation_data,
        user_properties=asked.user,
    )


def _lost(error: MQTTDisconnectedError) -> Failure:
    return Failure(NETWORK, f"connection lost: {error.__cause__ or error}")


async def _on_lost() -> None:
    mqcore.fail(NETWORK, "connection lost")
