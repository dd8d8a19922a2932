"""The skeleton of a client in the shape sync: connect(), publish() and close() are plain functions, and
completions and arrivals come as callbacks, here on a thread of the library.

It works as it stands, with paho-mqtt. Replace what is marked YOUR LIBRARY, one mark after the other, and
keep `mqcore check-driver my-driver` green. The contract is in mqcore/__init__.py of the Python host."""

from __future__ import annotations

import queue
import socket

# YOUR LIBRARY: instead of these four
from paho.mqtt.client import CallbackAPIVersion, MQTTErrorCode, MQTTv311, MQTTv5
from paho.mqtt.client import Client as Library
from paho.mqtt.reasoncodes import ReasonCode

import mqcore
from mqcore import (
    CONNECT_TIMEOUT_S,
    LIBRARY,
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


class Client:
    """One for each run. `run` says what is asked for, `source` hands messages to publish(), `sink` is told
    of completions and arrivals. Nothing here counts, paces or reads a clock: mqcore does."""

    def __init__(self, run: Run, source: Source, sink: Sink) -> None:
        """Makes the library's client and sets what has to be set. No network yet."""
        self._run = run
        self._done = sink.done  # bound once: it is called for every message
        self._received = sink.received
        self._unfinished: dict[int, int | ReasonCode] = {}  # by packet identifier, see publish()
        self._answers = queue.SimpleQueue()  # of the broker, to CONNECT and then to SUBSCRIBE

        # YOUR LIBRARY: its client, with a clean session and without reconnecting: a connection that is
        # lost must end the run.
        self._client = client = Library(
            CallbackAPIVersion.VERSION2,
            run.client_id,
            clean_session=None if run.protocol == V5 else True,
            protocol=MQTTv5 if run.protocol == V5 else MQTTv311,
            reconnect_on_failure=False,
        )
        # YOUR LIBRARY: whatever caps or delays. mqcore keeps the window of messages in flight itself.
        client.max_inflight_messages = 0
        client.on_socket_open = lambda client, userdata, sock: sock.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )
        if run.ca_file:
            client.tls_set_context(tls_context(run))
        answers = self._answers.put
        client.on_connect = lambda client, userdata, flags, code, properties: answers(code)
        client.on_subscribe = lambda client, userdata, mid, codes, properties: answers(codes)
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        client.on_disconnect = self._on_disconnect

    def connect(self) -> None:
        """Returns when the broker has confirmed the connection and the subscriptions."""
        run, client = self._run, self._client
        # YOUR LIBRARY: connect, wait for CONNACK, subscribe, wait for SUBACK.
        client.connect(run.host, run.port, run.keepalive_s)
        client.loop_start()
        connack = self._await("CONNACK")
        if connack.is_failure:
            raise Failure(NETWORK, f"the broker refused the connection: {connack}")
        if run.filters:
            client.subscribe([(name, run.filter_qos) for name in run.filters])
            check_granted([code.value for code in self._await("SUBACK")], run)

    def publish(self, message: Message) -> None:
        """Hands one message over and returns. Called as fast as messages fall due."""
        # YOUR LIBRARY: publish. The payload is mqcore's own bytes: it must go out as it is.
        info = self._client.publish(
            message.topic, message.payload, message.qos, message.retain
        )
        if info.rc:
            # The library's thread may know of a lost connection before its callback has told it.
            is_lost = info.rc in (MQTTErrorCode.MQTT_ERR_NO_CONN, MQTTErrorCode.MQTT_ERR_CONN_LOST)
            raise Failure(NETWORK if is_lost else LIBRARY, f"publish() returned {info.rc!r}")
        # The completion may come, on the library's thread, before this line runs. setdefault() is
        # atomic: whoever comes second finds what the first has left, and reports the completion.
        code = self._unfinished.setdefault(info.mid, message.slot)
        if isinstance(code, ReasonCode):
            self._complete(info.mid, message.slot, code)

    def close(self) -> None:
        """Leaves the broker in the proper way; the next run must not find a half-open connection."""
        self._client.on_disconnect = None
        self._client.disconnect()
        self._client.loop_stop()

    # YOUR LIBRARY: its callbacks. sink.done() and sink.received() may be called from any thread.

    def _on_publish(self, client, userdata, mid, code, properties) -> None:
        """Written (QoS 0), acknowledged by PUBACK (1) or PUBCOMP (2)."""
        slot = self._unfinished.setdefault(mid, code)
        if not isinstance(slot, ReasonCode):
            self._complete(mid, slot, code)

    def _complete(self, mid: int, slot: int, code: ReasonCode) -> None:
        del self._unfinished[mid]
        self._done(slot, LIBRARY if code.is_failure else OK)  # a refused message counts as failed

    def _on_message(self, client, userdata, message) -> None:
        self._received(message.payload)

    def _on_disconnect(self, client, userdata, flags, code, properties) -> None:
        mqcore.fail(NETWORK, f"connection lost: {code}")
        self._answers.put(None)

    def _await(self, packet: str):
        try:
            answer = self._answers.get(timeout=CONNECT_TIMEOUT_S)
        except queue.Empty:
            raise Failure(NETWORK, f"no {packet} within {CONNECT_TIMEOUT_S:.0f} s") from None
        if answer is None:
            raise Failure(NETWORK, f"the connection was lost before {packet}")
        return answer
