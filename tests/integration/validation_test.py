#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validation of a simulated machine when a job ends: real processes with ranks, simulated GPUs, the real probe."""

import glob
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import harness
from gpu_tests_test import probes_of
from simulated_gpus import GPUS, make_machine

WORLD = 2
IDLE = "processes.count: 0"
HANGS = {"cuInit": {"result": "hang"}}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Job:
    """Ranks on GPU 0 and 1, as a launcher states them; they only sleep."""

    def __init__(self):
        port = free_port()
        self.ranks = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], stdin=subprocess.DEVNULL,
                                       env={**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(WORLD),
                                            "LOCAL_WORLD_SIZE": str(WORLD), "CUDA_VISIBLE_DEVICES": "0,1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
                      for rank in range(WORLD)]

    def close(self):
        for rank in self.ranks:
            rank.kill()
        for rank in self.ranks:
            rank.wait()


class ValidationTest(unittest.TestCase):
    def agent(self, settings, calls=None, state=None):
        """`calls`: of CUDA's driver, see make_machine."""
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-validation-"))
        self.tree = make_machine(self.folder, calls=calls)
        self.config = os.path.join(self.folder, "config.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump({"jobs": {"search_every": "1s"}, "gpu_probe": {"time": "100ms"}, "validation": settings,
                       "gpu_tests": {"checks": ["gpu.pcie_bandwidth", "gpu.sdc"]}}, file)
        return self.start(state)

    def start(self, state=None):
        agent = harness.Agent("--root", self.tree, "--config", self.config, folder=state)
        self.addCleanup(agent.close)
        agent.wait_ready()
        return agent

    def job(self, agent):
        """A running job with two ranks: its processes and its key."""
        job = Job()
        self.addCleanup(job.close)
        found = harness.wait_until(lambda: next((one for one in json.loads(agent.get("/v1/jobs"))["jobs"]
                                                 if one["ranks"] == WORLD and "ended" not in one), None), "the agent sees the job", 60)
        return job, found["job"]

    def driver(self, old, new):
        """Changes what the driver of the simulated machine answers."""
        path = os.path.join(self.tree, "nvml.yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text.replace(old, new, 1) if old != IDLE else text.replace(old, new))
        os.replace(path + ".new", path)

    def validations(self, agent):
        return json.loads(agent.get("/v1/validations"))["validations"]

    def validation(self, agent, key):
        return harness.wait_until(lambda: next((one for one in self.validations(agent) if one["job"] == key), None),
                                  "the node is validated", 120)

    def operations(self, agent):
        return [one for one in json.loads(agent.get("/v1/operations"))["items"] if one["owner"] == "validation"]

    def measurements(self, agent):
        node = json.loads(agent.get("/v1/validations"))["node"]
        [path] = glob.glob(f"{agent.folder}/state/simulated/*-history.db")
        code, out, _ = harness.run("nodes", "history", node, "--history", path, "-o", "json")
        return [one for one in json.loads(out)["records"] if one["type"] == "measurement"] if code == 0 else []

    def test_the_idle_gpus_of_a_job_that_ended_are_tested_and_people_see_it(self):
        agent = self.agent({"on_job_end": "quick"})
        job, key = self.job(agent)
        job.close()
        seen = self.validation(agent, key)
        self.assertEqual((seen["verdict"], seen["depth"], seen["gpus"], seen["worse"]), ("passed", "quick", [0, 1], []), seen)
        self.assertGreater(seen["compared"], 5)
        made = self.operations(agent)
        self.assertEqual([one["kind"] for one in made], ["gpu.sdc", "gpu.pcie_bandwidth"])
        for one in made:
            self.assertEqual([gpu["key"] for gpu in one["reservation"]], GPUS[:2], "only the GPUs of the job")
        code, out, errors = harness.run("validations", "--socket", agent.socket)
        self.assertEqual(code, 0, out + errors)
        self.assertIn("as good as before the job", " ".join(out.split()))
        code, out, errors = harness.run("validations", key, "-o", "json", "--socket", agent.socket)
        self.assertEqual([one["id"] for one in json.loads(out)["validations"]], [seen["id"]], errors)
        harness.wait_until(lambda: "Afterwards passed:" in harness.run("jobs", "why", key, "--socket", agent.socket)[1],
                           "the answer about the job has the validation", 60)
        shown = json.loads(harness.run("jobs", "show", key, "-o", "json", "--socket", agent.socket)[1])
        self.assertEqual((shown["afterwards"]["nodes"], shown["afterwards"]["passed"]), (1, 1), "the brain has the result")
        self.assertIn('autopilot_validations_total{verdict="passed"} 1', agent.get("/metrics"))
        harness.wait_until(lambda: [one for one in json.loads(agent.request("GET", "/v1/events", headers={"Accept": "application/json"})[1])["items"]
                                    if one["kind"] == "validation_finished" and one["subject"]["key"] == key], "the event is stored")
        measured = harness.wait_until(lambda: self.measurements(agent), "what the diagnostics measured is in history")
        self.assertRegex(measured[0]["kind"], "^gpu=.+;driver=[0-9]+$")

    def test_without_permission_for_load_a_fault_during_the_job_is_still_named(self):
        agent = self.agent({})
        job, key = self.job(agent)
        self.driver("row_remap.pending: false", "row_remap.pending: true")
        job.close()
        seen = self.validation(agent, key)
        self.assertEqual((seen["verdict"], seen["depth"]), ("failed", "passive"), seen)
        self.assertRegex(" ".join(seen["worse"]), "gpu.row_remap: healthy before the job, (degraded|failed) after it; GPU 0")
        self.assertEqual(self.operations(agent), [])
        code, out, _ = harness.run("validations", "--socket", agent.socket)
        self.assertEqual(code, 2, out)
        self.assertIn("not as good as before the job", " ".join(out.split()))

    def test_a_diagnostic_yields_to_the_next_user_of_its_gpus(self):
        agent = self.agent({"on_job_end": "quick", "retry": "0s"}, calls=HANGS)
        job, key = self.job(agent)
        job.close()
        harness.wait_until(lambda: probes_of(agent.pid), "a diagnostic runs", 90)
        self.driver(IDLE, "processes.count: 2")
        came = time.time()
        [ended] = harness.wait_until(lambda: [one for one in self.operations(agent) if one["state"] == "cancelled"], "it has yielded", 10)
        print(f"yielded {time.time() - came:.1f} s after another process came", file=sys.stderr)
        self.assertIn("in use by another process", ended["message"])
        seen = self.validation(agent, key)
        self.assertEqual(seen["verdict"], "unknown", seen)
        self.assertIn("in use by another process", seen["cause"])
        self.assertEqual(len(self.operations(agent)), 1, "the next one does not begin")

    def test_a_killed_agent_loses_no_job_silently(self):
        state = self.enterContext(tempfile.TemporaryDirectory())
        agent = self.agent({"on_job_end": "quick"}, calls=HANGS, state=state)
        job, key = self.job(agent)
        job.close()
        harness.wait_until(lambda: probes_of(agent.pid), "a diagnostic runs", 90)
        agent.process.stop(signal.SIGKILL)
        agent.close()
        agent = self.start(state)
        seen = self.validation(agent, key)
        self.assertEqual(seen["verdict"], "unknown")
        self.assertIn("the agent ended before the validation was complete", seen["summary"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
