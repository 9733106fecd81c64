# SPDX-License-Identifier: Apache-2.0
"""`make run` after the build: tools/run.sh with a replacement of autopilot that records what happens to it."""

import os
import pathlib
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import harness

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "run.sh"
STAND_IN = """#!{python}
import signal, socket, sys, time
diary = open({diary!r}, "a", buffering=1)
def address():
    host, port = sys.argv[sys.argv.index("--listen") + 1].rsplit(":", 1)
    return host.strip("[]"), int(port)
if sys.argv[1] == "agent":
    if "--broken" in sys.argv:
        sys.exit("agent: the journal is gone")
    def end(number, frame):
        diary.write("agent was told\\n")
        while "--slow" in sys.argv and "may end" not in open({diary!r}).read():
            time.sleep(0.01)
        diary.write("agent ended\\n")
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
    family = socket.AF_INET6 if ":" in address()[0] else socket.AF_INET
    listener = socket.create_server(address(), family=family)
    diary.write("agent began\\n")
    while True:
        listener.accept()[0].close()
elif sys.argv[1:] == ["status"]:
    print("THE TABLE", flush=True)
elif sys.argv[1:] == ["status", "--watch"]:
    print("THE LIVE TABLE", flush=True)
    while True:
        time.sleep(0.05)
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class RunScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.diary = pathlib.Path(folder.name) / "diary"
        self.diary.touch()
        stand_in = pathlib.Path(folder.name) / "autopilot"
        stand_in.write_text(STAND_IN.format(python=sys.executable, diary=str(self.diary)))
        stand_in.chmod(0o755)
        self.address = f"127.0.0.1:{free_port()}"
        self.environment = {**os.environ, "AUTOPILOT": str(stand_in), "TMPDIR": folder.name}

    def command(self, *arguments):
        return [str(SCRIPT), "--listen", self.address, *arguments]

    def wait_for(self, words):
        harness.wait_until(lambda: words in self.diary.read_text(), words)

    def test_a_reader_that_goes_takes_the_agent_with_it(self):
        child = subprocess.Popen(self.command(), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(child.kill)
        child.stdout.close()
        child.wait(20)
        self.wait_for("agent ended")

    def test_without_a_terminal_it_prints_the_table_once_and_serves_until_a_signal(self):
        child = subprocess.Popen(self.command(), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        self.wait_for("agent began")
        lines = []
        for line in child.stdout:
            lines.append(line)
            if "until a signal" in line:
                break
        self.assertIn("THE TABLE\n", lines)
        self.assertTrue(any(f"http://{self.address}/v1/node" in line for line in lines))
        self.assertIsNone(child.poll())
        child.send_signal(signal.SIGTERM)
        rest = child.stdout.read()
        child.stdout.close()
        self.assertEqual(0, child.wait(20))
        self.assertIn("the agent has stopped", rest)
        self.assertEqual("agent began\nagent was told\nagent ended\n", self.diary.read_text())

    def test_a_second_signal_does_not_leave_the_agent_behind(self):
        child = subprocess.Popen(self.command("--slow"), env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        self.addCleanup(child.kill)
        for line in child.stdout:
            if "until a signal" in line:
                break
        for _ in range(2):
            child.send_signal(signal.SIGTERM)
            self.wait_for("agent was told")
        with self.diary.open("a") as diary:
            diary.write("it may end\n")
        self.assertIn("the agent has stopped", child.communicate(timeout=20)[0])
        self.assertEqual(0, child.returncode)

    def test_in_a_terminal_the_table_lives_until_control_c_and_the_agent_is_stopped(self):
        ours, theirs = pty.openpty()
        child = subprocess.Popen(self.command(), env=self.environment, stdin=theirs, stdout=theirs, stderr=theirs,
                                 start_new_session=True, preexec_fn=lambda: os.close(ours) or self.own_terminal())
        os.close(theirs)
        seen = self.read_until(ours, "THE LIVE TABLE")
        os.write(ours, b"\x03")
        seen += self.read_until(ours, "the agent has stopped")
        self.assertEqual(0, child.wait(20))
        os.close(ours)
        self.assertEqual("agent began\nagent was told\nagent ended\n", self.diary.read_text())
        self.assertNotIn("THE TABLE\r", seen)

    @staticmethod
    def own_terminal():
        import fcntl
        import termios
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    @staticmethod
    def read_until(descriptor, words):
        import select
        text = ""
        while words not in text:
            ready, _, _ = select.select([descriptor], [], [], 30)
            if not ready:
                raise AssertionError(f"no {words!r} in {text!r}")
            try:
                piece = os.read(descriptor, 4096)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                raise AssertionError(f"no {words!r} in {text!r}")
            text += piece.decode(errors="replace")
        return text

    def test_every_address_that_the_agent_takes_will_do(self):
        port = self.address.split(":")[1]
        for address, shown in ((f":{port}", f"127.0.0.1:{port}"), (f"[::1]:{port}", f"[::1]:{port}")):
            with self.subTest(address):
                self.diary.write_text("")
                self.address = address
                child = subprocess.Popen(self.command(), env=self.environment, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                lines = []
                for line in child.stdout:
                    lines.append(line)
                    if "until a signal" in line:
                        break
                child.send_signal(signal.SIGTERM)
                child.communicate()
                self.assertIn(f"http://{shown}/v1/node", "".join(lines))

    def test_an_agent_that_cannot_start_is_told_with_its_reason(self):
        done = subprocess.run(self.command("--broken"), env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(1, done.returncode)
        self.assertIn("agent: the journal is gone", done.stderr)

    def test_an_address_that_is_taken_is_told_with_the_cure(self):
        host, port = self.address.split(":")
        with socket.create_server((host, int(port))):
            done = subprocess.run(self.command(), env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(1, done.returncode)
        self.assertIn("already serves", done.stderr)
        self.assertEqual("", self.diary.read_text())

    def test_without_a_build_it_says_how_to_build(self):
        environment = {**self.environment, "AUTOPILOT": "/nowhere/autopilot"}
        done = subprocess.run(self.command(), env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(1, done.returncode)
        self.assertIn("build it first: make", done.stderr)


if __name__ == "__main__":
    unittest.main()
