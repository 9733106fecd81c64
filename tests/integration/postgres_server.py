# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of Debian in a temporary folder, on 127.0.0.1 with passwords; as root, it runs as another user."""

import contextlib
import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

import harness

NOBODY = 65534
PASSWORD = "s3cr@t"
ENCODED = "s3cr%40t"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class PostgresServer:
    def __init__(self):
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not programs:
            raise unittest.SkipTest("postgresql is not installed")
        self.bin = os.path.dirname(programs[-1])
        self.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.user = NOBODY if os.geteuid() == 0 else None
        if self.user:
            os.chown(self.folder, self.user, self.user)
        with open(os.path.join(self.folder, "password"), "w", encoding="ascii") as file:
            file.write(PASSWORD)
        self.port = free_port()
        self.process = None
        identity = {"user": self.user, "group": self.user, "extra_groups": []} if self.user else {}
        subprocess.run([f"{self.bin}/initdb", "-D", f"{self.folder}/data", "-U", "fleet", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8",
                        "--no-sync", f"--pwfile={self.folder}/password"], check=True, capture_output=True, cwd="/", **identity)
        self.start()

    def start(self):
        """A killed server can be started when its own processes have ended."""
        def is_ready():
            if self.process is None or self.process.child.poll() is not None:
                self.process = harness.Process([f"{self.bin}/postgres", "-D", f"{self.folder}/data", "-k", self.folder, "-p", str(self.port),
                                                "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"], user=self.user)
            return self.execute("SELECT 1", check=False) == "1"
        harness.wait_until(is_ready, "PostgreSQL is ready")

    def place(self, user="fleet", password=ENCODED, database="postgres"):
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def execute(self, sql, check=True):
        done = subprocess.run(["psql", "-XAtqc", sql, self.place()], capture_output=True, text=True, check=False, timeout=30)
        if check and done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout.strip()

    def processes(self):
        return [self.process.child.pid, *harness.children_of(self.process.child.pid)]

    def signal(self, number):
        """To the server and the processes that serve its connections."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        self.signal(signal.SIGSTOP)
        self.signal(signal.SIGKILL)
        self.process.stop(signal.SIGKILL)

    def close(self):
        if self.process.child.poll() is None:
            self.signal(signal.SIGCONT)
        self.process.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)
