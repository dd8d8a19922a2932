"""aiomqtt 2: publish() is awaited, arrivals are iterated over. README.md has the evidence for each
choice. Two ways to receive, both from the library's documentation:

workers (default)  several tasks iterate over client.messages, as its chapter on concurrency shows
one                a single task does, as its first example shows
"""

from __future__ import annotations

import logging
import math
import socket
from collections.abc import Coroutine

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import mqcore
from mqcore import (
    LOG_WARNING,
    NETWORK,
    V5,
    Failure,
    Message,
    Run,
    Sink,
    Source,
    check_granted,
    tls_context,
)

OPTIONS = {"receive": ("workers", "one")}

# Each step of the iterator takes three turns of the event loop, and each turn may read a packet.
WORKERS = 8


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._run = run
        self._received = sink.received
        is_v5 = run.protocol == V5
        self._client = aiomqtt.Client(
            run.host,
            run.port,
            identifier=run.client_id,
            protocol=aiomqtt.ProtocolVersion.V5 if is_v5 else aiomqtt.ProtocolVersion.V311,
            clean_session=None if is_v5 else True,  # MQTT 5: a clean start is the default
            properties=_connect_properties(run) if is_v5 else None,
            keepalive=run.keepalive_s,
            max_inflight_messages=0,  # the window is the core's; paho's default would cap it at 20
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],  # paho leaves Nagle on
            tls_context=tls_context(run) if run.ca_file else None,
            logger=_logger(),
        )
        self._client.pending_calls_threshold = run.window  # above it, a warning for each publish
        self._properties = _publish_properties(run)

    async def connect(self) -> None:
        run, client = self._run, self._client
        try:
            await client.__aenter__()
        except MqttConnectError as error:
            raise Failure(NETWORK, f"the broker refused the connection: {error}") from error
        except aiomqtt.MqttError as error:
            raise Failure(NETWORK, str(error)) from error
        if run.filters:
            codes = await client.subscribe([(name, run.filter_qos) for name in run.filters])
            check_granted([getattr(code, "value", code) for code in codes], run)

    async def publish(self, message: Message) -> None:
        try:
            # Without a timeout: with one, each message would arm and cancel a timer.
            await self._client.publish(
                message.topic,
                message.payload,
                message.qos,
                message.retain,
                self._properties,
                timeout=math.inf,
            )
        except aiomqtt.MqttError as error:
            raise _lost(error) from error

    def receivers(self) -> list[Coroutine]:
        # Where nothing is received, one still learns that the connection was lost: a publish that waits
        # for its acknowledgement would not.
        is_single = not self._run.filters or self._run.options["receive"] == "one"
        return [self._receive() for _ in range(1 if is_single else WORKERS)]

    async def _receive(self) -> None:
        received = self._received
        try:
            async for message in self._client.messages:
                received(message.payload)
        except aiomqtt.MqttError as error:
            raise _lost(error) from error

    async def close(self) -> None:
        await self._client.__aexit__(None, None, None)


def _connect_properties(run: Run) -> Properties:
    properties = Properties(PacketTypes.CONNECT)
    if run.receive_maximum:
        properties.ReceiveMaximum = run.receive_maximum
    return properties


def _publish_properties(run: Run) -> Properties | None:
    asked = run.properties
    if asked is None and not run.topic_alias:
        return None
    properties = Properties(PacketTypes.PUBLISH)
    if asked is not None:
        if asked.content_type:
            properties.ContentType = asked.content_type
        if asked.response_topic:
            properties.ResponseTopic = asked.response_topic
        if asked.correlation_data:
            properties.CorrelationData = asked.correlation_data
        for pair in asked.user:  # each assignment appends
            properties.UserProperty = pair
    if run.topic_alias:
        properties.TopicAlias = run.topic_alias
    return properties


def _lost(error: aiomqtt.MqttError) -> Failure:
    return Failure(NETWORK, f"connection lost: {error.__cause__ or error}")


class _LoggedErrors(logging.Handler):
    """Goes into the run's log; what ends the connection comes as an exception, too."""

    def emit(self, record: logging.LogRecord) -> None:
        mqcore.log(LOG_WARNING, record.getMessage())


def _logger() -> logging.Logger:
    logger = logging.getLogger("aiomqtt")
    logger.setLevel(logging.ERROR)  # below it there are several calls a packet
    logger.propagate = False
    logger.handlers = [_LoggedErrors()]
    return logger
