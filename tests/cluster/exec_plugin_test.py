# SPDX-License-Identifier: Apache-2.0
"""A kubeconfig with an exec plugin, as clouds use it: an agent, `kubectl autopilot` and kubectl itself run the plugin and authenticate as
the user that it returns."""

import datetime
import json
import os
import subprocess

from kit import reports, testing
from kit.agents import AgentCase, harness
from kit.control_plane import SERVER

NODE = "sim-1"
NAMESPACE = "autopilot"
VERSION = "client.authentication.k8s.io/v1"


class ExecPluginTest(AgentCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        reports.make(cls.api, NAMESPACE)
        cls.addClassCleanup(reports.remove, cls.api)

    def setUp(self):
        super().setUp()
        self.program = self.folder / "who-am-i"
        self.program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$KUBERNETES_EXEC_INFO" >> {self.folder}/asked\nexec cat "$1"\n')
        self.program.chmod(0o755)
        (self.folder / "kubectl-autopilot").symlink_to(os.path.abspath(harness.AUTOPILOT))

    def user_of_plugin(self):
        """User entry of the kubeconfig."""
        return {"exec": {"apiVersion": VERSION, "command": str(self.program), "args": [str(self.folder / "answer")],
                         "interactiveMode": "Never", "provideClusterInfo": True}}

    def put_answer(self, ends_in=None, **status):
        if ends_in:
            ends = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=ends_in)
            status["expirationTimestamp"] = ends.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.put("answer", json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status}).encode())

    def account(self, name):
        """An account with the permissions of an agent; returns its token."""
        self.api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
        self.addCleanup(self.api.run, "delete", "serviceaccount", name, "--namespace", "default")
        self.allow(name, {"kind": "ServiceAccount", "name": name, "namespace": "default"})
        return self.api.run("create", "token", name, "--namespace", "default").strip()

    def infos(self):
        """The input of the program, one item for each run."""
        return [json.loads(line) for line in (self.folder / "asked").read_text().splitlines() if line]

    def test_an_agent_is_who_the_program_says_and_asks_it_again_before_that_ends(self):
        self.take(NODE)
        self.put_answer(token=self.account("exec-first"), ends_in=20)
        with self.agent(self.user_of_plugin()) as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
            self.assertTrue(self.asked("system:serviceaccount:default:exec-first"))
            self.assertEqual((self.infos()[0]["kind"], self.infos()[0]["spec"]["cluster"]["server"]), ("ExecCredential", SERVER))
            self.put_answer(token=self.account("exec-second"))
            self.api.wait(lambda: self.asked("system:serviceaccount:default:exec-second"), "it asks as the second one", 90)
            self.api.run("delete", "clusterrolebinding", "exec-first")
            self.break_gpu(agent)
            self.wait_for_label("EVICT")

    def test_a_certificate_of_the_program_is_shown(self):
        self.take(NODE)
        self.allow_user("exec-certificate")
        certificate, key = self.cluster.control_plane.keys.make("exec-certificate", "/CN=exec-certificate")
        self.put_answer(clientCertificateData=certificate.read_text(), clientKeyData=key.read_text())
        with self.agent(self.user_of_plugin()) as agent:
            agent.wait_ready()
            self.wait_for_label("PASS")
        self.assertTrue(self.asked("exec-certificate"))

    def kubectl(self, *arguments):
        kubeconfig = self.folder / "of-a-person"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": SERVER, "certificate-authority": str(self.cluster.control_plane.keys.authority)}}],
            "users": [{"name": "u", "user": self.user_of_plugin()}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "KUBECONFIG": str(kubeconfig)}
        return subprocess.run([self.cluster.programs["kubectl"], *arguments], capture_output=True, text=True, env=environment, timeout=60,
                              check=False)

    def test_a_person_is_who_the_program_says_to_kubectl_and_to_its_plugin(self):
        certificate, key = self.cluster.control_plane.keys.make("exec-person", "/O=system:masters/CN=exec-person")
        self.put_answer(clientCertificateData=certificate.read_text(), clientKeyData=key.read_text())
        for arguments in (("get", "nodes"), ("autopilot", "nodes")):
            answer = self.kubectl(*arguments)
            self.assertEqual((answer.returncode, NODE in answer.stdout), (0, True), answer.stderr)
        of_kubectl, ours = (self.infos()[place]["spec"] for place in (0, -1))
        # A kubeconfig can add a configuration for its plugin; this one adds none.
        self.assertIsNone(of_kubectl["cluster"].pop("config"))
        self.assertEqual(of_kubectl, ours)
        self.put_answer(token="nonsense")
        answer = self.kubectl("autopilot", "nodes")
        self.assertEqual((answer.returncode, "log in again" in answer.stderr), (70, True), answer.stderr)
        (self.folder / "answer").unlink()
        answer = self.kubectl("autopilot", "nodes")
        self.assertEqual(answer.returncode, 70, answer.stderr)
        self.assertIn("who-am-i", answer.stderr)


if __name__ == "__main__":
    testing.main()
