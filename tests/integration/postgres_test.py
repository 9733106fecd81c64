# SPDX-License-Identifier: Apache-2.0
"""History in a real PostgreSQL: moved there and back, while the server restarts or hangs, and without a password in any output."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from history_test import TICKET, write_lines
from postgres_server import ENCODED, PASSWORD, PostgresServer, free_port

NODE = TICKET["node"]
FAULT = {"type": "fault", "id": "f-ü-\"1\"", "node": NODE, "gpu": "S1", "begin": "2026-01-02T03:04:05.000000001Z", "detected": "2026-01-02T03:05:05Z",
         "class": "hardware", "check": "gpu.xid", "cause": "xid_79", "text": "it's \\ gone; DROP TABLE records", "health": "failed"}


class PostgresTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = PostgresServer()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        self.server.execute("DROP SCHEMA IF EXISTS autopilot_history CASCADE")
        self.place = self.server.place()
        self.outputs = []

    def tearDown(self):
        for output in self.outputs:
            self.assertNotIn(PASSWORD, output)
            self.assertNotIn(ENCODED, output)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_verb(self, *arguments, code=0, stdin=None, environment=None):
        done = harness.run(*arguments, stdin=stdin, environment=environment)
        self.outputs += done[1:]
        self.assertEqual(done[0], code, done)
        return done[1] if code == 0 else done[2]

    def test_history_moves_to_the_database_and_back(self):
        write_lines(self.path("lines.jsonl"), TICKET, FAULT)
        first, last = self.path("first.db"), self.path("last.db")
        self.run_verb("history", "import", "--history", first, self.path("lines.jsonl"))
        exported = self.run_verb("history", "export", "--history", first)
        self.assertEqual(len(exported.splitlines()), 2)
        told = self.run_verb("history", "import", "--history", self.place, "-", stdin=exported)
        self.assertEqual(told, f"2 records imported into postgresql://fleet@127.0.0.1:{self.server.port}/postgres\n")
        self.run_verb("history", "import", "--history", self.place, "-", stdin=exported)
        back = self.run_verb("history", "export", "--history", self.place)
        self.assertEqual(back, exported)
        self.run_verb("history", "import", "--history", last, "-", stdin=back)
        self.assertEqual(self.run_verb("history", "export", "--history", last), exported)

    def test_every_verb_reads_the_database(self):
        write_lines(self.path("lines.jsonl"), TICKET, FAULT)
        self.run_verb("history", "import", "--history", self.place, self.path("lines.jsonl"))
        status = json.loads(self.run_verb("history", "status", "--history", self.place, "-o", "json"))
        self.assertEqual(status["database"], f"postgresql://fleet@127.0.0.1:{self.server.port}/postgres")
        self.assertEqual(status["records"], {"fault": 1, "repair": 1})
        self.assertGreater(status["bytes"], 0)
        self.assertIn("database", self.run_verb("history", "status", "--history", self.place))
        self.assertIn("OPS-4711", self.run_verb("nodes", "history", NODE, "--history", self.place))
        self.run_verb("nodes", "lemons", "--history", self.place)
        self.run_verb("report", "--since", "2026-01-01T00:00:00Z", "--history", self.place)
        words = f"host=127.0.0.1 port={self.server.port} user=fleet dbname=postgres"
        self.run_verb("history", "status", "--history", words, environment={"PGPASSWORD": PASSWORD})

    def test_what_is_wrong_is_stated(self):
        absent = self.run_verb("history", "status", "--history", self.place, code=70)
        self.assertIn("no agent has written history there yet", absent)
        wrong = self.run_verb("history", "status", "--history", self.server.place(password="s3cr%40t-wrong"), code=70)
        self.assertIn("password authentication failed", wrong)
        self.assertIn("PGPASSFILE", wrong)
        self.assertIn('"absent" does not exist', self.run_verb("history", "status", "--history", self.server.place(database="absent"), code=70))
        plain = self.place.replace(ENCODED, PASSWORD)
        self.assertIn("percent-encoded", self.run_verb("history", "status", "--history", plain, code=78))
        with open(self.path("libpq.so.5"), "w", encoding="ascii") as library:
            library.write("damaged")
        lacks = self.run_verb("history", "status", "--history", self.place, code=70, environment={"LD_LIBRARY_PATH": self.folder})
        self.assertIn("install the package libpq5", lacks)
        self.assertEqual(self.run_verb("version", environment={"LD_LIBRARY_PATH": self.folder})[:9], "autopilot")

    def job(self):
        """Two processes that a launcher has started as ranks, and the port that names their job."""
        port = free_port()
        for rank in range(2):
            process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL, env={
                **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
                "CUDA_VISIBLE_DEVICES": "0,1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        return port

    def is_stored(self, port):
        return self.server.execute(f"SELECT count(*) FROM autopilot_history.records WHERE type = 'job' AND job LIKE '%:{port}/%'", check=False) == "1"

    def test_what_an_agent_sees_waits_while_the_database_restarts_or_hangs(self):
        with open(self.path("config.yaml"), "w", encoding="utf-8") as config:
            json.dump({"node": NODE, "history": {"path": self.place}, "jobs": {"search_every": "1s"}}, config)
        agent = harness.Agent("--config", self.path("config.yaml"), folder=self.folder)
        try:
            agent.wait_ready()
            first = self.job()
            harness.wait_until(lambda: self.is_stored(first), "the job is stored")
            self.server.kill()
            second = self.job()
            harness.wait_until(lambda: "autopilot_history_problem 1\n" in agent.get("/metrics"), "history has a problem")
            self.server.start()
            harness.wait_until(lambda: self.is_stored(second), "the job that was seen meanwhile is stored")
            self.server.signal(signal.SIGSTOP)
            third = self.job()
            harness.wait_until(lambda: f":{third}/" in agent.get("/v1/jobs"), "the agent sees the third job")
            # The thread of history hangs; nothing else does.
            started = time.monotonic()
            agent.node()
            self.assertLess(time.monotonic() - started, 2)
            self.server.signal(signal.SIGCONT)
            harness.wait_until(lambda: self.is_stored(third), "the third job is stored")
            metrics = agent.get("/metrics")
            self.assertIn("autopilot_history_dropped_total 0\n", metrics)
            self.assertRegex(metrics, r"autopilot_history_bytes [1-9]")
        finally:
            agent.close()
            self.outputs += agent.process.log
        self.assertTrue(any("history cannot be written" in line for line in self.outputs), self.outputs)


if __name__ == "__main__":
    unittest.main(verbosity=2)
