# SPDX-License-Identifier: Apache-2.0
"""A real training job of eight ranks in pods of two nodes: the controller sees it as one job, accuses nobody while it is healthy, and names
the node of a process that stops. It takes about eight minutes: detection needs minutes of real time, as in the field."""

import json
import os
import signal
import time
import unittest
import urllib.parse
from pathlib import Path

from kit import simulated, testing, training
from kit.cluster import Cluster
from kit.deployment import NAMESPACE, Deployment

TEAM = "team-training"
CONTROLLER = "autopilot-controller"
WARM_UP = 200  # s: a usual gap between steps has to be known
HANG = 300  # s: the goal without NCCL RAS


class TrainingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not training.has_torch():
            raise unittest.SkipTest("python3-torch is not installed: tools/install-deps.sh jobs")
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.cluster.need_nodes(2)
        nodes = cls.cluster.nodes[:2]
        cls.training = training.Training(cls.api, nodes, TEAM)
        cls.addClassCleanup(cls.training.stop)
        cls.training.prepare(Path(os.environ["AUTOPILOT_BIN_DIR"]))
        cls.agents = Deployment(cls.api, "full", None, settings=[
            "controller.enabled=true", f"controller.nodeSelector.{simulated.LABEL}=real", "tls.mode=controller", *training.agent_settings()])
        cls.addClassCleanup(cls.agents.remove)
        cls.agents.apply_to_all()
        cls.api.run("rollout", "status", "-n", NAMESPACE, f"deployment/{CONTROLLER}", "--timeout=90s")
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", TEAM)
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
        cls.ranks = cls.training.start()

    @classmethod
    def ask(cls, query=""):
        """The leader, through the API server's proxy of its pod."""
        leader = cls.api.get("lease", CONTROLLER, "-n", NAMESPACE)["spec"]["holderIdentity"].rsplit("_", 1)[0]
        return json.loads(cls.api.run("get", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods/{leader}:8082/proxy/v1/jobs{query}"))

    @classmethod
    def job(cls):
        """The report of the job with everything, once its ranks are known."""
        for one in cls.ask()["jobs"]:
            if one["ranks"] == training.RANKS and one["nodes"] == 2:
                return cls.ask("?" + urllib.parse.urlencode({"job": one["job"]}))
        return None

    def findings(self):
        """Open findings that a person would be alerted about."""
        return [one for one in self.job()["findings"] if one["severity"] != "info" and "resolved" not in one]

    def test_a_stopped_process_in_a_pod_is_named_and_nobody_before(self):
        job = self.api.wait(self.job, "the controller knows a job of eight ranks", 120)
        self.assertIn(f"{TEAM}/{training.NAME}", job["job"])
        self.assertEqual(job["owner"], f"Job {TEAM}/{training.NAME}")
        end = time.monotonic() + WARM_UP
        while time.monotonic() < end:
            self.assertEqual([], self.findings())
            time.sleep(2)
        rank = self.ranks[5]
        begin = time.monotonic()
        os.kill(rank.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, rank.pid, signal.SIGCONT)
        found = self.api.wait(lambda: [one for one in self.findings() if one["effect"] == "hang"], "a hang is found", HANG)[0]
        print(f"hang after {time.monotonic() - begin:.0f} s: {found['summary']}", flush=True)
        self.assertIn(found["culprit"]["kind"], ("gpu", "host"), found)
        self.assertEqual(rank.node.name, found["culprit"].get("node"), found)
        self.assertIn(5, found["ranks"])


if __name__ == "__main__":
    testing.main()
