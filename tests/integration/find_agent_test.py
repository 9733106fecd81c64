# SPDX-License-Identifier: Apache-2.0
"""Every verb that asks an agent finds the same one: that of its user, that of the service, or one on the loopback, read-only. In a
network and with a /run of its own, with a real agent of root and a user without permissions."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
import own_namespaces

NOBODY = 65534
SERVICE_SOCKET = "/run/autopilot/agent.sock"
# Each asks the agent and changes nothing.
QUESTIONS = (("status",), ("events",), ("test",), ("jobs",), ("validations",), ("check", "host.clock"), ("explain",), ("why",))


@unittest.skipIf(os.geteuid() != 0, "needs root to become another user")
class FindAgentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        os.chmod(cls.folder, 0o755)
        # The build folder may be closed to others.
        for name in ("autopilot", "autopilot-sim", "libnvidia-ml-sim.so", "libcuda-sim.so"):
            shutil.copy(os.path.join(harness.BIN, name), cls.folder)
        cls.program = os.path.join(cls.folder, "autopilot")
        cls.environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": cls.folder}
        # Not harness.Agent: the socket and the port are the defaults of root.
        cls.agent = harness.Process([cls.program, "agent", "--simulate", "no-gpu"],
                                    {**cls.environment, "AUTOPILOT_STATE_DIR": os.path.join(cls.folder, "state")})
        cls.addClassCleanup(cls.agent.stop)
        harness.wait_until(lambda: cls.ask("status", "--probe", "ready")[0] == 0, "the agent of root is ready", 90)

    @classmethod
    def ask(cls, *words, user=None, **environment):
        become = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
        done = subprocess.run([cls.program, *words], env={**cls.environment, **environment}, cwd="/", capture_output=True, text=True,
                              timeout=60, check=False, **become)
        return done.returncode, done.stdout, done.stderr

    def test_root_asks_its_own_socket_and_nothing_is_said_of_it(self):
        for words in QUESTIONS:
            with self.subTest(words):
                code, out, errors = self.ask(*words)
                self.assertIn(code, (0, 1, 2, 3, 4), errors)
                self.assertTrue(out)
                self.assertNotIn("answers", errors)

    def test_a_user_asks_the_agent_of_the_service_or_the_loopback_and_reads_which(self):
        for words in QUESTIONS:
            with self.subTest(words):
                code, out, errors = self.ask(*words, user=NOBODY)
                self.assertIn(code, (0, 1, 2, 3, 4), errors)
                self.assertTrue(out)
                self.assertIn("no agent of this user runs; the agent at 127.0.0.1:3333 answers", errors)

    def test_a_user_that_can_open_the_socket_uses_it(self):
        mode = os.stat(SERVICE_SOCKET).st_mode & 0o777
        os.chmod(SERVICE_SOCKET, 0o666)
        self.addCleanup(os.chmod, SERVICE_SOCKET, mode)
        code, _, errors = self.ask("status", user=NOBODY)
        self.assertEqual((code, errors), (0, f"autopilot: no agent of this user runs; the agent at unix:{SERVICE_SOCKET} answers\n"))

    def test_a_user_cannot_act_there(self):
        for words in (("test", "self_test"), ("inject", "oom"), ("ack", "0123abcd-1", "--reason", "x")):
            with self.subTest(words):
                code, out, errors = self.ask(*words, user=NOBODY)
                self.assertEqual((code, out), (70, ""), errors)

    def test_an_explicit_address_is_the_only_one_that_is_asked(self):
        code, _, errors = self.ask("status", "--socket", "127.0.0.1:3333", user=NOBODY)
        self.assertEqual((code, errors), (0, ""))
        code, _, errors = self.ask("status", "--socket", "127.0.0.1:3334", user=NOBODY)
        self.assertEqual(code, 70)
        self.assertIn("no agent answers", errors)

    def test_a_socket_that_an_agent_left_behind_is_passed_over(self):
        runtime = os.path.join(self.folder, "runtime")
        os.makedirs(os.path.join(runtime, "autopilot"))
        path = os.path.join(runtime, "autopilot", "agent.sock")
        # Bound and closed: connections are refused.
        subprocess.run(["python3", "-c", f"import socket; socket.socket(socket.AF_UNIX).bind({path!r})"], check=True)
        for name in (runtime, os.path.join(runtime, "autopilot"), path):
            os.chown(name, NOBODY, NOBODY)
        code, _, errors = self.ask("status", user=NOBODY, XDG_RUNTIME_DIR=runtime)
        self.assertEqual(code, 0)
        self.assertIn("127.0.0.1:3333 answers", errors)

    def test_json_is_of_that_agent_too(self):
        code, out, _ = self.ask("status", "-o", "json", user=NOBODY)
        self.assertEqual(code, 0)
        self.assertTrue(json.loads(out)["simulated"])


if __name__ == "__main__":
    own_namespaces.enter(["--net", "--mount"], ["ip", "mount"], ["ip", "link", "set", "lo", "up"])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    unittest.main(verbosity=2)
