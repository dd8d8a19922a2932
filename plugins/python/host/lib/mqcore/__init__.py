"""What a client's driver.py may use: everything else of the host is not for it.

A driver.py holds one class (or function) named `Client`. Its shape stands in driver.toml, and with it which of the
three loops in loops.py drives it:

    OPTIONS = {"loop": ("external", "thread")}  # of [driver.ID], with their values; the first is default

    class Client:
        def __init__(self, run, source, sink): ...  # no network yet
        def connect(self): ...            # connect and subscribe; returns when both are confirmed
        def publish(self, message): ...   # hand over now; sink.done(message.slot) at its completion
        def close(self): ...              # leave the broker

    sync      all plain functions; `wait()` and `turn()` are optional, see loops.sync
    nowait    connect and close are coroutines, publish is a plain function that does not wait
    awaited   connect, publish and close are coroutines. publish returns at the completion, None or a
              status, and the loop reports done(). receivers() is optional: coroutines that run for the
              length of the connection and call sink.received()

An exception ends the run: OSError and TimeoutError as NETWORK, Failure with its own status, anything
else as LIBRARY. A connection lost in a callback is reported with fail(); the loop then ends.
"""

from __future__ import annotations

from _mqcore import (
    CONFIG,
    DRAIN,
    LIBRARY,
    LOG_DEBUG,
    LOG_ERROR,
    LOG_INFO,
    LOG_WARNING,
    NETWORK,
    NONE,
    OK,
    STOP,
    TURN,
    UNSUPPORTED,
    V5,
    V311,
    WAIT,
    Message,
    Sink,
    Source,
    log,
    note,
)

__all__ = [
    "CONFIG",
    "CONNECT_TIMEOUT_S",
    "DRAIN",
    "LIBRARY",
    "LOG_DEBUG",
    "LOG_ERROR",
    "LOG_INFO",
    "LOG_WARNING",
    "NETWORK",
    "NONE",
    "OK",
    "STOP",
    "TURN",
    "UNSUPPORTED",
    "V5",
    "V311",
    "WAIT",
    "Failure",
    "Message",
    "PublishProperties",
    "Run",
    "Sink",
    "Source",
    "check_granted",
    "fail",
    "log",
    "note",
    "tls_context",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ssl import SSLContext

CONNECT_TIMEOUT_S = 10.0  # for connecting and subscribing together; the core gives up later


class Failure(Exception):
    """Ends the run with a status of the driver ABI."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class PublishProperties:
    """MQTT 5 properties of every PUBLISH; None or empty: not sent."""

    content_type: str | None
    response_topic: str | None
    correlation_data: bytes | None
    user: tuple[tuple[str, str], ...]

    def __init__(self, fields: dict[str, object]) -> None:
        self.__dict__.update(fields)


class Run:
    """What one run asks for: the fields of mqcore_run, see driver.h."""

    protocol: int  # V311 or V5
    host: str
    port: int
    client_id: str
    ca_file: str | None
    keepalive_s: int
    topics: tuple[str, ...]
    filters: tuple[str, ...]
    filter_qos: int
    window: int
    payload_bytes_max: int
    connection_count: int
    receive_maximum: int  # 0: do not send the property
    options: dict[str, str]  # complete: defaults are filled in
    properties: PublishProperties | None  # every message carries them
    topic_alias: int  # every message carries it, all but the first with an empty topic; 0: none

    def __init__(self, fields: dict[str, object]) -> None:
        self.__dict__.update(fields)
        if fields["properties"] is not None:
            self.properties = PublishProperties(fields["properties"])


def check_granted(granted: list[int] | tuple[int, ...], run: Run) -> None:
    """Compares SUBACK reason codes, one a filter, with what the run asked for."""
    if len(granted) != len(run.filters):
        raise Failure(LIBRARY, f"{len(granted)} SUBACK codes for {len(run.filters)} filters")
    for code, name in zip(granted, run.filters, strict=True):
        if code >= 0x80:
            raise Failure(
                NETWORK, f"the broker refused the subscription to '{name}' (0x{code:02x})"
            )
        if code < run.filter_qos:
            raise Failure(
                UNSUPPORTED,
                f"the broker granted QoS {code} instead of {run.filter_qos} for '{name}'",
            )


def tls_context(run: Run) -> SSLContext:
    """Verifies the broker's certificate and name against run.ca_file. What the handshake agreed on is
    noted, whichever of the two classes of the standard library the client uses."""
    import ssl

    def noted(base: type) -> type:
        class Noted(base):
            def do_handshake(self, *arguments: object, **named: object) -> None:
                super().do_handshake(*arguments, **named)  # raises while it is not complete
                cipher = self.cipher()
                note("tls.version", self.version() or "unknown")
                note("tls.cipher", cipher[0] if cipher else "unknown")
                note("tls.resumed", "true" if self.session_reused else "false")

        return Noted

    note("tls.library", ssl.OPENSSL_VERSION)
    context = ssl.create_default_context(cafile=run.ca_file)
    context.sslsocket_class = noted(ssl.SSLSocket)
    context.sslobject_class = noted(ssl.SSLObject)
    return context


def fail(status: int, text: str) -> None:
    """Tells why a connection was lost, from any callback of the library. The loop ends."""
    from mqcore import session

    session.fail(status, text)
