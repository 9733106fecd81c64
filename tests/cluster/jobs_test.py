# SPDX-License-Identifier: Apache-2.0
"""Running jobs in a cluster: the agents of two real nodes see the ranks of one job, which the controller joins; the other replica sends
agents to the leader; a new leader learns the jobs from the agents. The ranks are programs with the environment of a launcher."""

import json
import unittest

from kit import images, simulated, testing
from kit.cluster import Cluster
from kit.deployment import NAMESPACE, Deployment

TEAM = "team-jobs"
CONTROLLER = "autopilot-controller"
PATIENCE = 120


def job(name, nodes):
    """One rank on each node."""
    def rank(number, node):
        main = {"name": "main", "image": images.name_of("busybox"), "command": ["/bin/sleep", "1000000"],
                "env": [{"name": key, "value": value} for key, value in {
                    "RANK": str(number), "WORLD_SIZE": str(len(nodes)), "MASTER_ADDR": "ring-0", "MASTER_PORT": "29500"}.items()]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"{name}-{number}", "namespace": TEAM, "labels": {"of": name}}, "spec": {
            "nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [main]}}
    return [rank(number, node) for number, node in enumerate(nodes)]


class JobsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.cluster.need_nodes(2)
        cls.nodes = [node.name for node in cls.cluster.nodes][:2]
        cls.agents = Deployment(cls.api, "full", None, settings=[
            "controller.enabled=true", f"controller.nodeSelector.{simulated.LABEL}=real", "tls.mode=controller"])
        cls.addClassCleanup(cls.agents.remove)
        cls.agents.apply_to_all()
        cls.api.run("rollout", "status", "-n", NAMESPACE, f"deployment/{CONTROLLER}", "--timeout=90s")
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", TEAM)
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
        for pod in job("ring", cls.nodes):
            cls.api.apply(pod)

    @classmethod
    def leader(cls):
        """The pod of the leader."""
        lease = cls.api.get("lease", CONTROLLER, "-n", NAMESPACE)
        return lease["spec"]["holderIdentity"].rsplit("_", 1)[0]

    @classmethod
    def jobs(cls):
        """What the leader states through the API server's proxy of its pod."""
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{cls.leader()}:8082/proxy/v1/jobs"
        return json.loads(cls.api.run("get", "--raw", path))["jobs"]

    @classmethod
    def ring(cls):
        found = [one for one in cls.jobs() if one["ranks"] == 2]
        return found[0] if found else None

    def test_the_controller_joins_what_two_nodes_see_and_so_does_the_next_leader(self):
        ring = self.api.wait(self.ring, "the controller knows a job of two ranks", PATIENCE)
        self.assertEqual(ring["nodes"], 2)
        first = self.leader()
        self.api.run("delete", "pod", "-n", NAMESPACE, first, "--force", "--grace-period=0")
        self.api.wait(lambda: self.leader() != first, "another replica leads", 60)
        self.api.wait(self.ring, "it learns the job from the agents", PATIENCE)


if __name__ == "__main__":
    testing.main()
