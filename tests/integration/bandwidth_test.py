#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bandwidth between two real agents on hosts of their own: who may have it measured, over which line, and what is left behind."""

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
    """What the host sends: a line of that many bits per second."""
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
        """Ports that somebody has open at the address of the test."""
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
        """As whoever has that certificate, from the other host: status and text."""
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
    own_namespaces.enter(network_lab.NAMESPACES, [*network_lab.PROGRAMS, "tc", "ss", "curl"], network_lab.TRIAL)
    unittest.main(verbosity=2)
