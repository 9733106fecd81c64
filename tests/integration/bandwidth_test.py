#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bandwidth between two real agents on separate hosts: permissions, the measured path, and what remains after a test."""

import json
import os
import unittest

import harness
import network_lab
import own_namespaces
from certificates import Certificates

RAIL = 1
LINE = 200e6  # bits/s of the planted line
TLS_PORT = 3334


def limit_line(host, rail, rate):
    """Limits the sending rate of the host to that many bits per second."""
    host.run("tc", "qdisc", "replace", "dev", host.interface(rail), "root", "tbf", "rate", f"{rate / 1e6:.0f}mbit",
             "burst", "256kb", "latency", "50ms")


def servers_body(listening, asking, **more):
    return json.dumps({"address": listening.address(RAIL), "allowed": asking.address(RAIL), "processes": 1, "seconds": 30, **more})


def test_body(asking, listening, ports, **more):
    return json.dumps({"address": asking.address(RAIL), "node": listening.name, "to": listening.address(RAIL), "ports": ports,
                       "streams": 2, "seconds": 2, **more})


class BandwidthTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_program("tc")
        cls.lab = network_lab.Lab(hosts=2)
        cls.addClassCleanup(cls.lab.close)
        cls.lab.start()
        cls.asking, cls.listening = cls.lab[1], cls.lab[2]

    def post(self, host, path, body):
        status, text = host.request("POST", path, body)
        return status, json.loads(text)

    def serve(self, **more):
        status, answer = self.post(self.listening, "/v1/network/servers", servers_body(self.listening, self.asking, **more))
        self.assertEqual(status, 200, answer)
        self.addCleanup(self.end, answer["id"])
        return answer

    def end(self, server):
        self.listening.request("DELETE", f"/v1/network/servers/{server}")
        harness.wait_until(lambda: not self.listeners(), "nobody listens any more")

    def listeners(self):
        """Open ports at the address of the test."""
        lines = self.listening.run("ss", "-Hltn", "src", self.listening.address(RAIL)).splitlines()
        return [line.split()[3].rsplit(":", 1)[1] for line in lines if line.split()[3].startswith(self.listening.address(RAIL))]

    def measure(self, ports, **more):
        status, answer = self.post(self.asking, "/v1/network/bandwidth", test_body(self.asking, self.listening, ports, **more))
        self.assertEqual(status, 200, answer)
        return answer

    def test_both_ways_are_measured_over_the_line_that_is_there(self):
        limit_line(self.listening, RAIL, LINE)
        self.addCleanup(self.listening.run, "tc", "qdisc", "del", "dev", self.listening.interface(RAIL), "root")
        server = self.serve(processes=2)
        self.assertEqual(len(server["ports"]), 2)
        answer = self.measure(server["ports"])
        self.assertNotIn("reason", answer)
        self.assertGreater(answer["toPeer"]["receivedBitsPerSecond"], 2 * LINE, "the line of the one who asks has no limit")
        self.assertAlmostEqual(answer["fromPeer"]["receivedBitsPerSecond"] / LINE, 0.95, delta=0.08)

    def test_a_test_takes_no_more_than_it_may(self):
        answer = self.measure(self.serve()["ports"], mostBitsPerSecond=50_000_000)
        for way in ("toPeer", "fromPeer"):
            self.assertAlmostEqual(answer[way]["receivedBitsPerSecond"] / 50e6, 1, delta=0.1)

    def test_servers_end_when_they_are_told_and_nothing_listens(self):
        server = self.serve()
        self.assertEqual(sorted(self.listeners()), sorted(str(one["port"]) for one in server["ports"]))
        self.end(server["id"])
        answer = self.measure(server["ports"])
        self.assertEqual(answer["reason"], "refused")
        self.assertNotIn("toPeer", answer)

    def test_one_interface_takes_part_in_one_test(self):
        self.serve()
        status, answer = self.post(self.listening, "/v1/network/servers", servers_body(self.listening, self.asking))
        self.assertEqual(status, 409)
        self.assertIn("net1 is in use", answer["error"]["message"])

    def test_only_the_named_address_is_heard(self):
        server = self.serve(allowed="10.2.0.77")
        answer = self.measure(server["ports"], seconds=1)
        self.assertEqual(answer["reason"], "timed_out")

    def test_addresses_are_those_of_the_nodes(self):
        for host, path, body, word in (
                (self.listening, "/v1/network/servers", servers_body(self.listening, self.asking, address="10.2.0.77"), "none of this node"),
                (self.asking, "/v1/network/bandwidth", test_body(self.asking, self.listening, [{"port": 9}], address="10.2.0.77"),
                 "none of this node"),
                (self.asking, "/v1/network/bandwidth", test_body(self.asking, self.listening, [{"port": 9}], to="10.2.0.77"),
                 "does not name 10.2.0.77"),
                (self.asking, "/v1/network/bandwidth", test_body(self.asking, self.listening, [{"port": 9}], node="h77"),
                 "no agent is known on h77"),
                (self.asking, "/v1/network/bandwidth", test_body(self.asking, self.listening, [{"port": 9}], seconds=16), "1 to 15"),
                (self.asking, "/v1/network/bandwidth", test_body(self.asking, self.listening, []), "ports")):
            status, answer = self.post(host, path, body)
            self.assertIn(status, (400, 403, 404), answer)
            self.assertIn(word, answer["error"]["message"])

    def test_nobody_else_may(self):
        for path, body in (("/v1/network/servers", servers_body(self.listening, self.asking)),
                           ("/v1/network/bandwidth", test_body(self.asking, self.listening, [{"port": 9}]))):
            text = self.asking.run("curl", "-s", "-w", "\n%{http_code}", "-X", "POST", "-d", body, f"http://10.1.0.2:3333{path}")
            self.assertTrue(text.endswith("\n403"), text)
            self.assertIn("show their certificate", text)

    def test_nobody_else_has_it_do_a_part_of_a_test(self):
        for path in ("/iperfservers", "/iperfstopservers", "/iperfclients?dstip=10.2.0.2&dstport=5200&numclients=1"):
            self.assertEqual(self.asking.run("curl", "-s", f"http://10.1.0.2:3333{path}"), "[NETWORK] - [IPERF] - [ERROR] : not begun: authenticate\n")
        self.assertEqual(self.listeners(), [])

    def test_an_agent_that_is_stopped_leaves_nobody_listening(self):
        lab = self.lab
        extra = lab.add(3)
        self.addCleanup(extra.stop)
        extra.start([*lab.peers()])
        extra.wait_ready()
        status, answer = self.post(extra, "/v1/network/servers", servers_body(extra, self.asking))
        self.assertEqual(status, 200, answer)
        extra.stop()
        self.assertEqual(extra.run("ss", "-Hltn").strip(), "")


class PartsOfIbmTest(unittest.TestCase):
    """The paths by which a driver program of IBM Autopilot starts the part of each node, between agents that answer every client."""

    @classmethod
    def setUpClass(cls):
        cls.lab = network_lab.Lab(hosts=2)
        cls.addClassCleanup(cls.lab.close)
        cls.lab.start(settings="compat: {open_actions: true}\n")
        cls.asking, cls.listening = cls.lab[1], cls.lab[2]

    def get(self, host, path):
        status, body = host.request("GET", path)
        self.assertEqual(status, 200, body)
        return body

    def serve(self, query):
        self.addCleanup(self.get, self.listening, "/iperfstopservers")
        return self.get(self.listening, "/iperfservers?" + query)

    def listeners(self):
        lines = self.listening.run("ss", "-Hltn").splitlines()
        return sorted(line.split()[3] for line in lines if not line.split()[3].endswith(f":{network_lab.PORT}"))

    def test_servers_stand_until_they_are_told(self):
        said = self.serve("numservers=2&startport=6000")
        self.assertEqual(sorted(said.splitlines()), [
            f"[NETWORK] - [IPERF] - [INFO] : Starting iperf3 server {self.listening.address(rail)}:{port} using net{rail} on h2..."
            for rail in (0, 1) for port in (6000, 6001)])
        everyone = [f"{self.listening.address(rail)}:{port}" for rail in (0, 1) for port in (6000, 6001)]
        self.assertEqual(self.listeners(), everyone)
        self.serve("numservers=1&startport=6100")
        self.assertEqual(self.listeners(), ["10.1.0.2:6100", "10.2.0.2:6100"])
        self.assertEqual(self.get(self.listening, "/iperfstopservers"), "[NETWORK] - [IPERF] - [INFO] : All iperf3 servers have been removed.\n")
        self.assertEqual(self.listeners(), [])

    def test_servers_that_somebody_else_began_stay(self):
        own = harness.Process(["ip", "netns", "exec", self.listening.name, "iperf3", "-s", "-p", "6200"])
        self.addCleanup(own.stop)
        harness.wait_until(lambda: any(line.endswith(":6200") for line in self.listeners()), "somebody's iperf3 listens")
        self.serve("numservers=1&startport=6000")
        self.get(self.listening, "/iperfstopservers")
        self.assertEqual([line.rsplit(":", 1)[1] for line in self.listeners()], ["6200"])
        self.assertIsNone(own.child.poll())

    def test_servers_that_wait_make_room_for_a_test(self):
        self.serve("numservers=1&startport=6000")
        status, body = self.listening.request("POST", "/v1/network/servers", servers_body(self.listening, self.asking))
        self.assertEqual(status, 200, body)
        self.assertIn("10.1.0.2:6000", self.listeners())
        self.assertNotIn("10.2.0.2:6000", self.listeners())
        self.listening.request("DELETE", f"/v1/network/servers/{json.loads(body)['id']}")

    def test_clients_tell_what_they_sent_and_what_arrived(self):
        limit_line(self.asking, RAIL, LINE)
        self.addCleanup(self.asking.run, "tc", "qdisc", "del", "dev", self.asking.interface(RAIL), "root")
        self.serve("numservers=2&startport=6000&plane=data")
        said = json.loads(self.get(self.asking, f"/iperfclients?dstip={self.listening.address(RAIL)}&dstport=6000&numclients=2"))
        receiver = {name: float(one["bitrate"]) for name, one in said["receiver"].items()}
        self.assertAlmostEqual(receiver["aggregate"] * 1e9 / LINE, 1, delta=0.1)
        self.assertAlmostEqual(receiver["mean"] * 2, receiver["aggregate"], delta=0.02)
        self.assertLessEqual(receiver["min"], receiver["max"])
        # GBytes of five seconds.
        self.assertAlmostEqual(float(said["receiver"]["aggregate"]["transfer"]), receiver["aggregate"] * 5 / 8 / 1.0737, delta=0.02)
        self.assertEqual(set(said["sender"]), {"aggregate", "mean", "min", "max"})

    def test_a_plain_iperf3_of_another_node_is_heard_and_no_stranger(self):
        self.serve("numservers=1&startport=6000")
        client = ("iperf3", "-c", self.listening.address(RAIL), "-p", "6000", "-n", "1M", "--connect-timeout", "2000")
        self.assertIn("receiver", self.asking.run(*client))
        self.asking.run("ip", "addr", "add", "10.2.0.99/24", "dev", self.asking.interface(RAIL))
        self.addCleanup(self.asking.run, "ip", "addr", "del", "10.2.0.99/24", "dev", self.asking.interface(RAIL))
        with self.assertRaises(AssertionError) as refused:
            self.asking.run(*client, "-B", "10.2.0.99")
        self.assertIn("iperf3", str(refused.exception))

    def test_what_makes_no_sense_is_told_and_nothing_begins(self):
        for path, word in (("/iperfservers?numservers=17", "Invalid numservers"),
                           ("/iperfservers?plane=eth0", "Invalid plane"),
                           ("/iperfclients", "Invalid dstip"),
                           ("/iperfclients?dstip=10.2.0.1&dstport=6000", "Invalid numclients"),
                           ("/iperfclients?dstip=10.2.0.77&dstport=6000&numclients=1", "no other agent names 10.2.0.77"),
                           ("/iperfclients?dstip=../x&dstport=6000&numclients=1", "no other agent names ../x"),
                           (f"/iperfclients?dstip={self.asking.address(RAIL)}&dstport=6000&numclients=1", "no program listens on the port")):
            self.assertIn(word, self.get(self.listening, path))
        self.assertEqual(self.listeners(), [])


class InsideTlsTest(unittest.TestCase):
    """Agents that know each other by certificates, without any cluster."""

    @classmethod
    def setUpClass(cls):
        cls.lab = network_lab.Lab(hosts=2)
        cls.addClassCleanup(cls.lab.close)
        cls.keys = Certificates(cls.lab.folder)
        cls.keys.make_authority("ca")
        for name in ("h1", "h2", "stranger"):
            cls.keys.make(name, "ca", f"DNS:{name}")
        peers = [f"{host.name}={host.address(0)}:{TLS_PORT}" for host in cls.lab.hosts.values()]
        for host in cls.lab.hosts.values():
            host.start(peers, settings=f"tls: {{mode: files, listen: ':{TLS_PORT}', certificate: {cls.path(host.name, 'crt')}, "
                       f"key: {cls.path(host.name, 'key')}, authorities: {cls.path('ca', 'crt')}}}\n")
        for host in cls.lab.hosts.values():
            host.wait_ready()

    @classmethod
    def path(cls, name, kind):
        return os.path.join(cls.lab.folder, f"{name}.{kind}")

    def ask(self, name, path, body):
        """Sends a request with that certificate from the other host: status and text."""
        program = ["curl", "-s", "-w", "\n%{http_code}", "--cacert", self.path("ca", "crt"), "--resolve", f"h2:{TLS_PORT}:10.1.0.2", "-X", "POST",
                   "-d", body]
        if name:
            program += ["--cert", self.path(name, "crt"), "--key", self.path(name, "key")]
        text, status = self.lab[1].run(*program, f"https://h2:{TLS_PORT}{path}").rsplit("\n", 1)
        return int(status), text

    def test_an_agent_is_known_by_its_certificate(self):
        status, text = self.ask("h1", "/v1/network/servers", servers_body(self.lab[2], self.lab[1]))
        self.assertEqual(status, 200, text)
        self.lab[2].request("DELETE", f"/v1/network/servers/{json.loads(text)['id']}")

    def test_nobody_else_is(self):
        for name in ("stranger", ""):
            status, text = self.ask(name, "/v1/network/servers", servers_body(self.lab[2], self.lab[1]))
            self.assertEqual(status, 403, text)

    def test_they_ping_each_other(self):
        self.lab[1].command("test", "network.ping")
        self.assertEqual(self.lab[1].findings("network.ping"), [])


if __name__ == "__main__":
    own_namespaces.enter(network_lab.NAMESPACES, [*network_lab.PROGRAMS, "tc", "ss", "curl", "iperf3"], network_lab.TRIAL)
    unittest.main(verbosity=2)
