# SPDX-License-Identifier: Apache-2.0
"""The installation of deploy/, on a node with a kubelet, with exactly its permissions: the agent, and the limits of a client with the
agent's token."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from kit import images, testing
from kit.api import ApiError, condition_of
from kit.caller import Caller
from kit.cluster import ROOT
from kit.deployment import NAMESPACE, PREFIX, Deployment, render

sys.path.insert(0, str(ROOT / "tests" / "integration"))

import harness  # noqa: E402
from ibm_client import Transcript  # noqa: E402

NODE = "node-0"
OTHER = "sim-0"
AGENT_USER = 65532
CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SYSLOG = 19, 21, 34
CONDITIONS = ("GpuHealthy", "NetworkHealthy", "StorageHealthy", "HostHealthy")

EVERYWHERE = {
    ("", "nodes"): "get list watch patch", ("", "nodes/status"): "patch", ("", "pods"): "get list watch",
    ("authentication.k8s.io", "tokenreviews"): "create", ("authorization.k8s.io", "subjectaccessreviews"): "create",
    ("storage.k8s.io", "storageclasses"): "get list"}
IN_DEFAULT = {("", "events"): "create patch"}
IN_OWN = {
    (PREFIX, "nodehealthreports"): "get list watch create update patch", (PREFIX, "healthcheckreports"): "get create update",
    ("batch", "jobs"): "get list watch create delete",
    ("", "pods"): "create delete", ("", "persistentvolumeclaims"): "get list watch create delete",
    ("apps", "daemonsets"): "get", ("discovery.k8s.io", "endpointslices"): "get list"}
# Kubernetes permits everyone to ask for their own name and permissions.
OF_EVERYBODY = ("selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews")


class ManifestsTest(unittest.TestCase):
    def test_they_are_what_the_chart_makes(self):
        stale = [str(path.relative_to(ROOT)) for path in render.stale(render.find_helm())]
        self.assertEqual(stale, [], "tools/deploy/render.py writes them")

    def test_the_chart_says_what_is_wrong_with_its_values(self):
        for setting, words in (("profile=ful", 'expected dropin or full, not "ful"'),
                               ("state.kind=disk", 'expected emptyDir or hostPath, not "disk"'),
                               ("labelPrefix=a'b", "expected a DNS name")):
            with self.assertRaisesRegex(RuntimeError, words):
                render.render(render.find_helm(), "dropin", [setting])


    def test_who_wants_nobody_to_listen_outside_of_the_pod_says_so(self):
        self.assertIn("\n    listen: :3333\n", render.render(render.find_helm(), "dropin"))
        text = render.render(render.find_helm(), "dropin", ["config.listen=127.0.0.1:3333"])
        self.assertIn("\n    listen: 127.0.0.1:3333\n", text)
        self.assertNotIn("also_listen", text)

    def test_the_journal_is_where_it_is_wanted(self):
        on_node = "path: /var/lib/autopilot\n"
        for profile, kind, is_on_node in (("dropin", "", False), ("full", "", True), ("dropin", "hostPath", True), ("full", "emptyDir", False)):
            with self.subTest(profile=profile, kind=kind):
                text = render.render(render.find_helm(), profile, [f"state.kind={kind}"])
                self.assertEqual((on_node in text, "state-folder" in text), (is_on_node, is_on_node))

    def test_only_where_jobs_are_watched_in_profile_full_a_container_reads_their_processes(self):
        parts = ("add: [SYS_ADMIN, SYS_PTRACE]", "name: ras\n", "helper_socket: /run/autopilot-ras/ras.sock", "mountPath: /run/autopilot-ras\n")
        for profile, settings, is_there in (("full", [], True), ("full", ["jobs.helper=false"], False), ("full", ["jobs.enabled=false"], False),
                                            ("full", ["jobs=null"], False), ("dropin", [], False),
                                            ("full", ["controller.enabled=true", "tls.mode=controller"], True)):
            with self.subTest(profile=profile, settings=settings):
                text = render.render(render.find_helm(), profile, settings)
                self.assertEqual([part in text for part in parts], [is_there] * len(parts))

    def test_the_helper_of_jobs_leaves_the_records_of_jobs_their_controller(self):
        text = render.render(render.find_helm(), "full", ["controller.enabled=true", "tls.mode=controller"])
        self.assertRegex(text, r"jobs:\n      controller: https://autopilot-controller\S+\n      helper_socket: /run/autopilot-ras/ras.sock\n")


class OnNode(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = testing.cluster_with_nodes()
        cls.api = cls.cluster.api

    @classmethod
    def install(cls, profile, *arguments, settings=()):
        """Another test's installation is taken over or changed; the last one is removed in the end."""
        cls.deployment = Deployment(cls.api, profile, NODE, *arguments, settings=settings)
        unittest.addModuleCleanup(cls.deployment.remove)
        return cls.deployment.apply()

    def node(self):
        return self.api.get("node", NODE)


class DropinTest(OnNode):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pod = cls.install("dropin", "--simulate", "hgx-h100-8", "--allow-simulated")

    def test_a_healthy_node_reaches_pass_and_does_so_again_after_a_restart(self):
        self.assert_is_healthy()
        self.api.run("delete", "pod", "-n", NAMESPACE, self.pod["metadata"]["name"])
        self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")
        self.assertNotEqual(self.deployment.wait_ready()["metadata"]["uid"], self.pod["metadata"]["uid"])
        self.assert_is_healthy()

    def assert_is_healthy(self):
        self.api.wait(lambda: self.node()["metadata"]["labels"].get(f"{PREFIX}/gpuhealth") == "PASS", "the label says PASS")
        self.api.wait(lambda: [condition_of(self.node(), kind) for kind in CONDITIONS] == ["True"] * 4, "conditions are True")
        self.assertNotRegex(self.deployment.logs(), "(?i)forbidden|denied| 403")


class IbmAutopilotTest(OnNode):
    """Ports and paths for clients of IBM Autopilot."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.address = cls.install("dropin", "--simulate", "hgx-h100-8", "--allow-simulated")["status"]["podIP"]

    def get(self, path, port=3333, host=None):
        request = urllib.request.Request(f"http://{self.address}:{port}{path}", headers={"Host": host} if host else {})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()

    def test_ports_and_services_are_there(self):
        self.assertEqual(self.get("/readinessprobe", 8080), (201, '{"Name":"readinessProbe","Body":"ready"}\n'))
        self.assertIn("autopilot_health_checks{", self.get("/metrics", 8081)[1])
        services = {item["metadata"]["name"]: [(port["port"], port["name"]) for port in item["spec"]["ports"]]
                    for item in self.api.get("services", "-n", NAMESPACE, "-l", "app=autopilot")["items"]}
        self.assertEqual(services, {"autopilot-healthchecks": [(3333, "healthcheck")], "autopilot-metrics-service": [(8081, "http")],
                                    "autopilot-readinessprobe": [(8080, "readinessprobe")]})

    def test_a_service_is_a_name_of_the_agent_and_another_name_is_not(self):
        self.assertEqual(self.get("/healthz", host="autopilot-healthchecks.autopilot.svc:3333")[0], 200)
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.get("/healthz", host="attacker.example:3333")
        self.assertEqual(refused.exception.code, 403)
        refused.exception.close()

    def test_all_nodes_answer_and_a_dead_one_is_not_left_out(self):
        transcript = Transcript(self.get("/status?check=remapped")[1])
        self.assertEqual(transcript.summary, {NODE: ["OK"]})
        self.assertIn(f"http://{self.address}:3333/status?host={NODE}&check=remapped", transcript.urls)
        dead = self.address.rsplit(".", 1)[0] + ".251"
        self.api.run("apply", "-f", "-", text=json.dumps({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "dead-agent", "namespace": NAMESPACE, "labels": {"kubernetes.io/service-name": "autopilot-healthchecks"}},
            "endpoints": [{"addresses": [dead], "nodeName": OTHER, "conditions": {"ready": True}}],
            "ports": [{"name": "healthcheck", "port": 3333}]}))
        # The agent caches the endpoints for some seconds.
        self.api.wait(lambda: Transcript(self.get("/status?check=remapped")[1]).summary ==
                      {NODE: ["OK"], OTHER: ["Connection to Server Failed"]}, "the dead agent is in the answer", 90)


class CallerTest(OnNode):
    """The page's commands for callers with a token: the permissions of the example, and a port-forward."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pod = cls.install("dropin", "--simulate", "hgx-h100-8", "--allow-simulated")
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}},
                      {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "ci", "namespace": "team-a"}})
        cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", "namespace", "team-a")
        cls.api.run("apply", "-n", NAMESPACE, "-f", str(ROOT / "deploy" / "examples" / "callers.yaml"))

    def post(self, port, token):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/checks/gpu.xid", method="POST", data=b"",
                                         headers={"Authorization": f"Bearer {token.strip()}"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)["error"]["message"]

    def test_an_account_of_another_namespace_runs_a_check_over_a_port_forward(self):
        with self.api.forward(NAMESPACE, self.pod["metadata"]["name"], 3333) as port:
            code, result = self.post(port, self.api.run("create", "token", "ci", "-n", "team-a", "--audience", PREFIX))
            self.assertEqual(code, 200, result)
            self.assertEqual(result["check"], "gpu.xid")
            code, why = self.post(port, self.api.run("create", "token", "default", "-n", "team-a", "--audience", PREFIX))
            self.assertEqual((code, "team-a:default may not create checks/gpu.xid" in why), (403, True), why)


    def test_the_plugin_of_kubectl_makes_the_agent_of_a_node_test(self):
        kubectl = Path(self.cluster.programs["kubectl"])
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "kubectl-autopilot").symlink_to(os.path.abspath(harness.AUTOPILOT))
            environment = {**os.environ, "KUBECONFIG": str(self.cluster.kubeconfig), "PATH": f"{folder}:{kubectl.parent}:{os.environ['PATH']}"}

            def plugin(*arguments):
                return subprocess.run([kubectl, "autopilot", "test", *arguments, "-n", NAMESPACE], capture_output=True, text=True,
                                      env=environment, timeout=120, check=False)
            done = plugin("self_test", "--node", NODE, "-o", "json")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(json.loads(done.stdout)["items"][0]["operation"]["state"], "succeeded")
            missing = plugin("nope", "--node", NODE)
            self.assertEqual(missing.returncode, 64, missing.stdout + missing.stderr)
            self.assertIn("no operation is called 'nope'", missing.stderr)
            nowhere = plugin("self_test", "--node", "no-such-node")
            self.assertEqual(nowhere.returncode, 64)
            self.assertIn("no agent runs on a node no-such-node", nowhere.stderr)


class OtherPrefixTest(OnNode):
    """An installation with another label prefix, and its policies."""

    def test_everything_that_it_writes_begins_with_the_prefix(self):
        prefix = "health.example.org"
        self.install("dropin", "--simulate", "hgx-h100-8", "--allow-simulated", settings=[f"labelPrefix={prefix}"])
        self.addCleanup(self.api.run, "annotate", "node", NODE, f"{prefix}/summary-", f"{prefix}/checked-at-")
        self.addCleanup(self.api.run, "label", "node", NODE, f"{prefix}/gpuhealth-")
        self.api.run("label", "node", NODE, f"{PREFIX}/gpuhealth-")
        self.api.wait(lambda: self.node()["metadata"]["labels"].get(f"{prefix}/gpuhealth") == "PASS", "the label says PASS")
        self.api.wait(lambda: f"{prefix}/checked-at" in self.node()["metadata"]["annotations"], "the annotation is there")
        self.assertNotIn(f"{PREFIX}/gpuhealth", self.node()["metadata"]["labels"])
        self.assertNotRegex(self.deployment.logs(), "(?i)forbidden|denied| 403")


class AdmissionTest(OnNode):
    """A client with the token of the agent on one node. Accepted writes are not stored: dryRun."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        pod = cls.install("dropin", "--simulate", "hgx-h100-8", "--allow-simulated")["metadata"]
        cls.thief = cls.with_token("--bound-object-kind=Pod", f"--bound-object-name={pod['name']}", f"--bound-object-uid={pod['uid']}")

    @classmethod
    def with_token(cls, *bound):
        token = cls.api.run("create", "token", "autopilot", "-n", NAMESPACE, *bound).strip()
        return Caller(cls.cluster.control_plane.keys.authority, token)

    def patch_node(self, change, node=NODE, part="", thief=None):
        return (thief or self.thief).ask("PATCH", f"/api/v1/nodes/{node}{part}?dryRun=All", change,
                                         "application/strategic-merge-patch+json")

    def create(self, where, object_):
        return self.thief.ask("POST", f"/{where}?dryRun=All", object_)

    def delete(self, what):
        # The caller always sends a body, and then the server ignores the query.
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "dryRun": ["All"]}
        return self.thief.ask("DELETE", f"/api/v1/namespaces/{NAMESPACE}/{what}", options)

    def assert_allowed(self, answer):
        self.assertIn(answer[0], (200, 201), answer[1].get("message"))

    def assert_denied(self, answer, policy, words):
        self.assertIn(answer[0], (403, 422), answer[1])
        self.assertIn(f"ValidatingAdmissionPolicy '{policy}'", answer[1]["message"])
        self.assertIn(words, answer[1]["message"])

    def test_it_has_these_rights_and_no_others(self):
        for where, expected in (("kube-system", EVERYWHERE), ("default", EVERYWHERE | IN_DEFAULT),
                                (NAMESPACE, EVERYWHERE | IN_OWN | {("", "pods"): "get list watch create delete"})):
            with self.subTest(where):
                review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": where}}
                status, answer = self.thief.ask("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review)
                self.assertEqual((status, answer["status"].get("incomplete", False)), (201, False))
                found = {(group, resource, verb) for rule in answer["status"]["resourceRules"] for group in rule["apiGroups"]
                         for resource in rule["resources"] if resource not in OF_EVERYBODY for verb in rule["verbs"]}
                self.assertEqual(found, {(*what, verb) for what, verbs in expected.items() for verb in verbs.split()})

    def test_it_writes_what_an_agent_writes(self):
        own = f"{PREFIX}/dcgm.level.3"
        self.assert_allowed(self.patch_node({"metadata": {"labels": {f"{PREFIX}/gpuhealth": "WARN", own: "PASS_x"},
                                                          "annotations": {own: "x"}}}))
        self.assert_allowed(self.patch_node({"metadata": {"labels": {f"{PREFIX}/gpuhealth": None}}}))
        self.assert_allowed(self.patch_node({"spec": {"taints": [{"key": f"{PREFIX}/testing", "effect": "NoSchedule"}]}}))
        for kind in CONDITIONS:
            self.assert_allowed(self.patch_node({"status": {"conditions": [condition(kind)]}}, part="/status"))
        self.assert_allowed(self.create("api/v1/namespaces/default/events", event_about(NODE)))

    def test_no_other_node(self):
        words = "only its own node"
        label = {"metadata": {"labels": {f"{PREFIX}/gpuhealth": "EVICT"}}}
        self.assert_denied(self.patch_node(label, node=OTHER), "autopilot-node", words)
        self.assert_denied(self.patch_node({"status": {"conditions": [condition("GpuHealthy")]}}, node=OTHER, part="/status"),
                           "autopilot-node", words)
        self.assert_denied(self.create("api/v1/namespaces/default/events", event_about(OTHER)), "autopilot-event",
                           "only events about its own node")
        # Nor any with a token that was made for no pod.
        self.assert_denied(self.patch_node(label, thief=self.with_token()), "autopilot-node", words)

    def test_nothing_else_of_its_own_node(self):
        for words, change, part in (
                ("in the spec, agents have permission to change only taints", {"spec": {"unschedulable": True}}, ""),
                ("only labels", {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}, ""),
                ("only labels", {"metadata": {"labels": {"kubernetes.io/hostname": None}}}, ""),
                ("only labels", {"metadata": {"labels": {"kubernetes.io/os": "x"}}}, "/status"),
                ("only annotations", {"metadata": {"annotations": {"example.org/note": "x"}}}, ""),
                ("in the metadata, agents have permission to change only labels and annotations", {"metadata": {"finalizers": ["example.org/stay"]}}, ""),
                ("in the metadata, agents have permission to change only labels and annotations", {"metadata": {"ownerReferences": [
                    {"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}]}}, ""),
                ("only the taint", {"spec": {"taints": [{"key": "example.org/x", "effect": "NoSchedule"}]}}, ""),
                ("only the taint", {"spec": {"taints": [{"key": f"{PREFIX}/testing", "effect": "NoExecute"}]}}, ""),
                ("only the conditions", {"status": {"conditions": [condition("Ready")]}}, "/status"),
                ("in the status, agents have permission to change only conditions", {"status": {"capacity": {"example.org/gpu": "8"}}}, "/status")):
            with self.subTest(change):
                self.assert_denied(self.patch_node(change, part=part), "autopilot-node", words)

    def test_nothing_that_would_give_it_more(self):
        jobs = f"apis/batch/v1/namespaces/{NAMESPACE}/jobs"
        self.assert_allowed(self.create(jobs, job()))
        for words, changed in (
                ("on the node of this token", {"affinity": on_node(OTHER)}), ("on the node of this token", {"affinity": {}}),
                ("on the node of this token", {"affinity": on_node(NODE, {"matchExpressions": []})}),
                ("on the node of this token", {"nodeName": NODE}),
                ("must not preempt pods of the cluster itself", {"priorityClassName": "system-node-critical"}),
                ("must not read Secrets", {"volumes": [{"name": "stolen", "secret": {"secretName": "x"}}]}),
                ("must not read Secrets", {"volumes": [{"name": "stolen", "projected": {"sources": [{"secret": {"name": "x"}}]}}]}),
                ("must not read Secrets", {"containers": [{**container(), "envFrom": [{"secretRef": {"name": "x"}}]}]}),
                ("must not read Secrets", {"containers": [{**container(), "env": [
                    {"name": "X", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}]}]}),
                ("the agent's service account", {"serviceAccountName": "autopilot"}),
                ("must not access the node", {"hostPID": True}), ("must not access the node", {"hostNetwork": True}),
                ("must not access the node", {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}),
                ("privileges on the node", {"containers": [container(privileged=True, allowPrivilegeEscalation=True)]}),
                ("privileges on the node", {"initContainers": [{**container(capabilities={"add": ["SYS_ADMIN"]}), "name": "first"}]})):
            with self.subTest(changed):
                self.assert_denied(self.create(jobs, job(**changed)), "autopilot-pod", words)
        pods = f"api/v1/namespaces/{NAMESPACE}/pods"
        self.assert_allowed(self.create(pods, pod()))
        self.assert_denied(self.create(pods, pod(serviceAccountName="autopilot")), "autopilot-pod", "the agent's service account")
        self.assert_denied(self.create(pods, pod(nodeName=NODE)), "autopilot-pod", "on the node of this token")

    def test_no_test_of_another_node_is_begun_or_taken_away(self):
        words = "diagnostics of its own node"
        for name, where, object_ in (("jobs", f"apis/batch/v1/namespaces/{NAMESPACE}/jobs", job()),
                                     ("pods", f"api/v1/namespaces/{NAMESPACE}/pods", pod()),
                                     ("claims", f"api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims", claim())):
            with self.subTest(name):
                self.assert_allowed(self.create(where, object_))
                for labels in ({f"{PREFIX}/deep-test-of": OTHER}, {f"{PREFIX}/pvc-test": f"{NODE}0"}, {"of": NODE}, None):
                    self.assert_denied(self.create(where, {**object_, "metadata": {**object_["metadata"], "labels": labels}}),
                                       "autopilot-own", words)
        of_other = {f"{PREFIX}/pvc-test": OTHER}
        for name, labels, is_allowed in (("its-own", {f"{PREFIX}/pvc-test": NODE}, True), ("of-another", of_other, False),
                                         ("of-nobody", {}, False)):
            self.api.apply(claim(name, labels))
            self.addCleanup(self.api.run, "delete", "pvc", "-n", NAMESPACE, name)
            answer = self.delete(f"persistentvolumeclaims/{name}")
            with self.subTest(name):
                if is_allowed:
                    self.assert_allowed(answer)
                else:
                    self.assert_denied(answer, "autopilot-own", words)
        agent = self.deployment.wait_ready()["metadata"]["name"]
        self.assert_denied(self.delete(f"pods/{agent}"), "autopilot-own", words)

    def test_only_the_report_of_its_own_node(self):
        reports = f"apis/{PREFIX}/v1alpha1/namespaces/{NAMESPACE}/nodehealthreports"
        # As the agent applies it, whether its own object exists or not.
        apply = "fieldManager=thief&force=true&dryRun=All"
        self.assert_allowed(self.thief.ask("PATCH", f"/{reports}/{NODE}?{apply}", report_of(NODE), "application/apply-patch+yaml"))
        self.assert_denied(self.thief.ask("PATCH", f"/{reports}/{OTHER}?{apply}", report_of(OTHER), "application/apply-patch+yaml"),
                           "autopilot-report", "only the report of its own node")
        self.assert_denied(self.create(reports, report_of(OTHER)), "autopilot-report", "only the report of its own node")
        with self.assertRaisesRegex(ApiError, "only the agent of a node has permission to report"):
            self.api.run("create", "--dry-run=server", "-f", "-", text=json.dumps(report_of(OTHER)))

    def test_only_health_checks_of_its_own_node(self):
        reports = f"apis/{PREFIX}/v1alpha1/namespaces/{NAMESPACE}/healthcheckreports"
        self.assert_allowed(self.create(reports, health_check_of(NODE)))
        self.assert_denied(self.create(reports, health_check_of(OTHER)), "autopilot-health-check", "diagnostics of its own node")
        with self.assertRaisesRegex(ApiError, "only the agent of a node has permission to report"):
            self.api.run("create", "--dry-run=server", "-f", "-", text=json.dumps(health_check_of(NODE)))

    def test_a_node_with_very_many_labels_can_be_written(self):
        names = {f"example.org/{number:03}": "x" * 63 for number in range(500)}
        try:
            self.patch_as_admin({"metadata": {"labels": names, "annotations": names}})
            self.assert_allowed(self.patch_node({"metadata": {"labels": {f"{PREFIX}/gpuhealth": "WARN"}}}))
        finally:
            gone = dict.fromkeys(names)
            self.patch_as_admin({"metadata": {"labels": gone, "annotations": gone}})

    def patch_as_admin(self, change):
        self.api.run("patch", "node", NODE, "-p", json.dumps(change))

    def test_the_expressions_fit_what_they_are_about(self):
        for name in ("autopilot-node", "autopilot-event", "autopilot-report", "autopilot-health-check", "autopilot-pod", "autopilot-own"):
            with self.subTest(name):
                policy = self.api.wait(lambda name=name: self.checked(name), f"{name} is checked")
                self.assertNotIn("expressionWarnings", policy["status"].get("typeChecking", {}))

    def checked(self, name):
        policy = self.api.get("validatingadmissionpolicy", name)
        return policy if policy.get("status", {}).get("observedGeneration") == policy["metadata"]["generation"] else None


class FullTest(OnNode):
    """Profile full on the real machine, because a simulated machine has no kernel log for the helper."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not all(map(has_capability, (CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SYSLOG))):
            raise unittest.SkipTest("profile full: CAP_SYS_PTRACE, CAP_SYS_ADMIN or CAP_SYSLOG cannot be given here")
        cls.pod = cls.install("full")

    def test_an_agent_without_rights_reads_the_kernel_log_and_keeps_its_journal_on_the_node(self):
        self.assertEqual({status["name"]: status["ready"] for status in self.pod["status"]["containerStatuses"]},
                         {"agent": True, "kernel-log": True, "pod-resources": True, "ras": True})
        self.api.wait(lambda: self.has_looked("host.lockups"), "the kernel log is read")
        self.api.wait(lambda: condition_of(self.node(), "HostHealthy"), "HostHealthy is written")
        self.assertNotRegex(self.deployment.logs(), "(?i)forbidden| 403")
        kept = [path for path in (self.cluster.nodes[0].folder / "autopilot").rglob("*") if path.is_file()]
        self.assertEqual({path.stat().st_uid for path in kept}, {AGENT_USER}, kept)

    def has_looked(self, check):
        """True if the check has run, whatever its result on this real machine."""
        try:
            self.deployment.autopilot("check", "--strict", check)
        except ApiError as error:
            return "exit code 1" in str(error) or "exit code 2" in str(error)
        return True


def condition(kind):
    return {"type": kind, "status": "False", "reason": "Tried", "message": "by a test"}


def event_about(node):
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{node}.1", "namespace": "default"}, "type": "Normal",
            "reason": "Tried", "message": "by a test", "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": node}}


def report_of(node):
    return {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "NodeHealthReport", "metadata": {"name": node, "namespace": NAMESPACE},
            "status": {"observedAt": "2026-11-22T00:00:00Z", "bootId": "tried", "simulated": True, "health": "healthy"}}


def health_check_of(node):
    return {"apiVersion": f"{PREFIX}/v1alpha1", "kind": "HealthCheckReport", "metadata": {"name": f"{node}-0123456789", "namespace": NAMESPACE},
            "spec": {"node": node, "pod": {"namespace": "team-a", "name": "train-0", "uid": "u"}, "tests": ["gpu.pcie_bandwidth"],
                     "outcome": "failed", "issuer": "tried", "time": "2026-11-22T00:00:00Z"}}


def container(**security):
    """A container that fulfils the Pod Security Standard `restricted`, except the changed members."""
    return {"name": "main", "image": images.name_of("busybox"), "securityContext": {
        "runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"}, **security}}


def on_node(node, *others):
    own = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [own, *others]}}}


def pod(**changed):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "test", "namespace": NAMESPACE, "labels": {f"{PREFIX}/pvc-test": NODE}},
            "spec": {"restartPolicy": "Never", "affinity": on_node(NODE), "containers": [container()], **changed}}


def job(**changed):
    return {"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "test", "namespace": NAMESPACE, "labels": {f"{PREFIX}/deep-test-of": NODE}},
            "spec": {"template": {"spec": pod(**changed)["spec"]}}}


def claim(name="test", labels=None):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {f"{PREFIX}/pvc-test": NODE} if labels is None else labels},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}


def has_capability(number):
    bounds = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapBnd:"))
    return bool(int(bounds.split()[1], 16) >> number & 1)


if __name__ == "__main__":
    testing.main()
