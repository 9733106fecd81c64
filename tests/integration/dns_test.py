#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""network.dns against a real name server (dnsmasq), in a separate network with a separate resolv.conf."""

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

import harness
import own_namespaces

OTHER_NETWORK = "198.51.100"
FORBIDDEN_NETWORK = "203.0.113"
HOLE = "192.0.2"


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class NameServer:
    """dnsmasq on port 53 of one address. It has no upstream server, and refuses every query, or the given ones."""

    def __init__(self, address, *arguments):
        self.process = harness.Process([
            harness.need_program("dnsmasq"), "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
            "--bind-interfaces", f"--listen-address={address}", "--user=root", "--pid-file", "--log-queries",
            "--log-facility=-", *arguments])
        harness.wait_until(lambda: self.process.find("started") or self.process.child.poll() is not None, "dnsmasq is up")
        if self.process.child.poll() is not None:
            raise AssertionError("dnsmasq ended:\n" + "\n".join(self.process.log))

    def questions(self):
        return [line.split("query", 1)[1] for line in self.process.log if " query[" in line]

    def stop(self):
        self.process.stop()


class Objector:
    """Answers each datagram to port 53 of an address with an ICMP message that the destination is unreachable, of some code."""

    def __init__(self, address, code):
        self.address = address
        self.code = code
        self.answered = 0
        self.is_ending = False
        # The port must be open, or the kernel itself answers with an error.
        self.port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.port.bind((address, 53))
        self.seen = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
        self.seen.settimeout(0.1)
        self.told = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        self.told.bind((address, 0))
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self):
        while not self.is_ending:
            try:
                packet = self.seen.recv(4096)
            except TimeoutError:
                continue
            if socket.inet_ntoa(packet[16:20]) != self.address or struct.unpack(">H", packet[22:24])[0] != 53:
                continue
            message = struct.pack(">BBHI", 3, self.code, 0, 0) + packet[:28]
            total = sum(struct.unpack(f">{len(message) // 2}H", message))
            total = (total & 0xffff) + (total >> 16)
            total = (total & 0xffff) + (total >> 16)
            self.told.sendto(message[:2] + struct.pack(">H", ~total & 0xffff) + message[4:],
                             (socket.inet_ntoa(packet[12:16]), 0))
            self.answered += 1

    def stop(self):
        self.is_ending = True
        self.thread.join()
        for each in (self.port, self.seen, self.told):
            each.close()


class DnsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="autopilot-dns-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.list = os.path.join(cls.folder, "resolv.conf")
        with open(cls.list, "w", encoding="utf-8"):
            pass
        subprocess.run(["mount", "--bind", cls.list, "/etc/resolv.conf"], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "/etc/resolv.conf"], check=True)
        ip("link", "set", "lo", "up")
        # A network without hosts.
        ip("link", "add", "va", "type", "veth", "peer", "name", "vb")
        ip("address", "add", f"{OTHER_NETWORK}.2/24", "dev", "va")
        ip("link", "set", "va", "up")
        ip("link", "set", "vb", "up")
        ip("route", "add", "prohibit", f"{FORBIDDEN_NETWORK}.0/24")
        ip("route", "add", "blackhole", f"{HOLE}.0/24")

    def use(self, *addresses):
        with open(self.list, "w", encoding="utf-8") as file:
            file.writelines(f"nameserver {address}\n" for address in addresses)

    def start(self, address, *arguments):
        server = NameServer(address, *arguments)
        self.addCleanup(server.stop)
        return server

    def agent(self):
        """An agent that asks once a second, or as soon as it can."""
        settings = os.path.join(self.folder, "config.yaml")
        with open(settings, "w", encoding="ascii") as file:
            file.write("checks: {network.dns: {period: 1s}}\n")
        agent = harness.Agent("--config", settings)
        self.addCleanup(agent.close)
        return agent

    def wait_for(self, agent, *findings):
        return harness.wait_until(
            lambda: (result := agent.result("network.dns")) and self.found(result) == list(findings) and result,
            f"network.dns finds {findings}", deadline=60)

    def check(self, *arguments):
        code, out, err = harness.run("check", "network.dns", "--no-agent", "-o", "json", *arguments,
                                     environment={"AUTOPILOT_STATE_DIR": os.path.join(self.folder, "state")})
        self.assertTrue(out, f"{code}: {err}")
        return json.loads(out)["results"][0]

    def found(self, result):
        return [(finding["subject"]["kind"], finding["subject"]["key"], finding["health"], finding["reason"])
                for finding in result["findings"]]

    def test_a_server_that_answers_is_asked_once_in_each_look(self):
        self.use("127.0.0.1")
        server = self.start("127.0.0.1")
        result = self.check()
        self.assertEqual(result["findings"], [])
        self.assertEqual(result["health"], "healthy")
        self.assertEqual(result["witnesses"], ["/etc/resolv.conf", "dns"])
        server.stop()
        self.assertEqual(server.questions(), ["[NS] . from 127.0.0.1"] * 2)

    def test_a_server_that_ends_is_missed_and_one_that_comes_back_is_not(self):
        self.use("127.0.0.1")
        server = self.start("127.0.0.1")
        self.assertEqual(self.check()["health"], "healthy")
        server.stop()
        result = self.check()
        self.assertEqual(self.found(result), [("peer", "127.0.0.1", "degraded", "name_server_silent"),
                                              ("host", "", "degraded", "no_name_server")])
        self.assertEqual(result["findings"][1]["evidence"]["127.0.0.1"], "closed")
        # A single run is not enough for a verdict.
        self.assertEqual(self.found(self.check("--window", "0s")),
                         [("peer", "127.0.0.1", "unknown", "name_server_unproven")])
        self.start("127.0.0.1")
        self.assertEqual(self.check()["health"], "healthy")

    def test_a_server_whose_own_servers_are_gone_is_sound(self):
        self.use("127.0.0.1")
        server = self.start("127.0.0.1", f"--server={OTHER_NETWORK}.9")
        result = self.check("--window", "1s")
        self.assertEqual((result["health"], self.found(result)), ("healthy", []))
        server.stop()
        self.assertEqual(server.questions(), ["[NS] . from 127.0.0.1", "[TXT] version.bind from 127.0.0.1"] * 2)

    def test_a_server_that_answered_and_falls_silent_is_missed(self):
        ip("address", "add", f"{OTHER_NETWORK}.9/32", "dev", "lo")
        try:
            self.use(f"{OTHER_NETWORK}.9")
            server = self.start(f"{OTHER_NETWORK}.9")
            agent = self.agent()
            agent.wait_ready()
            self.wait_for(agent)
            server.stop()
        finally:
            ip("address", "del", f"{OTHER_NETWORK}.9/32", "dev", "lo")
        silent = self.wait_for(agent, ("peer", f"{OTHER_NETWORK}.9", "degraded", "name_server_silent"),
                               ("host", "", "degraded", "no_name_server"))
        self.assertIn(silent["findings"][0]["evidence"]["outcome"], ("silent", "unreachable", "closed"))
        # A newly started agent knows nothing about it.
        self.assertEqual(self.found(self.check("--window", "1s")),
                         [("peer", f"{OTHER_NETWORK}.9", "unknown", "name_server_unproven")])

    def test_each_server_gets_its_own_finding_while_another_answers(self):
        self.start("127.0.0.1")
        self.use("127.0.0.2", f"{OTHER_NETWORK}.9", "127.0.0.1")
        result = self.check()
        self.assertEqual(self.found(result), [("peer", "127.0.0.2", "degraded", "name_server_silent"),
                                              ("peer", f"{OTHER_NETWORK}.9", "unknown", "name_server_unproven")])
        self.assertEqual([finding["evidence"]["outcome"] for finding in result["findings"]], ["closed", "silent"])

    def test_one_out_of_reach_is_no_fault_while_another_answers(self):
        self.start("127.0.0.1")
        self.use(f"{HOLE}.1", "fe80::1%nosuchif0", "127.0.0.1")
        self.assertEqual(self.check()["findings"], [])

    def test_a_machine_that_never_had_a_way_to_any_does_not_know(self):
        self.use(f"{HOLE}.1", "2001:db8::53")
        result = self.check()
        self.assertEqual(self.found(result), [("peer", f"{HOLE}.1", "unknown", "name_server_unproven"),
                                              ("peer", "2001:db8::53", "unknown", "name_server_unproven")])
        self.assertEqual([finding["evidence"]["outcome"] for finding in result["findings"]], ["unreachable"] * 2)

    def test_what_a_router_says_of_one_server_is_not_said_of_the_others(self):
        self.start("127.0.0.1")
        self.use("127.0.0.9", "127.0.0.1")
        # An unknown protocol and a host that is isolated: the kernel has an error of its own for each.
        for code in (2, 8):
            objector = Objector("127.0.0.9", code)
            try:
                self.assertEqual(self.check("--window", "0s")["findings"], [], code)
                self.use("127.0.0.9")
                result = self.check("--window", "0s")
                self.use("127.0.0.9", "127.0.0.1")
            finally:
                objector.stop()
            self.assertGreaterEqual(objector.answered, 2)
            self.assertEqual(self.found(result), [("peer", "127.0.0.9", "unknown", "name_server_unproven")])
            self.assertEqual(result["findings"][0]["evidence"]["outcome"], "unreachable")

    def test_a_machine_without_a_free_port_blames_no_server(self):
        self.start("127.0.0.1")
        self.use("127.0.0.1")
        ports = "/proc/sys/net/ipv4/ip_local_port_range"
        with open(ports, encoding="ascii") as file:
            before = file.read()
        taken = []
        try:
            with open(ports, "w", encoding="ascii") as file:
                file.write("50000 50003")
            for port in range(50000, 50004):
                taken.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
                taken[-1].bind(("0.0.0.0", port))
            result = self.check("--window", "0s")
        finally:
            with open(ports, "w", encoding="ascii") as file:
                file.write(before)
            for each in taken:
                each.close()
        self.assertEqual([finding[:3] for finding in self.found(result)], [("host", "", "unknown")])
        self.assertEqual(result["findings"][0]["evidence"]["error"], "exhausted")
        self.assertIn("no free port", result["findings"][0]["message"])

    def test_who_may_not_send_does_not_know(self):
        self.start("127.0.0.1")
        self.use(f"{FORBIDDEN_NETWORK}.53", "127.0.0.1")
        result = self.check()
        self.assertEqual(self.found(result), [("peer", f"{FORBIDDEN_NETWORK}.53", "unknown", "not_permitted")])
        self.assertEqual(result["health"], "unknown")

    def test_without_a_list_this_machine_is_asked(self):
        self.use()
        self.assertEqual(self.found(self.check()), [("host", "", "unsupported", "not_present")])
        self.start("127.0.0.1")
        self.assertEqual(self.check()["health"], "healthy")

    def test_a_recording_says_the_same(self):
        self.start("127.0.0.1")
        self.use("127.0.0.2", "2001:db8::1%nosuchif0", f"{OTHER_NETWORK}.9")
        for scrub in ([], ["--scrub"]):
            tree = os.path.join(self.folder, "tree" + "".join(scrub))
            code, _, err = harness.run("record", tree, *scrub)
            self.assertEqual(code, 0, err)
            result = self.check("--root", tree)
            with open(os.path.join(tree, "root/etc/resolv.conf"), encoding="utf-8") as file:
                addresses = [line.split()[1] for line in file]
            closed, unreachable, silent = addresses
            self.assertEqual(sorted(self.found(result)),
                             sorted([("peer", closed, "degraded", "name_server_silent"),
                                     ("peer", unreachable, "unknown", "name_server_unproven"),
                                     ("peer", silent, "unknown", "name_server_unproven")]))
            # An address of documentation is a placeholder already.
            self.assertIn(f"{OTHER_NETWORK}.9", addresses)


if __name__ == "__main__":
    own_namespaces.enter(["--net", "--mount"], ["ip", "dnsmasq"], ["ip", "link", "set", "lo", "up"])
    unittest.main(verbosity=2)
