# SPDX-License-Identifier: Apache-2.0
"""`autopilot events`: order, filters and dates, and `autopilot inject --list`."""

import json
import os
import unittest

import harness


class EventsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = harness.Agent("--simulate", "hgx-h100-8")
        cls.addClassCleanup(cls.agent.close)
        cls.agent.wait_ready()
        harness.run("inject", "row_remap_failed", "--subject", "gpu/2", "--socket", cls.agent.socket)
        harness.run("inject", "io_errors", "--socket", cls.agent.socket)
        harness.wait_until(lambda: {("incident_opened", "failed"), ("finding_raised", "failed")}
                           <= {(one["kind"], one.get("health")) for one in cls.events()}, "the faults are found")

    @classmethod
    def events(cls, *arguments):
        code, out, errors = harness.run("events", "--socket", cls.agent.socket, "-o", "json", *arguments)
        assert code == 0, errors
        return [json.loads(line) for line in out.splitlines()]

    def test_events_are_in_the_order_of_time(self):
        times = [one["time"] for one in self.events()]
        self.assertEqual(times, sorted(times))

    def test_each_option_selects(self):
        for arguments, holds in (
            (("--check", "gpu"), lambda one: one.get("check", "").startswith("gpu.")),
            (("--kind", "incident"), lambda one: one["kind"].startswith("incident_")),
            (("--health", "failed"), lambda one: one.get("health") == "failed"),
            (("--severity", "failed", "--kind", "finding_raised"), lambda one: (one.get("health"), one["kind"]) == ("failed", "finding_raised")),
            (("--reason", "row_remap_failed"), lambda one: one.get("reason") == "row_remap_failed"),
            (("--subject", "gpu"), lambda one: one.get("subject", {}).get("kind") == "gpu"),
            (("--since", "1h"), lambda one: True),
            (("--since", "today", "--until", "now"), lambda one: True),
        ):
            with self.subTest(arguments):
                selected = self.events(*arguments)
                self.assertTrue(selected)
                self.assertTrue(all(holds(one) for one in selected), selected)
                self.assertLessEqual(len(selected), len(self.events()))

    def test_wrong_injections_are_usage_errors(self):
        for words, expected in ((("foo",), "unknown fault `foo`"), (("xid", "--subject", "gpu/99"), "unknown subject `gpu/99`")):
            with self.subTest(words):
                code, _, errors = harness.run("inject", *words, "--socket", self.agent.socket)
                self.assertEqual(code, 64, errors)
                self.assertIn(expected, errors)
                self.assertNotIn("autopilot-sim:", errors)

    def test_a_network_test_needs_other_nodes(self):
        for words in ((), ("--plan",), ("--kind", "ping")):
            with self.subTest(words):
                code, _, errors = harness.run("network", "test", *words, "--socket", self.agent.socket)
                self.assertEqual(code, 64)
                self.assertIn("This agent knows no other node", errors)

    def test_a_stopped_agent_of_a_simulated_machine_left_a_journal(self):
        with harness.Agent("--simulate", "no-gpu") as agent:
            agent.wait_ready()
            environment = {**os.environ, "AUTOPILOT_STATE_DIR": os.path.join(agent.folder, "state"), "AUTOPILOT_SOCKET": agent.socket}
            agent.process.stop()
            code, out, errors = harness.run("events", environment=environment)
            self.assertEqual(code, 0, errors)
            self.assertIn("agent_started", out)
            self.assertIn("state/simulated/", errors)
            self.assertEqual(harness.run("history", "status", environment=environment)[0], 0)

    def test_a_gpu_has_several_names(self):
        address = self.events("--kind", "fault_injected", "--reason", "row_remap_failed")[0]["subject"]["key"]
        self.assertRegex(address, "^0000:")
        wanted = self.events("--subject", address)
        self.assertIn("row_remap_failed injected on gpu/2 by uid", "\n".join(one.get("message", "") for one in wanted))
        for name in ("GPU 2", "gpu/2", "gpu/" + address, address.upper(), f"GPU 2 ({address})"):
            with self.subTest(name):
                self.assertEqual(self.events("--subject", name), wanted)

    def test_the_table_shows_the_day_once(self):
        _, out, _ = harness.run("events", "--socket", self.agent.socket)
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^\d{4}-\d\d-\d\d \(UTC\)$")
        self.assertRegex(lines[1], r"^\d\d:\d\d:\d\d\.\d{3}  [a-z_]+")
        self.assertLessEqual(sum(line.endswith("(UTC)") for line in lines), 2)

    def test_a_wrong_date_or_word_is_named(self):
        for arguments, words in ((("--since", "2026-13-40"), "2026-13-40"), (("--until", "soon"), "--until"),
                                 (("--kind", "findng"), "did you mean finding"), (("--health", "bad"), "--health: no 'bad'; the values are"),
                                 (("--check", "gpu.xidd"), "did you mean gpu.xid?"), (("--check", "gpuu"), "did you mean gpu?"),
                                 (("--reason", "row_remap_faild"), "did you mean row_remap_failed?"),
                                 (("--since", "now", "--until", "2h"), "--until")):
            with self.subTest(arguments):
                code, out, errors = harness.run("events", "--socket", self.agent.socket, *arguments)
                self.assertEqual((code, out), (64, ""))
                self.assertIn(words, errors)

    def test_nothing_matches_is_stated(self):
        code, out, errors = harness.run("events", "--socket", self.agent.socket, "--until", "2020-01-01")
        self.assertEqual((code, out, errors), (0, "", "autopilot: no event matches\n"))


class InjectListTest(unittest.TestCase):
    def test_every_fault_is_listed_with_an_example(self):
        code, out, errors = harness.run("inject", "--list")
        self.assertEqual((code, errors), (0, ""))
        self.assertTrue(all(len(line) <= 80 for line in out.splitlines()))
        self.assertIn("autopilot inject xid --subject gpu/0 --magnitude 31", out)
        items = json.loads(harness.run("inject", "--list", "-o", "json")[1])["items"]
        self.assertEqual([line for line in out.splitlines() if not line.startswith(" ")], [item["fault"] for item in items])

    def test_examples_work(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            agent.wait_ready()
            items = json.loads(harness.run("inject", "--list", "-o", "json")[1])["items"]
            for item in items:
                if item["fault"] in ("row_remap_pending", "nvlink_down", "ib_port_down", "filesystem_full", "oom"):
                    code, _, errors = harness.run(*item["example"].split()[1:], "--socket", agent.socket)
                    self.assertEqual(code, 0, item["example"] + ": " + errors)

    def test_a_fault_is_needed(self):
        code, _, errors = harness.run("inject")
        self.assertEqual(code, 64)
        self.assertIn("inject --list", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
