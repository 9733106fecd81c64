# SPDX-License-Identifier: Apache-2.0
"""Pods that hold GPUs, and the incidents that hit them. The GPUs are simulated; that a pod has them is real: a device plugin
tells a kubelet of them, and the kubelet gives them to the containers that ask."""

import unittest

from kit import images, testing
from kit.deployment import NAMESPACE, Deployment

NODE = "node-0"
SIMULATED = ("--simulate", "hgx-h100-8", "--allow-simulated")
RESOURCE = "nvidia.com/gpu"
GIVEN = "NVIDIA_VISIBLE_DEVICES"
PLUGINS = "/var/lib/kubelet/device-plugins"
OFF_BUS = 79
LOOK = 90  # seconds; more than from one look at the pods to the next


def pod(name, container, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": NODE}, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "imagePullPolicy": "Never", **container}], **spec}}


def device_plugin(uuids):
    return pod("device-plugin", {"image": images.name_of("device_plugin"), "args": [f"--ids={','.join(uuids)}"],
                                 "volumeMounts": [{"name": "plugins", "mountPath": PLUGINS}]},
               volumes=[{"name": "plugins", "hostPath": {"path": PLUGINS}}])


def training(name, gpus):
    return pod(name, {"image": images.name_of("busybox"), "command": ["sleep", "1000000"],
                      "resources": {"limits": {RESOURCE: str(gpus)}}})


class OnNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = testing.cluster_with_nodes()
        cls.api = cls.cluster.api

    @classmethod
    def install(cls, profile):
        """The agent of this profile, and the GPUs that it sees as devices of the kubelet."""
        cls.deployment = Deployment(cls.api, profile, NODE, *SIMULATED)
        # Last of all: the agent must be gone.
        unittest.addModuleCleanup(cls.cluster.nodes[0].forget_agent)
        unittest.addModuleCleanup(cls.deployment.remove)
        cls.deployment.apply()
        cls.addresses = cls.api.wait(cls.gpus, "the agent sees its GPUs")
        unittest.addModuleCleanup(cls.delete, "device-plugin")
        cls.start(device_plugin(sorted(cls.addresses)))
        cls.api.wait(lambda: cls.api.get("node", NODE)["status"]["allocatable"].get(RESOURCE) == str(len(cls.addresses)),
                     "the kubelet has the devices")

    @classmethod
    def gpus(cls):
        """UUID -> PCI address."""
        result, = cls.deployment.ask("check", "gpu.processes")["results"]
        gpus = [one["subject"] for one in result["observations"] if one["subject"]["kind"] == "gpu"]
        return {gpu["uuid"]: gpu["key"] for gpu in gpus if gpu.get("uuid")}

    @classmethod
    def start(cls, made):
        name = made["metadata"]["name"]
        cls.api.apply(made)
        cls.api.wait(lambda: cls.api.get("pod", name)["status"].get("phase") == "Running", f"{name} runs")

    @classmethod
    def delete(cls, name):
        cls.api.run("delete", "pod", name, "--ignore-not-found", "--grace-period=0", "--force")
        cls.api.wait(lambda: not cls.api.run("get", "pod", name, "--ignore-not-found"), f"{name} is gone")

    def train(self, name, gpus):
        """The addresses of the GPUs that the kubelet gave to a new pod."""
        self.addCleanup(self.delete, name)
        self.start(training(name, gpus))
        given = self.api.run("exec", name, "--", "sh", "-c", f"echo ${GIVEN}").strip().split(",")
        self.assertEqual(len(given), gpus)
        return sorted(self.addresses[uuid] for uuid in given)

    def break_gpu(self, address):
        self.deployment.autopilot("inject", "xid", "--subject", f"gpu/{address}", "--magnitude", str(OFF_BUS))

    def incident(self, address):
        """Of a GPU that fell off the bus."""
        for one in self.deployment.ask("status")["incidents"]:
            if one["reason"] == "gpu_fallen_off_bus" and one["blamed"]["key"] == address:
                return one
        return None

    def pods_of(self, address):
        """Those that the incident of the GPU names, and who makes them candidates; empty: they are known."""
        return pods_in(self.incident(address))

    def restart_agent(self):
        before = self.deployment.wait_ready()["metadata"]
        self.api.run("delete", "pod", "-n", NAMESPACE, before["name"])
        self.assertNotEqual(self.deployment.wait_ready()["metadata"]["uid"], before["uid"])


class FullTest(OnNode):
    """By the word of the kubelet, which a container of root asks for the agent."""

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
    """By the word of the API, which does not tell which GPUs a pod has."""

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
