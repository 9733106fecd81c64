# SPDX-License-Identifier: Apache-2.0
"""An agent of a simulated machine uses the thresholds that were learned and adopted for its kind of machine, and judges those in shadow
without effect."""

import json
import os
import re
import tempfile
import unittest

import harness
import learn_adoption_test as generated

CHECK = "gpu.memory_bandwidth"
THRESHOLD = "gpu.memory_bandwidth.peak_share"
GPUS = 8
# The simulated GPUs reach less than this fleet.
LEVEL = 3250.0


class LearnAgentTest(unittest.TestCase):
    def agent(self, history=None, **config):
        """With `history`, its file is a link to that path."""
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        if history:
            os.makedirs(os.path.join(self.folder, "state/simulated"))
            os.symlink(history, os.path.join(self.folder, "state/simulated/sim-hgx-h100-8-history.db"))
        path = os.path.join(self.folder, "config.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"checks": {CHECK: {"period": "2s"}}, **config}, file)
        agent = self.enterContext(harness.Agent("--simulate", "hgx-h100-8", "--config", path, folder=self.folder))
        agent.wait_ready()
        return agent

    def propose(self):
        """The id of a threshold that the simulated GPUs do not reach, in the agent's folder of versions."""
        lines = os.path.join(self.folder, "fleet.jsonl")
        with open(lines, "w", encoding="utf-8") as file:
            for one in generated.fleet(level=LEVEL, kind=f"gpu={generated.MODEL}"):
                file.write(json.dumps(one) + "\n")
        self.files = ["--history", os.path.join(self.folder, "fleet.db"), "--store", os.path.join(self.folder, "state/simulated/learned")]
        self.run_learn("history", "import", lines, *self.files[:2])
        found = json.loads(self.run_learn("learn", "propose", *self.files, "-o", "json"))
        return next(one["id"] for one in found["proposals"] if one["kind"] == "threshold")

    def run_learn(self, *words):
        status, output, errors = harness.run(*words)
        self.assertEqual(status, 0, errors)
        return output

    def adopt(self, one, times):
        for _ in range(times):
            self.run_learn("learn", "adopt", one, "--now", "--reason", "test", *self.files)

    def wait_for_state(self, agent, one, state):
        line = f'autopilot_learned_threshold{{threshold="{THRESHOLD}",version="{one}",state="{state}"}}'
        harness.wait_until(lambda: line in agent.get("/metrics"), f"the version is {state}", 40)

    def measure(self, agent):
        status, output, errors = harness.run("test", CHECK, "--socket", agent.socket, timeout=120)
        self.assertIn(status, (0, 1), output + errors)
        return agent.judged(CHECK)

    def test_an_adopted_threshold_judges_and_is_named_until_it_is_reverted(self):
        agent = self.agent()
        one = self.propose()
        self.adopt(one, 2)
        self.wait_for_state(agent, one, "in_use")
        found = self.measure(agent)
        self.assertEqual((found["health"], len(found["findings"])), ("degraded", GPUS))
        evidence = found["findings"][0]["evidence"]
        self.assertEqual((evidence["thresholdId"], evidence["thresholdSource"]), (THRESHOLD, f"learned, version {one}"))
        self.assertIn(f"threshold learned, version {one}", found["findings"][0]["message"])
        history = os.path.join(self.folder, "state/simulated/sim-hgx-h100-8-history.db")

        def faults():
            lines = harness.run("history", "export", "--type", "fault", "--history", history)[1].splitlines()
            return [fault for fault in map(json.loads, lines) if fault.get("check") == CHECK]

        harness.wait_until(faults, "history has the fault", 30)
        self.assertEqual(faults()[0]["versions"], f"threshold {one}")
        self.run_learn("learn", "revert", *self.files)
        harness.wait_until(lambda: "autopilot_learned_threshold{" not in agent.get("/metrics"), "the version is out of use", 40)
        harness.wait_until(lambda: agent.result(CHECK)["health"] == "healthy", "the catalog judges again", 90)

    def test_a_threshold_in_shadow_has_no_effect_and_its_findings_are_counted(self):
        agent = self.agent()
        one = self.propose()
        self.run_learn("learn", "adopt", one, *self.files)
        self.wait_for_state(agent, one, "shadow")
        self.assertEqual(self.measure(agent)["health"], "healthy")
        line = re.compile(rf'^autopilot_learned_shadow_findings{{version="{one}",check="{CHECK}",change="more"}} {GPUS}$', re.MULTILINE)
        harness.wait_until(lambda: line.search(agent.get("/metrics")), "the differences are counted", 90)
        self.assertEqual(agent.result(CHECK)["health"], "healthy")

    def test_versions_are_used_and_reverted_while_history_cannot_be_written(self):
        agent = self.agent(history="/missing/history.db")
        harness.wait_until(lambda: "autopilot_history_problem 1" in agent.get("/metrics"), "history cannot be written", 30)
        one = self.propose()
        self.adopt(one, 2)
        self.wait_for_state(agent, one, "in_use")
        self.run_learn("learn", "revert", *self.files)
        harness.wait_until(lambda: "autopilot_learned_threshold{" not in agent.get("/metrics"), "the version is out of use", 40)
        self.assertIn("autopilot_history_problem 1", agent.get("/metrics"))

    def test_the_value_of_the_operator_comes_first(self):
        agent = self.agent(expectation={"thresholds": {THRESHOLD: 0.5}})
        one = self.propose()
        self.adopt(one, 2)
        self.wait_for_state(agent, one, "in_use")
        self.assertEqual(self.measure(agent)["health"], "healthy")

    def test_a_damaged_version_is_logged_and_changes_nothing(self):
        agent = self.agent()
        one = self.propose()
        self.adopt(one, 2)
        self.wait_for_state(agent, one, "in_use")
        with open(os.path.join(self.folder, "state/simulated/learned", "0123456789abcdef.json"), "w", encoding="utf-8") as file:
            file.write("{")
        harness.wait_until(lambda: agent.process.find(r"a learned version cannot be used.*0123456789abcdef"), "the file is named", 40)
        self.wait_for_state(agent, one, "in_use")


if __name__ == "__main__":
    unittest.main()
