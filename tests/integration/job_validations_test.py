#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Validations after a job, from the agents to the controller: with the job, and in the history of the cluster."""

import http.client
import json
import os
import socket
import ssl
import tempfile
import time
import unittest

import harness
from api_store import ApiStore
from certificates import Certificates
from controller_test import SERVICE, Controller
from fake_api_server import write_kubeconfig

JOB = "ml/llama-7f3a"
NODES = ["gpu-1", "gpu-2"]


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())


def lines(*records):
    return "".join(json.dumps({**record, "t": time.time()}) + "\n" for record in records)


class JobValidationsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.history = os.path.join(self.folder, "history", "cluster.db")
        self.api = ApiStore()
        self.addCleanup(self.api.close)
        self.keys = Certificates(self.folder)
        self.keys.make_authority("ca")
        self.keys.make("controller", "ca", f"DNS:{SERVICE}")
        for node in NODES:
            self.keys.make(node, "ca", f"DNS:{node}")
        self.sequence = dict.fromkeys(NODES, 0)

    def start(self, history):
        path = self.keys.path
        controller = Controller(write_kubeconfig(os.path.join(self.folder, "kubeconfig"), {"test": self.api.url}, "test",
                                                 user={"token": "controller"}), self.folder, settings=(
            f"certificates: {{mode: files, certificate: {path('controller.crt')}, key: {path('controller.key')}, "
            f"authorities: {path('ca.crt')}}}\nhistory: {{path: {history}}}\n"))
        self.addCleanup(controller.stop)
        self.port = int(controller.process.find(r"controller ready.* jobs_port=(\d+)").group(1))
        harness.wait_until(controller.leads, "it leads", 60)
        return controller

    def request(self, node, method, path, body=None):
        """What the agent of the node is answered, as its certificate names it: status and text."""
        context = ssl.create_default_context(cafile=self.keys.path("ca.crt"))
        context.load_cert_chain(self.keys.path(node + ".crt"), self.keys.path(node + ".key"))
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as plain, \
                context.wrap_socket(plain, server_hostname=SERVICE) as tls:
            connection = http.client.HTTPConnection(SERVICE)
            connection.sock = tls
            connection.request(method, path, body=body, headers={"Host": SERVICE})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def send(self, node, *records, about=None):
        """A batch of the agent of the node. Returns status and text."""
        self.sequence[node] += 1
        head = {"node": about or node, "instance": "1", "sequence": self.sequence[node], "sent": now(), "whole": self.sequence[node] == 1}
        status, text = self.request(node, "POST", "/v1/jobs/records", json.dumps(head) + "\n" + lines(*records))
        if status == 503:
            self.sequence[node] -= 1
        return status, text

    def begin(self):
        for rank, node in enumerate(NODES):
            record = {"type": "job", "job": JOB, "ranks": [{"rank": rank, "node": node, "gpu": 0}]}
            harness.wait_until(lambda: self.send(node, {"type": "node", "node": node}, record)[0] == 200, "the batch is taken", 60)

    def job(self, controller):
        status, text = controller.get(f"/v1/jobs?job={JOB}")
        return json.loads(text) if status == 200 else {}

    def test_the_job_states_which_nodes_are_not_as_good_as_before_and_history_has_it(self):
        controller = self.start(self.history)
        self.begin()
        harness.wait_until(lambda: len(self.job(controller).get("nodeNames", [])) == 2, "the job is known", 60)
        failed = {"type": "validation", "node": "gpu-2", "job": JOB, "id": "6f1c", "verdict": "failed", "text": "1 of 31 checks",
                  "failed": [{"check": "network.rdma", "reason": "port_down", "text": "mlx5_0 port 1: the port is down"}]}
        self.assertEqual(self.send("gpu-2", failed)[0], 200)
        self.assertEqual(self.send("gpu-1", {"type": "validation", "node": "gpu-1", "job": JOB, "id": "77aa", "verdict": "passed"})[0], 200)
        # Of another node, and of a job that did not run there.
        self.send("gpu-1", {**failed, "id": "0001", "verdict": "passed"}, {**failed, "id": "0002", "job": "ml/other", "node": "gpu-1"})

        # The job is over when no node restarted for 30 s.
        for node in NODES:
            self.assertEqual(self.send(node, {"type": "job_end", "job": JOB, "outcome": "completed"})[0], 200)

        def afterwards():
            found = self.job(controller).get("afterwards")
            return found and found["passed"] and found["failed"] and found

        seen = harness.wait_until(afterwards, "both are known", 90)
        self.assertEqual(seen["text"], "1 of 2 nodes not as good as before: gpu-2 (network.rdma: mlx5_0 port 1: the port is down); "
                                       "restart without gpu-2")
        self.assertEqual([one["node"] for one in seen["notPassed"]], ["gpu-2"])
        harness.wait_until(lambda: controller.metric("autopilot_controller_history_written_total") >= 2, "history has it", 60)
        code, out, errors = harness.run("nodes", "history", "gpu-2", "--history", self.history, "-o", "json")
        self.assertEqual(code, 0, out + errors)
        records = [one for one in json.loads(out)["records"] if one["type"] == "validation"]
        self.assertEqual([(one["id"], one["verdict"]) for one in records], [("gpu-2/6f1c", "failed")])

    def outcome(self, node, job=JOB, as_node=None):
        status, text = self.request(as_node or node, "GET", f"/v1/jobs/outcome?job={job}&node={node}")
        return json.loads(text) if status == 200 else status

    def test_an_agent_is_told_why_a_job_of_its_node_ended(self):
        controller = self.start(self.history)
        self.begin()
        harness.wait_until(lambda: len(self.job(controller).get("nodeNames", [])) == 2, "the job is known", 60)
        self.assertNotIn("ended", self.outcome("gpu-1"))
        for node in NODES:
            self.send(node, {"type": "job_end", "job": JOB, "outcome": "failed"})
        harness.wait_until(lambda: "ended" in self.job(controller), "the end is known", 60)
        ended = self.outcome("gpu-2")
        self.assertEqual((ended["job"], ended["outcome"], ended["nodeNames"]), (JOB, "failed", NODES), ended)
        self.assertEqual(self.outcome("gpu-2", as_node="gpu-1"), 403, "a node asks for itself only")
        self.assertEqual(self.outcome("gpu-1", job="ml/other"), 404)
        self.keys.make("gpu-3", "ca", "DNS:gpu-3")
        self.assertEqual(self.outcome("gpu-3"), 404, "the job did not run there")

    def test_a_history_that_cannot_be_written_stops_nothing(self):
        controller = self.start("/proc/none/history.db")
        self.begin()
        harness.wait_until(lambda: self.job(controller), "the job is known", 60)
        self.assertEqual(self.send("gpu-1", {"type": "validation", "node": "gpu-1", "job": JOB, "verdict": "unknown"})[0], 200)
        harness.wait_until(lambda: controller.metric("autopilot_controller_history_problem") == 1, "the problem is known", 60)
        self.assertTrue(self.job(controller))


if __name__ == "__main__":
    unittest.main()
