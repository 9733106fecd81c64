# SPDX-License-Identifier: Apache-2.0
"""Leader election and signing, with a real API server and exactly the permissions of the chart: controllers as processes beside the cluster
with the token of their account, and as the Deployment of the chart on a node with a kubelet."""

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

from kit import testing
from kit.api import condition_of
from kit.caller import Caller
from kit.cluster import ROOT, Cluster
from kit.control_plane import SERVER
from kit.deployment import NAMESPACE, PREFIX, Deployment, render
from kit.inside_tls import Agent

sys.path.insert(0, str(ROOT / "tests" / "integration"))

import controller_test as integration  # noqa: E402
import harness  # noqa: E402

NODE = "node-0"
OTHER = "sim-0"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:autopilot-controller"
RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "CustomResourceDefinition",
          "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingWebhookConfiguration")
SETTINGS = ["controller.enabled=true", "webhook.enabled=true", "tls.mode=controller"]


def named(kind):
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "other", "namespace": NAMESPACE}}


class BesideTest(unittest.TestCase):
    """Processes with the token of the account."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.authority_of_server = cls.cluster.control_plane.keys.authority
        cls.folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        text = render.render(render.find_helm(), "dropin", SETTINGS)
        cls.installed = [one for one in yaml.safe_load_all(text) if one and one["kind"] in RIGHTS]
        cls.addClassCleanup(cls.remove)
        cls.api.apply(*[one for one in cls.installed if one["kind"] == "Namespace"])
        cls.api.apply(*cls.installed)
        cls.token = cls.api.run("create", "token", "-n", NAMESPACE, "autopilot-controller").strip()
        cls.caller = Caller(cls.authority_of_server, cls.token)
        cls.kubeconfig = Path(cls.folder) / "kubeconfig"
        cls.cluster.control_plane.keys.write_token_kubeconfig(cls.kubeconfig, SERVER, cls.token)
        cls.api.wait(lambda: cls.caller.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps?dryRun=All", named("ConfigMap"))[0] in
                     (403, 422), "the policies count")

    @classmethod
    def remove(cls):
        cls.api.run("delete", "-n", NAMESPACE, "pods", "--all", "--force", "--grace-period=0", "--wait=false")
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": cls.installed})
        cls.api.run("delete", "--ignore-not-found", "--wait=false", "-f", "-", text=text)
        cls.api.wait(lambda: not cls.api.run("get", "namespace", NAMESPACE, "--ignore-not-found"), "the namespace is gone")

    def start(self, name):
        controller = integration.Controller(self.kubeconfig, self.folder, name)
        self.addCleanup(controller.stop)
        return controller

    def wait_ready(self, controller):
        harness.wait_until(lambda: controller.get("/readyz")[0] == 200, "it is ready", 60)

    def believed(self):
        return self.api.get("configmap", "-n", NAMESPACE, "autopilot-authority")["data"]["ca.crt"]

    def told(self):
        """To the API server."""
        webhooks = self.api.get("mutatingwebhookconfiguration", "autopilot-preflight")["webhooks"]
        return {base64.b64decode(one["clientConfig"].get("caBundle", "")).decode() for one in webhooks}

    def test_one_leads_the_other_follows_and_both_show_keys_of_the_authority_that_the_cluster_is_told(self):
        first = self.start("one")
        harness.wait_until(first.leads, "it leads", 60)
        self.wait_ready(first)
        believed = self.api.wait(self.believed, "the authority is published")
        self.api.wait(lambda: self.told() == {believed}, "the API server is told")
        second = self.start("two")
        self.wait_ready(second)
        for controller in (first, second):
            self.assertEqual(controller.post("/nothing", "", believed)[0], 404)
        self.assertFalse(second.leads())
        first.stop(signal.SIGKILL)
        harness.wait_until(second.leads, "the other one leads", 60)
        self.assertEqual(self.believed(), believed)
        # The controller corrects changes of other clients.
        self.api.run("delete", "configmap", "-n", NAMESPACE, "autopilot-authority")
        self.api.wait(lambda: self.believed() == believed, "it is published again", 60)
        for controller in (first, second):
            self.assertNotRegex("\n".join(controller.process.log), "(?i)cannot (be|read|create|publish)|PRIVATE KEY")

    def test_the_token_of_an_agent_gets_a_certificate_of_its_node_and_no_other_token_does(self):
        controller = self.start("three")
        self.wait_ready(controller)
        believed = self.api.wait(self.believed, "the authority is published")
        self.api.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent", "namespace": NAMESPACE}, "spec": {
            "nodeName": OTHER, "serviceAccountName": "autopilot", "terminationGracePeriodSeconds": 0, "containers": [{
                "name": "agent", "image": "none:1", "securityContext": {
                    "allowPrivilegeEscalation": False, "runAsNonRoot": True, "runAsUser": 1000, "capabilities": {"drop": ["ALL"]},
                    "seccompProfile": {"type": "RuntimeDefault"}}}]}})
        of_pod = ("--bound-object-kind=Pod", "--bound-object-name=agent")
        key = os.path.join(self.folder, "agent.key")
        request = subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                                  "/CN=other", "-keyout", key], check=True, capture_output=True, text=True).stdout

        def ask(account, *bound, audience=PREFIX):
            token = self.api.run("create", "token", "-n", NAMESPACE, account, f"--audience={audience}", *bound).strip()
            return controller.post("/v1/certificates", json.dumps({"request": request}), believed, token)

        self.assertEqual(ask("autopilot", *of_pod, audience="other")[0], 401)
        self.assertEqual(ask("autopilot-controller")[0], 403)
        self.assertEqual(ask("autopilot")[0], 403)  # names no node
        status, answer = ask("autopilot", *of_pod)
        self.assertEqual(status, 200, answer)
        certificate = json.loads(answer)["certificate"]
        shown = subprocess.run(["openssl", "x509", "-noout", "-ext", "subjectAltName"], input=certificate, check=True, capture_output=True,
                               text=True).stdout
        self.assertIn(f"DNS:{OTHER}\n", shown)
        self.assertNotIn("other", shown)

    def test_the_account_may_touch_its_own_objects_and_no_others(self):
        space = f"/api/v1/namespaces/{NAMESPACE}"
        for kind in ("Secret", "ConfigMap"):
            code, answer = self.caller.ask("POST", f"{space}/{kind.lower()}s", named(kind))
            self.assertEqual(code, 422, answer)
            self.assertIn("only the Secret and the ConfigMap autopilot-authority", answer["message"])
        token = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": {
            "name": "autopilot-authority", "namespace": NAMESPACE, "annotations": {"kubernetes.io/service-account.name": "autopilot"}}}
        code, answer = self.caller.ask("POST", f"{space}/secrets?dryRun=All", token)
        self.assertIn(code, (409, 422), answer)
        for verb, what in (("list", "secrets"), ("delete", "secrets/autopilot-authority"), ("get", "secrets/other"), ("list", "configmaps"),
                           ("create", "mutatingwebhookconfigurations"), ("patch", "mutatingwebhookconfigurations/other"),
                           ("delete", "leases/autopilot-controller"), ("patch", "leases/other")):
            self.assertEqual(self.may(verb, what), "no", f"{verb} {what}")
        for verb, what in (("get", "secrets/autopilot-authority"), ("patch", "configmaps/autopilot-authority"),
                           ("create", "tokenreviews"), ("patch", "mutatingwebhookconfigurations/autopilot-preflight"),
                           ("patch", "leases/autopilot-controller")):
            self.assertEqual(self.may(verb, what), "yes", f"{verb} {what}")

    def may(self, verb, what):
        return self.api.run("auth", "can-i", verb, what, "-n", NAMESPACE, "--as", ACCOUNT, codes=(0, 1)).strip()


class InClusterTest(unittest.TestCase):
    """The controller as the chart installs it."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = testing.cluster_with_nodes()
        cls.api = cls.cluster.api
        cls.deployment = Deployment(cls.api, "dropin", NODE, "--simulate", "hgx-h100-8", "--allow-simulated", settings=[
            *SETTINGS, f"controller.nodeSelector.kubernetes\\.io/hostname={NODE}"])
        cls.addClassCleanup(cls.deployment.remove)
        cls.pod = cls.deployment.apply()
        cls.api.run("rollout", "status", "-n", NAMESPACE, "deployment/autopilot-controller", "--timeout=90s")

    def controllers(self):
        return self.api.get("pods", "-n", NAMESPACE, "-l", "app=autopilot-controller")["items"]

    def leader(self):
        return self.api.get("lease", "-n", NAMESPACE, "autopilot-controller")["spec"]["holderIdentity"].split("_")[0]

    def test_two_are_ready_one_leads_and_when_it_goes_the_other_does(self):
        names = {pod["metadata"]["name"] for pod in self.controllers() if condition_of(pod, "Ready") == "True"}
        self.assertEqual(len(names), 2)
        leader = self.leader()
        self.assertIn(leader, names)
        self.api.run("delete", "pod", "-n", NAMESPACE, leader, "--wait=false")
        self.api.wait(lambda: self.leader() not in ("", leader), "another one leads")
        self.api.run("rollout", "status", "-n", NAMESPACE, "deployment/autopilot-controller", "--timeout=90s")
        logs = self.api.run("logs", "-n", NAMESPACE, "-l", "app=autopilot-controller", "--tail=-1")
        self.assertNotRegex(logs, "(?i)forbidden|denied| 403|PRIVATE KEY")

    def test_the_agent_shows_a_certificate_that_the_controller_signed_for_its_node(self):
        believed = self.api.get("configmap", "-n", NAMESPACE, "autopilot-authority")["data"]["ca.crt"]
        agent = Agent(self.pod["status"]["podIP"], NODE, cadata=believed)
        # The agent sees the ConfigMap when the kubelet has seen that it is there.
        self.assertEqual(self.api.wait(agent.certificate, "the agent has its certificate", 180)["subjectAltName"], (("DNS", NODE),))


if __name__ == "__main__":
    testing.main()
