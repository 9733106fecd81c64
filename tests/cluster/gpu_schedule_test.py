# SPDX-License-Identifier: Apache-2.0
"""GPUs that the agent of a node tests by itself, beside pods to which the kubelet gave some of them: what is idle is tested and its pass is
written down, what a pod holds is left alone, and a pod that comes in the middle ends the test. None of it is a failure of anything."""

import json
import urllib.request

import yaml

from kit import testing
from kit.api import condition_of
from kit.deployment import NAMESPACE, PREFIX
from kit.gpu_pods import NODE, GpuPodsCase, training

FIRST = ["gpu.pcie_bandwidth", "gpu.memory_bandwidth"]
LATER = "gpu.compute"
EVERY = "10m"  # the least
UNTIL_TURN = 150  # seconds: a minute at most, once the kubelet has shown the agent its new configuration
UNTIL_NEXT_LOOK = 420  # a GPU in use is asked about again after five minutes
HANG = "4m"  # over when it is


class GpuScheduleTest(GpuPodsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.install("full")
        cls.agent = f"http://{cls.deployment.wait_ready()['status']['podIP']}:3333"
        cls.uuids = {address: uuid for uuid, address in cls.addresses.items()}

    def schedule(self, checks):
        """Changes only the ConfigMap, which the agent reads again: an upgrade of the chart would start another agent."""
        config = yaml.safe_load(self.api.get("configmap", "autopilot", "-n", NAMESPACE)["data"]["config.yaml"])
        config["gpu_tests"] = {"every": EVERY, "checks": checks}
        self.api.run("patch", "configmap", "autopilot", "-n", NAMESPACE, "-p", json.dumps({"data": {"config.yaml": yaml.safe_dump(config)}}))

    def operations(self, check):
        """Scheduled operations, oldest first: state, message, GPUs."""
        with urllib.request.urlopen(f"{self.agent}/v1/operations", timeout=10) as answer:
            items = [one for one in json.load(answer)["items"] if one["owner"] == "schedule" and one["kind"] == check]
        return [(one["state"], one["message"], sorted(gpu["key"] for gpu in one["reservation"]))
                for one in sorted(items, key=lambda one: one["created"])]

    def ended(self, check):
        """The GPUs of each test that came to its end."""
        return [gpus for state, _, gpus in self.operations(check) if state == "succeeded"]

    def passes(self):
        """Pass records in the report of the node: GPU and diagnostic."""
        records = self.api.get("nodehealthreport", "-n", NAMESPACE, NODE)["status"].get("passRecords", [])
        return {(one["gpuUuid"], one["test"]) for one in records}

    def passes_of(self, gpus, checks):
        return {(self.uuids[gpu], check) for gpu in gpus for check in checks}

    def assert_nothing_is_wrong(self):
        status = self.deployment.ask("status")
        self.assertEqual((status["verdict"], status["incidents"]), ("PASS", []))
        node = self.api.get("node", NODE)
        self.assertEqual(node["metadata"]["labels"].get(f"{PREFIX}/gpuhealth"), "PASS")
        self.assertEqual(condition_of(node, "GpuHealthy"), "True")
        self.assertEqual(node["spec"].get("taints", []), [])

    def assert_runs_on(self, *pods):
        """The same pod as before, without a restart."""
        for name, uid in pods:
            pod = self.api.get("pod", name)
            self.assertEqual((pod["metadata"]["uid"], pod["status"]["phase"]), (uid, "Running"))
            self.assertEqual([one["restartCount"] for one in pod["status"]["containerStatuses"]], [0])

    def uid(self, name):
        return name, self.api.get("pod", name)["metadata"]["uid"]

    def test_idle_gpus_are_tested_and_pods_come_first(self):
        [held] = self.train("train-a", 1)
        holder = self.uid("train-a")
        idle = sorted(set(self.uuids) - {held})

        self.schedule(FIRST)
        for check in FIRST:
            self.api.wait(lambda check=check: self.ended(check) == [idle], f"{check} has been made of the idle GPUs", UNTIL_TURN)
        self.api.wait(lambda: self.passes() == self.passes_of(idle, FIRST), "what they passed is reported, and nothing else")
        events = self.deployment.autopilot("events")
        for check in FIRST:
            self.assertIn(f"{check} started by schedule", events)
        self.api.wait(lambda: f"gpu/{held} is held by pod default/train-a" in self.deployment.logs(), "the log says why one is not tested")
        self.assert_runs_on(holder)
        self.assert_nothing_is_wrong()

        self.deployment.autopilot("inject", "test_hang", "--for", HANG)
        self.schedule([*FIRST, LATER])
        self.api.wait(lambda: [(state, gpus) for state, _, gpus in self.operations(LATER)] == [("running", idle)],
                      f"{LATER} is under way on the idle GPUs", UNTIL_TURN)
        [given] = self.train("train-b", 1)
        newcomer = self.uid("train-b")
        [(state, said, _)] = self.api.wait(lambda: (seen := self.operations(LATER)) and seen[0][0] != "running" and seen, "the test is over", 30)
        self.assertEqual((state, said), ("cancelled", f"cancelled by schedule: gpu/{given} is held by pod default/train-b"))
        self.assert_runs_on(holder, newcomer)
        [result] = self.deployment.ask("check", LATER)["results"]
        self.assertEqual((result["health"], [one["reason"] for one in result["findings"]]), ("unsupported", ["not_present"]), "as before any test")
        self.assertEqual(self.passes(), self.passes_of(idle, FIRST))
        self.assert_nothing_is_wrong()

        for name in ("train-a", "train-b"):
            self.delete(name)
        everything = self.passes_of(self.uuids, [*FIRST, LATER])
        self.api.wait(lambda: self.passes() == everything, "all GPUs have passed all tests", UNTIL_NEXT_LOOK)
        for check in FIRST:
            self.assertEqual(self.ended(check)[:2], [idle, [held]], "the one that was held has its test now")
        self.assertEqual(self.ended(LATER), [sorted(self.uuids)])
        self.assert_nothing_is_wrong()


if __name__ == "__main__":
    testing.main()
