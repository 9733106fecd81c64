# SPDX-License-Identifier: Apache-2.0
"""Pods that hold GPUs, and the incidents that hit them. The GPUs are simulated; that a pod has them is real."""

from kit import testing
from kit.deployment import NAMESPACE
from kit.gpu_pods import NODE, GpuPodsCase

OFF_BUS = 79
LOOK = 90  # seconds; longer than the interval of the readings of pods


class OnNode(GpuPodsCase):
    def break_gpu(self, address):
        self.deployment.autopilot("inject", "xid", "--subject", f"gpu/{address}", "--magnitude", str(OFF_BUS))

    def incident(self, address):
        """The incident of a GPU that fell off the bus."""
        for one in self.deployment.ask("status")["incidents"]:
            if one["reason"] == "gpu_fallen_off_bus" and one["blamed"]["key"] == address:
                return one
        return None

    def pods_of(self, address):
        """The pods of the incident of the GPU, and the source that makes them candidates; empty: the pods are known."""
        return pods_in(self.incident(address))

    def restart_agent(self):
        before = self.deployment.wait_ready()["metadata"]
        self.api.run("delete", "pod", "-n", NAMESPACE, before["name"])
        self.assertNotEqual(self.deployment.wait_ready()["metadata"]["uid"], before["uid"])


class FullTest(OnNode):
    """Names pods with data from the kubelet, which a root container asks for the agent."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.install("full")

    def test_the_pod_that_has_the_gpu_is_named_also_when_it_is_gone(self):
        first = self.train("train-a", 2)
        second = self.train("train-b", 1)
        self.break_gpu(first[1])
        self.api.wait(lambda: self.pods_of(first[1]) == [("default/train-a", "")], "train-a is named", LOOK)
        self.break_gpu(second[0])
        self.api.wait(lambda: self.pods_of(second[0]) == [("default/train-b", "")], "train-b is named", LOOK)
        self.delete("train-a")
        self.restart_agent()
        self.api.wait(lambda: self.pods_of(first[1]) == [("default/train-a", "")], "train-a is still named", LOOK)
        self.api.wait(lambda: "podResourcesProblem" not in self.deployment.ask("status")["self"], "the kubelet answers", LOOK)


class DropinTest(OnNode):
    """Names pods with data from the API server, which does not report which GPUs a pod has."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.install("dropin")

    def test_the_only_pod_with_gpus_is_a_candidate_also_when_it_is_gone_and_of_two_none_is(self):
        named = [("default/train-a", "api")]
        gpu = self.train("train-a", 2)[0]
        self.break_gpu(gpu)
        self.api.wait(lambda: self.pods_of(gpu) == named, "train-a is a candidate", LOOK)
        self.delete("train-a")
        self.api.wait(lambda: named in [pods_in(one) for one in self.report()["incidents"]], "the report names it", LOOK)
        self.assertEqual(self.pods_of(gpu), named)
        self.train("train-b", 1)
        self.train("train-c", 1)
        other = next(address for address in self.addresses.values() if address != gpu)
        self.break_gpu(other)
        incident = self.api.wait(lambda: self.incident(other), "another GPU fell off the bus", LOOK)
        self.assertEqual(pods_in(incident), [])

    def report(self):
        return self.api.get("-n", NAMESPACE, "nodehealthreport", NODE)["status"]


def pods_in(incident):
    workloads = incident.get("workloads", []) if incident else []
    return [(f"{one['podNamespace']}/{one['pod']}", one.get("candidateBy", "")) for one in workloads]


if __name__ == "__main__":
    testing.main()
