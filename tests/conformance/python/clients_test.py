"""Each client against a private Mosquitto and against a broker by script: what it sends arrives, what it
reports is true, and what goes wrong ends the run with a reason."""

from __future__ import annotations

import ctypes
import functools
import os
import socket
import time
import tomllib
import unittest
from pathlib import Path
from typing import Any

import broker
import support
import worker

# What the installed versions do; a change needs evidence in the client's README.md.
CLAIMS = {
    "paho": {
        "shape": "sync",
        "protocols": ["3.1.1", "5"],
        "publish_qos": [0, 1, 2],
        "subscribe_qos": [0, 1, 2],
        "features": [
            "tls",
            "filter-callbacks",
            "publish-properties",
            "topic-alias",
            "receive-maximum",
        ],
        "qos0_completion": "written",
    },
    "gmqtt": {
        "shape": "nowait",
        "protocols": ["3.1.1", "5"],
        "publish_qos": [0, 1, 2],
        "subscribe_qos": [0, 1],
        "features": ["tls", "publish-properties", "topic-alias", "receive-maximum"],
        "qos0_completion": "handed over",
    },
    "awscrt": {
        "shape": "sync",
        "protocols": ["3.1.1", "5"],
        "publish_qos": [0, 1],
        "subscribe_qos": [0, 1],
        "features": ["tls", "publish-properties", "receive-maximum"],
        "qos0_completion": "handed over",
    },
    "mqttium": {
        "shape": "nowait",
        "protocols": ["3.1.1", "5"],
        "publish_qos": [0, 1, 2],
        "subscribe_qos": [0, 1, 2],
        "features": [
            "tls",
            "filter-callbacks",
            "publish-properties",
            "topic-alias",
            "receive-maximum",
        ],
        "qos0_completion": "handed over",
    },
    "zmqtt": {
        "shape": "awaited",
        "protocols": ["3.1.1", "5"],
        "publish_qos": [0, 1, 2],
        "subscribe_qos": [0, 1, 2],
        "features": ["tls", "publish-properties", "receive-maximum"],
        "qos0_completion": "drained",
    },
    "aiomqtt": {
        "shape": "awaited",
        "protocols": ["3.1.1", "5"],
        "publish_qos": [0, 1, 2],
        "subscribe_qos": [0, 1, 2],
        "features": ["tls", "publish-properties", "topic-alias", "receive-maximum"],
        "qos0_completion": "written",
    },
    "aiomqtt3": {
        "shape": "awaited",
        "protocols": ["5"],
        "publish_qos": [0, 1],
        "subscribe_qos": [0, 1],
        "features": ["tls", "publish-properties", "receive-maximum"],
        "qos0_completion": "drained",
    },
    "amqtt": {
        "shape": "awaited",
        "protocols": ["3.1.1"],
        "publish_qos": [0, 1, 2],
        "subscribe_qos": [0, 1, 2],
        "features": ["tls"],
        "qos0_completion": "drained",
    },
}
VARIANTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "paho": ("paho", []),
    "paho:thread": ("paho", [("loop", "thread")]),
    "gmqtt": ("gmqtt", []),
    "awscrt": ("awscrt", []),
    "mqttium": ("mqttium", []),
    "zmqtt": ("zmqtt", []),
    "aiomqtt": ("aiomqtt", []),
    "aiomqtt:one": ("aiomqtt", [("receive", "one")]),
    "aiomqtt3": ("aiomqtt3", []),
    "amqtt": ("amqtt", []),
    "amqtt:queue": ("amqtt", [("receive", "queue")]),
}
if chosen := os.environ.get(
    "MQCORE_TEST_CLIENTS"
):  # while working on one: MQCORE_TEST_CLIENTS=zmqtt
    VARIANTS = {name: VARIANTS[name] for name in chosen.split()}

# Where awscrt is another: its TLS library answers an error after 10 to 30 s only, so the limit for
# connecting comes first, and it offers no way to switch Nagle's algorithm off. Nor does aiomqtt3.
# aiomqtt does not notice a connection that is closed before CONNACK.
NO_BROKER = {"awscrt": "AWS_IO_SOCKET_CONNECTION_REFUSED"}
UNTRUSTED = {"awscrt": "within 10 s"}
NODELAY = {"awscrt": 0, "aiomqtt3": 0}
CLOSED_BEFORE_CONNACK = {"aiomqtt": "within 10 s"}


def each_client(test: Any) -> Any:
    """Runs a test method for every variant, with what it claims and how it is started."""

    @functools.wraps(test)
    def for_all(self: Clients) -> None:
        for name, (driver, options) in VARIANTS.items():
            with self.subTest(client=name):
                client = {
                    "folder": support.driver_folder(driver),
                    "venv": support.environment(driver),
                    "options": options,
                    "id": driver,
                    "protocol": CLAIMS[driver]["protocols"][0],
                }
                test(self, CLAIMS[driver], client)

    return for_all


class Clients(support.Case):
    server: broker.Broker

    @classmethod
    def setUpClass(cls) -> None:
        if broker.find_mosquitto() is None:
            raise unittest.SkipTest("mosquitto is not installed")
        cls.server = cls.enterClassContext(broker.Broker())

    def prepared(self, client: dict[str, Any], **spec: Any) -> worker.Worker:
        document = worker.spec(
            client["folder"],
            support.HOST_FILE,
            client["venv"],
            options=client["options"],
            **{"port": self.server.port, "protocol": client["protocol"], **spec},
        )
        return worker.Worker(support.worker_program(), document)


class AgainstMosquitto(Clients):
    def test_claims_are_as_pinned(self) -> None:
        for driver, pinned in CLAIMS.items():
            document = tomllib.loads((support.driver_folder(driver) / "driver.toml").read_text())
            claims = {"shape": document["driver"]["shape"], **document["claims"]}
            self.assertEqual({key: claims[key] for key in pinned}, pinned, driver)

    @each_client
    def test_everything_published_arrives_once(self, claims: Any, client: Any) -> None:
        for protocol in claims["protocols"]:
            for qos in claims["publish_qos"]:
                for is_tls in (False, True):
                    with self.subTest(protocol=protocol, qos=qos, tls=is_tls):
                        self.publish(client, protocol, qos, is_tls)

    def publish(self, client: dict[str, Any], protocol: str, qos: int, is_tls: bool) -> None:
        arrived: list[bytes] = []
        sink = broker.Connection(self.server.port, "sink")
        sink.subscribe("t/0", 2)
        sink.count(arrived)
        report = self.run_driver(
            client["folder"],
            client["venv"],
            window_s=0.6,
            drain_s=0.6,
            options=client["options"],
            protocol=protocol,
            port=self.server.tls_port if is_tls else self.server.port,
            host="localhost" if is_tls else "127.0.0.1",
            ca_file=self.server.ca_file if is_tls else "",
            send={"qos": qos, "limit": 500, "payload_bytes": [20, 256, 20_000]},
        )["send"]
        sent = report["sent"]  # all, unless this machine is too busy to send them in time
        self.assertGreater(sent, 0)
        wait_until(lambda: len(arrived) >= sent)
        sink.close()
        self.assertEqual((report["completed"], report["failed"]), (sent, 0))
        self.assertEqual([broker.sequence_of(each) for each in arrived], list(range(sent)))
        self.assertLessEqual({len(each) for each in arrived}, {20, 256, 20_000})

    @each_client
    def test_everything_received_is_counted_once(self, claims: Any, client: Any) -> None:
        for protocol in claims["protocols"]:
            for qos in claims["subscribe_qos"]:
                for is_tls in (False, True):
                    with self.subTest(protocol=protocol, qos=qos, tls=is_tls):
                        self.receive(client, protocol, qos, is_tls, ["t/0"])

    @each_client
    def test_a_filter_callback_tells_its_filter(self, claims: Any, client: Any) -> None:
        if "filter-callbacks" in claims["features"]:
            for protocol in claims["protocols"]:
                report = self.receive(client, protocol, 1, False, [f"t/{n}" for n in range(5)])
                self.assertEqual(report["by_filter"], {str(n): 200 for n in range(5)})
                self.assertEqual(report["catch_all"], 0)

    def receive(
        self, client: dict[str, Any], protocol: str, qos: int, is_tls: bool, filters: list[str]
    ) -> dict[str, Any]:
        count = 1_000
        with self.prepared(
            client,
            protocol=protocol,
            port=self.server.tls_port if is_tls else self.server.port,
            host="localhost" if is_tls else "127.0.0.1",
            ca_file=self.server.ca_file if is_tls else "",
            receive={"qos": qos, "filters": filters, "payload_bytes": [20, 300]},
        ) as process:
            process.prepare()
            process.connect()
            process.start(window_s=1.0)
            time.sleep(0.2)  # into the window: what comes before drive() counts nowhere
            source = broker.Connection(self.server.port, "source")
            source.drop_answers()
            for number in range(count):
                payload = broker.payload(number, 300 if number % 2 else 20, tag=7)
                source.publish(filters[number % len(filters)], payload, qos, number + 1)
            report = process.hear()["report"]
            process.finish()
            source.close()
        received = report["receive"]
        self.assertEqual((received["total"], received["damaged"], received["stray"]), (count, 0, 0))
        self.assertEqual(received["ledger"]["distinct"], count)
        return received

    @each_client
    def test_a_paced_publisher_accounts_for_every_due_message(self, _: Any, client: Any) -> None:
        report = self.run_driver(
            client["folder"],
            client["venv"],
            window_s=1.0,
            options=client["options"],
            protocol=client["protocol"],
            port=self.server.port,
            send={"qos": 1, "rate": 1000},
        )["send"]
        self.assertEqual(report["unfinished"], 0)
        self.assertGreaterEqual(report["sent"] + report["never_sent"], 999)

    @each_client
    def test_the_socket_has_nodelay(self, _: Any, client: Any) -> None:
        with self.prepared(client, send={}) as process:
            process.prepare()
            process.connect()
            expected = NODELAY.get(client["id"], 1)
            self.assertEqual(nodelay_of(process.pid, self.server.port), [expected])

    @each_client
    def test_an_idle_connection_is_kept_alive(self, _: Any, client: Any) -> None:
        report = self.run_driver(
            client["folder"],
            client["venv"],
            window_s=3.5,  # a broker drops a client after one and a half times the keep alive
            options=client["options"],
            protocol=client["protocol"],
            port=self.server.port,
            keepalive_s=2,
            receive={},
        )
        self.assertEqual(report["log"], "")

    @each_client
    def test_a_foreign_certificate_is_refused(self, _: Any, client: Any) -> None:
        folder = Path(self.enterContext(support.temporary_folder()))
        broker.make_certificate(folder)
        reason = UNTRUSTED.get(client["id"], "CERTIFICATE_VERIFY_FAILED")
        for host, ca_file in (
            ("localhost", str(folder / "ca.pem")),
            (broker.NAMELESS_HOST, self.server.ca_file),
        ):
            with self.prepared(
                client, port=self.server.tls_port, host=host, ca_file=ca_file, send={}
            ) as process:
                process.prepare()
                self.assert_fails(process.connect, "connecting", "network", reason)

    @each_client
    def test_a_broker_that_dies_ends_the_run(self, _: Any, client: Any) -> None:
        for spec in ({"send": {"qos": 1}}, {"send": {"rate": 100}}, {"receive": {}}):
            with self.subTest(**spec):
                with (
                    broker.Broker() as mortal,
                    self.prepared(client, port=mortal.port, **spec) as process,
                ):
                    process.prepare()
                    process.connect()
                    process.start(window_s=1.0)
                    time.sleep(0.4)
                    mortal.end()
                    self.assert_fails(process.hear, "driving", "network", "")

    @each_client
    def test_no_broker_at_all(self, _: Any, client: Any) -> None:
        with self.prepared(client, port=broker.free_port(), send={}) as process:
            process.prepare()
            reason = NO_BROKER.get(client["id"], "[Errno 111]")
            self.assert_fails(process.connect, "connecting", "network", reason)


class AgainstAScript(Clients):
    def scripted(self, **script: Any) -> broker.Scripted:
        server = broker.Scripted(**script)
        self.addCleanup(server.close)
        return server

    @each_client
    def test_a_broker_that_stops_reading_ends_completions(self, claims: Any, client: Any) -> None:
        server = self.scripted(stalled=True)
        limit, largest = 400, 65_536
        with self.prepared(
            client, port=server.port, send={"limit": limit, "payload_bytes": [largest]}
        ) as process:
            process.prepare()
            process.connect()
            process.start(window_s=0.8)
            sent = process.hear()["report"]["send"]
        self.assertEqual(sent["failed"], 0)
        if claims["qos0_completion"] == "handed over":
            self.assertGreater(sent["completed"], 0)
        else:  # what both ends' kernels hold, some 4 MiB, and a bounded buffer
            self.assertLess(sent["completed"], limit // 2)

    @each_client
    def test_a_message_completes_with_its_acknowledgement_and_not_before(
        self, claims: Any, client: Any
    ) -> None:
        for protocol in claims["protocols"]:
            for qos in claims["publish_qos"][1:]:
                with self.subTest(protocol=protocol, qos=qos):
                    self.withhold(client, protocol, qos)

    def withhold(self, client: dict[str, Any], protocol: str, qos: int) -> None:
        for last_answer in (0x30,) if qos == 1 else (0x30, 0x62):
            server = self.scripted()
            server.withhold = {last_answer}
            with self.prepared(
                client,
                port=server.port,
                protocol=protocol,
                send={"qos": qos, "limit": 20, "window": 8},
            ) as process:
                process.prepare()
                process.connect()
                process.start(window_s=0.8)
                kind = 0x62 if last_answer == 0x62 else 0x30 | qos << 1
                wait_until(lambda: [each[0] for each in server.arrived].count(kind) == 8)
                time.sleep(0.2)  # a ninth would come now
                self.assertEqual([each[0] for each in server.arrived].count(kind), 8)
                server.release()
                sent = process.hear()["report"]["send"]
                process.finish()
            self.assertEqual((sent["sent"], sent["completed"], sent["failed"]), (20, 20, 0))

    def test_a_refused_message_counts_as_failed(self) -> None:
        # gmqtt reads no reason code of PUBACK, only that of PUBREC, and aiomqtt none: see their README.md.
        cases = (
            ("paho", 1),
            ("gmqtt", 2),
            ("awscrt", 1),
            ("mqttium", 1),
            ("mqttium", 2),
            ("zmqtt", 1),
            ("zmqtt", 2),
            ("aiomqtt3", 1),
        )
        for name, qos in cases:
            if name not in VARIANTS:
                continue
            server = self.scripted()
            server.withhold, server.reason = set(), 0x97  # quota exceeded
            driver, options = VARIANTS[name]
            report = self.run_driver(
                support.driver_folder(driver),
                support.environment(driver),
                options=options,
                protocol="5",
                port=server.port,
                send={"qos": qos, "limit": 10},
            )["send"]
            self.assertEqual(
                (report["sent"], report["completed"], report["failed"]), (10, 0, 10), name
            )

    @each_client
    def test_a_refused_connection_says_why(self, claims: Any, client: Any) -> None:
        for protocol in claims["protocols"]:
            code = 0x87 if protocol == "5" else 5
            server = self.scripted(connack=code)
            with self.prepared(client, port=server.port, protocol=protocol, send={}) as process:
                process.prepare()
                self.assert_fails(
                    process.connect, "connecting", "network", "refused the connection"
                )

    @each_client
    def test_a_connection_closed_before_connack_fails_at_once(self, _: Any, client: Any) -> None:
        server = self.scripted(silent=True)
        with self.prepared(client, port=server.port, send={}) as process:
            process.prepare()
            process.say(do="connect")
            wait_until(lambda: server.connect)
            server.drop()
            begin = time.monotonic()
            late = CLOSED_BEFORE_CONNACK.get(client["id"])
            self.assert_fails(process.hear, "connecting", "network", late or "connection lost")
            if not late:
                self.assertLess(time.monotonic() - begin, 5)

    def test_a_silent_broker_is_given_up_after_ten_seconds(self) -> None:
        running = []

        @each_client
        def connect(self: Any, _: Any, client: Any) -> None:
            server = self.scripted(silent=True)
            process = self.enterContext(self.prepared(client, port=server.port, send={}))
            process.prepare()
            process.say(do="connect")
            running.append(process)

        connect(self)
        for process in running:
            self.assert_fails(process.hear, "connecting", "network", "within 10 s")

    @each_client
    def test_the_granted_qos_is_compared(self, claims: Any, client: Any) -> None:
        for protocol, code, status, reason in (
            ("3.1.1", 0x80, "network", "refused the subscription to 't/0'"),
            ("5", 0x87, "network", "refused the subscription to 't/0'"),
            ("3.1.1", 0, "unsupported", "granted QoS 0 instead of 1 for 't/0'"),
            ("5", 0, "unsupported", "granted QoS 0 instead of 1 for 't/0'"),
        ):
            if protocol not in claims["protocols"]:
                continue
            server = self.scripted(suback=code)
            spec = {"protocol": protocol, "receive": {"qos": 1}}
            with self.prepared(client, port=server.port, **spec) as process:
                process.prepare()
                self.assert_fails(process.connect, "connecting", status, reason)

    @each_client
    def test_receive_maximum_goes_into_connect(self, claims: Any, client: Any) -> None:
        if "receive-maximum" not in claims["features"]:
            return
        for maximum, is_there in ((0, False), (17, True)):
            server = self.scripted()
            spec = {"protocol": "5", "receive_maximum": maximum, "send": {}}
            with self.prepared(client, port=server.port, **spec) as process:
                process.prepare()
                process.connect()
            properties = server.connect[10 : 11 + server.connect[10]]
            self.assertEqual(b"\x21\x00\x11" in properties, is_there, properties)


def wait_until(holds: Any, seconds: float = 5.0) -> None:
    """Returns as soon as it holds, or when the time is over: the assertion that follows tells."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.01)


def nodelay_of(pid: int, port: int) -> list[int]:
    """TCP_NODELAY of the process's connections to the port, read from a copy of each descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    found = []
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                continue
            copy = libc.syscall(438, pidfd, int(name), 0)  # pidfd_getfd
            if copy < 0:
                raise unittest.SkipTest("this system lends no descriptors of other processes")
            with socket.socket(fileno=copy) as connection:
                if connection.family == socket.AF_INET and connection.getpeername()[1] == port:
                    found.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
    finally:
        os.close(pidfd)
    return found


if __name__ == "__main__":
    unittest.main()
