"""gmqtt: publish() encodes and writes to the transport at once and never waits; completions come
through the storage hook of the constructor. README.md has the evidence for each choice."""

from __future__ import annotations

import asyncio
import logging
from functools import partial

import gmqtt
from gmqtt.mqtt.constants import MQTTv50, MQTTv311
from gmqtt.mqtt.handler import MQTTConnectError

import mqcore
from mqcore import (
    LIBRARY,
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


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._run = run
        self._done = sink.done
        self._put_back = source.put_back
        self._received = sink.received
        self._completions = Completions(sink)
        _fail_on_logged_errors()
        properties = {"receive_maximum": run.receive_maximum} if run.receive_maximum else {}
        self._client = client = gmqtt.Client(
            run.client_id, clean_session=True, persistent_storage=self._completions, **properties
        )
        client.set_config({"reconnect_retries": -2})  # never; 0 would still try once
        client.on_message = self._on_message
        client.on_disconnect = _on_disconnect
        if extras := _publish_extras(run):
            # The library takes properties as keyword arguments of each call.
            client.publish = partial(client.publish, **extras)

    async def connect(self) -> None:
        run, client = self._run, self._client
        context = tls_context(run) if run.ca_file else False
        version = MQTTv50 if run.protocol == V5 else MQTTv311
        try:
            await client.connect(run.host, run.port, context, run.keepalive_s, version)
        except MQTTConnectError as error:
            raise Failure(NETWORK, f"the broker refused the connection: {error}") from error
        if run.filters:
            granted = asyncio.get_running_loop().create_future()
            client.on_subscribe = lambda client, mid, codes, properties: granted.set_result(codes)
            client.subscribe([gmqtt.Subscription(name, run.filter_qos) for name in run.filters])
            check_granted(await granted, run)

    def publish(self, message: Message) -> None:
        qos = message.qos
        if qos:
            self._completions.slot = message.slot
            try:
                self._client.publish(message.topic, message.payload, qos, message.retain)
            except OverflowError:  # the server's Receive Maximum: the library is full
                self._put_back(message)
        else:
            self._client.publish(message.topic, message.payload, 0, message.retain)
            self._done(message.slot)  # no event of its own: this is all that the library tells

    async def close(self) -> None:
        self._client.on_disconnect = lambda *_: None
        await self._client.disconnect()

    def _on_message(self, client, topic, payload, qos, properties) -> None:
        self._received(payload)


class Completions:
    """The library's store of unacknowledged packets, which also tells of completions. It keeps what the
    library's own store keeps, in one dictionary.

    push_message() runs inside publish(), before any answer can come, and a second time when PUBREC
    turns a QoS 2 PUBLISH into its PUBREL. remove_message_by_mid() runs at PUBACK, at PUBCOMP, and at a
    PUBREC that refuses the message."""

    slot = 0  # of the message that is being published

    def __init__(self, sink: Sink) -> None:
        self._done = sink.done
        self._packets: dict[int, tuple[int, bytes]] = {}  # by packet identifier

    def push_message(self, mid: int, raw_package: bytes) -> None:
        packets = self._packets
        slot = packets[mid][0] if mid in packets else self.slot
        packets[mid] = (slot, raw_package)

    def remove_message_by_mid(self, mid: int) -> None:
        if (packet := self._packets.pop(mid, None)) is not None:
            slot, raw_package = packet
            if raw_package[0] & 0xF6 == 0x34:  # still the QoS 2 PUBLISH: refused
                self._done(slot, LIBRARY)
            else:
                self._done(slot)

    @property
    def is_empty(self) -> bool:
        return not self._packets

    async def wait_empty(self) -> None:
        """Asked by connect() alone: a clean session has nothing to send again."""

    def clear(self) -> None:
        self._packets.clear()

    def get_all(self) -> list[tuple[int, bytes]]:
        return [(mid, raw_package) for mid, (_, raw_package) in self._packets.items()]


class _LoggedErrors(logging.Handler):
    """gmqtt catches exceptions of callbacks and logs them; here they end the run."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            cause = record.exc_info[1] if record.exc_info else None
            mqcore.fail(LIBRARY, record.getMessage() + (f": {cause!r}" if cause else ""))
        else:
            mqcore.log(LOG_WARNING, record.getMessage())


def _fail_on_logged_errors() -> None:
    logger = logging.getLogger("gmqtt")  # parent of every logger of the library
    logger.setLevel(logging.WARNING)  # below it there are several calls a packet
    logger.propagate = False
    logger.handlers = [_LoggedErrors(logging.WARNING)]


def _publish_extras(run: Run) -> dict[str, object]:
    extras: dict[str, object] = {}
    if run.properties is not None:
        asked = run.properties
        extras = {
            "content_type": asked.content_type,
            "response_topic": asked.response_topic,
            "correlation_data": asked.correlation_data,
            "user_property": list(asked.user),
            "topic_alias": run.topic_alias,
        }
    elif run.topic_alias:
        extras = {"topic_alias": run.topic_alias}
    return {name: value for name, value in extras.items() if value}


def _on_disconnect(client, packet, exc=None) -> None:
    mqcore.fail(NETWORK, f"connection lost{f': {exc}' if exc else ''}")
