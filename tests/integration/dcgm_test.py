# SPDX-License-Identifier: Apache-2.0
"""The test gpu.dcgm of a running agent, with a program in the place of dcgmi: what is made of its answers, and that
nothing of it outlives the test. The machine and its driver are simulated."""

import json
import os
import re
import signal
import tempfile
import unittest

import harness
from ibm_client import statuses

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_dcgmi.py")
GPUS = ["0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0", "0000:9d:00.0", "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"]
GAUGE = re.compile(r'^autopilot_health_checks\{[^}]*health="dcgm"[^}]*\} (\S+)$', re.MULTILINE)


def is_gone(pid):
    return not harness.arguments_of(pid)


class DcgmTest(unittest.TestCase):
    def agent(self, how, *options, command=None, open_actions=False, deadline="60s"):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.log = os.path.join(self.folder, "dcgmi.log")
        self.how = os.path.join(self.folder, "how")
        if command is None:
            command = [FAKE, how, "--log", self.log, *options]
        config = os.path.join(self.folder, "config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"dcgm": {"command": command, "level": 3, "deadline": deadline},
                       "compat": {"open_actions": open_actions}}, file)
        agent = harness.Agent("--simulate", "hgx-h100-8", "--config", config)
        self.addCleanup(agent.close)
        agent.wait_ready()
        return agent

    def make(self, agent):
        """Runs `autopilot test gpu.dcgm`: exit code, operation, and the result of the check."""
        code, out, error = harness.run("test", "gpu.dcgm", "--socket", agent.socket, "-o", "json", timeout=90)
        self.assertTrue(out, error)
        item = json.loads(out)["items"][0]
        return code, item["operation"], item.get("result")

    def started(self):
        with open(self.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def findings(self, result):
        return [(one["subject"]["key"] or one["subject"]["kind"], one["health"], one["reason"]) for one in result["findings"]]

    def make_busy(self, agent, gpu):
        """Clocks that fall under load need a process that causes the load."""
        code, out, error = harness.run("inject", "throttle", "--subject", f"gpu/{gpu}", "--socket", agent.socket)
        self.assertEqual(code, 0, out + error)

        def is_busy():
            agent.request("POST", "/v1/checks/gpu.processes", unix=True, timeout=60)
            return any(one["name"] == "processes.count" and one["subject"]["key"] == gpu and one["value"] > 0
                       for one in json.loads(agent.get("/v1/checks/gpu.processes"))["observations"])
        harness.wait_until(is_busy, "a process is on the GPU")

    def test_gpus_that_pass_are_healthy(self):
        for version in ("3", "4"):
            with self.subTest(dcgm=version):
                agent = self.agent("pass", "--dcgm", version)
                code, operation, result = self.make(agent)
                self.assertEqual((code, operation["state"], result["health"]), (0, "succeeded", "healthy"), operation)
                self.assertEqual(operation["message"], "level 3 on 8 GPUs")
                self.assertEqual(agent.node()["verdict"], "PASS")

    def test_a_gpu_that_fails_has_failed_whatever_the_exit_code(self):
        for version in ("3", "4"):
            with self.subTest(dcgm=version):
                agent = self.agent("fail:memory:3", "--dcgm", version)
                code, operation, result = self.make(agent)
                self.assertEqual((code, operation["state"]), (2, "succeeded"), operation)
                self.assertEqual(self.findings(result), [(GPUS[3], "failed", "dcgm_fatal")])
                self.assertIn("memory is not well", result["findings"][0]["message"])
                harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "the node is to be left")

    def test_what_is_not_fatal_and_what_is_a_warning_degrade(self):
        agent = self.agent("fail:targeted_power:7")
        self.assertEqual(self.findings(self.make(agent)[2]), [(GPUS[7], "degraded", "dcgm_failed")])
        agent = self.agent("warn:software:0")
        self.assertEqual(self.findings(self.make(agent)[2]), [(GPUS[0], "degraded", "dcgm_warned")])
        self.assertEqual(agent.node()["verdict"], "WARN")

    def test_what_says_nothing_of_the_gpus_is_unknown_and_names_the_cause(self):
        causes = {"dead": "no connection to a host engine", "garbage": "no JSON of a DCGM diagnostic", "torn": "no JSON",
                  "empty": "no JSON", "exit:3": "exit code 3, but no test failed", "crash": "signal 11",
                  "skip": "every test was skipped", "refused": "MIG is enabled on a GPU"}
        for how, cause in causes.items():
            with self.subTest(how=how):
                agent = self.agent(how)
                code, operation, _ = self.make(agent)
                self.assertEqual((code, operation["state"]), (3, "failed"), operation)
                self.assertIn(cause, operation["message"])
                result = agent.judged("gpu.dcgm")
                self.assertEqual((result["health"], result["findings"][0]["reason"]), ("unknown", "could_not_look"))
                self.assertIn(cause, result["findings"][0]["message"])
                agent.close()

    def test_a_program_that_cannot_be_started_is_named_with_the_cure(self):
        with tempfile.NamedTemporaryFile() as plain:
            for command, said in (([os.path.join(os.sep, "nonexistent", "dcgmi")], "cannot start /nonexistent/dcgmi"),
                                  ([plain.name], "ermission denied"), (["dcgmi-of-nobody"], "no folder of PATH has the program dcgmi-of-nobody")):
                agent = self.agent("", command=command)
                _, operation, _ = self.make(agent)
                self.assertEqual(operation["state"], "failed")
                self.assertIn(said, operation["message"])
                self.assertIn("`dcgm.command`", operation["message"])
                agent.close()

    def test_one_that_hangs_ends_at_the_deadline_with_all_it_started(self):
        for how in ("hang", "deaf"):
            with self.subTest(how=how):
                agent = self.agent(how)
                code, out, _ = harness.run("test", "gpu.dcgm", "--deadline", "2s", "--socket", agent.socket, timeout=90)
                self.assertEqual(code, 3, out)
                self.assertRegex(out, r"gpu.dcgm +timed_out")
                program = self.started()[0]
                harness.wait_until(lambda: is_gone(program["pid"]) and is_gone(program["group"]), "both are gone")
                self.assertEqual(agent.judged("gpu.dcgm")["findings"][0]["reason"], "timed_out")

    def begin(self, agent):
        """An operation whose program has started."""
        status, body = agent.request("POST", "/v1/operations", body='{"kind":"gpu.dcgm"}', unix=True,
                                     headers={"Content-Type": "application/json"})
        self.assertEqual(status, 202, body)
        harness.wait_until(lambda: os.path.exists(self.log) and self.started(), "the program has started")
        return json.loads(body)["id"], self.started()[0]

    def state(self, agent, operation):
        return json.loads(agent.get(f"/v1/operations/{operation}"))["state"]

    def test_cancelled_or_killed_in_the_middle_it_leaves_nothing(self):
        agent = self.agent("deaf")
        operation, program = self.begin(agent)
        agent.request("DELETE", f"/v1/operations/{operation}", unix=True)
        harness.wait_until(lambda: self.state(agent, operation) == "cancelled", "it is cancelled")
        harness.wait_until(lambda: is_gone(program["pid"]), "the program is gone")
        os.unlink(self.log)
        operation, program = self.begin(agent)
        os.kill(program["group"], signal.SIGKILL)  # the helper
        harness.wait_until(lambda: self.state(agent, operation) == "failed", "it has failed")
        harness.wait_until(lambda: is_gone(program["pid"]), "the program is gone")

    def test_it_ends_with_the_agent(self):
        agent = self.agent("deaf")
        _, program = self.begin(agent)
        agent.process.stop(signal.SIGKILL)
        harness.wait_until(lambda: is_gone(program["pid"]) and is_gone(program["group"]), "both are gone")

    def test_gpus_in_use_are_skipped(self):
        agent = self.agent("fail:memory:3", open_actions=True)
        self.make_busy(agent, GPUS[3])
        code, operation, _ = self.make(agent)
        self.assertEqual((code, operation["state"]), (3, "skipped"), operation)
        self.assertRegex(operation["message"], r"^GPU in use by .*on GPU 3 \(0000:61:00.0\)")
        self.assertFalse(os.path.exists(self.log))
        self.assertEqual(agent.judged("gpu.dcgm")["health"], "unknown")
        reply = agent.request("GET", "/dcgm", timeout=60)[1]
        self.assertIn("[[ DCGM ]] SKIP: GPU in use by ", reply)
        self.assertEqual(GAUGE.findall(agent.get("/metrics")), [])

    def test_only_gpus_that_are_reserved_are_tested_and_must_be_idle(self):
        agent = self.agent("pass")
        self.make_busy(agent, GPUS[3])
        reservation = [{"kind": "gpu", "key": GPUS[0]}, {"kind": "gpu", "key": GPUS[5]}]
        status, body = agent.request("POST", "/v1/operations", unix=True, headers={"Content-Type": "application/json"},
                                     body=json.dumps({"kind": "gpu.dcgm", "reservation": reservation}))
        self.assertEqual(status, 202, body)
        operation = json.loads(body)["id"]
        harness.wait_until(lambda: self.state(agent, operation) == "succeeded", "it has passed")
        self.assertEqual(self.started()[0]["arguments"][-2:], ["-i", "0,5"])
        observed = json.loads(agent.get(f"/v1/operations/{operation}"))["observations"]
        self.assertEqual(sorted(one["subject"]["key"] for one in observed if one["name"] == "dcgm.result"),
                         sorted(["", GPUS[0], GPUS[5]]))

    def test_a_failure_stands_until_a_test_passes(self):
        agent = self.agent("fail:memory:3", open_actions=True)
        self.make(agent)
        self.make_busy(agent, GPUS[0])
        self.assertEqual(self.make(agent)[1]["state"], "skipped")
        self.assertEqual(agent.result("gpu.dcgm")["health"], "failed")
        self.assertIn("[[ DCGM ]] FAIL\n", agent.get("/dcgm"))

    def test_as_ibm_autopilot_tells_it(self):
        agent = self.agent("pass", open_actions=True)
        node = agent.node()["node"]
        reply = agent.request("GET", f"/status?check=dcgm&host={node}", timeout=60)[1]
        self.assertEqual(reply, "SIMULATED\n\n[[ DCGM ]] Briefings completed. Continue with dcgm evaluation.\n[[ DCGM ]] SUCCESS\n")
        self.assertEqual(GAUGE.findall(agent.get("/metrics")), ["0"])
        self.assertIn("[[ DCGM ]] SUCCESS\n", agent.request("GET", f"/status?check=dcgm&host={node}&r=1", timeout=60)[1])
        made = json.loads(agent.get("/v1/operations"))["items"]
        self.assertEqual({one["message"] for one in made}, {"level 3 on 8 GPUs"}, "the level is the configuration's")
        agent = self.agent("fail:pcie:1", open_actions=True)
        reply = agent.request("GET", f"/status?check=dcgm&host={node}", timeout=60)[1]
        self.assertEqual(reply, "SIMULATED\n\n[[ DCGM ]] Briefings completed. Continue with dcgm evaluation.\n"
                                f"Host {node}\n[[ DCGM ]] FAIL\n")
        self.assertEqual(statuses(reply), ["DCGM Failed"])
        self.assertEqual(GAUGE.findall(agent.get("/metrics")), ["1"])
        agent = self.agent("dead", open_actions=True)
        reply = agent.request("GET", f"/status?check=dcgm&host={node}", timeout=60)[1]
        self.assertIn("[[ DCGM ]] ABORT\n", reply)
        self.assertEqual(statuses(reply)[0], "DCGM Failed")
        self.assertEqual(GAUGE.findall(agent.get("/metrics")), [])

    def test_a_simulated_machine_never_runs_dcgmi_of_this_one(self):
        with harness.Agent("--simulate", "hgx-h100-8") as agent:
            tests = json.loads(agent.get("/v1/tests"))["items"]
            self.assertNotIn("gpu.dcgm", [one["id"] for one in tests])


if __name__ == "__main__":
    unittest.main(verbosity=2)
