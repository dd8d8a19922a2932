"""awscrt: publish() hands a message to one native event-loop thread, where every completion and
every arrival comes back. MQTT 3.1.1 and MQTT 5 are two clients of the library. README.md has the
evidence for each choice."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

import awscrt
from awscrt import io, mqtt, mqtt5
from awscrt.exceptions import AwsCrtError

import mqcore
from mqcore import (
    CONNECT_TIMEOUT_S,
    LIBRARY,
    LOG_WARNING,
    NETWORK,
    UNSUPPORTED,
    V5,
    Failure,
    Message,
    Run,
    Sink,
    Source,
    check_granted,
    note,
)

NEVER_S = 3600  # there is no switch against reconnecting: the first attempt comes after every run
QOS = tuple(mqtt.QoS)
QOS_V5 = tuple(mqtt5.QoS)

# The library's event loop, made before connect() as an asyncio loop is. One connection uses one
# thread of it.
_group = io.EventLoopGroup(1)
_bootstrap = io.ClientBootstrap(_group, io.DefaultHostResolver(_group))
with suppress(RuntimeError):  # this process has done it already
    io.init_logging(io.LogLevel.NoLogs, "stderr")


def Client(run: Run, source: Source, sink: Sink) -> _Awscrt:
    return (ClientV5 if run.protocol == V5 else ClientV311)(run, sink)


class _Awscrt:
    """What both clients share. Callbacks come from the event-loop thread, one at a time."""

    def __init__(self, run: Run, sink: Sink) -> None:
        self._run = run
        self._done = sink.done
        self._received = sink.received
        self._completed = [partial(self._on_complete, slot) for slot in range(run.window)]
        # Half the keep alive, because it must be shorter. The 3.1.1 client also waits so long for
        # CONNACK: then connect() has its own limit, so it may be long.
        self._ping_timeout_ms = min(20_000, run.keepalive_s * 500)
        self._is_leaving = False
        self._is_lost = False

    def connect(self) -> None:
        self._deadline = time.monotonic() + CONNECT_TIMEOUT_S
        io.set_log_level(io.LogLevel.Warn)  # only there a failed TLS handshake says why
        self._connect()
        if self._run.filters:
            check_granted(self._subscribe(), self._run)
        io.set_log_level(io.LogLevel.NoLogs)

    def _connect(self) -> None:
        raise NotImplementedError

    def _subscribe(self) -> list[int]:
        raise NotImplementedError

    def _await(self, packet: str, future: Future):
        try:
            return future.result(max(0.0, self._deadline - time.monotonic()))
        except TimeoutError:
            text = f"no {packet} within {CONNECT_TIMEOUT_S:.0f} s"
        except AwsCrtError as error:
            text = _text(error)
        raise Failure(NETWORK, text)

    def _on_complete(self, slot: int, future: Future) -> None:
        raise NotImplementedError

    def _on_failure(self, slot: int, error: BaseException) -> None:
        if not self._is_lost and not self._is_leaving:
            mqcore.log(LOG_WARNING, f"a message failed: {error}")
        self._done(slot, LIBRARY)

    def _on_lost(self, error: AwsCrtError, said: str = "") -> None:
        if not self._is_leaving:
            self._is_lost = True
            mqcore.fail(NETWORK, f"connection lost: {said}{error}")


class ClientV311(_Awscrt):
    def _connect(self) -> None:
        run = self._run
        if not run.keepalive_s:
            raise Failure(UNSUPPORTED, "awscrt cannot switch the MQTT 3.1.1 keep alive off")
        self._connection = connection = mqtt.Connection(
            mqtt.Client(_bootstrap, _tls_context(run)),
            run.host,
            run.port,
            run.client_id,
            clean_session=True,
            keep_alive_secs=run.keepalive_s,
            ping_timeout_ms=self._ping_timeout_ms,
            protocol_operation_timeout_ms=0,  # a late PUBACK is late, not lost
            reconnect_min_timeout_secs=NEVER_S,
            reconnect_max_timeout_secs=NEVER_S,
            on_connection_interrupted=lambda connection, error, **_: self._on_lost(error),
            disable_metrics=True,  # else CONNECT carries a user name with the SDK's version
        )
        connection.on_message(self._on_message)
        self._await("CONNACK", connection.connect())

    def _subscribe(self) -> list[int]:
        qos = QOS[self._run.filter_qos]
        return [
            self._granted(self._connection.subscribe(name, qos)[0]) for name in self._run.filters
        ]

    def _granted(self, suback: Future) -> int:
        try:
            return self._await("SUBACK", suback)["qos"]
        except mqtt.SubscribeError:
            return 0x80

    def publish(self, message: Message) -> None:
        future, _ = self._connection.publish(
            message.topic, message.payload, QOS[message.qos], message.retain
        )
        future.add_done_callback(self._completed[message.slot])

    def close(self) -> None:
        self._is_leaving = True
        gone = self._connection.disconnect()
        if not self._is_lost:  # a lost one would wait for its next attempt to connect
            gone.result(CONNECT_TIMEOUT_S)

    def _on_complete(self, slot: int, future: Future) -> None:
        error = future.exception()
        if error is None:
            self._done(slot)
        else:
            self._on_failure(slot, error)

    def _on_message(self, topic, payload, dup, qos, retain, **_) -> None:
        self._received(payload)


class ClientV5(_Awscrt):
    def _connect(self) -> None:
        run = self._run
        self._connack: Future = Future()
        self._stopped = threading.Event()
        self._packet = packet = mqtt5.PublishPacket()  # copied by publish(), so one is enough
        if run.properties is not None:
            packet.content_type = run.properties.content_type
            packet.response_topic = run.properties.response_topic
            packet.correlation_data = run.properties.correlation_data
            packet.user_properties = [mqtt5.UserProperty(*pair) for pair in run.properties.user]
        options = mqtt5.ClientOptions(
            run.host,
            run.port,
            _bootstrap,
            tls_ctx=_tls_context(run),
            connect_options=mqtt5.ConnectPacket(
                client_id=run.client_id,
                keep_alive_interval_sec=run.keepalive_s,
                receive_maximum=run.receive_maximum or None,
            ),
            session_behavior=mqtt5.ClientSessionBehaviorType.CLEAN,
            # A lost connection must show; the default would keep QoS 1 for the next one.
            offline_queue_behavior=mqtt5.ClientOperationQueueBehaviorType.FAIL_ALL_ON_DISCONNECT,
            # The other value holds the client to the limits of one provider's broker.
            extended_validation_and_flow_control_options=(
                mqtt5.ExtendedValidationAndFlowControlOptions.NONE
            ),
            min_reconnect_delay_ms=NEVER_S * 1000,
            max_reconnect_delay_ms=NEVER_S * 1000,
            ping_timeout_ms=self._ping_timeout_ms or None,
            ack_timeout_sec=NEVER_S,  # a late PUBACK is late, not lost
            on_publish_callback_fn=self._on_message,
            on_lifecycle_event_connection_success_fn=self._connack.set_result,
            on_lifecycle_event_connection_failure_fn=self._on_connection_failure,
            on_lifecycle_event_disconnection_fn=self._on_disconnection,
            on_lifecycle_event_stopped_fn=lambda _: self._stopped.set(),
            disable_metrics=True,  # else CONNECT carries a user name with the SDK's version
        )
        self._client = mqtt5.Client(options)
        note("qos0.completion", "written")  # better than what driver.toml says for both clients
        self._client.start()
        self._await("CONNACK", self._connack)

    def _subscribe(self) -> list[int]:
        qos = QOS_V5[self._run.filter_qos]
        packet = mqtt5.SubscribePacket(
            [mqtt5.Subscription(name, qos) for name in self._run.filters]
        )
        return self._await("SUBACK", self._client.subscribe(packet)).reason_codes

    def publish(self, message: Message) -> None:
        packet = self._packet
        packet.topic = message.topic
        packet.payload = message.payload
        packet.qos = message.qos
        packet.retain = message.retain
        self._client.publish(packet).add_done_callback(self._completed[message.slot])

    def close(self) -> None:
        self._is_leaving = True
        self._client.stop(mqtt5.DisconnectPacket())
        self._stopped.wait(CONNECT_TIMEOUT_S)

    def _on_complete(self, slot: int, future: Future) -> None:
        if (error := future.exception()) is not None:
            self._on_failure(slot, error)
        elif (code := future.result().puback.reason_code) is None or code < 0x80:  # None: QoS 0
            self._done(slot)
        else:
            self._done(slot, LIBRARY)

    def _on_message(self, data: mqtt5.PublishReceivedData) -> None:
        self._received(data.publish_packet.payload)

    def _on_connection_failure(self, data: mqtt5.LifecycleConnectFailureData) -> None:
        text = _text(data.exception)
        if data.connack_packet is not None:
            text = f"the broker refused the connection: {data.connack_packet.reason_code!r}"
        if not self._connack.done():
            self._connack.set_exception(Failure(NETWORK, text))

    def _on_disconnection(self, data: mqtt5.LifecycleDisconnectData) -> None:
        packet = data.disconnect_packet
        self._on_lost(data.exception, f"{packet.reason_code!r}, " if packet is not None else "")


def _tls_context(run: Run) -> io.ClientTlsContext | None:
    if not run.ca_file:
        return None
    options = io.TlsContextOptions()  # verifies the peer, and run.host is the name it must have
    options.override_default_trust_store_from_path(None, run.ca_file)
    note("tls.library", f"s2n-tls of awscrt {awscrt.__version__}")
    for key in ("tls.version", "tls.cipher"):
        note(key, "not known: awscrt has no call for it")
    return io.ClientTlsContext(options)


def _text(error: AwsCrtError) -> str:
    if error.name == "AWS_ERROR_MQTT_PROTOCOL_ERROR":  # all that 3.1.1 says of a CONNACK's code
        return f"the broker refused the connection or broke the protocol: {error}"
    return f"connection lost: {error}" if error.name == "AWS_IO_SOCKET_CLOSED" else str(error)
