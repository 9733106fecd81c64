# SPDX-License-Identifier: Apache-2.0
"""Pods in a real API server with the webhooks of the controller: the configuration comes from the chart, and a program beside the cluster
answers. Nothing is scheduled: the API server returns the changed pod (--dry-run=server)."""

import base64
import json
import os
import subprocess
import sys
import tempfile
import unittest

import yaml

from kit import testing
from kit.api import ApiError
from kit.cluster import ROOT, Cluster
from kit.deployment import render
from kit.mutator import Mutator

sys.path.insert(0, str(ROOT / "tests" / "integration"))

import harness  # noqa: E402
from certificates import Certificates  # noqa: E402

SERVER = os.path.join(harness.BIN, "../fakes/webhook_server")
OURS = "autopilot-preflight"
SPACE = "autopilot-webhook"
TOKEN_OF_POD = "/var/run/secrets/kubernetes.io/serviceaccount"


def patch_of(pod):
    """Patch of another webhook: a container before all others, and a variable in every container."""
    begins = pod["spec"].get("initContainers", [])
    steps = [{"op": "add", "path": f"/spec/initContainers/{i}/env/-", "value": {"name": "PROXY", "value": "http://proxy"}}
             for i, one in enumerate(begins) if one.get("env") and "PROXY" not in str(one["env"])]
    if "mesh" not in [one["name"] for one in begins]:
        mesh = {"name": "mesh", "image": "mesh:1", "restartPolicy": "Always"}
        steps.append({"op": "add", "path": "/spec/initContainers/0", "value": mesh} if begins else
                     {"op": "add", "path": "/spec/initContainers", "value": [mesh]})
    return steps


def pod(name, labels=("autopilot",), init=(), **amounts):
    careful = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    main = {"name": "main", "image": "main:1", "securityContext": careful, "resources": amounts or {"limits": {"nvidia.com/gpu": 2}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": SPACE, "labels": {one: "" for one in labels}},
            "spec": {"securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
                     "initContainers": list(init), "containers": [main]}}


class WebhookTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = Cluster().open().api
        cls.keys = Certificates(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.keys.make_authority("authority")
        cls.keys.make("server", "authority", "IP:127.0.0.1")
        cls.port = cls.serve()
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", SPACE)
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "mutatingwebhookconfiguration", "autopilot-preflight")
        # A LimitRange whose least no small request of ours would have, and limits for what is not limited.
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": SPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted", "autopilot.ibm.com/observation": "enabled"}}},
            {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "limits", "namespace": SPACE}, "spec": {"limits": [{
                "type": "Container", "min": {"cpu": "1"}, "default": {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "1Gi"},
                "defaultRequest": {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}}]}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": SPACE}})
        cls.configure()

    @classmethod
    def serve(cls):
        child = subprocess.Popen([SERVER, cls.keys.path("server.crt"), cls.keys.path("server.key")], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)

        def end():
            child.stdin.close()
            child.wait()
            child.stdout.close()
        cls.addClassCleanup(end)
        return int(child.stdout.readline())

    @classmethod
    def configure(cls, **changes):
        """Creates the configuration of the chart, with the members that the controller adds."""
        text = render.render(render.find_helm(), "dropin", ["controller.enabled=true", "webhook.enabled=true", "webhook.observation=true"])
        wanted = next(one for one in yaml.safe_load_all(text) if one and one["kind"] == "MutatingWebhookConfiguration")
        for webhook in wanted["webhooks"]:
            path = webhook["clientConfig"].pop("service")["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{cls.port}{path}", "caBundle": cls.authority()} | changes
        cls.api.apply(wanted)
        cls.api.wait(lambda: OURS in cls.names(pod("is-asked")) or changes, "the API server asks")

    @classmethod
    def authority(cls):
        with open(cls.keys.path("authority.crt"), "rb") as file:
            return base64.b64encode(file.read()).decode()

    @classmethod
    def would_be(cls, wanted):
        return json.loads(cls.api.run("create", "--dry-run=server", "-o", "json", "-f", "-", text=json.dumps(wanted)))

    @classmethod
    def names(cls, wanted):
        return [one["name"] for one in cls.would_be(wanted)["spec"].get("initContainers", [])]

    def test_a_pod_of_a_careful_namespace_gets_it_and_is_taken(self):
        made = self.would_be(pod("careful", init=[{"name": "own", "image": "own:1", "securityContext": {
            "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]))
        first, own = made["spec"]["initContainers"]
        self.assertEqual((first["name"], own["name"]), (OURS, "own"))
        self.assertEqual(first["resources"]["limits"], {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "1Gi", "nvidia.com/gpu": "2"})
        self.assertEqual(first["securityContext"]["runAsUser"], 1000)

    def test_the_token_of_the_pod_is_in_its_own_containers_alone(self):
        made = self.would_be(pod("tokens"))["spec"]
        mounts = {one["name"]: {mount["mountPath"]: mount["name"] for mount in one["volumeMounts"]}
                  for one in made["initContainers"] + made["containers"]}
        self.assertEqual(set(mounts[OURS].values()), {"autopilot-preflight-token"})
        self.assertTrue(mounts["main"][TOKEN_OF_POD].startswith("kube-api-access-"))

    def test_classes_of_service_stay_what_they_were(self):
        def class_of(**amounts):
            gpu = {"nvidia.com/gpu": 1}
            return self.would_be(pod("class", **{kind: some | gpu for kind, some in amounts.items()}))["status"]["qosClass"]
        enough = {"cpu": "4", "memory": "8Gi"}
        self.assertEqual(class_of(limits=enough, requests=enough), "Guaranteed")
        self.assertEqual(class_of(limits=enough, requests={"cpu": "1", "memory": "1Gi"}), "Burstable")

    def test_pods_that_it_is_not_for_stay_as_they_are(self):
        self.assertEqual(self.names(pod("unlabelled", labels=())), [])
        self.assertEqual(self.names(pod("launcher", limits={"cpu": "1"})), [])
        refused = pod("refused")
        refused["metadata"]["labels"]["autopilot"] = "false"
        self.assertEqual(self.names(refused), [])
        elsewhere = pod("system")
        elsewhere["metadata"]["namespace"] = "kube-system"
        self.assertEqual(self.names(elsewhere), [])
        self.api.run("label", "namespace", SPACE, "autopilot.ibm.com/preflight=disabled")
        self.addCleanup(self.api.wait, lambda: self.names(pod("again")) == [OURS], "it is asked again")
        self.addCleanup(self.api.run, "label", "namespace", SPACE, "autopilot.ibm.com/preflight-")
        self.api.wait(lambda: self.names(pod("disabled")) == [], "the namespace is left alone")

    def test_it_is_first_and_as_it_was_after_others_changed_the_pod(self):
        before = self.would_be(pod("alone"))["spec"]["initContainers"][0]
        self.enterContext(Mutator(
            self.api, "mesh", self.keys, patch_of, [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": SPACE}}))
        # `restricted` would refuse the other's container.
        self.api.run("label", "namespace", SPACE, "--overwrite", "pod-security.kubernetes.io/enforce=privileged")
        self.addCleanup(self.api.run, "label", "namespace", SPACE, "--overwrite", "pod-security.kubernetes.io/enforce=restricted")
        self.api.wait(lambda: "mesh" in self.names(pod("meshed")), "the API server asks the other")
        made = self.would_be(pod("meshed"))["spec"]["initContainers"]
        self.assertEqual([one["name"] for one in made], [OURS, "mesh"])
        self.assertEqual(made[0], before)

    def test_training_pods_get_what_they_have_not(self):
        made = self.would_be(pod("observed", labels=()))
        variables = {one["name"]: one["value"] for one in made["spec"]["containers"][0]["env"]}
        self.assertEqual((variables["NCCL_RAS_ENABLE"], variables["TORCH_FR_BUFFER_SIZE"]), ("1", "2000"))
        self.assertEqual(json.loads(made["metadata"]["annotations"]["autopilot.ibm.com/observation"]), {"main": variables})

    def test_pods_are_made_while_nobody_answers(self):
        self.addCleanup(self.configure)
        self.configure(url="https://127.0.0.1:1/mutate-pod")
        self.api.wait(lambda: self.names(pod("bypassed")) == [], "the pod is taken as it is")

    def test_the_pod_of_the_examples_is_taken(self):
        example = yaml.safe_load((ROOT / "deploy" / "examples" / "preflight-pod.yaml").read_text(encoding="utf-8"))
        example["metadata"]["namespace"] = SPACE
        self.assertEqual(self.names(example), [OURS, "prepare"])
        with self.assertRaisesRegex(ApiError, "violates PodSecurity"):
            self.would_be({**pod("loose"), "spec": {"containers": [{"name": "main", "image": "main:1"}]}})


if __name__ == "__main__":
    testing.main()
