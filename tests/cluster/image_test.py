# SPDX-License-Identifier: Apache-2.0
"""The image of `make image`, in a pod on a node with a kubelet: the Job of deploy/examples checks that node."""

import json
import unittest

import yaml

from kit import images, testing
from kit.cluster import ROOT, Cluster

EXAMPLE = ROOT / "deploy" / "examples" / "system-check-job.yaml"
NODE = "node-0"
NAMESPACE = "system-check"
# How the program ends, by the health that it found.
CODES = {"healthy": 0, "degraded": 1, "failed": 2, "unknown": 3}


class SystemCheckTest(unittest.TestCase):
    def test_the_job_looks_at_its_node_and_ends_with_what_it_found(self):
        cluster = Cluster().open()
        if not cluster.nodes:
            self.skipTest(cluster.why_no_nodes)
        api = cluster.api
        job = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8").replace("[NODE]", f"[{NODE}]"))
        container = job["spec"]["template"]["spec"]["containers"][0]
        container["image"] = images.name_of("product")
        container["args"] += ["-o", "json"]
        # The namespace lets no pod have a right that the example does not ask for.
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
        self.addCleanup(api.run, "delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")
        name = api.run("create", "-n", NAMESPACE, "-f", "-", "-o", "name", text=json.dumps(job)).strip()

        def ended():
            pods = api.get("pods", "-n", NAMESPACE)["items"]
            states = [one["state"].get("terminated") for pod in pods for one in pod["status"].get("containerStatuses", [])]
            return states[0] if states else None
        state = api.wait(ended, "the pod of the Job has ended", 120)
        found = json.loads(api.run("logs", "-n", NAMESPACE, name))
        self.assertEqual(state["exitCode"], CODES[found["health"]])
        self.assertFalse(found["simulated"])
        looked = {one["check"]: one["health"] for one in found["results"]}
        self.assertIn(looked["host.memory"], ("healthy", "degraded", "failed"))


if __name__ == "__main__":
    testing.main()
