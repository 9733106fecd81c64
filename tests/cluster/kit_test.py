# SPDX-License-Identifier: Apache-2.0
"""The kit itself: a cluster that behaves as one."""

import os
import signal
import subprocess
import unittest

from kit import images, network, testing
from kit.api import condition_of
from kit.cluster import Cluster


def sleeper(name, node, image="busybox", command=("sleep", "1000000")):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"},
            "spec": {"nodeSelector": {"kubernetes.io/hostname": node}, "terminationGracePeriodSeconds": 0,
                     "containers": [{"name": "main", "image": images.name_of(image), "imagePullPolicy": "Never",
                                     "command": list(command)}]}}


class KitTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api

    def need_nodes(self):
        if not self.cluster.nodes:
            self.skipTest(self.cluster.why_no_nodes)

    def start_pod(self, pod):
        name = pod["metadata"]["name"]
        self.addCleanup(self.api.run, "delete", "pod", name, "--ignore-not-found", "--grace-period=0", "--force")
        self.api.apply(pod)
        return self.api.wait(lambda: self.running(name), f"{name} runs")

    def running(self, name):
        pod = self.api.get("pod", name)
        return pod if pod["status"].get("phase") == "Running" and condition_of(pod, "Ready") == "True" else None

    def test_every_node_is_ready_and_of_the_one_version(self):
        nodes = self.api.get("nodes")["items"]
        self.assertEqual({node["metadata"]["name"] for node in nodes},
                         {node.name for node in self.cluster.nodes} | set(self.cluster.simulated_nodes))
        self.assertEqual({condition_of(node, "Ready") for node in nodes}, {"True"})
        version = self.api.run("version").splitlines()
        self.assertEqual(len([line for line in version if line.endswith(": v1.32.5")]), 2, version)

    def test_a_pod_runs_answers_and_finds_names(self):
        self.need_nodes()
        name = "answers"
        self.start_pod(sleeper(name, "node-0", command=["sh", "-c", "echo began; exec sleep 1000000"]))
        self.assertEqual(self.api.run("logs", name), "began\n")
        self.assertEqual(self.api.run("exec", name, "--", "hostname"), f"{name}\n")
        found = self.api.run("exec", name, "--", "nslookup", "kubernetes.default.svc.cluster.local")
        self.assertIn(network.API_SERVICE, found)

    def test_a_service_leads_to_its_pod(self):
        self.need_nodes()
        pod = sleeper("serves", "node-0", command=["sh", "-c", "mkdir /w; echo hello > /w/i; exec httpd -f -p 8080 -h /w"])
        pod["metadata"]["labels"] = {"app": "serves"}
        self.start_pod(pod)
        self.addCleanup(self.api.run, "delete", "service", "serves", "--ignore-not-found")
        self.api.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "serves", "namespace": "default"},
                        "spec": {"selector": {"app": "serves"}, "ports": [{"port": 80, "targetPort": 8080}]}})
        self.start_pod(sleeper("asks", "node-0"))
        address = self.api.get("service", "serves")["spec"]["clusterIP"]
        # The wget of a static busybox falls over its own name service.
        ask = ["exec", "asks", "--", "sh", "-c", f"printf 'GET /i HTTP/1.0\\r\\n\\r\\n' | nc -w 5 {address} 80 | tail -n 1"]
        self.assertEqual(self.api.wait(lambda: self.api.run(*ask), "the service answers"), "hello\n")

    def test_a_pod_of_a_simulated_node_is_said_to_run(self):
        pod = self.start_pod(sleeper("pretends", self.cluster.simulated_nodes[0]))
        self.assertEqual(pod["spec"]["nodeName"], self.cluster.simulated_nodes[0])

    def test_a_node_that_is_silent_is_not_ready_any_more(self):
        self.need_nodes()
        # Its kubelet is started again at once; so the whole node is stopped and goes on.
        pid = self.cluster.processes.pid_of(self.cluster.nodes[0].name)
        first = children_of(pid)[0]
        kubelet = next(child for child in children_of(first) if "kubelet" in arguments_of(child)[0])
        os.kill(kubelet, signal.SIGSTOP)
        try:
            self.api.wait(lambda: condition_of(self.api.get("node", "node-0"), "Ready") == "Unknown", "node-0 is unknown", 90)
        finally:
            os.kill(kubelet, signal.SIGCONT)
        self.api.wait(lambda: condition_of(self.api.get("node", "node-0"), "Ready") == "True", "node-0 is ready again")
        self.api.wait(self.cluster.has_names, "CoreDNS counts as ready again")


def children_of(pid):
    said = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in said.stdout.split()]


def arguments_of(pid):
    with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
        return file.read().split("\0")


if __name__ == "__main__":
    testing.main()
