"""aiomqtt 3, alpha 1: publish() is awaited, arrivals are iterated over and acknowledged by the
application. README.md has the evidence for each choice."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial

import aiomqtt

import mqcore
from mqcore import (
    LIBRARY,
    LOG_WARNING,
    NETWORK,
    Failure,
    Message,
    Run,
    Sink,
    Source,
    check_granted,
    log,
    tls_context,
)

# A QoS 0 message is dropped when no iterator waits for it, and everything that one turn of the event
# loop reads comes at once. QoS 1 messages wait in the library: more iterators would only cost.
ITERATORS_QOS0 = 1024


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._run = run
        self._received = sink.received
        self._client = aiomqtt.Client(
            hostname=run.host,
            port=run.port,
            identifier=run.client_id,
            clean_start=True,  # the default would resume the session of another run
            keep_alive=run.keepalive_s,  # the default is none
            receive_max=run.receive_maximum or 65535,  # 65535 is MQTT's own default
            ssl_context=tls_context(run) if run.ca_file else None,
        )
        self._packet_ids = self._client.packet_ids
        if run.properties is not None:
            # The library takes properties as keyword arguments of each call.
            self._client.publish = partial(self._client.publish, **_publish_extras(run))

    async def connect(self) -> None:
        run, client = self._run, self._client
        others = asyncio.all_tasks()
        try:
            await client.__aenter__()
        except aiomqtt.NegativeAckError as error:
            raise Failure(NETWORK, f"the broker refused the connection: {error}") from error
        except (aiomqtt.ConnectError, aiomqtt.ProtocolError) as error:
            raise _lost(error) from error
        for task in asyncio.all_tasks() - others:
            task.add_done_callback(_on_background_end)
        allowed = (await client.connected()).receive_max
        if allowed < run.window:
            log(LOG_WARNING, f"the broker's Receive Maximum is {allowed}, the window {run.window}")
        await self._subscribe()

    async def _subscribe(self) -> None:
        run = self._run
        codes = []
        for name in run.filters:  # one SUBSCRIBE a filter is what the library offers
            try:
                packet = await self._client.subscribe(name, max_qos=aiomqtt.QoS(run.filter_qos))
            except aiomqtt.NegativeAckError as error:
                raise Failure(
                    NETWORK, f"the broker refused the subscription to '{name}': {error}"
                ) from error
            except aiomqtt.ConnectError as error:
                raise _lost(error) from error
            codes += [int(code) for code in packet.reason_codes]
        check_granted(codes, run)

    async def publish(self, message: Message) -> int | None:
        client = self._client
        try:
            if message.qos:
                await client.publish(
                    message.topic,
                    message.payload,
                    qos=aiomqtt.QoS.AT_LEAST_ONCE,
                    packet_id=next(self._packet_ids),
                    retain=message.retain,
                )
            else:
                await client.publish(message.topic, message.payload, retain=message.retain)
        except aiomqtt.NegativeAckError:
            return LIBRARY
        except aiomqtt.ConnectError as error:
            raise _lost(error) from error

    def receivers(self) -> list[Coroutine]:
        if not self._run.filters:
            return [self._watch()]
        return [self._receive() for _ in range(1 if self._run.filter_qos else ITERATORS_QOS0)]

    async def _receive(self) -> None:
        client, received = self._client, self._received
        try:
            async for packet in client.messages():
                received(packet.payload)
                if packet.packet_id is not None:
                    await client.puback(packet.packet_id)
        except aiomqtt.ConnectError as error:
            raise _lost(error) from error

    async def _watch(self) -> None:
        await self._client.disconnected()
        raise Failure(NETWORK, "connection lost")

    async def close(self) -> None:
        await self._client.__aexit__(None, None, None)


def _publish_extras(run: Run) -> dict[str, object]:
    asked = run.properties
    extras = {
        "content_type": asked.content_type,
        "response_topic": asked.response_topic,
        "correlation_data": asked.correlation_data,
        "user_properties": list(asked.user),
    }
    return {name: value for name, value in extras.items() if value}


def _on_background_end(task: asyncio.Task[None]) -> None:
    """The library's own task reads and pings. When an error of the socket ends it, nothing else tells:
    publishes would wait for ever."""
    if not task.cancelled() and (error := task.exception()):
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        mqcore.fail(
            NETWORK if isinstance(error, OSError) else LIBRARY, f"connection lost: {error!r}"
        )


def _lost(error: Exception) -> Failure:
    return Failure(NETWORK, f"connection lost: {error}")
