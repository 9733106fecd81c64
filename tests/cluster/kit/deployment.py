# SPDX-License-Identifier: Apache-2.0
"""What deploy/ installs, on one node with a kubelet."""

import json
import sys

from kit import images
from kit.api import condition_of
from kit.cluster import ROOT

sys.path.insert(0, str(ROOT / "tools" / "deploy"))

import render  # noqa: E402

NAMESPACE = render.NAMESPACE
PREFIX = "autopilot.ibm.com"


class Deployment:
    """The manifests of one profile with nothing changed but the image, the node, further arguments of the agent, and `settings`:
    values of the chart, for a cluster that knows `apis` too."""

    def __init__(self, api, profile: str, node: str, *arguments: str, settings=(), apis=()):
        self._api = api
        self._node = node
        image, tag = images.name_of("autopilot").rsplit(":", 1)
        settings = [f"image.repository={image}", f"image.tag={tag}", f"nodeSelector.kubernetes\\.io/hostname={node}", *settings]
        if arguments:
            settings.append(f"extraArgs={{{','.join(arguments)}}}")
        self._text = render.render(render.find_helm(), profile, settings, apis)

    def apply(self) -> dict:
        """The pod, which is ready; the one of another profile is replaced."""
        self._api.run("apply", "--server-side", "--force-conflicts", "--field-manager=kit", "-f", "-", text=self._text)
        return self.wait_ready()

    def wait_ready(self) -> dict:
        return self._api.wait(self._pod, "the agent's pod is ready", 90)

    def _pod(self):
        """None: it is not ready, or not yet the only one and of the newest template."""
        daemon = self._api.get("daemonset/autopilot", "-n", NAMESPACE)
        is_current = daemon["status"].get("observedGeneration") == daemon["metadata"]["generation"]
        if not is_current or daemon["status"].get("updatedNumberScheduled") != 1:
            return None
        pods = self._api.get("pods", "-n", NAMESPACE, "-l", "app=autopilot")["items"]
        return pods[0] if len(pods) == 1 and condition_of(pods[0], "Ready") == "True" else None

    def remove(self) -> None:
        """With what the agent wrote to its node, but for the conditions."""
        self._api.run("delete", "--ignore-not-found", "--wait=false", "-f", "-", text=self._text)
        self._api.wait(lambda: not self._api.run("get", "namespace", NAMESPACE, "--ignore-not-found"), "the namespace is gone")
        self._api.run("annotate", "node", self._node, f"{PREFIX}/summary-", f"{PREFIX}/checked-at-")
        self._api.run("label", "node", self._node, f"{PREFIX}/gpuhealth-")

    def logs(self) -> str:
        return self._api.run("logs", "-n", NAMESPACE, "daemonset/autopilot", "-c", "agent")

    def autopilot(self, *arguments: str, codes=(0,)) -> str:
        """What the command line says in the agent's container."""
        return self._api.run("exec", "-n", NAMESPACE, "daemonset/autopilot", "-c", "agent", "--", "autopilot", *arguments,
                             codes=codes)

    def ask(self, *arguments: str) -> dict:
        """The same as JSON, however the node is."""
        return json.loads(self.autopilot(*arguments, "-o", "json", codes=(0, 1, 2, 3)))
