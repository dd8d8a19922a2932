"""The skeleton of a client in the shape nowait: asyncio, and publish() is a plain function that hands a
message over and returns at once. One callback of the event loop publishes.

It works as it stands, with gmqtt. Replace what is marked YOUR LIBRARY, one mark after the other, and keep
`mqcore check-driver my-driver` green. The contract is in mqcore/__init__.py of the Python host."""

from __future__ import annotations

import asyncio
import logging

import gmqtt  # YOUR LIBRARY: instead of these three
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
    """One for each run. `run` says what is asked for, `source` hands messages to publish(), `sink` is told
    of completions and arrivals. Nothing here counts, paces or reads a clock: mqcore does."""

    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        """Makes the library's client and sets what has to be set. The loop runs; no network yet."""
        self._run = run
        self._done = sink.done  # bound once: it is called for every message
        self._received = sink.received
        self._put_back = source.put_back
        self._completions = Completions(sink)
        _fail_on_logged_errors()
        # YOUR LIBRARY: its client, with a clean session and without reconnecting: a connection that is
        # lost must end the run. Here, too, belongs whatever caps or delays: mqcore keeps the window of
        # messages in flight itself.
        self._client = client = gmqtt.Client(
            run.client_id, clean_session=True, persistent_storage=self._completions
        )
        client.set_config({"reconnect_retries": -2})  # never; 0 would still try once
        client.on_message = self._on_message
        client.on_disconnect = _on_disconnect

    async def connect(self) -> None:
        """Returns when the broker has confirmed the connection and the subscriptions. mqcore cancels it
        when that takes too long."""
        run, client = self._run, self._client
        # YOUR LIBRARY: connect, wait for CONNACK, subscribe, wait for SUBACK.
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
        """Hands one message over and returns. Called as fast as messages fall due."""
        # YOUR LIBRARY: publish. The payload is mqcore's own bytes: it must go out as it is.
        self._completions.slot = message.slot
        try:
            self._client.publish(message.topic, message.payload, message.qos, message.retain)
        except OverflowError:
            self._put_back(message)  # the library is full: mqcore hands it out again, a turn later
            return
        if not message.qos:
            self._done(message.slot)  # no event of its own: this is all that the library tells

    async def close(self) -> None:
        """Leaves the broker in the proper way; the next run must not find a half-open connection."""
        self._client.on_disconnect = lambda *_: None
        await self._client.disconnect()

    def _on_message(self, client, topic, payload, qos, properties) -> None:
        self._received(payload)


class Completions:
    """YOUR LIBRARY: how it tells that a message is acknowledged, by PUBACK (QoS 1) or PUBCOMP (2). Most
    have a callback or a future for it; gmqtt has a store of unacknowledged packets, which is told of
    each one that it may forget."""

    slot = 0  # of the message that is being published

    def __init__(self, sink: Sink) -> None:
        self._done = sink.done
        self._packets: dict[int, tuple[int, bytes]] = {}  # by packet identifier

    def push_message(self, mid: int, raw_package: bytes) -> None:
        """Inside publish(), and again when PUBREC turns a QoS 2 PUBLISH into its PUBREL."""
        slot = self._packets[mid][0] if mid in self._packets else self.slot
        self._packets[mid] = (slot, raw_package)

    def remove_message_by_mid(self, mid: int) -> None:
        if (packet := self._packets.pop(mid, None)) is not None:
            slot, raw_package = packet
            if raw_package[0] & 0xF6 == 0x34:  # still the QoS 2 PUBLISH: PUBREC refused it
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
    """YOUR LIBRARY: if it catches exceptions of callbacks and logs them, they must end the run."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            mqcore.fail(LIBRARY, record.getMessage())
        else:
            mqcore.log(LOG_WARNING, record.getMessage())


def _fail_on_logged_errors() -> None:
    logger = logging.getLogger("gmqtt")
    logger.setLevel(logging.WARNING)  # below it there are several calls a packet
    logger.propagate = False
    logger.handlers = [_LoggedErrors()]


def _on_disconnect(client, packet, exc=None) -> None:
    mqcore.fail(NETWORK, f"connection lost{f': {exc}' if exc else ''}")
