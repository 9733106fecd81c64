# SPDX-License-Identifier: Apache-2.0
"""The installation of deploy/, on all nodes with kubelets of a cluster, each with the GPUs of one simulated machine: the kubelet assigns
them to pods, and the agent of the node checks them."""

import json
import re
import sys
import urllib.request

from kit import images
from kit.api import condition_of
from kit.cluster import ROOT
from kit.deployment import NAMESPACE, PREFIX

sys.path.insert(0, str(ROOT / "tools" / "deploy"))

import render  # noqa: E402

RESOURCE = "nvidia.com/gpu"
GPU_TEST = "gpu.pcie_bandwidth"
POOL = {"autopilot-kit/gpus": "yes"}
AGENT = {"autopilot-kit/agent": "yes"}
PLUGINS = "/var/lib/kubelet/device-plugins"
MACHINE = "hgx-h100-8"
GPUS = 8
CONTROLLER = "autopilot-controller"
WEBHOOK = "autopilot-preflight"


class GpuNodes:
    """`settings` are values of the chart."""

    def __init__(self, cluster, *settings: str):
        self._api = cluster.api
        self._nodes = cluster.nodes
        self._settings = settings
        self._mode = ""

    def install(self, mode: str) -> None:
        """Ready afterwards: agents, controllers, the webhook, the GPUs of every kubelet."""
        for node in self._nodes:
            self._api.run("label", "node", node.name, "--overwrite", *(f"{key}={value}" for key, value in (POOL | AGENT).items()))
        self.set_mode(mode)
        for node in self._nodes:
            self._api.wait(lambda node=node: self.agent_of(node.name), f"the agent of {node.name} is ready", 90)
        self._api.wait(self._is_told, "the API server is told whom to believe", 60)
        uuids = self._uuids(self._nodes[0].name)
        self._api.apply(*(_device_plugin(node.name, uuids) for node in self._nodes))
        for node in self._nodes:
            self._api.wait(lambda node=node: self._api.get("node", node.name)["status"]["allocatable"].get(RESOURCE) == str(GPUS),
                           f"the kubelet of {node.name} has the GPUs")

    def set_mode(self, mode: str) -> None:
        """Sets the mode of the remediation policy."""
        if mode == self._mode:
            return
        self._api.run("apply", "--server-side", "--force-conflicts", "--field-manager=kit", "-f", "-", text=self._text(mode))
        if self._mode:
            # Sooner than the kubelet would show the new documents to pods that run.
            for what in (f"deployment/{CONTROLLER}", "daemonset/autopilot"):
                self._api.run("rollout", "restart", "-n", NAMESPACE, what)
            self._api.run("rollout", "status", "-n", NAMESPACE, "daemonset/autopilot", "--timeout=120s")
        self._mode = mode
        self.wait_controllers()

    def remove(self) -> None:
        self._api.run("delete", "--ignore-not-found", "--wait=false", "-f", "-", text=self._text(self._mode or "observe"))
        self._api.run("delete", "pod", "--ignore-not-found", "--force", "--grace-period=0", *(_plugin_of(node.name) for node in self._nodes))
        self._api.wait(lambda: not self._api.run("get", "namespace", NAMESPACE, "--ignore-not-found"), "the namespace is gone")
        for node in self._nodes:
            self._api.run("label", "node", node.name, f"{PREFIX}/gpuhealth-", *(f"{key}-" for key in POOL | AGENT))
            self._api.run("annotate", "node", node.name, f"{PREFIX}/summary-", f"{PREFIX}/checked-at-")
            node.forget_agent()

    # --- controllers ---

    def controllers(self) -> list[dict]:
        return self._api.get("pods", "-n", NAMESPACE, "-l", f"app={CONTROLLER}")["items"]

    def wait_controllers(self) -> None:
        self._api.run("rollout", "status", "-n", NAMESPACE, f"deployment/{CONTROLLER}", "--timeout=90s")
        self._api.wait(self.leader, "one leads")
        self._api.wait(self._is_asked, "the API server asks what a pod gets")

    def leader(self) -> str:
        """The name of a pod that is there."""
        holder = self._api.get("lease", "-n", NAMESPACE, CONTROLLER)["spec"].get("holderIdentity", "").split("_")[0]
        return holder if holder in {pod["metadata"]["name"] for pod in self.controllers()} else ""

    def plans_made(self) -> int:
        """Number of decisions of the leader since its start."""
        address = self._api.get("pod", "-n", NAMESPACE, self.leader())["status"]["podIP"]
        with urllib.request.urlopen(f"http://{address}:8082/metrics", timeout=10) as answer:
            return int(re.search(r"(?m)^autopilot_controller_plans_made_total (\d+)$", answer.read().decode()).group(1))

    def _is_asked(self) -> bool:
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "is-asked", "namespace": "default", "labels": {"autopilot": ""}},
               "spec": {"containers": [{"name": "main", "image": "none:1", "resources": {"limits": {RESOURCE: "1"}}}]}}
        would_be = json.loads(self._api.run("create", "--dry-run=server", "-o", "json", "-f", "-", text=json.dumps(pod)))
        return any(one["name"] == WEBHOOK for one in would_be["spec"].get("initContainers", []))

    def _is_told(self) -> bool:
        webhooks = self._api.get("mutatingwebhookconfiguration", WEBHOOK)["webhooks"]
        return all(one["clientConfig"].get("caBundle") for one in webhooks)

    # --- agents ---

    def agent_of(self, node: str) -> str:
        """The name of its pod; empty: it is not ready."""
        ready = [pod["metadata"]["name"] for pod in self._api.get("pods", "-n", NAMESPACE, "-l", "app=autopilot")["items"]
                 if pod["spec"].get("nodeName") == node and condition_of(pod, "Ready") == "True" and
                 "deletionTimestamp" not in pod["metadata"]]
        return ready[0] if ready else ""

    def autopilot(self, node: str, *arguments: str, codes=(0,)) -> str:
        """Output of the command line in the container of the node's agent."""
        return self._api.run("exec", "-n", NAMESPACE, self.agent_of(node), "-c", "agent", "--", "autopilot", *arguments, codes=codes)

    def slow_down(self, node: str) -> None:
        """A fault that a test finds, and nothing else does."""
        self.repair(node)
        self.autopilot(node, "inject", "slow_copies")

    def repair(self, node: str) -> None:
        """Another machine in its place, with no fault, of which nothing is proven."""
        before = self.agent_of(node)
        (key, value), = AGENT.items()
        self._api.run("label", "node", node, f"{key}-")
        self._api.wait(lambda: not self._api.run("get", "pod", "-n", NAMESPACE, before, "--ignore-not-found"), f"the agent of {node} is gone")
        # The stored state of an agent: its journal, and its report in the cluster.
        next(one for one in self._nodes if one.name == node).forget_agent()
        self._api.run("delete", "nodehealthreport", "-n", NAMESPACE, node, "--ignore-not-found")
        self._api.run("label", "node", node, f"{key}={value}")
        self._api.wait(lambda: self.agent_of(node), f"the agent of {node} is ready", 90)

    def test(self, node: str) -> None:
        """Runs the diagnostic as an operator does."""
        self.autopilot(node, "test", GPU_TEST)

    def _uuids(self, node: str) -> list[str]:
        def seen():
            result, = json.loads(self.autopilot(node, "check", "gpu.processes", "-o", "json", codes=(0, 1, 2, 3)))["results"]
            uuids = {one["subject"].get("uuid") for one in result["observations"] if one["subject"]["kind"] == "gpu"} - {None}
            return sorted(uuids) if len(uuids) == GPUS else None
        return self._api.wait(seen, "the agent sees its GPUs")

    def _text(self, mode: str) -> str:
        image, tag = images.name_of("autopilot").rsplit(":", 1)
        (key, value), = POOL.items()
        (agent, yes), = AGENT.items()
        return render.render(render.find_helm(), "full", [
            f"image.repository={image}", f"image.tag={tag}", f"nodeSelector.{agent}={yes}", f"controller.nodeSelector.{key}={value}",
            f"extraArgs={{--simulate,{MACHINE},--allow-simulated}}", f"remediation.mode={mode}", "remediation.pools[0].name=kit",
            f"remediation.pools[0].selector.{key}={value}", *self._settings])


def _plugin_of(node: str) -> str:
    return f"device-plugin-{node}"


def _device_plugin(node: str, uuids: list[str]) -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": _plugin_of(node), "namespace": "default"}, "spec": {
        "nodeName": node, "terminationGracePeriodSeconds": 0, "volumes": [{"name": "plugins", "hostPath": {"path": PLUGINS}}],
        "containers": [{"name": "main", "imagePullPolicy": "Never", "image": images.name_of("device_plugin"),
                        "args": [f"--ids={','.join(uuids)}"], "volumeMounts": [{"name": "plugins", "mountPath": PLUGINS}]}]}}
