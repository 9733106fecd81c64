# SPDX-License-Identifier: Apache-2.0
"""The installation of deploy/, on one node with a kubelet, or on all of them."""

import json
import sys

from kit import images, simulated
from kit.api import condition_of
from kit.cluster import ROOT

sys.path.insert(0, str(ROOT / "tools" / "deploy"))

import render  # noqa: E402

NAMESPACE = render.NAMESPACE
PREFIX = "autopilot.ibm.com"


class Deployment:
    """The manifests of one profile with nothing changed but the image, the node (None: every one with a kubelet), further arguments
    of the agent, and `settings`: values of the chart, for a cluster that knows `apis` too."""

    def __init__(self, api, profile: str, node: str | None, *arguments: str, settings=(), apis=()):
        self._api = api
        key, value = ("kubernetes.io/hostname", node) if node else (simulated.LABEL, "real")
        self._selector = f"{key}={value}"
        image, tag = images.name_of("autopilot").rsplit(":", 1)
        selector = self._selector.replace(".", "\\.")
        settings = [f"image.repository={image}", f"image.tag={tag}", f"nodeSelector.{selector}", *settings]
        if arguments:
            settings.append(f"extraArgs={{{','.join(arguments)}}}")
        self._text = render.render(render.find_helm(), profile, settings, apis)

    def apply(self) -> dict:
        """The pod, which is ready, where one node is chosen; the one of another profile is replaced."""
        return next(iter(self.apply_to_all().values()))

    def apply_to_all(self) -> dict[str, dict]:
        """node -> its pod, which is ready."""
        self._api.run("apply", "--server-side", "--force-conflicts", "--field-manager=kit", "-f", "-", text=self._text)
        return self._wait_ready()

    def wait_ready(self) -> dict:
        return next(iter(self._wait_ready().values()))

    def _wait_ready(self) -> dict[str, dict]:
        return self._api.wait(self.pods, "the agents' pods are ready", 90)

    def pods(self) -> dict[str, dict] | None:
        """node -> its pod. None: one is not ready, or they are not yet the only ones and of the newest template."""
        daemon = self._api.get("daemonset/autopilot", "-n", NAMESPACE)
        is_current = daemon["status"].get("observedGeneration") == daemon["metadata"]["generation"]
        wanted = daemon["status"].get("desiredNumberScheduled")
        if not is_current or daemon["status"].get("updatedNumberScheduled") != wanted:
            return None
        pods = self._api.get("pods", "-n", NAMESPACE, "-l", "app=autopilot")["items"]
        is_ready = len(pods) == wanted and all(condition_of(pod, "Ready") == "True" for pod in pods)
        return {pod["spec"]["nodeName"]: pod for pod in pods} if is_ready else None

    def remove(self) -> None:
        """Removes the installation and the agents' writes to their nodes, except the conditions."""
        self._api.run("delete", "--ignore-not-found", "--wait=false", "-f", "-", text=self._text)
        self._api.wait(lambda: not self._api.run("get", "namespace", NAMESPACE, "--ignore-not-found"), "the namespace is gone")
        for verb, *keys in (("annotate", f"{PREFIX}/summary-", f"{PREFIX}/checked-at-"), ("label", f"{PREFIX}/gpuhealth-")):
            self._api.run(verb, "node", "-l", self._selector, *keys)

    def logs(self) -> str:
        return self._api.run("logs", "-n", NAMESPACE, "daemonset/autopilot", "-c", "agent")

    def autopilot(self, *arguments: str, codes=(0,)) -> str:
        """Output of the command line in the agent's container."""
        return self._api.run("exec", "-n", NAMESPACE, "daemonset/autopilot", "-c", "agent", "--", "autopilot", *arguments,
                             codes=codes)

    def ask(self, *arguments: str) -> dict:
        """The same as JSON, however the node is."""
        return json.loads(self.autopilot(*arguments, "-o", "json", codes=(0, 1, 2, 3)))
