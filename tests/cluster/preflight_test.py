# SPDX-License-Identifier: Apache-2.0
"""The gate before a pod with a real API server: tokens that are bound to a pod, and reports that admission lets through."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from kit import images, testing
from kit.api import ApiError
from kit.cluster import ROOT
from kit.deployment import NAMESPACE, PREFIX, Deployment

sys.path.insert(0, str(ROOT / "tests" / "integration"))

import harness  # noqa: E402
from certificates import Certificates  # noqa: E402

NODE = "node-0"
OTHER = "sim-0"
TEAM = "team-a"
PORT = 3334


def pod(name, node, *gate):
    """Bound by its maker: what a scheduler does is not of interest here. gate: its command; it stays in its gate without."""
    first = {"name": "autopilot-preflight", "image": images.name_of("busybox"), "command": ["/bin/busybox", *(gate or ("sleep", "3600"))]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": TEAM, "labels": {"autopilot": ""}},
            "spec": {"nodeName": node, "terminationGracePeriodSeconds": 0, "tolerations": [{"operator": "Exists"}],
                     "initContainers": [first], "containers": [{"name": "main", "image": images.name_of("busybox"), "command": ["/bin/busybox", "sleep", "3600"]}]}}


class PreflightTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = testing.cluster_with_nodes()
        cls.api = cls.cluster.api
        cls.keys = Certificates(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.keys.make_authority("ca")
        cls.keys.make(NODE, "ca", f"DNS:{NODE}")
        cls.api.run("apply", "--server-side", "-f", "-", text=json.dumps(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
        cls.api.run("create", "secret", "generic", "autopilot-tls", "-n", NAMESPACE, f"--from-file=tls.crt={cls.keys.path(NODE + '.crt')}",
                    f"--from-file=tls.key={cls.keys.path(NODE + '.key')}", f"--from-file=ca.crt={cls.keys.path('ca.crt')}")
        cls.deployment = Deployment(cls.api, "dropin", NODE, "--simulate", "hgx-h100-8", "--allow-simulated", settings=["tls.mode=secret"])
        cls.addClassCleanup(cls.deployment.remove)
        cls.address = cls.deployment.apply()["status"]["podIP"]
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", TEAM)
        cls.api.wait(lambda: cls.api.get("serviceaccount", "default", "-n", TEAM), "the account of the pods is there")
        cls.api.apply(pod("train-0", NODE), pod("elsewhere", OTHER), pod("begun", NODE, "true"))
        cls.api.wait(lambda: cls.api.get("pod", "begun", "-n", TEAM)["status"].get("phase") == "Running", "a pod has left its gate")

    def token(self, name, audience="autopilot", bound=True):
        uid = self.api.get("pod", name, "-n", TEAM)["metadata"]["uid"]
        to_pod = ("--bound-object-kind=Pod", f"--bound-object-name={name}", f"--bound-object-uid={uid}") if bound else ()
        return self.api.run("create", "token", "default", "-n", TEAM, f"--audience={audience}", *to_pod).strip()

    def preflight(self, token, *arguments):
        """Runs the init container's program on this machine, outside of the pod."""
        Path(self.keys.path("token")).write_text(token, encoding="ascii")
        environment = {**os.environ, "AUTOPILOT_AGENT_URL": f"https://{self.address}:{PORT}", "AUTOPILOT_NODE": NODE,
                       "AUTOPILOT_AUTHORITY": Path(self.keys.path("ca.crt")).read_text(encoding="ascii"), "AUTOPILOT_DEADLINE": "60s"}
        done = subprocess.run([harness.AUTOPILOT, "preflight", "--token-file", self.keys.path("token"), "--hold", "0s", *arguments],
                              env=environment, capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_a_pod_is_known_by_its_token_and_nobody_else_is(self):
        code, said = self.preflight(self.token("train-0"))
        self.assertEqual((code, "the pod has no GPU, so there is nothing to test; the job may start" in said), (0, True), said)
        for token, words in ((self.token("elsewhere"), f"403.*of another node, {OTHER}"),
                             (self.token("begun"), "403.*has left its gate"),
                             (self.token("train-0", bound=False), "403.*not bound to a pod"),
                             (self.token("train-0", audience=PREFIX), "401")):
            with self.subTest(words):
                code, said = self.preflight(token, "--when-unknown", "stop")
                self.assertEqual(code, 3, said)
                self.assertRegex(said, words)

    def test_what_failed_is_reported_and_reads_well(self):
        self.addCleanup(self.api.run, "delete", "hcr", "--all", "-n", NAMESPACE)
        self.deployment.autopilot("inject", "row_remap_failed")
        self.api.wait(lambda: self.deployment.ask("check")["verdict"] == "EVICT", "the verdict is EVICT")
        code, said = self.preflight(self.token("train-0"))
        self.assertEqual((code, "EVICT" in said), (2, True), said)
        report, = self.api.get("hcr", "-n", NAMESPACE)["items"]
        name = report["metadata"]["name"]
        self.assertIn(name, said)
        self.assertEqual((report["spec"]["node"], report["spec"]["outcome"], report["status"]), (NODE, "failed", {"phase": "Pending"}))
        lines = self.api.run("get", "hcr", "-n", NAMESPACE).splitlines()
        self.assertEqual(lines[0].split(), ["NAME", "NODE", "POD", "TEST", "OUTCOME", "PHASE", "AGE"])
        self.assertEqual(lines[1].split()[:6], [name, NODE, "train-0", "gpu.pcie_bandwidth", "failed", "Pending"])
        self.assertIn("outcome", self.api.run("explain", "hcr.spec"))
        # No user can change the result; only the controller writes the action.
        with self.assertRaisesRegex(ApiError, "a report does not change"):
            self.patch(name, {"spec": {"outcome": "started"}})
        self.patch(name, {"metadata": {"labels": {"seen": "yes"}}})
        self.patch(name, {"status": {"phase": "Planned", "plan": "p"}}, "--subresource=status")
        with self.assertRaisesRegex(ApiError, "Unsupported value"):
            self.patch(name, {"status": {"phase": "Done"}}, "--subresource=status")
        self.assertNotRegex(self.deployment.logs(), "(?i)forbidden| 403")

    def patch(self, name, change, *arguments):
        self.api.run("patch", "hcr", name, "-n", NAMESPACE, "--type=merge", "-p", json.dumps(change), *arguments)


if __name__ == "__main__":
    testing.main()
