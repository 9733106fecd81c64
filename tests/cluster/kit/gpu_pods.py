# SPDX-License-Identifier: Apache-2.0
"""A node whose kubelet has the GPUs of a simulated machine, with its agent, and pods that hold them. The assignment to pods is real: a
device plugin reports the GPUs to the kubelet, and the kubelet assigns them to the containers that request them."""

import unittest

from kit import images, testing
from kit.deployment import Deployment

NODE = "node-0"
SIMULATED = ("--simulate", "hgx-h100-8", "--allow-simulated")
RESOURCE = "nvidia.com/gpu"
GIVEN = "NVIDIA_VISIBLE_DEVICES"
PLUGINS = "/var/lib/kubelet/device-plugins"


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


class GpuPodsCase(unittest.TestCase):
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
