# SPDX-License-Identifier: Apache-2.0
"""Helm with the chart of this tree, and the objects that it renders."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

from kit.deployment import NAMESPACE, render

# A cluster with the kind PrometheusRule.
MONITORING = ("--api-versions", "monitoring.coreos.com/v1")
PCIE = "gpu.pcie_bandwidth.host_to_device"


class Unrepeated(yaml.SafeLoader):
    """Refuses duplicate keys of a map, like the API server."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        assert len(set(keys)) == len(keys), keys
        return super().construct_mapping(node, deep)


class Helm:
    def __init__(self, folder):
        self._program = render.find_helm()
        self._folder = Path(folder)

    def run(self, verb, *arguments, values="", kubeconfig=None):
        """Output of the command; AssertionError with its message if it fails."""
        file = self._folder / "values.yaml"
        file.write_text(values)
        options = ["-f", str(file)] if verb in ("template", "lint", "install", "upgrade") else []
        if kubeconfig:
            options += ["--kubeconfig", str(kubeconfig), "--namespace", NAMESPACE]
        done = subprocess.run([str(self._program), verb, *arguments, *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return done.stdout

    def objects(self, values="", *arguments):
        text = self.run("template", "autopilot", str(render.CHART), "--namespace", NAMESPACE, "--kube-version", render.OLDEST, *arguments, values=values)
        return {(one["kind"], one["metadata"]["name"]): one for one in yaml.load_all(text, Unrepeated) if one}

    def rules(self, values="{}", *arguments):
        """Prometheus rules of the chart with the alerts switched on."""
        values = yaml.dump({**yaml.safe_load(values), "prometheusRule": {"create": True}})
        return self.objects(values, *MONITORING, *arguments)["PrometheusRule", "autopilot-metrics"]["spec"]

    def settings(self, values):
        return yaml.safe_load(self.objects(values)["ConfigMap", "autopilot"]["data"]["config.yaml"])


class ChartCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.helm = Helm(folder.name)
