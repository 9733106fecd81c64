# SPDX-License-Identifier: Apache-2.0
"""The gate before a pod, from its verb to the report: a real agent inside TLS, a simulated machine, and something in the place of the
API server."""

import http.client
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import fake_api_server
import harness
from certificates import Certificates

NODE = "node-1"
AUDIENCE = "autopilot"
PODS = "/api/v1/namespaces/team-a/pods"
TEST = "gpu.pcie_bandwidth"


def pod(name, node=NODE, gpus=8, labels=None):
    return {"metadata": {"name": name, "namespace": "team-a", "uid": f"uid-{name}",
                         "labels": {"autopilot": ""} if labels is None else labels,
                         "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j1", "controller": True}]},
            "spec": {"nodeName": node, "serviceAccountName": "ci", "initContainers": [{"name": "autopilot-preflight"}],
                     "containers": [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}]},
            "status": {"phase": "Pending"}}


def user(name, node=NODE):
    key = "authentication.kubernetes.io/"
    return {"username": "system:serviceaccount:team-a:ci",
            "extra": {f"{key}pod-name": [name], f"{key}pod-uid": [f"uid-{name}"], f"{key}node-name": [node]}}


class PreflightTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        self.keys = Certificates(folder.name)
        self.keys.make_authority("ca")
        self.keys.make(NODE, "ca", f"DNS:{NODE}")
        self.api = fake_api_server.FakeApiServer()
        self.addCleanup(self.api.close)
        self.api.objects[fake_api_server.NODES] = [{"metadata": {"name": NODE, "uid": "n1", "resourceVersion": "1"},
                                                    "status": {"allocatable": {"nvidia.com/gpu": "8"}}}]
        self.api.objects[PODS] = []
        self.add(pod("train-0"), "token-0")
        self.kubeconfig = fake_api_server.write_kubeconfig(self.keys.path("kubeconfig"), {"c": self.api.url}, "c")

    def add(self, one, token, audience=AUDIENCE, node=NODE):
        self.api.objects[PODS].append(one)
        self.api.tokens[token] = (user(one["metadata"]["name"], node), audience)

    def start(self, port=0, settings="", keys=NODE):
        config = self.keys.path("config.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"node: {NODE}\n"
                       f"kubernetes: {{write_node: true, kubeconfig: {self.kubeconfig}, namespace: autopilot}}\n"
                       f"tls: {{mode: files, listen: '127.0.0.1:{port}', certificate: {self.keys.path(keys + '.crt')}, "
                       f"key: {self.keys.path(keys + '.key')}, authorities: {self.keys.path('ca.crt')}}}\n{settings}")
        agent = harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", config, folder=self.keys.path("agent"))
        self.addCleanup(agent.close)
        self.port = int(agent.process.find(r"agent ready.* tls_port=(\d+)").group(1))
        return agent

    def begin(self, *arguments, token="token-0", deadline="60s", hold="0s", **variables):
        """The init container."""
        with open(self.keys.path("token"), "w", encoding="ascii") as file:
            file.write(token)
        with open(self.keys.path("ca.crt"), encoding="ascii") as file:
            authority = file.read()
        environment = {"PATH": os.environ["PATH"], "AUTOPILOT_AGENT_URL": f"https://127.0.0.1:{self.port}", "AUTOPILOT_NODE": NODE,
                       "AUTOPILOT_NAMESPACE": "team-a", "AUTOPILOT_POD": "train-0", "AUTOPILOT_AUTHORITY": authority,
                       "AUTOPILOT_DEADLINE": deadline, **variables}
        return subprocess.Popen([harness.AUTOPILOT, "preflight", "--token-file", self.keys.path("token"), "--hold", hold, *arguments],
                                env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def preflight(self, *arguments, **how):
        """Its exit code and output."""
        child = self.begin(*arguments, **how)
        out, errors = child.communicate(timeout=120)
        return child.returncode, out, errors

    @staticmethod
    def operations(agent):
        return json.loads(agent.get("/v1/operations"))["items"]

    @staticmethod
    def inject(agent, *arguments):
        code, _, errors = harness.run("inject", *arguments, "--socket", agent.socket)
        assert code == 0, errors

    def reports(self):
        return self.api.objects[fake_api_server.CHECKS]

    def test_what_is_missing_is_tested_and_a_fresh_proof_opens_at_once(self):
        agent = self.start()
        code, out, errors = self.preflight()
        self.assertEqual((code, errors), (0, ""), out)
        self.assertIn(f"asking the agent of node {NODE} about the GPUs of pod team-a/train-0\n", out)
        self.assertIn(f"node {NODE} (SIMULATED): {TEST} passed just now on the 8 GPUs of this pod; the job may start\n", out)
        operations = self.operations(agent)
        self.assertEqual([(one["kind"], one["owner"], len(one["reservation"])) for one in operations],
                         [(TEST, "preflight of team-a/train-0", 8)])
        self.add(pod("train-1"), "token-1")
        code, out, _ = self.preflight(token="token-1")
        self.assertEqual(code, 0)
        self.assertRegex(out, rf"{TEST} passed \d+ s ago on the 8 GPUs of this pod; the job may start\n")
        self.assertEqual(len(self.operations(agent)), 1)
        self.assertEqual(self.reports(), [])

    def test_a_proof_outlives_the_agent_and_not_an_incident_of_its_gpu(self):
        agent = self.start()
        answer = json.loads(agent.request("POST", "/v1/preflight", body="{}", unix=True, timeout=90)[1])
        self.assertEqual(answer["outcome"], "passed", answer)
        # A durable answer survives a crash. If the disk is too slow for that, an orderly end writes it.
        agent.process.stop(signal.SIGKILL if answer["durable"] else signal.SIGTERM)
        agent = self.start()
        self.assertIn(" s ago on the 8 GPUs", self.preflight()[1])
        self.inject(agent, "xid", "--subject", "gpu/0000:52:00.0", "--magnitude", "31")
        harness.wait_until(lambda: json.loads(agent.get("/v1/incidents"))["items"], "the incident is there")
        self.assertIn("passed just now", self.preflight()[1])

    def test_a_slow_gpu_keeps_the_pod_out_and_is_reported(self):
        agent = self.start()
        self.inject(agent, "slow_copies", "--subject", "gpu/0000:52:00.0")
        log = self.keys.path("termination-log")
        with open(log, "w", encoding="ascii"):
            pass
        code, out, errors = self.preflight("--termination-log", log)
        self.assertEqual(code, 2, out)
        line = (f"node {NODE} (SIMULATED): {TEST} failed: GPU 2 (0000:52:00.0) receives 2 GB/s from the host; expected: at least 4; "
                "the job does not start on this node")
        self.assertIn(line + "\n", out)
        self.assertIn(line, errors)
        with open(log, encoding="ascii") as file:
            self.assertEqual(file.read(), line + "\n")
        report, = self.reports()
        self.assertIn(report["metadata"]["name"], out)
        spec = report["spec"]
        self.assertEqual((spec["node"], spec["outcome"], spec["tests"]), (NODE, "failed", [TEST]))
        self.assertEqual(spec["pod"], {"namespace": "team-a", "name": "train-0", "uid": "uid-train-0"})
        self.assertEqual(spec["job"], {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j1"})
        self.assertEqual([(one["subject"], one["check"], one["reason"]) for one in spec["findings"]],
                         [("gpu/0000:52:00.0", TEST, "pcie_bandwidth_low")])
        self.assertEqual((len(spec["gpus"]), spec["simulated"]), (8, True))
        # A repeated request gives the same report.
        self.assertEqual(self.preflight()[0], 2)
        self.assertEqual(len(self.reports()), 1)
        self.assertEqual(agent.result(TEST)["health"], "degraded")

    def test_a_node_to_be_left_opens_for_nobody(self):
        agent = self.start()
        self.assertEqual(self.preflight()[0], 0)
        self.inject(agent, "row_remap_failed", "--subject", "gpu/0000:1b:00.0")
        harness.wait_until(lambda: agent.node()["verdict"] == "EVICT", "the verdict is EVICT")
        code, out, _ = self.preflight()
        self.assertEqual(code, 2, out)
        self.assertIn("the node is not fit for pods (EVICT)", out)
        self.assertIn("gpu/0000:1b:00.0", [one["subject"] for one in self.reports()[0]["spec"]["findings"]])

    def test_a_test_that_hangs_is_not_waited_for_beyond_the_deadline(self):
        agent = self.start()
        self.inject(agent, "test_hang")
        code, out, errors = self.preflight(deadline="2s")
        self.assertEqual((code, errors), (0, ""), out)
        self.assertIn("the policy of the node lets the job start", out)
        report, = self.reports()
        self.assertEqual(report["spec"]["outcome"], "started")
        harness.wait_until(lambda: self.operations(agent)[0]["state"] == "timed_out", "the test is ended")
        # With another policy, the same report states it.
        agent.close()
        agent = self.start(settings="preflight: {could_not_look: stop}\n")
        self.inject(agent, "test_hang")
        code, out, _ = self.preflight(deadline="2s")
        self.assertEqual(code, 3, out)
        self.assertIn("keeps the job from starting", out)
        self.assertEqual([one["spec"]["outcome"] for one in self.reports()], ["could_not_look"])

    def test_what_a_node_does_not_test_is_said_and_proves_nothing(self):
        self.start()
        code, out, _ = self.preflight("--tests", "gpu.nccl_allreduce")
        self.assertEqual(code, 0)
        self.assertIn("gpu.nccl_allreduce could not run: this node has no such test", out)
        code, out, _ = self.preflight("--tests", "self_test")
        self.assertEqual((code, "self_test passed just now on the node; the job may start" in out), (0, True), out)

    def test_nobody_tells_which_gpus_a_smaller_pod_has(self):
        self.start()
        self.add(pod("small", gpus=2), "token-small")
        _, out, _ = self.preflight(token="token-small")
        self.assertIn("it is not known which of the 8 GPUs of this node the pod has", out)
        self.assertEqual(self.preflight()[0], 0)
        _, out, _ = self.preflight(token="token-small")
        self.assertIn(" on all 8 GPUs of the node; the job may start", out)

    def test_tokens_that_prove_nothing_are_refused(self):
        agent = self.start()
        self.add(pod("elsewhere", node="node-2"), "of-another-node", node="node-2")
        self.add(pod("moved", node="node-2"), "of-a-pod-elsewhere")
        self.add(pod("plain", labels={}), "of-a-pod-without-the-label")
        self.add(pod("person"), "for-another-audience", audience="autopilot.ibm.com")
        for token, words in (("of-another-node", "403.*of another node, node-2"), ("of-a-pod-elsewhere", "403.*is not on this node"),
                             ("of-a-pod-without-the-label", "403.*no label 'autopilot'"), ("for-another-audience", "401"),
                             ("made-up", "401.*nobody's")):
            with self.subTest(token):
                code, out, errors = self.preflight("--when-unknown", "stop", token=token)
                self.assertEqual(code, 3, out)
                self.assertRegex(errors, words)
                self.assertEqual(self.preflight(token=token)[0], 0)
        self.assertEqual((self.operations(agent), self.reports()), ([], []))
        # Without TLS, no token is accepted.
        status, body = agent.request("POST", "/v1/preflight", body="{}", headers={"Authorization": "Bearer token-0"})
        self.assertEqual((status, "over TLS" in body), (403, True))
        self.assertEqual(agent.request("POST", "/v1/preflight", body='{"test": []}', unix=True)[0], 400)

    def test_an_agent_that_cannot_prove_its_node_is_not_believed(self):
        self.keys.make("node-2", "ca", "DNS:node-2")
        self.start(keys="node-2")
        code, out, _ = self.preflight(deadline="2s")
        self.assertEqual(code, 0)
        self.assertRegex(out, "could not be tested: .*certificate")
        self.assertEqual(self.api.asked_for(fake_api_server.TOKEN_REVIEWS), [])

    def test_an_api_server_that_is_away_is_waited_for(self):
        self.start()
        self.api.refusals[fake_api_server.TOKEN_REVIEWS] = 503
        child = self.begin()
        self.addCleanup(child.kill)
        self.assertIn("asking", child.stdout.readline())
        self.assertRegex(child.stdout.readline(), "waiting for the agent: the agent answers 503")
        del self.api.refusals[fake_api_server.TOKEN_REVIEWS]
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn("the job may start", out)

    def test_an_agent_that_is_killed_in_the_middle_is_waited_for(self):
        agent = self.start()
        self.inject(agent, "test_hang")
        child = self.begin()
        self.addCleanup(child.kill)
        harness.wait_until(lambda: self.operations(agent), "the test is under way")
        agent.process.stop(signal.SIGKILL)
        self.start(port=self.port)
        out, errors = child.communicate(timeout=120)
        self.assertEqual((child.returncode, errors), (0, ""), out)
        self.assertIn("passed just now on the 8 GPUs of this pod", out)

    def test_an_agent_whose_address_answers_nothing_is_given_up_soon_and_its_successor_asked(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.port = silent.getsockname()[1]
            # Less than an agent may take to say whose the token is.
            child = self.begin(deadline="35s")
            self.addCleanup(child.kill)
            self.assertIn("asking", child.stdout.readline())
            self.assertRegex(child.stdout.readline(), "waiting for the agent: .*no answer before the deadline")
        self.start(port=self.port)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn("passed just now on the 8 GPUs", out)

    def test_a_client_that_is_killed_ends_no_test(self):
        agent = self.start()
        child = self.begin()
        harness.wait_until(lambda: self.operations(agent), "the test is under way")
        child.kill()
        child.communicate(timeout=60)
        harness.wait_until(lambda: self.operations(agent)[0]["state"] == "succeeded", "the test has ended")
        self.assertIn(" ago on the 8 GPUs", self.preflight()[1])

    def test_it_waits_to_be_moved_and_ends_when_it_is(self):
        agent = self.start()
        self.inject(agent, "slow_copies")
        child = self.begin(hold="5m")
        self.addCleanup(child.kill)
        lines = iter(child.stdout.readline, "")
        self.assertTrue(any("waiting at most 5m to be moved" in line for line in lines))
        child.terminate()
        child.communicate(timeout=60)
        self.assertEqual(child.returncode, 2)

    def test_by_hand_it_is_the_whole_node_and_no_report(self):
        agent = self.start()
        code, out, _ = harness.run("preflight", "--socket", agent.socket)
        self.assertEqual(code, 0, out)
        self.assertIn("passed just now on the 8 GPUs", out)
        self.inject(agent, "slow_copies")
        self.inject(agent, "xid", "--subject", "gpu/0000:1b:00.0", "--magnitude", "31")
        harness.wait_until(lambda: json.loads(agent.get("/v1/incidents"))["items"], "the incident is there")
        code, out, _ = harness.run("preflight", "--socket", agent.socket, "--hold", "0s")
        self.assertEqual(code, 2, out)
        self.assertEqual(self.reports(), [])

    def test_history_chooses_what_runs_and_the_result_states_why(self):
        agent = self.start(settings="preflight: {choice: learned, tests: [gpu.pcie_bandwidth, gpu.memory_test], max_age: 1s}\n")
        code, out, _ = self.preflight()
        self.assertEqual(code, 0, out)
        self.assertIn("all diagnostics of the node must pass, because ", out)
        time.sleep(1.1)
        code, out, _ = self.preflight()
        self.assertEqual(code, 0, out)
        self.assertIn("1 of 2 diagnostics are chosen by the history of the node", out)
        self.assertIn("gpu.memory_test is left out: it would take ", out)
        self.assertEqual([one["kind"] for one in self.operations(agent)].count("gpu.memory_test"), 1)
        self.assertIn('autopilot_preflight_choices_total{choice="some"} 1', agent.get("/metrics"))

    def test_without_events_the_answer_is_one_object(self):
        agent = self.start()
        status, body = agent.request("POST", "/v1/preflight", body='{"deadlineSeconds": 30}', unix=True, timeout=60)
        self.assertEqual(status, 200, body)
        result = json.loads(body)
        self.assertEqual((result["outcome"], result["mayStart"], result["tests"][0]["state"]), ("passed", True, "passed"))

    def test_a_container_that_was_set_up_wrongly_says_what_is_missing(self):
        self.port = 1
        for variables, words in (({"AUTOPILOT_AUTHORITY": ""}, "AUTOPILOT_AUTHORITY"), ({"AUTOPILOT_NODE": ""}, "AUTOPILOT_NODE"),
                                 ({"AUTOPILOT_AUTHORITY": "no certificate"}, "certificate"),
                                 ({"AUTOPILOT_AGENT_URL": "http://127.0.0.1:1"}, "https"), ({"AUTOPILOT_DEADLINE": "soon"}, "60s"),
                                 ({"AUTOPILOT_TESTS": "A,B"}, "ids such as"), ({"AUTOPILOT_WHEN_UNKNOWN": "maybe"}, "start or stop")):
            with self.subTest(words):
                code, _, errors = self.preflight(**{"deadline": "1s", **variables})
                self.assertEqual(code, 78, errors)
                self.assertIn(words, errors)
        code, _, errors = self.preflight(token="")
        self.assertEqual((code, "--token-file" in errors), (78, True))
        self.assertEqual(self.preflight("--what")[0], 64)

    def test_without_an_agent_nothing_is_proven(self):
        self.port = 1
        self.assertIn("could not be tested", self.preflight(deadline="2s")[1])
        code, out, errors = self.preflight("--when-unknown", "stop", AUTOPILOT_AGENT_URL="")
        self.assertEqual((code, out.count("\n")), (3, 1))
        self.assertIn("no agent is configured", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
