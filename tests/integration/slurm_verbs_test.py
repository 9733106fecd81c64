# SPDX-License-Identifier: Apache-2.0
"""`autopilot slurm` beside the agent of a simulated machine, with a program in the place of scontrol that keeps the state of one node in a
file. With a real Slurm: tests/real_jobs/slurm_test.py."""

import json
import os
import tempfile
import unittest

import harness

GPU = "gpu/0000:4a:00.0"
SCONTROL = """#!/bin/sh
printf '%s|' "$@" >> {folder}/calls; echo >> {folder}/calls
[ -f {folder}/fails ] && {{ echo 'slurm_update error: Access denied' >&2; exit 1; }}
[ "$1" = show ] && exec cat {folder}/node
exit 0
"""


class SlurmVerbsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = harness.Agent("--simulate", "l40s-4")
        cls.addClassCleanup(cls.agent.close)
        cls.agent.wait_ready()

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-"))
        with open(os.open(self.path("scontrol"), os.O_CREAT | os.O_WRONLY, 0o755), "w", encoding="utf-8") as file:
            file.write(SCONTROL.format(folder=self.folder))
        self.set_node("IDLE")

    def path(self, name):
        return os.path.join(self.folder, name)

    def set_node(self, state, reason=""):
        with open(self.path("node"), "w", encoding="utf-8") as file:
            file.write(f"NodeName=n1 Arch=x86_64\n   State={state} ThreadsPerCore=1\n")
            if reason:
                file.write(f"   Reason={reason} [root@2026-11-30T01:02:03]\n")

    def calls(self):
        """The commands that change Slurm."""
        if not os.path.exists(self.path("calls")):
            return []
        with open(self.path("calls"), encoding="utf-8") as file:
            return [line.rstrip("|\n") for line in file if not line.startswith("show|")]

    def slurm(self, verb, *words, **environment):
        code, out, err = harness.run("slurm", verb, "--scontrol", self.path("scontrol"), "--node", "n1", *words,
                                     environment={**self.agent.environment, **environment})
        self.assertEqual("", err)
        return code, out

    def make_unfit(self):
        code, _, err = harness.run("inject", "reset_required", "--subject", GPU, environment=self.agent.environment)
        self.assertEqual(0, code, err)
        self.addCleanup(self.make_fit)
        harness.wait_until(lambda: self.agent.node()["verdict"] == "EVICT", "the verdict is EVICT")

    def make_fit(self):
        harness.run("inject", "gpu_reset", "--subject", GPU, environment=self.agent.environment)
        harness.wait_until(lambda: self.agent.node()["verdict"] == "PASS", "the verdict is PASS")

    def test_a_healthy_node_runs_jobs_and_a_prolog_does_not_ask_slurm(self):
        for verb in ("prolog", "epilog"):
            code, out = self.slurm(verb, SLURM_JOB_ID="42")
            self.assertEqual(0, code)
            self.assertIn("node n1 may run jobs: the verdict is PASS", out)
        self.assertFalse(os.path.exists(self.path("calls")))

    def test_a_prolog_of_an_unfit_node_drains_it_and_fails(self):
        self.make_unfit()
        code, out = self.slurm("prolog", "--allow-simulated", SLURM_JOB_ID="42", SLURM_JOB_GPUS="0,1")
        self.assertEqual(1, code)
        self.assertEqual(1, out.count("\n"), "one line for the log of the system")
        for words in ("n1 must not run jobs", "xid_verdict", "drained in Slurm", "job 42 does not start here", "autopilot status"):
            self.assertIn(words, out)
        incident = self.agent.node()["incidents"][0]["id"]
        self.assertEqual([f"update|NodeName=n1|State=DRAIN|Reason=autopilot: xid_verdict {incident}"], self.calls())
        self.assertEqual(1, self.slurm("epilog", "--allow-simulated")[0])

    def test_the_prolog_fails_also_if_slurm_refuses_the_drain(self):
        self.make_unfit()
        with open(self.path("fails"), "w", encoding="utf-8"):
            pass
        code, out = self.slurm("prolog", "--allow-simulated")
        self.assertEqual(1, code)
        self.assertIn("Access denied", out)
        self.assertEqual(70, self.slurm("health-check", "--allow-simulated")[0])

    def test_a_simulated_machine_and_a_dry_run_change_nothing(self):
        self.make_unfit()
        code, out = self.slurm("prolog")
        self.assertEqual(0, code)
        self.assertIn("--allow-simulated", out)
        code, out = self.slurm("health-check", "--allow-simulated", "--dry-run")
        self.assertEqual(0, code)
        self.assertIn("scontrol update NodeName=n1 State=DRAIN", out)
        self.assertEqual([], self.calls())

    def test_the_health_check_resumes_only_its_own_drain(self):
        self.set_node("IDLE+DRAIN", "bad fan")
        code, out = self.slurm("health-check", "--allow-simulated")
        self.assertEqual(0, code)
        self.assertIn("it stays drained: bad fan", out)
        self.set_node("IDLE+DRAIN", "autopilot: xid_verdict 0123abcd-1")
        code, out = self.slurm("health-check", "--allow-simulated", "-o", "json")
        self.assertEqual(0, code)
        self.assertEqual(("fit", "resume", True), tuple(json.loads(out)[name] for name in ("fitness", "step", "done")))
        self.assertEqual(["update|NodeName=n1|State=RESUME"], self.calls())

    def test_an_unknown_node_runs_jobs_unless_strict(self):
        for words, expected in (((), 0), (("--strict",), 1)):
            code, out = self.slurm("prolog", "--socket", self.path("none.sock"), *words)
            self.assertEqual(expected, code)
            self.assertIn("could not be judged: no agent answers", out)

    def test_the_configuration_names_the_agent(self):
        environment = {"AUTOPILOT_STATE_DIR": self.folder}
        config = self.path("config.yaml")
        for socket, expected in ((self.agent.socket, "n1 may run jobs: the verdict is PASS\n"),
                                 (self.path("none.sock"), f"no agent answers at unix:{self.path('none.sock')}, so the checks ran without it")):
            with open(config, "w", encoding="utf-8") as file:
                file.write(f"socket: {socket}\n")
            code, out, err = harness.run("slurm", "prolog", "--config", config, "--node", "n1", environment=environment)
            self.assertEqual((0, ""), (code, err))
            self.assertIn(expected, out)

    def test_without_an_agent_the_checks_run(self):
        code, out = self.slurm("prolog", "--simulate", "l40s-4", "-o", "json")
        self.assertEqual(0, code)
        self.assertEqual(("fit", "PASS", True), tuple(json.loads(out)[name] for name in ("fitness", "verdict", "simulated")))
        code, out = self.slurm("prolog", "--simulate", "l40s-4", "--timeout", "1s", "--strict")
        self.assertEqual(1, code, out)
        self.assertIn("did not end in time", out)

    def test_a_wrong_option_is_a_usage_error(self):
        for words in (("--timeout", "2h"), ("--timeout", "0s"), ("--timeout", "soon"), ("--frobnicate",)):
            self.assertEqual(64, harness.run("slurm", "prolog", *words)[0])
        self.assertEqual(64, harness.run("slurm")[0])


if __name__ == "__main__":
    unittest.main()
