# SPDX-License-Identifier: Apache-2.0
"""The test gpu.nccl_allreduce of a running agent, with a program in the place of all_reduce_perf: what is made of its report,
and that nothing of it outlives the test. The machine and its driver are simulated."""

import json
import os
import tempfile
import unittest

import harness

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_all_reduce_perf.py")


class NcclTest(unittest.TestCase):
    def agent(self, how, machine="hgx-h100-8"):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.log = os.path.join(self.folder, "started.log")
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"nccl": {"command": [FAKE, how, "--log", self.log], "deadline": "60s"}}, file)
        temporary = os.path.join(self.folder, "tmp")
        os.mkdir(temporary)
        agent = harness.Agent("--simulate", machine, "--config", config, environment={"TMPDIR": temporary})
        self.addCleanup(agent.close)
        agent.wait_ready()
        return agent

    def make(self, agent, *options):
        code, out, error = harness.run("test", "gpu.nccl_allreduce", "--socket", agent.socket, "-o", "json", *options, timeout=90)
        self.assertTrue(out, error)
        item = json.loads(out)["items"][0]
        return code, item["operation"], item.get("result")

    def started(self):
        with open(self.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_gpus_that_sum_up_fast_and_right_pass(self):
        agent = self.agent("pass")
        code, operation, result = self.make(agent)
        self.assertEqual((code, operation["state"], result["health"]), (0, "succeeded", "healthy"), operation)
        self.assertEqual(operation["message"], "all-reduce on 8 GPUs")
        [busbw] = [one["value"] for one in operation["observations"] if one["name"] == "nccl_allreduce.busbw"]
        self.assertEqual(busbw, 470)
        [started] = self.started()
        self.assertEqual(started["arguments"][started["arguments"].index("-g") + 1], "8")
        self.assertEqual(len(started["visible"].split(",")), 8)
        self.assertTrue(all(one.startswith("GPU-") for one in started["visible"].split(",")), started)

    def test_what_is_slow_or_wrong_is_told_of_the_machine(self):
        for how, reason in (("slow", "allreduce_slow"), ("wrong", "allreduce_wrong")):
            with self.subTest(how):
                agent = self.agent(how)
                code, operation, result = self.make(agent)
                self.assertEqual((code, operation["state"]), (1, "succeeded"), operation)
                self.assertEqual([(one["subject"]["kind"], one["reason"]) for one in result["findings"]], [("host", reason)])
                agent.close()

    def test_what_says_nothing_is_unknown_and_names_the_cause(self):
        for how, cause in (("old", "invalid option 'J'"), ("garbage", "report of all_reduce_perf"), ("crash", "signal 11"),
                           ("exit", "exit code 3, and its report contains no wrong sum")):
            with self.subTest(how):
                agent = self.agent(how)
                code, operation, _ = self.make(agent)
                self.assertEqual((code, operation["state"]), (3, "failed"), operation)
                self.assertIn(cause, operation["message"])
                agent.close()

    def test_sums_that_nobody_checked_are_not_known_to_be_right(self):
        code, operation, result = self.make(self.agent("unchecked"))
        self.assertEqual((code, operation["state"], result["health"]), (3, "succeeded", "unknown"), operation)
        self.assertTrue(any("did not check its sums" in finding["message"] for finding in result["findings"]), result)

    def test_only_gpus_that_are_reserved_are_seen(self):
        agent = self.agent("pass")
        reservation = [{"kind": "gpu", "key": key} for key in ("0000:1b:00.0", "0000:c3:00.0")]
        status, body = agent.request("POST", "/v1/operations", unix=True, headers={"Content-Type": "application/json"},
                                     body=json.dumps({"kind": "gpu.nccl_allreduce", "reservation": reservation}))
        self.assertEqual(status, 202, body)
        harness.wait_until(lambda: os.path.exists(self.log) and self.started(), "the program has started")
        self.assertEqual(len(self.started()[0]["visible"].split(",")), 2)

    def test_one_that_hangs_ends_at_the_deadline_and_leaves_nothing(self):
        agent = self.agent("hang")
        code, operation, _ = self.make(agent, "--deadline", "2s")
        self.assertEqual((code, operation["state"]), (3, "timed_out"), operation)
        [started] = self.started()
        harness.wait_until(lambda: not harness.arguments_of(started["pid"]), "the program is gone")


if __name__ == "__main__":
    unittest.main(verbosity=2)
