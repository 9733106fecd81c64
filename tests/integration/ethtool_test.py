#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The helper that asks drivers of Ethernet ports, and network.optics, against the real kernel in a network of its own."""

import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest

import harness
import own_namespaces

HELPER_FD = 3


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Helper:
    """`autopilot helper ethtool` as the agent starts it; `prefix` runs it with fewer rights."""

    def __init__(self, *prefix):
        self.ours, theirs = socket.socketpair()
        self.ours.settimeout(20)
        # The number of the descriptor is part of the agreement; pass_fds keeps numbers as they are.
        shell = ["bash", "-c", f'exec {HELPER_FD}<&{theirs.fileno()} && exec "$@"', "helper"]
        self.child = subprocess.Popen([*shell, *prefix, harness.AUTOPILOT, "helper", "ethtool"],
                                      pass_fds=[theirs.fileno()])
        theirs.close()
        self.asked = 0

    def ask(self, interface):
        self.asked += 1
        body = json.dumps({"version": 1, "id": self.asked, "method": "read", "timeoutMs": 5000, "params": interface}).encode()
        self.ours.sendall(struct.pack(">I", len(body)) + body)
        length = struct.unpack(">I", self._read(4))[0]
        answer = json.loads(self._read(length))
        if answer["id"] != self.asked:
            raise AssertionError(f"an answer to another question: {answer}")
        return answer.get("result", answer.get("error"))

    def _read(self, size):
        data = b""
        while len(data) < size:
            more = self.ours.recv(size - len(data))
            if not more:
                raise AssertionError(f"the helper ended with {self.child.wait(20)}")
            data += more
        return data

    def stop(self):
        self.ours.close()
        return self.child.wait(20)


class EthtoolTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="autopilot-ethtool-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        ip("link", "set", "lo", "up")
        ip("link", "add", "va", "type", "veth", "peer", "name", "vb")
        ip("link", "set", "va", "up")

    def start(self, *prefix):
        helper = Helper(*prefix)
        self.addCleanup(lambda: self.assertEqual(helper.stop(), 0))
        return helper

    def test_a_driver_without_operations_says_so(self):
        helper = self.start()
        for state in ("down", "up"):
            ip("link", "set", "vb", state)
            answer = helper.ask("va")
            self.assertEqual(answer["link"], {"reason": "", "detail": ""})
            self.assertEqual(answer["fec"]["error"]["code"], "unsupported")
            self.assertEqual(answer["module"]["error"]["code"], "unsupported")
            self.assertIn("va", answer["fec"]["error"]["what"])

    def test_without_the_right_only_the_module_is_refused(self):
        # The helper of a user who is not root in this network.
        drop = [harness.need_program("setpriv"), "--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-net_admin"]
        answer = self.start(*drop).ask("va")
        self.assertEqual(answer["link"], {"reason": "", "detail": ""})
        self.assertEqual(answer["fec"]["error"]["code"], "unsupported")
        self.assertEqual(answer["module"]["error"]["code"], "denied")
        self.assertIn("CAP_NET_ADMIN", answer["module"]["error"]["what"])

    def test_an_interface_that_is_gone_is_not_found(self):
        helper = self.start()
        self.assertEqual(helper.ask("nosuchif0")["link"]["error"]["code"], "not_found")
        self.assertEqual(helper.ask("../va")["link"]["error"]["code"], "not_found")
        self.assertEqual(helper.ask("a name that is too long")["code"], "malformed")
        self.assertEqual(helper.ask({"name": "va"})["code"], "malformed")
        self.assertEqual(helper.ask("va")["link"], {"reason": "", "detail": ""})

    def test_virtual_interfaces_are_no_ports(self):
        environment = {"AUTOPILOT_STATE_DIR": os.path.join(self.folder, "state")}
        code, out, err = harness.run("check", "network.optics", "--no-agent", "--window", "0s", "-o", "json",
                                     environment=environment)
        self.assertIn(code, (0, 3), err)
        result = json.loads(out)["results"][0]
        self.assertEqual(result["health"], "unsupported", result)
        self.assertEqual(result["findings"][0]["reason"], "not_present")


if __name__ == "__main__":
    own_namespaces.enter(["--net"], ["ip", "bash"],
                         ["ip", "link", "add", "va", "type", "veth", "peer", "name", "vb"])
    unittest.main(verbosity=2)
