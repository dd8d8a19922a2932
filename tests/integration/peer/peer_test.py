"""The peer as a process: against a real Mosquitto, and when things around it go wrong."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from peer_process import MOSQUITTO, MS, PEER, Broker, Certificates, Peer, free_port, has_ipv6, now

TAG = 4_000_000_001
needs_mosquitto = unittest.skipUnless(MOSQUITTO, "mosquitto is not installed")


def send(qos: int, **changes) -> dict:
    return {"topics": ["mq/a", "mq/b"], "payload_bytes": [256, 40], "qos": qos, "rate": None,
            "pacing": "tick", "window": 64, "tag": TAG, "limit": None, **changes}


def receive(qos: int, **changes) -> dict:
    return {"filters": ["mq/#"], "qos": qos, "tag": TAG, "payload_bytes": [256, 40], "rate": None,
            **changes}


def schedule(window_ms: int = 200, drain_ms: int = 300, in_ms: int = 20) -> dict:
    return {"start_ns": now() + in_ms * MS, "warmup_ns": 0, "window_ns": window_ms * MS,
            "drain_ns": drain_ms * MS}


def exchange(broker: Broker, protocol: str, qos: int, limit: int, **endpoint) -> tuple[dict, dict, dict]:
    """Source to sink through the broker: what the source connected to, sent, and the sink received."""
    with Peer() as sink, Peer() as source:
        sink.connect(role="sink", endpoint=broker.endpoint("sink", protocol, **endpoint),
                     receive=receive(qos))
        connected = source.connect(role="source",
                                   endpoint=broker.endpoint("source", protocol, **endpoint),
                                   send=send(qos, limit=limit))
        timetable = schedule(window_ms=600, drain_ms=600)
        sink.say(do="drive", schedule=timetable)
        source.say(do="drive", schedule=timetable)
        sent = source.expect("driven")["report"]["send"]
        received = sink.expect("driven")["report"]["receive"]
        assert source.finish() == 0 and sink.finish() == 0
        return connected, sent, received


@needs_mosquitto
class ThroughMosquitto(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.certificates = Certificates(Path(cls.folder.name))
        cls.broker = Broker(certificates=cls.certificates)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.broker.end()
        cls.folder.cleanup()

    def check_exchange(self, protocol: str, qos: int, **endpoint) -> dict:
        connected, sent, received = exchange(self.broker, protocol, qos, 1000, **endpoint)
        self.assertEqual([sent[key] for key in ("sent", "completed", "failed", "unfinished")],
                         [1000, 1000, 0, 0])
        self.assertEqual([received[key] for key in ("total", "damaged", "stray", "retained")],
                         [1000, 0, 0, 0])
        self.assertEqual(received["ledger"]["distinct"], 1000)
        self.assertEqual(received["ledger"]["reordered"], 0)
        self.assertTrue(connected["tcp_nodelay"])
        return connected

    def test_every_message_arrives_once_over_tcp(self) -> None:
        for protocol in ("3.1.1", "5"):
            for qos in (0, 1, 2):
                with self.subTest(protocol=protocol, qos=qos):
                    self.assertIsNone(self.check_exchange(protocol, qos)["tls"])

    def test_every_message_arrives_once_over_tls(self) -> None:
        tls = {"port": self.broker.tls_port, "ca_file": str(self.certificates.ca)}
        for protocol in ("3.1.1", "5"):
            for qos in (0, 1, 2):
                with self.subTest(protocol=protocol, qos=qos):
                    facts = self.check_exchange(protocol, qos, **tls)["tls"]
                    self.assertIn(facts["version"], ("TLSv1.2", "TLSv1.3"))
                    self.assertTrue(facts["cipher"])
                    self.assertFalse(facts["resumed"])

    def test_a_large_payload_crosses_whole_over_tls(self) -> None:
        tls = {"port": self.broker.tls_port, "ca_file": str(self.certificates.ca)}
        with Peer() as sink, Peer() as source:
            sink.connect(role="sink", endpoint=self.broker.endpoint("sink", **tls),
                         receive=receive(1, payload_bytes=[3_000_000]))
            source.connect(role="source", endpoint=self.broker.endpoint("source", **tls),
                           send=send(1, payload_bytes=[3_000_000], limit=4))
            timetable = schedule(window_ms=1500, drain_ms=1000)
            sink.say(do="drive", schedule=timetable)
            source.say(do="drive", schedule=timetable)
            self.assertEqual(source.expect("driven")["report"]["send"]["completed"], 4)
            received = sink.expect("driven")["report"]["receive"]
            self.assertEqual((received["total"], received["damaged"]), (4, 0))

    def test_a_certificate_that_does_not_fit_ends_the_attempt_and_says_why(self) -> None:
        wrong_name = {"host": "localhost", "port": self.broker.tls_port,
                      "ca_file": str(self.certificates.ca)}
        for endpoint, reason in (
                ({"port": self.broker.tls_port, "ca_file": str(self.certificates.other_ca)},
                 "certificate verify failed"),
                (wrong_name, "hostname mismatch"),
                ({"ca_file": str(self.certificates.ca)}, "the TLS handshake failed"),  # plain port
                ({"port": self.broker.tls_port, "ca_file": "/no/such/ca.pem"},
                 "the CA file '/no/such/ca.pem' cannot be used")):
            with self.subTest(reason=reason), Peer() as sink:
                sink.say(do="connect", spec={"role": "sink", "receive": receive(0),
                                             "endpoint": self.broker.endpoint("sink", **endpoint)})
                self.assertIn(reason, sink.expect("failed")["reason"])
                self.assertEqual(sink.process.wait(5), 1)

    def test_an_expired_certificate_and_a_missing_one_of_ours_are_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            expired = Certificates(Path(folder), until="20200102000000Z")
            for broker, certificates, reason in (
                    (Broker(certificates=expired), expired, "certificate has expired"),
                    (Broker(certificates=self.certificates,
                            tls_settings="require_certificate true\n"), self.certificates,
                     "certificate required")):
                with self.subTest(reason=reason), broker, Peer() as sink:
                    endpoint = broker.endpoint("sink", port=broker.tls_port,
                                               ca_file=str(certificates.ca))
                    sink.say(do="connect", spec={"role": "sink", "endpoint": endpoint,
                                                 "receive": receive(0)})
                    self.assertIn(reason, sink.expect("failed")["reason"])

    def test_names_and_addresses_of_loopback_all_connect(self) -> None:
        with Peer() as sink:
            connected = sink.connect(role="sink", receive=receive(0),
                                     endpoint=self.broker.endpoint("sink", host="localhost"))
            self.assertTrue(connected["remote"].endswith(f":{self.broker.port}"))
        if not has_ipv6():
            return
        with Broker(host="::1") as broker:
            hosts = ["::1", "[::1]"]
            # Where the name stands for ::1 as well, every address of it is tried.
            if any(entry[4][0] == "::1" for entry in socket.getaddrinfo("localhost", 1)):
                hosts.append("localhost")
            for host in hosts:
                with self.subTest(host=host), Peer() as sink:
                    connected = sink.connect(role="sink", receive=receive(0),
                                             endpoint=broker.endpoint("sink", host=host))
                    self.assertTrue(connected["local"].startswith("[::1]:"), connected["local"])

    def test_one_in_flight_tells_how_long_each_acknowledgement_took(self) -> None:
        for window, count in ((1, 20), (2, None)):
            with self.subTest(window=window), Peer() as source:
                source.connect(role="source", endpoint=self.broker.endpoint("source"),
                               send=send(1, window=window, limit=20))
                source.say(do="drive", schedule=schedule(window_ms=600))
                sent = source.expect("driven")["report"]["send"]
                self.assertEqual(sent["completed"], 20)
                self.assertEqual(sent["acknowledged"] and sent["acknowledged"]["count"], count)

    def test_a_stalled_broker_shows_as_lag_and_blocks_nothing(self) -> None:
        with Broker() as broker, Peer() as source:
            source.connect(role="source", endpoint=broker.endpoint("source"),
                           send=send(1, rate=1000, window=16))
            source.say(do="drive", schedule=schedule(window_ms=600, drain_ms=600))
            time.sleep(0.2)
            broker.process.send_signal(signal.SIGSTOP)
            time.sleep(0.25)
            broker.process.send_signal(signal.SIGCONT)
            sent = source.expect("driven")["report"]["send"]
            self.assertEqual(sent["unfinished"], 0)
            self.assertGreaterEqual(sent["window_full"], 1)
            self.assertGreater(sent["lag"]["max_ns"], 100 * MS)


@needs_mosquitto
class Probe(unittest.TestCase):
    """The broker's counters reconcile with what the parties did, to the packet."""

    def start(self, broker: Broker, protocol: str = "3.1.1", client_id: str = "probe") -> Peer:
        probe = Peer()
        self.addCleanup(probe.close)
        probe.connect(role="probe", endpoint=broker.endpoint(client_id, protocol))
        return probe

    def test_ten_messages_reconcile_exactly(self) -> None:
        # Packets of one QoS 0, 1 and 2 message that the broker receives (and sends): the PUBLISH
        # and the handshake on both sides.
        packets_of = {0: 1, 1: 2, 2: 4}
        version = subprocess.run([MOSQUITTO, "-h"], capture_output=True, text=True).stdout
        counts_qos2 = "version 2.0.11" not in version  # eclipse-mosquitto/mosquitto#2448
        with Broker() as broker:
            probe = self.start(broker)
            for qos in (0, 1, 2):
                for protocol in ("3.1.1", "5"):
                    with self.subTest(qos=qos, protocol=protocol):
                        before = probe.read(now())
                        _, sent, received = exchange(broker, protocol, qos, 10)
                        after = probe.read(now())
                        self.assertTrue(before["fresh"] and after["fresh"])
                        self.assertEqual((sent["completed"], received["total"]), (10, 10))
                        delta = {name: after["counters"][name] - before["counters"][name]
                                 for name in before["counters"]}
                        if qos < 2 or counts_qos2:
                            self.assertEqual(delta["publish/messages/received"], 10)
                        self.assertEqual(delta["publish/messages/sent"], 10)
                        self.assertEqual(delta["publish/messages/dropped"], 0)
                        self.assertEqual(delta["publish/bytes/received"], 5 * 256 + 5 * 40)
                        self.assertEqual(delta["publish/bytes/sent"], 5 * 256 + 5 * 40)
                        # Two CONNECT, a SUBSCRIBE and two DISCONNECT; two CONNACK and a SUBACK.
                        self.assertEqual(delta["messages/received"], 10 * packets_of[qos] + 5)
                        self.assertEqual(delta["messages/sent"], 10 * packets_of[qos] + 3)

    def test_an_idle_broker_counts_nothing_but_the_probe(self) -> None:
        with Broker() as broker:
            probe = self.start(broker, "5")
            before = probe.read(now())
            after = probe.read(before["at_ns"] + 1)
            self.assertGreater(after["at_ns"], before["at_ns"])
            self.assertEqual(after["missing"], [])
            self.assertEqual(after["counters"], before["counters"])
            self.assertGreater(after["own_deliveries"]["publish/messages/sent"],
                               before["own_deliveries"]["publish/messages/sent"])
            # Another probe's deliveries are another client's: they count.
            self.start(broker, client_id="other")
            later = probe.read(now())
            self.assertGreater(later["counters"]["publish/messages/sent"],
                               after["counters"]["publish/messages/sent"])
            self.assertEqual(later["counters"]["publish/messages/received"],
                             after["counters"]["publish/messages/received"])

    def test_a_reading_that_is_new_enough_already_comes_at_once(self) -> None:
        with Broker() as broker:
            probe = self.start(broker)
            first = probe.read(now())
            self.assertGreaterEqual(first["at_ns"], 0)
            started = now()
            again = probe.read(first["at_ns"] - 200 * MS)
            self.assertEqual(again["at_ns"], first["at_ns"])
            self.assertLess(now() - started, 1500 * MS)  # no tick was waited for

    def test_a_broker_without_sys_topics_leaves_every_counter_missing(self) -> None:
        denied = "topic deny $SYS/#\ntopic readwrite #\n"
        for name, broker in (("no interval", Broker(sys_interval=0)), ("acl", Broker(acl=denied))):
            with self.subTest(name), broker:
                reading = self.start(broker).read(now(), timeout_s=0.3)
                self.assertFalse(reading["fresh"])
                self.assertIsNone(reading["at_ns"])
                self.assertEqual(reading["counters"], {})
                self.assertEqual(len(reading["missing"]), 9)


class WhenThingsGoWrong(unittest.TestCase):
    def server(self, **behaviour) -> tuple[Peer, dict]:
        server = Peer()
        self.addCleanup(server.close)
        server.say(do="listen", spec={"role": "server", "behaviour": behaviour})
        port = server.expect("listening")["port"]
        return server, {"host": "127.0.0.1", "port": port, "protocol": "5", "client_id": "c"}

    def source(self, endpoint: dict, **changes) -> Peer:
        source = Peer()
        self.addCleanup(source.close)
        source.connect(role="source", endpoint=endpoint, send=send(0, **changes))
        return source

    def test_the_parents_end_ends_the_peer_in_the_middle_of_a_drive(self) -> None:
        _, endpoint = self.server()
        for changes in ({}, {"rate": 100}):
            source = self.source(endpoint, **changes)
            source.say(do="drive", schedule=schedule(window_ms=20_000))
            time.sleep(0.2)
            source.lines.close()
            source.channel.close()
            self.assertEqual(source.process.wait(2), 1)

    def test_a_server_that_dies_in_a_drive_is_named(self) -> None:
        server, endpoint = self.server()
        source = self.source(endpoint)
        source.say(do="drive", schedule=schedule(window_ms=20_000))
        time.sleep(0.1)
        server.process.kill()
        reason = source.expect("failed")["reason"]
        self.assertIn(f"the broker at 127.0.0.1:{endpoint['port']}", reason)
        self.assertEqual(source.process.wait(5), 1)

    def test_a_server_that_drops_the_connection_is_told_from_a_reset(self) -> None:
        _, endpoint = self.server(drop_connection_after=50)
        source = self.source(endpoint, rate=1000)
        source.say(do="drive", schedule=schedule(window_ms=20_000))
        reason = source.expect("failed")["reason"]
        self.assertRegex(reason, "closed the connection|broke the connection")

    def test_a_shutdown_of_mqtt_5_tells_its_reason_code(self) -> None:
        for rate in (100, None):  # also while the source writes as fast as it can
            with self.subTest(rate=rate):
                server, endpoint = self.server()
                source = self.source(endpoint, rate=rate)
                source.say(do="drive", schedule=schedule(window_ms=20_000))
                time.sleep(0.1)
                self.assertEqual(server.finish(), 0)
                self.assertIn("sent DISCONNECT: 0x8B server shutting down",
                              source.expect("failed")["reason"])

    def test_a_server_reports_each_connection(self) -> None:
        server, endpoint = self.server()
        source = self.source(endpoint, limit=20)
        source.say(do="drive", schedule=schedule(window_ms=50, drain_ms=50))
        source.expect("driven")
        server.say(do="report")
        report = server.expect("report")
        self.assertEqual(report["open"], 1)
        connection = report["connections"][0]
        self.assertEqual(connection["publishes"], [20, 0, 0])
        self.assertEqual(connection["payload_bytes"], 10 * 256 + 10 * 40)
        self.assertEqual(connection["client_id"], "c")
        self.assertIsNone(connection["fault"])

    def test_unanswered_steps_end_at_the_deadline_and_are_named(self) -> None:
        _, silent_connack = self.server(connack="never")
        _, silent_suback = self.server(suback_delay_ms=60_000)
        mute = socket.create_server(("127.0.0.1", 0))  # accepts by backlog, never says a word
        self.addCleanup(mute.close)
        with tempfile.TemporaryDirectory() as folder:
            tls = {**silent_connack, "port": mute.getsockname()[1],
                   "ca_file": str(Certificates(Path(folder)).ca)}
            waiting = []
            for endpoint, step in ((silent_connack, "CONNACK"), (silent_suback, "SUBACK"),
                                   (tls, "end of the TLS handshake")):
                sink = Peer()
                self.addCleanup(sink.close)
                sink.say(do="connect", spec={"role": "sink", "endpoint": endpoint,
                                             "receive": receive(0)})
                waiting.append((sink, step))
            started = time.monotonic()
            for sink, step in waiting:
                self.assertIn(f"no {step} from 127.0.0.1:", sink.expect("failed")["reason"])
            self.assertAlmostEqual(time.monotonic() - started, 10, delta=4)

    def test_documents_that_make_no_sense_fail_with_a_reason(self) -> None:
        for line, reason in (
                ("{nonsense", "not a JSON document"),
                ('{"do":"dance"}', "'dance' before 'connect'"),
                ('{"do":"drive","schedule":{}}', "'drive' before 'connect'"),
                ('{"do":"connect"}', "'connect' without 'spec'"),
                ('{"do":"connect","spec":{"role":"spy","endpoint":{}}}', "unknown 'role'"),
                ('{"do":"connect","spec":{"role":"sink","endpoint":{}}}', "needs receive.filters"),
                ('{"do":"listen","spec":{"role":"server","behaviour":{"suback":"maybe"}}}',
                 "unknown 'connack', 'suback' or 'puback'"),
                ('{"do":"connect","spec":{"role":"server"}}', "does not know 'connect'"),
                ('{"do":"connect","spec":{"role":"sink","endpoint":{"port":1,"host":"127.0.0.1"},'
                 '"receive":{"filters":["a"],"payload_bytes":["many"]}}}', "")):
            with self.subTest(line=line), Peer() as peer:
                peer.say_line(line)
                self.assertIn(reason, peer.expect("failed")["reason"])
                self.assertEqual(peer.process.wait(5), 1)

    def test_verbs_out_of_place_fail_with_a_reason(self) -> None:
        _, endpoint = self.server()
        for verb, reason in (("connect", "a second time"), ("read", "does not know 'read'"),
                             ("report", "does not know 'report'"), ("dance", "asks for 'dance'"),
                             ("drive", "'drive' without 'schedule'")):
            with self.subTest(verb=verb):
                source = self.source(endpoint)
                source.say(do=verb, spec={})
                self.assertIn(reason, source.expect("failed")["reason"])

    def test_without_a_control_channel_it_says_who_starts_it(self) -> None:
        done = subprocess.run([PEER], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              close_fds=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("descriptor 3", done.stderr)

    def test_a_port_where_nobody_listens_says_what_was_tried(self) -> None:
        port = free_port()
        with Peer() as sink:
            sink.say(do="connect", spec={"role": "sink", "receive": receive(0), "endpoint": {
                "host": "localhost", "port": port, "client_id": "c", "protocol": "5"}})
            reason = sink.expect("failed")["reason"]
            self.assertIn(f"127.0.0.1:{port} (Connection refused)", reason)


if __name__ == "__main__":
    unittest.main()
