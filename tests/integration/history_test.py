# SPDX-License-Identifier: Apache-2.0
"""What an agent remembers of its node for years: faults and acknowledgements, over kill -9; tickets, export and import."""
import json
import os
import signal
import tempfile
import unittest

import harness

NODE = "gpu-test-1"
TICKET = {"type": "repair", "id": "OPS-4711", "node": NODE, "begin": "2026-01-02T03:04:05Z", "end": "2026-01-03T03:04:05Z",
          "action": "replace", "part": "GPU", "ticket": "OPS-4711"}


def write_lines(path, *records):
    with open(path, "w", encoding="utf-8") as file:
        for record in records:
            file.write((record if isinstance(record, str) else json.dumps(record)) + "\n")


class HistoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = os.path.join(self.folder, "state", "simulated", f"{NODE}-history.db")

    def agent(self):
        return harness.Agent("--simulate", "hgx-h100-8", folder=self.folder, environment={"AUTOPILOT_NODE": NODE})

    def run_verb(self, *arguments, code=0):
        done = harness.run(*arguments, "--history", self.file)
        self.assertEqual(done[0], code, done)
        return done

    def records(self, kind):
        done = harness.run("nodes", "history", NODE, "--history", self.file, "-o", "json")
        if done[0] != 0:
            return []
        return [record for record in json.loads(done[1])["records"] if record["type"] == kind]

    def wait_for(self, kind, condition, what):
        return harness.wait_until(lambda: [record for record in self.records(kind) if condition(record)], what)[0]

    def inject_xid(self, agent):
        code, _, errors = harness.run("inject", "xid", "--subject", "gpu/2", "--magnitude", "79", "--socket", agent.socket)
        self.assertEqual(code, 0, errors)

    def test_a_fault_is_remembered_over_a_kill(self):
        agent = self.agent()
        try:
            agent.wait_ready()
            self.inject_xid(agent)
            fault = self.wait_for("fault", lambda one: one["check"] == "gpu.xid" and one.get("gpu"), "the fault is in history")
            self.assertNotIn("end", fault)
            self.assertEqual(fault["class"], "hardware")
            incident = fault["id"].split("/")[-1]
            harness.run("ack", incident, "--reason", "card ordered", "--socket", agent.socket)
            label = self.wait_for("label", lambda one: one["fault"] == fault["id"], "the acknowledgement is in history")
            self.assertEqual((label["answer"], label["source"], label["note"]), ("unclear", "user", "card ordered"))
            versions = self.wait_for("versions", lambda one: one.get("driver"), "the versions are in history")
            self.assertTrue(versions["agent"] and versions["kernel"])
            self.assertRegex(agent.get("/metrics"), r"autopilot_history_written_total [1-9]")
            self.assertIn("autopilot_history_dropped_total 0", agent.get("/metrics"))
        finally:
            self.assertEqual(agent.process.stop(signal.SIGKILL), -signal.SIGKILL)
        table = self.run_verb("nodes", "history", NODE)[1]
        self.assertRegex(table, r"card\s+ordered")
        self.assertIn("not over", table)
        with self.agent() as again:
            again.wait_ready()
            self.wait_for("fault", lambda one: one["id"] == fault["id"], "the fault is still there")
            self.assertEqual(len(self.records("label")), 1)

    def test_the_file_is_for_its_owner_only(self):
        with self.agent() as agent:
            agent.wait_ready()
            harness.wait_until(lambda: os.path.exists(self.file), "history has a file")
            self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)

    def test_tickets_are_imported_beside_a_running_agent(self):
        tickets = os.path.join(self.folder, "tickets.jsonl")
        with self.agent() as agent:
            agent.wait_ready()
            self.wait_for("versions", lambda one: True, "history is open")
            write_lines(tickets, TICKET, {**TICKET, "id": "OPS-4712", "begun": "2026-01-02T03:04:05Z"})
            code, _, errors = harness.run("history", "import", tickets, "--history", self.file)
            self.assertEqual(code, 78)
            self.assertIn(f"{tickets}:2: begun: unknown member; did you mean begin?", errors)
            self.assertEqual(self.records("repair"), [])
            write_lines(tickets, TICKET)
            self.assertIn("nothing was imported", self.run_verb("history", "import", "--dry-run", tickets)[1])
            self.assertEqual(self.records("repair"), [])
            for _ in range(2):
                self.assertIn("1 record imported", self.run_verb("history", "import", tickets)[1])
            self.assertEqual([record["ticket"] for record in self.records("repair")], ["OPS-4711"])

    def test_an_export_can_be_imported_into_a_second_file(self):
        with self.agent() as agent:
            agent.wait_ready()
            self.inject_xid(agent)
            self.wait_for("fault", lambda one: one["check"] == "gpu.xid", "the fault is in history")
        first = os.path.join(self.folder, "first.jsonl")
        self.run_verb("history", "export", first)
        second = os.path.join(self.folder, "second.db")
        self.assertEqual(harness.run("history", "import", first, "--history", second)[0], 0)
        code, text, errors = harness.run("history", "export", "--history", second)
        self.assertEqual(code, 0, errors)
        with open(first, encoding="utf-8") as file:
            self.assertEqual(text, file.read())
        csv = self.run_verb("history", "export", "-o", "csv", "--type", "fault")[1].splitlines()
        self.assertEqual(csv[0], "type,id,cluster,node,gpu,job,begin,end,outcome,summary")
        self.assertGreater(len(csv), 1)
        status = json.loads(self.run_verb("history", "status", "-o", "json")[1])
        self.assertGreater(status["records"]["fault"], 0)
        self.assertEqual(os.stat(first).st_mode & 0o777, 0o600)
        code, _, errors = harness.run("history", "export", second, "--history", second)
        self.assertNotEqual(code, 0)
        self.assertIn("is not an export", errors)
        self.assertEqual(harness.run("history", "export", "--history", second)[1], text, "the history is unharmed")
        self.assertEqual(harness.run("history", "export", first, "--history", second)[0], 0, "an export replaces an export")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to give the folder to the user of an agent")
    def test_the_agent_can_open_what_root_imports(self):
        user = 65533
        tickets = os.path.join(self.folder, "tickets.jsonl")  # that only root can read
        write_lines(tickets, TICKET)
        os.chmod(tickets, 0o600)
        os.chmod(self.folder, 0o755)
        state = os.path.join(self.folder, "state")
        os.mkdir(state, 0o700)
        os.chown(state, user, user)
        history = os.path.join(state, "history.db")
        for _ in range(2):
            code, text, errors = harness.run("history", "import", tickets, "--history", history)
            self.assertEqual((code, text), (0, f"1 record imported into {history}\n"), errors)
            for name in os.listdir(state):
                self.assertEqual(os.stat(os.path.join(state, name)).st_uid, user, name)
        self.assertIn("history.db", os.listdir(state))
        os.chown(history + ".lock", 0, 0)
        code, _, errors = harness.run("history", "import", tickets, "--history", history)
        self.assertEqual(code, 70)
        self.assertIn("it is opened as the user that owns " + history, errors)
        self.assertIn("with chown", errors)

    def test_a_record_of_the_future_is_refused(self):
        late = os.path.join(self.folder, "late.jsonl")
        write_lines(late, {**TICKET, "begin": "2226-01-01T00:00:00Z", "end": "2226-01-02T00:00:00Z"})
        code, _, errors = harness.run("history", "import", late, "--history", os.path.join(self.folder, "new.db"))
        self.assertNotEqual(code, 0)
        self.assertIn("in the future", errors)

    def test_a_missing_file_names_the_cure(self):
        code, _, errors = harness.run("nodes", "history", NODE, "--history", os.path.join(self.folder, "none.db"))
        self.assertEqual(code, 70)
        self.assertIn("Start the agent", errors)

    def test_history_can_be_switched_off(self):
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("history: {enabled: false}\n")
        with harness.Agent("--simulate", "hgx-h100-8", "--config", config, folder=self.folder,
                           environment={"AUTOPILOT_NODE": NODE}) as agent:
            agent.wait_ready()
            self.assertNotIn("autopilot_history", agent.get("/metrics"))
            self.assertFalse(os.path.exists(self.file))


if __name__ == "__main__":
    unittest.main()
