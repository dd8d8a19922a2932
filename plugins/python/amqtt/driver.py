"""amqtt's client: publish() is awaited. README.md has the evidence for each choice. Two ways to receive:

deliver (default)  deliver_message(), the documented call, from as many reused coroutines as it needs
queue              the queue that deliver_message() takes from; not documented
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Coroutine

from amqtt.client import MQTTClient
from amqtt.errors import AMQTTError, ClientError, ConnectError, ProtocolHandlerError

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
    note,
)

OPTIONS = {"receive": ("deliver", "queue")}

# deliver_message() takes several turns of the event loop a call, and one turn may read a thousand
# messages. More than this many coroutines brought nothing.
MOST_CONSUMERS = 2048


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._run = run
        self._received = sink.received
        self._consumers: list[asyncio.Task[None]] = []
        config = {
            "keep_alive": run.keepalive_s + 1,  # CONNECT carries the difference of both
            "ping_delay": 1,
            "auto_reconnect": False,  # a dropped client must stay down
            "plugins": {},  # the default logs packets: a task for each, half of the rate
        }
        self._client = _Client(run.client_id, config)

    async def connect(self) -> None:
        run, client = self._run, self._client
        _ignore_cancelled_tasks()
        if run.ca_file:
            note("tls.library", ssl.OPENSSL_VERSION)
            for key in ("tls.version", "tls.cipher"):
                note(key, "not known: aMQTT makes its SSL context and stream out of reach")
        host = f"[{run.host}]" if ":" in run.host else run.host
        uri = f"mqtt{'s' if run.ca_file else ''}://{host}:{run.port}/"
        try:
            await client.connect(uri, cleansession=True, cafile=run.ca_file)
        except ConnectError as error:
            cause = error.__cause__
            if error.return_code is not None:
                reason = f"the broker refused the connection: return code {error.return_code}"
            else:
                reason = (
                    f"{type(cause).__name__}: {cause}"
                    if str(cause)
                    else "connection lost before CONNACK"
                )
            raise Failure(NETWORK, reason) from error
        if run.filters:
            codes = await client.subscribe([(name, run.filter_qos) for name in run.filters])
            check_granted(codes, run)

    async def publish(self, message: Message) -> int | None:
        try:
            # qos always: the default comes from the configuration
            await self._client.publish(message.topic, message.payload, message.qos, message.retain)
        except TimeoutError:
            return LIBRARY  # the library gives an acknowledgement five seconds
        except ClientError as error:
            raise _lost(error) from error
        except ProtocolHandlerError:
            if asyncio.current_task().cancelling():  # which the library does not let through
                raise asyncio.CancelledError from None
            raise

    def receivers(self) -> list[Coroutine]:
        if not self._run.filters:
            return []
        return [self._take() if self._run.options["receive"] == "queue" else self._deliver()]

    async def _deliver(self) -> None:
        client, received = self._client, self._received
        waiting = client.session.delivered_message_queue.qsize
        try:
            while (message := await client.deliver_message()) is not None:
                received(message.data)
                if waiting() and len(self._consumers) < MOST_CONSUMERS:
                    self._consumers.append(asyncio.create_task(self._deliver()))
        except (ClientError, AMQTTError) as error:
            raise _lost(error) from error
        raise Failure(NETWORK, "connection lost")

    async def _take(self) -> None:
        received = self._received
        following = self._client.session.delivered_message_queue.get
        while True:
            received((await following()).data)

    async def close(self) -> None:
        for task in self._consumers:
            task.cancel()
        await self._client.disconnect()


class _Client(MQTTClient):
    def __init__(self, client_id: str, config: dict) -> None:
        super().__init__(client_id, config)
        self._warnings = _Warnings()

    async def handle_connection_close(self) -> None:
        """The library's own task, until it is cancelled by disconnect(). When a connection is lost, a
        publish is cancelled and a call of deliver_message() may wait for ever: neither tells."""
        await super().handle_connection_close()
        mqcore.fail(NETWORK, f"connection lost: {self._warnings.last}")


def _ignore_cancelled_tasks() -> None:
    """When a connection ends, the library cancels a task for each message that it still handles, and
    each of them ends with an error that nobody asks for."""
    loop = asyncio.get_running_loop()
    report = loop.get_exception_handler()

    def on_error(loop: asyncio.AbstractEventLoop, context: dict) -> None:
        error = context.get("exception")
        if not isinstance(getattr(error, "__cause__", None), asyncio.CancelledError):
            report(loop, context)

    loop.set_exception_handler(on_error)


def _lost(error: Exception) -> Failure:
    return Failure(NETWORK, f"connection lost: {error}")


class _Warnings(logging.Handler):
    """What the library has to say goes into the run's log; the last of it is the reason of a loss."""

    last = "no reason given"

    def __init__(self) -> None:
        super().__init__(logging.WARNING)  # below it there are several calls a packet
        logger = logging.getLogger("amqtt")
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        logger.handlers = [self]

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()
        mqcore.log(LOG_WARNING, self.last)
