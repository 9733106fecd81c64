# SPDX-License-Identifier: Apache-2.0
"""The agent as a systemd service: the unit file, readiness, watchdog, reload and stop."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

import harness

UNITS = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "systemd"
UNIT = UNITS / "autopilot.service"


class NotifySocket:
    """The socket of systemd for datagrams of the service."""

    def __init__(self, path):
        self.messages = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        self._socket.settimeout(0.1)
        self._open = True
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        while self._open:
            try:
                self.messages.append(self._socket.recv(4096).decode())
            except TimeoutError:
                pass

    def count(self, word):
        return sum(word in message.splitlines() for message in self.messages)

    def close(self):
        self._open = False
        self._thread.join(5)
        self._socket.close()


class Unit(unittest.TestCase):
    def test_systemd_finds_no_fault_in_the_units(self):
        analyze = harness.need_program("systemd-analyze")
        units = sorted(UNITS.glob("*.service"))
        self.assertIn(UNIT, units)
        for unit in units:
            with self.subTest(unit.name), tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder) / unit.name
                # The installed path does not exist yet.
                copy.write_text(unit.read_text().replace("/usr/bin/autopilot", os.path.abspath(harness.AUTOPILOT)))
                done = subprocess.run([analyze, "verify", "--man=no", copy], capture_output=True, text=True, timeout=60)
                self.assertEqual([], [line for line in done.stderr.splitlines() if "autopilot" in line])
                self.assertEqual(0, done.returncode, done.stderr)

    def test_its_exposure_is_small(self):
        analyze = harness.need_program("systemd-analyze")
        for unit in sorted(UNITS.glob("*.service")):
            done = subprocess.run([analyze, "security", "--offline=true", "--threshold=50", unit],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(0, done.returncode, done.stdout + done.stderr)


class Notifications(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.socket_path = os.path.join(self.folder, "notify.sock")
        self.notify = NotifySocket(self.socket_path)
        self.addCleanup(self.notify.close)

    def agent(self, **environment):
        variables = {"NOTIFY_SOCKET": self.socket_path, **environment}
        agent = harness.Agent(folder=self.folder, environment=variables)
        self.addCleanup(agent.close)
        return agent

    def test_ready_watchdog_and_stopping_are_told(self):
        agent = self.agent(WATCHDOG_USEC="200000")
        harness.wait_until(lambda: self.notify.count("READY=1") == 1, "READY=1")
        harness.wait_until(lambda: self.notify.count("WATCHDOG=1") >= 3, "three signs of life")
        self.assertEqual(0, self.notify.count("STOPPING=1"))
        self.assertEqual(0, agent.close())
        harness.wait_until(lambda: self.notify.count("STOPPING=1") == 1, "STOPPING=1")

    def test_without_a_watchdog_there_are_no_signs_of_life(self):
        agent = self.agent(WATCHDOG_USEC="")
        harness.wait_until(lambda: self.notify.count("READY=1") == 1, "READY=1")
        agent.wait_ready()
        self.assertEqual(0, self.notify.count("WATCHDOG=1"))

    def test_the_folders_of_the_service_are_used(self):
        state = os.path.join(self.folder, "systemd-state")
        os.mkdir(state)
        runtime = os.path.join(self.folder, "systemd-runtime")
        os.mkdir(runtime)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("AUTOPILOT_")}
        variables.update(STATE_DIRECTORY=state, RUNTIME_DIRECTORY=runtime, NOTIFY_SOCKET=self.socket_path)
        agent = harness.Process([harness.AUTOPILOT, "agent", "--listen", "127.0.0.1:0"], variables)
        self.addCleanup(agent.stop)
        harness.wait_until(lambda: self.notify.count("READY=1") == 1, "READY=1")
        self.assertTrue(os.path.exists(os.path.join(runtime, "agent.sock")))
        harness.wait_until(lambda: os.path.exists(os.path.join(state, "journal.db")), "a journal in STATE_DIRECTORY")

    def test_hangup_keeps_the_service_running(self):
        agent = self.agent()
        os.kill(agent.pid, signal.SIGHUP)
        agent.wait_ready()
        self.assertIsNone(agent.process.child.poll())


if __name__ == "__main__":
    unittest.main()
