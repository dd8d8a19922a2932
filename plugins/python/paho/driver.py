"""paho-mqtt through its external-loop API: publish() writes in the caller's thread, and the driver
polls the socket itself. README.md has the evidence for each choice."""

from __future__ import annotations

import socket
import time
from collections import deque
from functools import partial

from paho.mqtt.client import CallbackAPIVersion, Client as PahoClient, MQTTv5, MQTTv311
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from mqcore import (
    CONNECT_TIMEOUT_S,
    LIBRARY,
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

MISC_INTERVAL_S = 1.0  # loop_misc() keeps the connection alive; paho's own loops call it as often
READABLE, WRITABLE = 1, 2


class Client:
    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._run = run
        self._poll = source.poll
        self._done = sink.done
        self._received = sink.received
        self._slot_of: dict[int, int] = {}  # packet identifier -> slot, QoS 1 and 2
        self._unwritten: deque = deque()  # (MQTTMessageInfo, slot) of QoS 0 that the kernel refused
        self._misc_at = 0.0
        self._connack = self._suback = self._lost = None
        self._client = client = PahoClient(
            CallbackAPIVersion.VERSION2,
            run.client_id,
            clean_session=None if run.protocol == V5 else True,
            protocol=MQTTv5 if run.protocol == V5 else MQTTv311,
            reconnect_on_failure=False,  # a dropped client must stay down, and no fall-back to 3.1
        )
        client.max_inflight_messages = 0  # the window is the core's; the default would cap it at 20
        client.on_socket_open = _set_nodelay
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        if len(run.filters) > 1:
            for index, name in enumerate(run.filters):
                client.message_callback_add(name, partial(self._on_filtered, index))
        if run.ca_file:
            client.tls_set_context(tls_context(run))

    def connect(self) -> None:
        run, client = self._run, self._client
        deadline = time.monotonic() + CONNECT_TIMEOUT_S
        if run.protocol == V5:
            properties = Properties(PacketTypes.CONNECT)
            if run.receive_maximum:
                properties.ReceiveMaximum = run.receive_maximum
            client.connect(
                run.host, run.port, run.keepalive_s, clean_start=True, properties=properties
            )
        else:
            client.connect(run.host, run.port, run.keepalive_s)
        self._socket = client.socket()
        self._fd = self._socket.fileno()
        self._has_pending = getattr(self._socket, "pending", None)  # TLS: decrypted, not in the kernel
        self._serve_until(deadline, "CONNACK", lambda: self._connack is not None)
        if self._connack.is_failure:
            raise Failure(NETWORK, f"the broker refused the connection: {self._connack}")
        if run.filters:
            client.subscribe([(name, run.filter_qos) for name in run.filters])
            self._serve_until(deadline, "SUBACK", lambda: self._suback is not None)
            check_granted([code.value for code in self._suback], run)

    def publish(self, message: Message) -> None:
        client = self._client
        qos = message.qos
        if qos and client.on_publish is None:
            # Not set for QoS 0: it would build two objects a message, see README.md.
            client.on_publish = self._on_publish_v5 if self._run.protocol == V5 else self._on_publish
        info = client.publish(message.topic, message.payload, qos, message.retain)
        if info.rc:
            self._raise_lost()
            raise Failure(LIBRARY, f"publish() returned {info.rc!r}")
        if qos:
            self._slot_of[info.mid] = message.slot
        elif client.want_write():
            self._unwritten.append((info, message.slot))
        else:
            self._done(message.slot)

    def wait(self) -> None:
        """Serves the socket until the source wants to be asked again."""
        if self._has_pending is not None:
            self._read_pending()
        client, poll, fd = self._client, self._poll, self._fd
        while ready := poll(fd, client.want_write(), True):
            self._serve(ready)
        self._housekeep()

    def turn(self) -> None:
        """Between QoS 0 messages: whatever has arrived meanwhile."""
        if self._has_pending is not None:
            self._read_pending()
        client, poll, fd = self._client, self._poll, self._fd
        for _ in range(64):
            if not (ready := poll(fd, client.want_write(), False)) & READABLE:
                break
            self._serve(ready)
        self._housekeep()

    def close(self) -> None:
        self._client.disconnect()

    # ---- steps ----

    def _serve(self, ready: int) -> None:
        if ready & WRITABLE:
            self._client.loop_write()
            self._complete_written()
        if ready & READABLE:
            self._client.loop_read()
            if self._has_pending is not None:
                self._read_pending()
        if self._lost is not None:
            self._raise_lost()

    def _read_pending(self) -> None:
        while self._lost is None and self._has_pending():
            self._client.loop_read()

    def _complete_written(self) -> None:
        # Packets leave in order, so the first one that is not published ends the search.
        unwritten = self._unwritten
        while unwritten and unwritten[0][0].is_published():
            self._done(unwritten.popleft()[1])

    def _housekeep(self) -> None:
        now = time.monotonic()
        if now >= self._misc_at:
            self._misc_at = now + MISC_INTERVAL_S
            self._client.loop_misc()
        if self._lost is not None:
            self._raise_lost()

    def _serve_until(self, deadline: float, packet: str, arrived) -> None:
        import select

        client = self._client
        while not arrived():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise Failure(NETWORK, f"no {packet} within {CONNECT_TIMEOUT_S:.0f} s")
            write = [self._fd] if client.want_write() else []
            readable, writable, _ = select.select([self._fd], write, [], remaining)
            self._serve((READABLE if readable else 0) | (WRITABLE if writable else 0))

    def _raise_lost(self) -> None:
        if self._lost is not None:
            raise Failure(NETWORK, f"connection lost: {self._lost}")

    # ---- paho's callbacks ----

    def _on_connect(self, client, userdata, flags, reason_code, properties) -> None:
        self._connack = reason_code

    def _on_subscribe(self, client, userdata, mid, reason_codes, properties) -> None:
        self._suback = reason_codes

    def _on_disconnect(self, client, userdata, flags, reason_code, properties) -> None:
        self._lost = reason_code

    def _on_publish(self, client, userdata, mid, reason_code, properties) -> None:
        if (slot := self._slot_of.pop(mid, None)) is not None:
            self._done(slot)

    def _on_publish_v5(self, client, userdata, mid, reason_code, properties) -> None:
        if (slot := self._slot_of.pop(mid, None)) is not None:
            self._done(slot, LIBRARY if reason_code.value >= 0x80 else 0)

    def _on_message(self, client, userdata, message) -> None:
        self._received(message.payload)

    def _on_filtered(self, index: int, client, userdata, message) -> None:
        self._received(message.payload, index)


def _set_nodelay(client, userdata, sock) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # paho leaves Nagle on
