"""paho-mqtt in the two ways that its documentation offers, see README.md for the evidence:

external (default)  the external-loop API: publish() writes in the caller's thread, and the driver polls
                    the socket and calls loop_read(), loop_write() and loop_misc() itself
thread              loop_start(): the library's own network thread reads and writes
"""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from functools import partial

from paho.mqtt.client import CallbackAPIVersion, MQTTErrorCode, MQTTv5, MQTTv311
from paho.mqtt.client import Client as PahoClient
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

import mqcore
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

OPTIONS = {"loop": ("external", "thread")}

MISC_INTERVAL_S = 1.0  # loop_misc() keeps the connection alive; paho's own loops call it as often
READABLE, WRITABLE = 1, 2
EARLY = -1  # the acknowledgement came before publish() had told the packet identifier


def Client(run: Run, source: Source, sink: Sink) -> _Paho:
    return (ExternalLoop if run.options["loop"] == "external" else NetworkThread)(run, source, sink)


class _Paho:
    """What both ways share: set-up, the fair settings and the callbacks."""

    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        self._run = run
        self._source = source
        self._done = sink.done
        self._received = sink.received
        self._slot_of: dict[int, int] = {}  # packet identifier -> slot, QoS 1 and 2
        self._unwritten: deque = deque()  # (MQTTMessageInfo, slot) of QoS 0 not yet in the kernel
        self._hears_acknowledgements = False
        self._connack = self._suback = self._lost = None
        self._properties = publish_properties(run)
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
        self._start_loop()
        self._await("CONNACK", lambda: self._connack, deadline)
        if self._connack.is_failure:
            raise Failure(NETWORK, f"the broker refused the connection: {self._connack}")
        if run.filters:
            client.subscribe([(name, run.filter_qos) for name in run.filters])
            self._await("SUBACK", lambda: self._suback, deadline)
            check_granted([code.value for code in self._suback], run)

    def _await(self, packet: str, arrived, deadline: float) -> None:
        while arrived() is None:
            self._raise_lost()
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise Failure(NETWORK, f"no {packet} within {CONNECT_TIMEOUT_S:.0f} s")
            try:
                self._serve_for(remaining)
            except Failure:
                if arrived() is None:  # else it came just before the connection was closed
                    raise

    def _hear_acknowledgements(self) -> None:
        # Not for QoS 0: it would build two objects for every message that was written.
        self._hears_acknowledgements = True
        self._client.on_publish = (
            self._on_publish_v5 if self._run.protocol == V5 else self._on_publish
        )

    def _raise_refused(self, info) -> None:
        self._raise_lost()
        # The network thread may know of the loss before its callback has told it here.
        is_lost = info.rc in (MQTTErrorCode.MQTT_ERR_NO_CONN, MQTTErrorCode.MQTT_ERR_CONN_LOST)
        raise Failure(NETWORK if is_lost else LIBRARY, f"publish() returned {info.rc!r}")

    def _complete_written(self) -> None:
        # Packets leave in order, so the first one that is not published ends the search.
        unwritten = self._unwritten
        while unwritten and unwritten[0][0].is_published():
            self._done(unwritten.popleft()[1])

    def _raise_lost(self) -> None:
        if self._lost is not None:
            raise Failure(NETWORK, f"connection lost: {self._lost}")

    def _on_connect(self, client, userdata, flags, reason_code, properties) -> None:
        self._connack = reason_code

    def _on_subscribe(self, client, userdata, mid, reason_codes, properties) -> None:
        self._suback = reason_codes

    def _on_disconnect(self, client, userdata, flags, reason_code, properties) -> None:
        self._lost = reason_code

    def _on_publish(self, client, userdata, mid, reason_code, properties) -> None:
        raise NotImplementedError

    def _on_publish_v5(self, client, userdata, mid, reason_code, properties) -> None:
        raise NotImplementedError

    def _on_message(self, client, userdata, message) -> None:
        self._received(message.payload)

    def _on_filtered(self, index: int, client, userdata, message) -> None:
        self._received(message.payload, index)


class ExternalLoop(_Paho):
    def _start_loop(self) -> None:
        sock = self._client.socket()
        self._fd = sock.fileno()
        self._pending = getattr(
            sock, "pending", None
        )  # TLS: decrypted bytes that poll() does not see
        self._misc_at = 0.0

    def publish(self, message: Message) -> None:
        qos = message.qos
        if qos and not self._hears_acknowledgements:
            self._hear_acknowledgements()
        info = self._client.publish(
            message.topic, message.payload, qos, message.retain, self._properties
        )
        if info.rc:
            self._raise_refused(info)
        if qos:
            # Acknowledgements are read in this thread, later: the identifier is in time.
            self._slot_of[info.mid] = message.slot
        elif self._client.want_write():
            self._unwritten.append((info, message.slot))
        else:
            self._done(message.slot)

    def wait(self) -> None:
        """Serves the socket until the source wants to be asked again."""
        self._read_pending()
        client, poll, fd = self._client, self._source.poll, self._fd
        while ready := poll(fd, client.want_write(), True):
            self._serve(ready)
        self._housekeep()

    def turn(self) -> None:
        """Between two bursts of messages: whatever has arrived meanwhile."""
        self._read_pending()
        client, poll, fd = self._client, self._source.poll, self._fd
        for _ in range(64):
            ready = poll(fd, client.want_write(), False)
            if not ready & READABLE:
                break
            self._serve(ready)
        self._housekeep()

    def close(self) -> None:
        self._client.disconnect()

    def _serve(self, ready: int) -> None:
        if ready & WRITABLE:
            self._client.loop_write()
            self._complete_written()
        if ready & READABLE:
            self._client.loop_read()
            self._read_pending()
        if self._lost is not None:
            self._raise_lost()

    def _read_pending(self) -> None:
        if self._pending is not None:
            while self._lost is None and self._pending():
                self._client.loop_read()

    def _housekeep(self) -> None:
        now = time.monotonic()
        if now >= self._misc_at:
            self._misc_at = now + MISC_INTERVAL_S
            self._client.loop_misc()
        if self._lost is not None:
            self._raise_lost()

    def _serve_for(self, seconds: float) -> None:
        import select

        write = [self._fd] if self._client.want_write() else []
        readable, writable, _ = select.select([self._fd], write, [], seconds)
        self._serve((READABLE if readable else 0) | (WRITABLE if writable else 0))

    def _on_publish(self, client, userdata, mid, reason_code, properties) -> None:
        if (slot := self._slot_of.pop(mid, None)) is not None:  # None: QoS 0 in a mixed run
            self._done(slot)

    def _on_publish_v5(self, client, userdata, mid, reason_code, properties) -> None:
        if (slot := self._slot_of.pop(mid, None)) is not None:
            self._done(slot, LIBRARY if reason_code.value >= 0x80 else 0)


class NetworkThread(_Paho):
    """Callbacks run on the library's thread, while this one may still be inside publish()."""

    def _start_loop(self) -> None:
        self._arrived = threading.Event()
        self._client.loop_start()

    def publish(self, message: Message) -> None:
        qos = message.qos
        if qos and not self._hears_acknowledgements:
            self._hear_acknowledgements()
        info = self._client.publish(
            message.topic, message.payload, qos, message.retain, self._properties
        )
        if info.rc:
            self._raise_refused(info)
        if not qos:
            self._unwritten.append((info, message.slot))
        elif self._slot_of.setdefault(info.mid, message.slot) == EARLY:
            self._acknowledge(info.mid, message.slot)

    def wait(self) -> None:
        # A full window of QoS 0 waits for its older half; the rest is complete by then or soon.
        source, unwritten = self._source, self._unwritten
        if unwritten and len(unwritten) == source.window:
            unwritten[len(unwritten) // 2][0].wait_for_publish(source.delay())
        elif not unwritten:
            source.wait()
        else:
            self._complete_written()
            source.wait()
        self._complete_written()
        self._raise_lost()

    def turn(self) -> None:
        self._complete_written()
        self._raise_lost()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _serve_for(self, seconds: float) -> None:
        self._arrived.wait(min(seconds, 1.0))
        self._arrived.clear()

    def _acknowledge(self, mid: int, slot: int, status: int = 0) -> None:
        del self._slot_of[mid]
        self._done(slot, status)

    def _on_publish(self, client, userdata, mid, reason_code, properties) -> None:
        # setdefault() is atomic: exactly one of both threads finds the other's entry.
        slot = self._slot_of.setdefault(mid, EARLY)
        if slot != EARLY:
            self._acknowledge(mid, slot)

    def _on_publish_v5(self, client, userdata, mid, reason_code, properties) -> None:
        if reason_code.value >= 0x80:
            mqcore.fail(LIBRARY, f"the broker refused a message: {reason_code}")
        self._on_publish(client, userdata, mid, reason_code, properties)

    def _on_connect(self, client, userdata, flags, reason_code, properties) -> None:
        super()._on_connect(client, userdata, flags, reason_code, properties)
        self._arrived.set()

    def _on_subscribe(self, client, userdata, mid, reason_codes, properties) -> None:
        super()._on_subscribe(client, userdata, mid, reason_codes, properties)
        self._arrived.set()

    def _on_disconnect(self, client, userdata, flags, reason_code, properties) -> None:
        super()._on_disconnect(client, userdata, flags, reason_code, properties)
        self._arrived.set()


def publish_properties(run: Run) -> Properties | None:
    """Reusable, though the library packs it again for every message."""
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


def _set_nodelay(client, userdata, sock) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # paho leaves Nagle on
