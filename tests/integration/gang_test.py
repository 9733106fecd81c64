# SPDX-License-Identifier: Apache-2.0
"""Pods of one job on two nodes begin together: real agents and a real controller inside TLS, simulated machines, and something in the place
of the API server."""

import os
import re
import subprocess
import tempfile
import unittest

import fake_api_server
import harness
from certificates import Certificates

PODS = "/api/v1/namespaces/team-a/pods"
AGENT = "system:serviceaccount:autopilot:autopilot"
KEY = "authentication.kubernetes.io/"
TEST = "gpu.pcie_bandwidth"


def pod(number):
    return {"metadata": {"name": f"train-{number}", "namespace": "team-a", "uid": f"uid-train-{number}", "resourceVersion": "1",
                         "labels": {"autopilot": ""},
                         "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j1", "controller": True}]},
            "spec": {"nodeName": f"node-{number}", "serviceAccountName": "ci",
                     "initContainers": [{"name": "autopilot-preflight"}],
                     "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
            "status": {"phase": "Pending"}}


class GangTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.keys = Certificates(folder.name)
        self.keys.make_authority("ca")
        self.keys.make("controller", "ca", "DNS:localhost,IP:127.0.0.1")
        self.api = fake_api_server.FakeApiServer()
        self.addCleanup(self.api.close)
        self.api.objects["/apis/coordination.k8s.io/v1/namespaces/autopilot/leases"] = []
        self.api.objects["/apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/remediationplans"] = []
        self.api.objects["/apis/autopilot.ibm.com/v1alpha1/namespaces/autopilot/remediationrequests"] = []
        self.api.objects[PODS] = self.api.objects["/api/v1/pods"] = [pod(0), pod(1)]
        self.ports = {}
        self.agents = {}
        for number in (0, 1):
            node = f"node-{number}"
            self.keys.make(node, "ca", f"DNS:{node}")
            self.api.objects[fake_api_server.NODES].append({"metadata": {"name": node, "uid": f"n{number}", "resourceVersion": "1"},
                                                            "status": {"allocatable": {"nvidia.com/gpu": "8"}}})
            self.api.tokens[f"of-pod-{number}"] = ({"username": "system:serviceaccount:team-a:ci", "extra": {
                f"{KEY}pod-name": [f"train-{number}"], f"{KEY}pod-uid": [f"uid-train-{number}"], f"{KEY}node-name": [node]}}, "autopilot")
            self.api.tokens[f"of-agent-{number}"] = ({"username": AGENT, "extra": {f"{KEY}node-name": [node]}}, "autopilot.ibm.com")
        self.kubeconfig = fake_api_server.write_kubeconfig(self.keys.path("kubeconfig"), {"c": self.api.url}, "c")

    def write(self, name, text):
        with open(self.keys.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.keys.path(name)

    def start_controller(self):
        config = self.write("controller.yaml", f"drain: 0s\njobs: {{listen: '127.0.0.1:0'}}\nkubernetes: {{kubeconfig: {self.kubeconfig}, namespace: autopilot}}\n"
                            f"certificates: {{mode: files, certificate: {self.keys.path('controller.crt')}, "
                            f"key: {self.keys.path('controller.key')}, authorities: {self.keys.path('ca.crt')}}}\n")
        controller = harness.Process([harness.AUTOPILOT, "controller", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0",
                                      "--config", config])
        self.addCleanup(controller.stop)
        self.controller = harness.wait_until(lambda: controller.find(r"controller ready.* tls_port=(\d+)"), "the controller is ready").group(1)
        harness.wait_until(lambda: controller.find("this controller is the leader now"), "the controller leads", 60)
        return controller

    def start_agent(self, number, gang_wait="2m"):
        node = f"node-{number}"
        token = self.write(f"agent-token-{number}", f"of-agent-{number}")
        config = self.write(f"agent-{number}.yaml", f"node: {node}\npreflight: {{gang_wait: {gang_wait}}}\n"
                            f"kubernetes: {{write_node: true, kubeconfig: {self.kubeconfig}, namespace: autopilot}}\n"
                            f"tls: {{mode: files, listen: '127.0.0.1:0', certificate: {self.keys.path(node + '.crt')}, "
                            f"key: {self.keys.path(node + '.key')}, authorities: {self.keys.path('ca.crt')}, "
                            f"controller: 'https://localhost:{self.controller}', token: {token}}}\n")
        agent = harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", config, folder=self.keys.path(node))
        self.addCleanup(agent.close)
        self.ports[number] = int(agent.process.find(r"agent ready.* tls_port=(\d+)").group(1))
        self.agents[number] = agent

    def begin(self, number, deadline="60s"):
        """The init container of that pod."""
        token = self.write(f"pod-token-{number}", f"of-pod-{number}")
        with open(self.keys.path("ca.crt"), encoding="ascii") as file:
            authority = file.read()
        environment = {"PATH": os.environ["PATH"], "AUTOPILOT_AGENT_URL": f"https://127.0.0.1:{self.ports[number]}",
                       "AUTOPILOT_NODE": f"node-{number}", "AUTOPILOT_NAMESPACE": "team-a", "AUTOPILOT_POD": f"train-{number}",
                       "AUTOPILOT_AUTHORITY": authority, "AUTOPILOT_DEADLINE": deadline}
        child = subprocess.Popen([harness.AUTOPILOT, "preflight", "--token-file", token, "--hold", "0s"], env=environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        return child

    def read_until(self, child, words):
        for line in iter(child.stdout.readline, ""):
            if words in line:
                return
        self.fail(f"{words!r} was not said; {child.stderr.read()}")

    def end(self, child):
        out, errors = child.communicate(timeout=240)
        return child.returncode, out + errors

    def reports(self):
        return self.api.objects[fake_api_server.CHECKS]

    def test_a_pod_that_passed_waits_for_the_other_one_of_its_job(self):
        self.start_controller()
        for number in (0, 1):
            self.start_agent(number)
        first = self.begin(0)
        self.read_until(first, "node node-0: waiting for 1 of 2 pods of Job train: train-1 on node node-1 is being tested\n")
        self.assertIsNone(first.poll())
        code, said = self.end(self.begin(1))
        self.assertEqual(code, 0, said)
        code, said = self.end(first)
        self.assertEqual(code, 0, said)
        self.assertIn(f"{TEST} passed just now on the 8 GPUs of this pod; the job may start\n", said)
        self.assertEqual(self.reports(), [])

    def test_one_bad_node_keeps_the_others_waiting_and_not_for_ever(self):
        self.start_controller()
        self.start_agent(0, gang_wait="30s")
        self.start_agent(1)
        code, _, errors = harness.run("inject", "slow_copies", "--socket", self.agents[1].socket)
        self.assertEqual(code, 0, errors)
        self.assertEqual(harness.run("preflight", "--socket", self.agents[0].socket)[0], 0)
        # It waits longer than any deadline, as the agent asks it to.
        first = self.begin(0, deadline="1s")
        code, said = self.end(self.begin(1))
        self.assertEqual(code, 2, said)
        code, said = self.end(first)
        self.assertEqual(code, 0, said)
        self.assertIn("gave up after 30s waiting for 1 of 2 pods of Job train: train-1 on node node-1 ", said)
        self.assertEqual(sorted((one["spec"]["node"], one["spec"]["outcome"]) for one in self.reports()),
                         [("node-0", "started"), ("node-1", "failed")])

    def test_a_pod_that_is_alone_waits_for_nobody(self):
        self.api.objects["/api/v1/pods"] = [pod(0)]
        self.start_controller()
        self.start_agent(0)
        for proof in ("passed just now", r"passed \d+ s ago"):
            code, said = self.end(self.begin(0))
            self.assertEqual(code, 0, said)
            self.assertRegex(said, rf"{TEST} {proof} on the 8 GPUs of this pod; the job may start\n")
            self.assertNotIn("waiting for", said)
        print("a fresh proof:", re.search(r"answered after \S+|$", said).group(0))
        self.assertEqual(self.reports(), [])

    def test_a_controller_that_is_away_is_not_waited_for_for_ever(self):
        controller = self.start_controller()
        self.start_agent(0, gang_wait="2s")
        controller.stop()
        code, said = self.end(self.begin(0))
        self.assertEqual(code, 0, said)
        self.assertIn("gave up after 2s waiting for the controller", said)
        self.assertEqual([one["spec"]["outcome"] for one in self.reports()], ["started"])


if __name__ == "__main__":
    unittest.main()
