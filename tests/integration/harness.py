# SPDX-License-Identifier: Apache-2.0
"""Starts the real programs for whole-behaviour tests and ends exactly what it started."""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

BIN = os.environ.get("AUTOPILOT_BIN_DIR", os.path.join(os.path.dirname(__file__), "../../build/bin"))
AUTOPILOT = os.path.join(BIN, "autopilot")
AUTOPILOT_SIM = os.path.join(BIN, "autopilot-sim")


def wait_until(condition, what, deadline=30.0):
    """Polls until the condition gives something true; fails with `what` after the deadline."""
    end = time.monotonic() + deadline
    last = None
    while time.monotonic() < end:
        last = condition()
        if last:
            return last
        time.sleep(0.02)
    raise AssertionError(f"not within {deadline:.0f} s: {what} (last: {last!r})")


def is_sanitized(program):
    """True if the program, or a library, was built with the address sanitizer."""
    with open(program, "rb") as file:
        return b"__asan_init" in file.read()


def has_hip():
    """Whether autopilot-gpu-probe was built with HIP and RCCL."""
    words = ["nccl-serve", "--ranks", "2", "--vendor", "amd", "--beside-others", "--library", "/nowhere/hip.so"]
    done = subprocess.run([os.path.join(BIN, "autopilot-gpu-probe"), *words], capture_output=True, text=True, timeout=60, check=False)
    return "AUTOPILOT_EXPERIMENTAL_HIP" not in done.stdout


def need_hip():
    if not has_hip():
        raise unittest.SkipTest("needs a build with AUTOPILOT_EXPERIMENTAL_HIP")


def need_program(name):
    """The path of a program, or a skip that names what is missing."""
    path = shutil.which(name)
    if path is None:
        raise unittest.SkipTest(f"{name} is not installed")
    return path


def children_of(pid):
    """Process ids, of all threads of `pid`."""
    children = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            children += [int(word) for word in file.read().split()]
    return children


def arguments_of(pid):
    """Empty when the process is gone or only waits to be collected."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")[:-1]
    except FileNotFoundError:
        return []


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Process:
    """A child whose standard error is kept; ended by its own pid."""

    def __init__(self, arguments, environment=None, stdout=subprocess.DEVNULL, user=None):
        self.log = []
        become = {"user": user, "group": user, "extra_groups": []} if user is not None else {}
        self.child = subprocess.Popen(arguments, env=environment, stdin=subprocess.DEVNULL, stdout=stdout,
                                      stderr=subprocess.PIPE, text=True, errors="replace", **become)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.child.stderr:
            self.log.append(line.rstrip("\n"))

    def find(self, pattern):
        for line in self.log:
            match = re.search(pattern, line)
            if match:
                return match
        return None

    def wait_says(self, pattern):
        """A separate thread reads its output, so a line can arrive after its effect is visible elsewhere."""
        return wait_until(lambda: self.find(pattern), f"it says {pattern}")

    def stop(self, number=signal.SIGTERM, deadline=15.0):
        """Ends the child and gives its exit code (negative: the signal)."""
        if self.child.poll() is None:
            self.child.send_signal(number)
            try:
                self.child.wait(deadline)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
                raise AssertionError("did not stop in time:\n" + "\n".join(self.log[-30:]))
        self._reader.join(5)
        self.child.stderr.close()
        return self.child.returncode


class Agent:
    """`autopilot agent` with a state folder of its own and any free port."""

    def __init__(self, *arguments, folder=None, environment=None, program=AUTOPILOT, user=None):
        self.folder = folder or tempfile.mkdtemp(prefix="autopilot-test-")
        self._owns_folder = folder is None
        self.environment = dict(os.environ)
        self.environment.update({
            "AUTOPILOT_STATE_DIR": os.path.join(self.folder, "state"),
            "AUTOPILOT_SOCKET": os.path.join(self.folder, "run", "agent.sock"),
        })
        self.environment.update(environment or {})
        self.socket = self.environment["AUTOPILOT_SOCKET"]
        self.process = Process([program, "agent", "--listen", "127.0.0.1:0", *arguments], self.environment, user=user)
        try:
            found = wait_until(lambda: self.process.find(r"agent ready.* address=127\.0\.0\.1:(\d+)") or
                               (self.process.child.poll() is not None and "ended"), "the agent is ready", 90)
            if found == "ended":
                raise AssertionError("the agent ended:\n" + "\n".join(self.process.log))
            self.port = int(found.group(1))
        except BaseException:
            self.close()
            raise

    @property
    def pid(self):
        return self.process.child.pid

    def request(self, method, path, body=None, headers=None, unix=False, timeout=10):
        connection = (UnixConnection(self.socket, timeout) if unix else
                      http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout))
        try:
            connection.request(method, path, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.request("GET", path)
        assert status == 200, f"GET {path}: {status} {body[:500]}"
        return body

    def node(self):
        return json.loads(self.get("/v1/node"))

    def result(self, check):
        for result in self.node()["results"]:
            if result["check"] == check:
                return result
        raise AssertionError(f"no result of {check}")

    def judged(self, check):
        """The result of a diagnostic's check after the first one: a request for a diagnostic without a result is answered at once, and
        the check is judged later."""
        wait_until(lambda: all(one["reason"] != "not_present" for one in self.result(check)["findings"]),
                   f"{check} has judged a test")
        return self.result(check)

    def wait_ready(self):
        wait_until(lambda: self.request("GET", "/readyz")[0] == 200, "every check looked once")

    def close(self):
        code = self.process.stop()
        if self._owns_folder:
            shutil.rmtree(self.folder, ignore_errors=True)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def run(*arguments, environment=None, stdin=None, timeout=60):
    """One autopilot command: exit code, standard output, standard error."""
    env = dict(os.environ)
    env.update(environment or {})
    done = subprocess.run([AUTOPILOT, *arguments], env=env, input=stdin, capture_output=True, text=True,
                          errors="replace", timeout=timeout)
    return done.returncode, done.stdout, done.stderr
