"""mqttium: publish_nowait() admits a message or refuses it at once; completions come through
receipts, arrivals through callbacks. README.md has the evidence for each choice."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial

from mqttium import (
    ConnectRefusedError,
    FlowControlError,
    MQTTError,
    MQTTProtocolVersion,
    SubscribeError,
)
from mqttium.api import AsyncClient, PublishReceipt
from mqttium.types import Message as Arrival
from mqttium.types import Properties

import mqcore
from mqcore import (
    LIBRARY,
    NETWORK,
    V5,
    V311,
    Failure,
    Message,
    Run,
    Sink,
    Source,
    check_granted,
    tls_context,
)

PROTOCOLS = {V311: MQTTProtocolVersion.MQTTv311, V5: MQTTProtocolVersion.MQTTv5}
MAX_PACKET_BYTES = 268_435_460  # the largest that MQTT can encode
MAX_IN_FLIGHT = 65_535
WRITE_QUEUE_BYTES = 1 << 20  # the library's default
HEADER_BYTES = 1024  # more than any fixed header and topic of a run


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._run = run
        self._done = sink.done
        self._received = sink.received
        self._waiting: deque[Message] = deque()  # refused for now, in order
        self._waiter: asyncio.Task[None] | None = None
        self._completed = [partial(self._on_complete, slot) for slot in range(run.window)]
        self._properties = _publish_properties(run)
        window_bytes = run.window * (run.payload_bytes_max + HEADER_BYTES)
        self._client = client = AsyncClient(
            run.client_id,
            protocol=PROTOCOLS[run.protocol],
            clean_start=True,
            keepalive=run.keepalive_s,
            # The window is the core's; the default for 3.1.1 would cap it at 20.
            max_outbound_inflight=MAX_IN_FLIGHT,
            max_unacknowledged_messages=None,
            max_unacknowledged_bytes=None,
            # A whole window must fit: the default is 16 messages of 64 KiB. For small ones it stays
            # the default, which is what bounds QoS 0.
            max_write_queue_bytes=max(WRITE_QUEUE_BYTES, window_bytes),
            max_write_queue_messages=max(10_000, run.window),
            # Goes into CONNECT as Receive Maximum, always; the default for MQTT 5 is 100.
            max_inbound_inflight=run.receive_maximum or MAX_IN_FLIGHT,
            # Goes into CONNECT too; the default for MQTT 5 is 16 MiB.
            maximum_packet_size=MAX_PACKET_BYTES,
            message_delivery="callback",  # runs inline in the reader, without a queue
            reconnect=None,
        )
        client.on_disconnect = _on_disconnect
        client.on_message = self._on_message
        if len(run.filters) > 1:
            for index, name in enumerate(run.filters):
                client.message_callback_add(name, partial(self._on_filtered, index))

    async def connect(self) -> None:
        run, client = self._run, self._client
        try:
            await client.connect(run.host, run.port, ssl=tls_context(run) if run.ca_file else None)
        except ConnectRefusedError as error:
            raise Failure(NETWORK, f"the broker refused the connection: {error}") from error
        except OSError:  # ConnectError is one: its text is complete
            raise
        except MQTTError as error:
            raise Failure(NETWORK, f"connection lost: {error}") from error
        if run.filters:
            try:
                result = await client.subscribe([(name, run.filter_qos) for name in run.filters])
            except SubscribeError as error:
                result = error.result
            check_granted(result.reason_codes, run)

    def publish(self, message: Message) -> None:
        qos = message.qos
        if self._waiting:
            self._waiting.append(message)
            return
        try:
            receipt = self._client.publish_nowait(
                message.topic,
                message.payload,
                qos=qos,
                retain=message.retain,
                properties=self._properties,
            )
        except FlowControlError:  # the writer's queue is full, or an earlier effect is under way
            self._waiting.append(message)
            self._waiter = asyncio.create_task(self._publish_waiting())
        except MQTTError as error:
            raise self._failure(error) from error
        else:
            if qos:
                receipt.add_done_callback(self._completed[message.slot])
            else:
                self._done(message.slot)  # a QoS 0 receipt is done when it is returned

    async def _publish_waiting(self) -> None:
        """The library's own way to wait for room. Retrying at every turn of the loop would bill it
        turns in which nothing happens."""
        waiting = self._waiting
        try:
            while waiting:
                message = waiting[0]
                receipt = await self._client.publish(
                    message.topic,
                    message.payload,
                    qos=message.qos,
                    retain=message.retain,
                    properties=self._properties,
                )
                waiting.popleft()
                if message.qos:
                    receipt.add_done_callback(self._completed[message.slot])
                else:
                    self._done(message.slot)
        except MQTTError as error:
            failure = self._failure(error)
            mqcore.fail(failure.status, str(failure))

    def _failure(self, error: MQTTError) -> Failure:
        if self._client.is_connected:
            return Failure(LIBRARY, f"publish: {error}")
        return Failure(NETWORK, f"connection lost: {error}")

    async def close(self) -> None:
        if self._waiter is not None:
            self._waiter.cancel()
        self._client.on_disconnect = None
        await self._client.disconnect()

    def _on_complete(self, slot: int, receipt: PublishReceipt) -> None:
        if receipt.exception() is None:
            self._done(slot)
        else:
            self._done(slot, LIBRARY)

    def _on_message(self, message: Arrival) -> None:
        self._received(message.payload)

    def _on_filtered(self, index: int, message: Arrival) -> None:
        self._received(message.payload, index)


def _publish_properties(run: Run) -> Properties | None:
    asked = run.properties
    properties: dict[str, object] = {"topic_alias": run.topic_alias} if run.topic_alias else {}
    if asked is not None:
        properties |= {
            "content_type": asked.content_type,
            "response_topic": asked.response_topic,
            "correlation_data": asked.correlation_data,
            "user_property": list(asked.user),
        }
    properties = {name: value for name, value in properties.items() if value}
    return Properties(properties) if properties else None


def _on_disconnect(error: BaseException | None) -> None:
    mqcore.fail(NETWORK, f"connection lost: {error!r}")
