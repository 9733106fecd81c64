# SPDX-License-Identifier: Apache-2.0
"""The pages for operators: their commands about a cluster, run in a real one with a simulated machine. Commands about one machine:
tests/integration/docs_test.py."""

import json
import os
import socket
import sys
import tempfile
import unittest
from pathlib import Path

from kit import images, testing
from kit.cluster import ROOT, Cluster
from kit.deployment import NAMESPACE, Deployment, render

sys.path.insert(0, str(ROOT / "tests" / "integration"))

import harness  # noqa: E402
import pages  # noqa: E402

NODE = "node-0"
SIMULATED = ("--simulate", "hgx-h100-8", "--allow-simulated")
# Values of the chart, after those of the page: on the one node with a kubelet, with a simulated machine.
VALUES = {"nodeSelector": {"kubernetes.io/hostname": NODE}, "onlyOnGPUNodes": False, "extraArgs": list(SIMULATED)}
# Helm, with these values where it takes any.
HELM = """#!/bin/sh
case "$1" in
  install|upgrade) exec {helm} "$@" -f {values} ;;
esac
exec {helm} "$@"
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


class DocsTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster().open()
        if not self.cluster.nodes:
            self.skipTest(self.cluster.why_no_nodes)
        for program in ("curl", "jq"):
            harness.need_program(program)
        self.deployment = Deployment(self.cluster.api, "dropin", NODE, *SIMULATED)
        self.addCleanup(self.deployment.remove)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="autopilot-test-")))
        (self.folder / "deploy").symlink_to(ROOT / "deploy")
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "autopilot").symlink_to(os.path.abspath(harness.AUTOPILOT))
        values = self.folder / "simulated.yaml"
        values.write_text(json.dumps(VALUES))
        helm = self.bin / "helm"
        helm.write_text(HELM.format(helm=render.find_helm(), values=values))
        helm.chmod(0o755)

    def follow(self, name):
        port = free_port()
        image = images.name_of("autopilot")
        repository, tag = image.rsplit(":", 1)
        path = f"{self.bin}:{self.cluster.programs['kubectl'].parent}:{os.environ['PATH']}"
        shell = pages.Shell(self.folder, {**os.environ, "PATH": path, "HOME": str(self.folder), "KUBECONFIG": str(self.cluster.kubeconfig)})
        self.addCleanup(shell.close)
        words = {"registry.example.com/autopilot:0.1.0": image, "registry.example.com/autopilot": repository, "tag: 0.1.0": f"tag: {tag}",
                 "gpu-7": NODE, "autopilot-healthchecks 3333": f"autopilot-healthchecks {port}:3333", "127.0.0.1:3333": f"127.0.0.1:{port}"}
        return pages.Reader("cluster", shell, words).follow(ROOT / "docs" / name)

    def test_setup_from_installation_to_removal(self):
        self.deployment.remove()
        self.assertGreater(self.follow("start/kubernetes.md"), 0)
        self.assertEqual(self.cluster.api.run("get", "namespace", NAMESPACE, "--ignore-not-found"), "")

    def test_usage_of_a_cluster_that_has_it(self):
        self.deployment.apply()
        self.assertGreater(self.follow("usage.md"), 0)


if __name__ == "__main__":
    testing.main()
