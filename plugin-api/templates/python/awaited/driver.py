"""The skeleton of a client in the shape awaited: asyncio, and publish() is a coroutine that returns when
the message is complete. mqcore awaits as many of them at once as the window allows.

It works as it stands, with aiomqtt. Replace what is marked YOUR LIBRARY, one mark after the other, and keep
`mqcore check-driver my-driver` green. The contract is in mqcore/__init__.py of the Python host."""

from __future__ import annotations

import logging
import math
import socket
from collections.abc import Coroutine

import aiomqtt  # YOUR LIBRARY: instead of these two
from aiomqtt.exceptions import MqttConnectError

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


class Client:
    """One for each run. `run` says what is asked for, `sink` is told of arrivals; of completions mqcore
    learns when publish() returns. Nothing here counts, paces or reads a clock: mqcore does."""

    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        """Makes the library's client and sets what has to be set. The loop runs; no network yet."""
        self._run = run
        self._received = sink.received  # bound once: it is called for every message
        is_v5 = run.protocol == V5
        # YOUR LIBRARY: its client, with a clean session and without reconnecting: a connection that is
        # lost must end the run.
        self._client = aiomqtt.Client(
            run.host,
            run.port,
            identifier=run.client_id,
            protocol=aiomqtt.ProtocolVersion.V5 if is_v5 else aiomqtt.ProtocolVersion.V311,
            clean_session=None if is_v5 else True,
            keepalive=run.keepalive_s,
            tls_context=tls_context(run) if run.ca_file else None,
            # Whatever caps or delays. mqcore keeps the window of messages in flight itself.
            max_inflight_messages=0,
            socket_options=[(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)],
            logger=_logger(),
        )
        self._client.pending_calls_threshold = run.window  # above it, a warning for each publish

    async def connect(self) -> None:
        """Returns when the broker has confirmed the connection and the subscriptions. mqcore cancels it
        when that takes too long."""
        run, client = self._run, self._client
        # YOUR LIBRARY: connect, wait for CONNACK, subscribe, wait for SUBACK.
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
        """Returns when the message is written (QoS 0), acknowledged by PUBACK (1) or PUBCOMP (2)."""
        # YOUR LIBRARY: publish. The payload is mqcore's own bytes: it must go out as it is.
        try:
            # Without a timeout: with one, each message would arm and cancel a timer.
            await self._client.publish(
                message.topic, message.payload, message.qos, message.retain, timeout=math.inf
            )
        except aiomqtt.MqttError as error:
            raise _lost(error) from error

    def receivers(self) -> list[Coroutine]:
        """Coroutines that run as long as the connection. Not needed where arrivals come as callbacks."""
        return [self._receive()]

    async def _receive(self) -> None:
        # YOUR LIBRARY: how arrivals are read.
        try:
            async for message in self._client.messages:
                self._received(message.payload)
        except aiomqtt.MqttError as error:
            raise _lost(error) from error

    async def close(self) -> None:
        """Leaves the broker in the proper way; the next run must not find a half-open connection."""
        await self._client.__aexit__(None, None, None)


def _lost(error: aiomqtt.MqttError) -> Failure:
    return Failure(NETWORK, f"connection lost: {error.__cause__ or error}")


class _LoggedErrors(logging.Handler):
    """YOUR LIBRARY: what it logs goes into the run's log."""

    def emit(self, record: logging.LogRecord) -> None:
        mqcore.log(LOG_WARNING, record.getMessage())


def _logger() -> logging.Logger:
    logger = logging.getLogger("my-driver")
    logger.setLevel(logging.ERROR)  # below it there are several calls a packet
    logger.propagate = False
    logger.handlers = [_LoggedErrors()]
    return logger
