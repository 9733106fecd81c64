# SPDX-License-Identifier: Apache-2.0
"""The Helm chart: the result of its values, also of values for IBM Autopilot's chart, and its installation in a cluster."""

import json
import tempfile
import unittest

import yaml

from kit import images, testing
from kit.chart import MONITORING, PCIE, ChartCase, Helm
from kit.cluster import ROOT, Cluster
from kit.deployment import NAMESPACE, PREFIX, render

# Values as users of IBM Autopilot have them; only the image is ours.
IBM_VALUES = """
image: {pullPolicy: IfNotPresent}
PCIeBW: 4
repeat: 1h
invasive: 4h
pullSecrets: {create: false, name: autopilot-pull-secret, imagePullSecretData: }
env:
  - {name: PERIODIC_CHECKS, value: "remapped,gpupower"}
  - {name: PVC_TEST_STORAGE_CLASS, value: ""}
  - {name: DCGM_FATAL_ERRORS, value: ""}
  - {name: INVASIVE_JOB_TTLSEC, value: ""}
service: {port: 3333}
annotations:
nodeSelector:
onlyOnGPUNodes: true
affinity:
resources: {limits: {nvidia.com/gpu: 0}, requests: {nvidia.com/gpu: 0}}
loglevel: 2
additionalVolumeClaimTemplates:
additionalVolumeMounts:
"""


class ChartTest(ChartCase):
    def pod(self, values):
        return self.helm.objects(values)["DaemonSet", "autopilot"]["spec"]["template"]

    def agent(self, values):
        return next(one for one in self.pod(values)["spec"]["containers"] if one["name"] == "agent")

    def test_lint_has_nothing_to_say(self):
        for values in ("", "profile: full", "tls: {mode: secret}", "{controller: {enabled: true}, webhook: {enabled: true, observation: true}}",
                       IBM_VALUES):
            self.assertIn("0 chart(s) failed", self.helm.run("lint", "--strict", str(render.CHART), values=values))

    def test_what_was_written_for_ibm_autopilot_keeps_its_meaning(self):
        settings = self.helm.settings(IBM_VALUES)
        self.assertEqual((settings["deep_test"], settings["periodic_checks"], settings["listen"], settings["log_level"]),
                         ({"every": "4h"}, ["remapped", "gpupower"], ":3333", "info"))
        self.assertNotIn("pvc", settings)
        pod = self.pod(IBM_VALUES)["spec"]
        self.assertEqual(pod["nodeSelector"], {"nvidia.com/gpu.present": "true"})
        agent = self.agent(IBM_VALUES)
        self.assertEqual((agent["resources"]["limits"]["nvidia.com/gpu"], agent["imagePullPolicy"]), (0, "IfNotPresent"))
        self.assertNotIn("PERIODIC_CHECKS", [variable["name"] for variable in agent["env"]])

    def test_each_value_has_its_effect(self):
        settings = self.helm.settings("""
            env: [{name: PVC_TEST_STORAGE_CLASS, value: fast}, {name: DCGM_FATAL_ERRORS, value: "PCIe, GPU Memory"}]
            invasive: 0
            loglevel: 5
            PCIeBW: 15
            service: {port: 4444}""")
        self.assertEqual(settings["expectation"], {"thresholds": {"gpu.pcie_bandwidth.host_to_device": 15}})
        self.assertEqual(settings["pvc"], {"storage_classes": {"fast": ["ReadWriteMany"]}})
        self.assertEqual(settings["deep_test"], {"every": "0s", "fatal": ["PCIe", "GPU Memory"]})
        self.assertEqual((settings["listen"], settings["log_level"]), (":4444", "debug"))
        for value, period in (("6", "6h"), ("10m", "10m"), ("1h30m", "1h30m"), ("525600m", "525600m"), ('"0"', "0s")):
            self.assertEqual(self.helm.settings(f"invasive: {value}")["deep_test"]["every"], period)
        self.assertEqual(self.helm.settings('env: [{name: PERIODIC_CHECKS, value: "pciebw remapped, ping"}]')["periodic_checks"],
                         ["pciebw", "remapped", "ping"])
        self.assertNotIn("gpu_tests", settings)
        for value, period in (("1h", "1h"), ("2", "2h"), ("30m", "30m"), ("9m", "10m"), ("90s", "10m"), ('"0s"', "0s")):
            self.assertEqual(self.helm.settings(f"repeat: {value}")["gpu_tests"],
                             {"every": period, "checks": ["gpu.pcie_bandwidth"]})
        self.assertEqual(self.helm.settings('{repeat: 1h, env: [{name: PERIODIC_CHECKS, value: "ping,gpumem pciebw"}]}')["gpu_tests"],
                         {"every": "1h", "checks": ["gpu.compute", "gpu.pcie_bandwidth"]})
        self.assertNotIn("gpu_tests", self.helm.settings('{repeat: 1h, env: [{name: PERIODIC_CHECKS, value: remapped}]}'))
        self.assertNotIn("compat", settings)
        self.assertEqual(self.helm.settings("compat: {openActions: true}")["compat"], {"open_actions": True})
        hosts = self.helm.settings("config: {allowed_hosts: [route.example.com]}")["allowed_hosts"]
        self.assertIn("route.example.com", hosts)
        self.assertIn("autopilot-healthchecks.autopilot.svc", hosts)
        self.assertEqual(self.agent("image: {repository: a, tag: 20250725}")["image"], "a:20250725")
        self.assertEqual(self.agent("env: [{name: LIMIT, value: 1000000}]")["env"][-1], {"name": "LIMIT", "value": "1000000"})
        self.assertNotIn("imagePullSecrets", self.pod("imagePullSecrets:")["spec"])
        self.assertEqual(self.agent("env: [{name: HTTP_PROXY, value: x}]")["env"][-1], {"name": "HTTP_PROXY", "value": "x"})
        pod = self.pod("""
            annotations: {k8s.v1.cni.cncf.io/networks: multi-nic-network}
            additionalVolumeClaimTemplates: [{name: scratch, emptyDir: {}}]
            pullSecrets: {create: true, imagePullSecretData: e30=}
            imagePullSecrets: [{name: mine}]
            affinity: {nodeAffinity: {}}""")
        self.assertEqual(pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"], "multi-nic-network")
        self.assertIn({"name": "scratch", "emptyDir": {}}, pod["spec"]["volumes"])
        self.assertEqual(pod["spec"]["imagePullSecrets"], [{"name": "mine"}, {"name": "autopilot-pull-secret"}])
        self.assertEqual(pod["spec"]["affinity"], {"nodeAffinity": {}})
        self.assertIn({"name": "scratch", "mountPath": "/scratch"},
                      self.agent("additionalVolumeMounts: [{name: scratch, mountPath: /scratch}]")["volumeMounts"])

    def test_history_outlives_the_pod_where_the_journal_does(self):
        for values, is_kept in (("", False), ("profile: full", True), ("state: {kind: hostPath}", True),
                                ("{profile: full, state: {kind: emptyDir}}", False)):
            pod = self.pod(values)["spec"]
            state = next(volume for volume in pod["volumes"] if volume["name"] == "state")
            mounts = {mount["name"]: mount["mountPath"] for mount in self.agent(values)["volumeMounts"]}
            self.assertEqual(mounts["state"], "/var/lib/autopilot", "history.db is in state_dir")
            settings = self.helm.settings(values)
            self.assertNotIn("path", settings.get("history", {}))
            if is_kept:
                self.assertEqual(state["hostPath"]["path"], "/var/lib/autopilot")
                self.assertEqual([one["name"] for one in pod["initContainers"]], ["state-folder"])
                self.assertNotIn("history", settings)
            else:
                self.assertEqual((state["emptyDir"], settings["history"]), ({"sizeLimit": "256Mi"}, {"bytes": "128MiB"}))
        self.assertEqual(self.helm.settings("config: {history: {bytes: 32MiB}}")["history"], {"bytes": "32MiB"})

    def test_the_file_of_the_cluster_history_fits_its_volume(self):
        for size, half in (("2Gi", "1048576KiB"), ("512Mi", "262144KiB"), ("3Mi", "1536KiB")):
            objects = self.helm.objects(f"controller: {{enabled: true, history: {{size: {size}}}}}")
            config = yaml.safe_load(objects["ConfigMap", "autopilot-controller"]["data"]["controller.yaml"])
            self.assertEqual(config["history"], {"path": "/var/lib/autopilot/history.db", "bytes": half})
            deployment = objects["Deployment", "autopilot-controller"]["spec"]
            volumes = {volume["name"]: volume for volume in deployment["template"]["spec"]["volumes"]}
            self.assertEqual(volumes["history"]["emptyDir"], {"sizeLimit": size})
            self.assertNotIn("strategy", deployment)
        for size in ("2G", "1Mi", "0Gi"):
            with self.assertRaisesRegex(AssertionError, "expected a size such as"):
                self.helm.objects(f"controller: {{enabled: true, history: {{size: {size}}}}}")

    def test_a_claim_of_the_cluster_history_is_of_one_pod_at_a_time(self):
        claim = "history: {claim: fleet}"
        deployment = self.helm.objects(f"controller: {{enabled: true, replicas: 1, {claim}}}")["Deployment", "autopilot-controller"]["spec"]
        self.assertEqual(deployment["strategy"], {"type": "Recreate"})
        with self.assertRaisesRegex(AssertionError, "expected controller.replicas: 1"):
            self.helm.objects(f"controller: {{enabled: true, {claim}}}")

    def test_tls_is_off_until_somebody_wants_it(self):
        for values in ("", "tls: {mode: off}", 'tls: {mode: "off"}'):
            objects = self.helm.objects(values)
            self.assertNotIn("tls", yaml.safe_load(objects["ConfigMap", "autopilot"]["data"]["config.yaml"]))
            self.assertEqual(len(objects["Service", "autopilot-healthchecks"]["spec"]["ports"]), 1)
            self.assertNotIn("autopilot-tls", json.dumps(objects["DaemonSet", "autopilot"]))

    def test_with_a_secret_the_agents_answer_inside_tls_too(self):
        objects = self.helm.objects("""
            tls: {mode: secret, port: 4443, secretName: keys}
            networkPolicy: {create: true, from: [{podSelector: {}}]}""")
        folder = "/etc/autopilot-tls"
        self.assertEqual(yaml.safe_load(objects["ConfigMap", "autopilot"]["data"]["config.yaml"])["tls"],
                         {"mode": "files", "listen": ":4443", "certificate": f"{folder}/tls.crt", "key": f"{folder}/tls.key",
                          "authorities": f"{folder}/ca.crt"})
        pod = objects["DaemonSet", "autopilot"]["spec"]["template"]["spec"]
        self.assertIn({"name": "tls", "secret": {"secretName": "keys"}}, pod["volumes"])
        agent = next(one for one in pod["containers"] if one["name"] == "agent")
        self.assertIn({"name": "tls", "mountPath": folder, "readOnly": True}, agent["volumeMounts"])
        self.assertIn({"name": "tls", "containerPort": 4443}, agent["ports"])
        for others in (one for one in pod["containers"] if one["name"] != "agent"):
            self.assertNotIn(folder, json.dumps(others))
        self.assertIn({"name": "tls", "port": 4443, "targetPort": "tls", "protocol": "TCP"},
                      objects["Service", "autopilot-healthchecks"]["spec"]["ports"])
        self.assertEqual(len(objects["Service", "autopilot-metrics-service"]["spec"]["ports"]), 1)
        for rule in objects["NetworkPolicy", "autopilot"]["spec"]["ingress"]:
            self.assertIn({"port": "tls"}, rule["ports"])
        # The kubelet mounts it: the agent itself may read none.
        self.assertNotIn("secrets", json.dumps([one for (kind, _), one in objects.items() if kind in ("Role", "ClusterRole")]))

    def test_with_cert_manager_each_agent_asks_for_a_certificate_of_its_own(self):
        values = "{tls: {mode: certManager}, profile: full}"
        objects = self.helm.objects(values, "--api-versions", "cert-manager.io/v1")
        self.assertEqual(yaml.safe_load(objects["ConfigMap", "autopilot"]["data"]["config.yaml"])["tls"],
                         {"mode": "cert_manager", "listen": ":3334", "issuer": "autopilot"})
        authority = objects["Certificate", "autopilot-authority"]["spec"]
        self.assertEqual((authority["isCA"], authority["issuerRef"]["name"]), (True, "autopilot-authority"))
        self.assertEqual(objects["Issuer", "autopilot-authority"]["spec"], {"selfSigned": {}})
        self.assertEqual(objects["Issuer", "autopilot"]["spec"], {"ca": {"secretName": authority["secretName"]}})
        self.assertIn({"apiGroups": ["cert-manager.io"], "resources": ["certificaterequests"], "verbs": ["get", "create", "delete"]},
                      objects["Role", "autopilot"]["rules"])
        rights = json.dumps([one for (kind, _), one in objects.items() if kind in ("Role", "ClusterRole")])
        self.assertNotIn("secrets", rights)
        self.assertNotIn(authority["secretName"], json.dumps(objects["DaemonSet", "autopilot"]))
        self.assertIn(("ValidatingAdmissionPolicyBinding", "autopilot-certificate"), objects)
        self.assertNotIn(("ValidatingAdmissionPolicy", "autopilot-certificate"), self.helm.objects("tls: {mode: secret}"))
        with self.assertRaisesRegex(AssertionError, "install cert-manager first"):
            self.helm.objects(values)

    def test_with_the_controller_each_agent_shows_it_a_token_that_names_its_node(self):
        objects = self.helm.objects("tls: {mode: controller, port: 4443}")
        self.assertEqual(yaml.safe_load(objects["ConfigMap", "autopilot"]["data"]["config.yaml"])["tls"],
                         {"mode": "controller", "listen": ":4443", "controller": "https://autopilot-controller.autopilot.svc:9443",
                          "token": "/var/run/secrets/autopilot-controller/token", "authorities": "/etc/autopilot-authority/ca.crt"})
        pod = objects["DaemonSet", "autopilot"]["spec"]["template"]["spec"]
        volumes = {one["name"]: one for one in pod["volumes"]}
        self.assertEqual(volumes["authority"]["configMap"], {"name": "autopilot-authority", "optional": True})
        token = volumes["controller-token"]["projected"]["sources"][0]["serviceAccountToken"]
        self.assertEqual((token["audience"], token["path"]), ("autopilot.ibm.com", "token"))
        mounts = {one["name"]: one["mountPath"] for one in pod["containers"][0]["volumeMounts"]}
        self.assertEqual((mounts["authority"], mounts["controller-token"]),
                         ("/etc/autopilot-authority", "/var/run/secrets/autopilot-controller"))
        node = objects["Service", "autopilot-node"]["spec"]
        self.assertEqual((node["internalTrafficPolicy"], node["ports"][0]["port"]), ("Local", 4443))
        self.assertNotIn(("Service", "autopilot-node"), self.helm.objects())

    def test_the_controller_runs_twice_with_an_account_of_its_own_and_only_where_it_is_wanted(self):
        self.assertEqual([name for _, name in self.helm.objects() if "controller" in name], [])
        objects = self.helm.objects("{controller: {enabled: true, config: {drain: 5s}}, labelPrefix: ops.example, networkPolicy: {create: true}}")
        deployment = objects["Deployment", "autopilot-controller"]["spec"]
        self.assertEqual(deployment["replicas"], 2)
        pod = deployment["template"]["spec"]
        self.assertEqual((pod["serviceAccountName"], pod["automountServiceAccountToken"]), ("autopilot-controller", False))
        container, = pod["containers"]
        self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})
        self.assertEqual(yaml.safe_load(objects["ConfigMap", "autopilot-controller"]["data"]["controller.yaml"]),
                         {"kubernetes": {"label_prefix": "ops.example"}, "policy": "/etc/autopilot/policy.yaml", "drain": "5s",
                          "history": {"path": "/var/lib/autopilot/history.db", "bytes": "1048576KiB"},
                          "jobs": {"enabled": False, "listen": ":9444", "mode": "observe"}, "socket": "/run/autopilot/controller.sock"})
        # Strangers at the ports cannot make a probe fail.
        for probe in ("livenessProbe", "readinessProbe"):
            self.assertEqual(container[probe]["exec"]["command"][-2:], ["--socket", "/run/autopilot/controller.sock"])
        self.assertEqual(yaml.safe_load(objects["ConfigMap", "autopilot-controller"]["data"]["policy.yaml"]), {"mode": "observe"})
        # Agents ask it before they test.
        self.assertEqual(yaml.safe_load(objects["ConfigMap", "autopilot"]["data"]["config.yaml"])["deep_test"], {"ask_controller": True})
        # Selectors of agents do not select it, nor the reverse.
        labels = deployment["template"]["metadata"]["labels"].items()
        for name in ("autopilot-healthchecks", "autopilot-metrics-service"):
            self.assertFalse(objects["Service", name]["spec"]["selector"].items() <= labels)
        self.assertFalse(objects["NetworkPolicy", "autopilot"]["spec"]["podSelector"]["matchLabels"].items() <= labels)
        self.assertTrue(objects["Service", "autopilot-controller"]["spec"]["selector"].items() <= labels)
        self.assertEqual(objects["PodDisruptionBudget", "autopilot-controller"]["spec"]["maxUnavailable"], 1)
        # It leads by one Lease, and may touch no other.
        leases = [rule for rule in objects["Role", "autopilot-controller"]["rules"] if rule["resources"] == ["leases"]]
        self.assertEqual([(rule.get("resourceNames"), rule["verbs"]) for rule in leases],
                         [(None, ["create"]), (["autopilot-controller"], ["get", "patch"])])

    def test_the_controller_has_an_authority_of_its_own_or_files_of_somebody_else(self):
        objects = self.helm.objects("controller: {enabled: true}")
        rules = objects["Role", "autopilot-authority"]["rules"]
        self.assertEqual([(rule["resources"], rule.get("resourceNames"), rule["verbs"]) for rule in rules],
                         [(["secrets", "configmaps"], None, ["create"]),
                          (["secrets", "configmaps"], ["autopilot-authority"], ["get", "patch"])])
        hooks = [rule for rule in objects["ClusterRole", "autopilot-authority"]["rules"]
                 if rule["resources"] == ["mutatingwebhookconfigurations"]]
        self.assertEqual([(rule["resourceNames"], rule["verbs"]) for rule in hooks], [(["autopilot-preflight"], ["get", "patch"])])
        self.assertIn(("ValidatingAdmissionPolicyBinding", "autopilot-authority"), objects)
        others = self.helm.objects("controller: {enabled: true, certificates: {mode: secret, secretName: mine}}")
        pod = others["Deployment", "autopilot-controller"]["spec"]["template"]["spec"]
        self.assertIn({"name": "tls", "secret": {"secretName": "mine"}}, pod["volumes"])
        self.assertEqual(yaml.safe_load(others["ConfigMap", "autopilot-controller"]["data"]["controller.yaml"])["certificates"],
                         {"mode": "files", "certificate": "/etc/autopilot-tls/tls.crt", "key": "/etc/autopilot-tls/tls.key",
                          "authorities": "/etc/autopilot-tls/ca.crt"})
        self.assertEqual([name for name in others if name[1] == "autopilot-authority"], [])

    def test_a_release_may_be_without_agents(self):
        monitoring = ("--api-versions", "monitoring.coreos.com/v1")
        both = self.helm.objects("{controller: {enabled: true}, networkPolicy: {create: true}}", *monitoring)
        alone = self.helm.objects("{agent: {enabled: false}, controller: {enabled: true}, networkPolicy: {create: true}}", *monitoring)
        self.assertEqual({kind + "/" + name for kind, name in set(both) - set(alone)}, {
            "DaemonSet/autopilot", "ConfigMap/autopilot", "NetworkPolicy/autopilot", "ServiceMonitor/autopilot-metrics-monitor",
            "Service/autopilot-healthchecks", "Service/autopilot-readinessprobe", "Service/autopilot-metrics-service"})
        self.assertEqual(self.helm.objects("agent: null"), self.helm.objects(""))

    def test_the_policy_is_a_document_that_changes_no_pod(self):
        made = [self.helm.objects("{controller: {enabled: true}, remediation: {mode: %s, rates: {holds_per_hour: 3}}}" % mode)
                for mode in ("hold", "act")]
        self.assertEqual(yaml.safe_load(made[0]["ConfigMap", "autopilot-controller"]["data"]["policy.yaml"]),
                         {"mode": "hold", "rates": {"holds_per_hour": 3}})
        self.assertEqual(*(objects["Deployment", "autopilot-controller"] for objects in made))
        with self.assertRaisesRegex(AssertionError, "remediation.mode"):
            self.helm.objects("{controller: {enabled: true}, remediation: {mode: destroy}}")

    def test_the_rights_are_those_of_the_mode(self):
        def rights(policy):
            objects = self.helm.objects(yaml.dump({"controller": {"enabled": True}, "remediation": policy}))
            words = json.dumps(objects["ValidatingAdmissionPolicy", "autopilot-hold"])
            rules = {one["resources"][0]: one["verbs"] for one in objects["ClusterRole", "autopilot-remediation"]["rules"]}
            return rules["pods"], rules.get("pods/eviction"), "in which no node is cordoned" in words
        reads = ["get", "list", "watch"]
        deletes = {"method": "delete"}
        for policy, expected in ((None, (reads, None, True)), ({"evictions": deletes}, (reads, None, True)),
                                 ({"mode": "hold"}, (reads, ["create"], False)),
                                 ({"pools": [{"name": "a", "mode": "act"}]}, (reads, ["create"], False)),
                                 ({"mode": "act", "evictions": deletes}, ([*reads, "delete"], ["create"], False)),
                                 ({"mode": "act", "pools": [{"name": "a", "evictions": deletes}]}, ([*reads, "delete"], ["create"], False))):
            self.assertEqual(rights(policy), expected, policy)

    def test_the_rights_about_jobs_are_a_table(self):
        def rights(mode):
            objects = self.helm.objects(yaml.dump({"controller": {"enabled": True}, "remediation": {"mode": mode}}))
            table = {(group, resource): " ".join(rule["verbs"]) for rule in objects["ClusterRole", "autopilot-jobs"]["rules"]
                     for group in rule["apiGroups"] for resource in rule["resources"]}
            return table, "in which no job is suspended" in json.dumps(objects["ValidatingAdmissionPolicy", "autopilot-job"])
        with_status = (("batch", "jobs"), ("jobset.x-k8s.io", "jobsets"), ("kubeflow.org", "pytorchjobs"), ("kubeflow.org", "mpijobs"),
                       ("trainer.kubeflow.org", "trainjobs"))
        expected = {("autopilot.ibm.com", "jobhealthreports"): "get list create patch delete", ("", "pods"): "patch",
                    ("ray.io", "rayjobs"): "patch", ("ray.io", "rayclusters"): "patch", ("batch.volcano.sh", "jobs"): "patch",
                    ("leaderworkerset.x-k8s.io", "leaderworkersets"): "patch", ("apps", "deployments"): "patch",
                    ("apps", "statefulsets"): "patch", ("apps", "replicasets"): "patch"}
        for group, resource in with_status:
            expected |= {(group, resource): "get patch", (group, resource + "/status"): "get patch"}
        self.assertEqual(rights("observe"), (expected, True))
        self.assertEqual(rights("act"), (expected | {("kueue.x-k8s.io", "workloads"): "list patch"}, False))

    def test_where_everything_only_observes_the_gate_only_reports(self):
        def gate(**values):
            return self.helm.settings(yaml.dump({"controller": {"enabled": True}, "webhook": {"enabled": True}} | values)).get("preflight")
        self.assertEqual(gate(), {"failed": "start"})
        self.assertEqual(gate(remediation=None), {"failed": "start"})
        self.assertEqual(gate(remediation={"pools": [{"name": "a"}, {"name": "b", "mode": "observe"}]}), {"failed": "start"})
        self.assertIsNone(gate(remediation={"mode": "hold"}))
        self.assertIsNone(gate(remediation={"pools": [{"name": "a"}, {"name": "b", "mode": "hold"}]}))
        self.assertIsNone(gate(webhook={"enabled": False}))
        self.assertEqual(gate(config={"preflight": {"failed": "stop", "deadline": "2m"}}), {"failed": "stop", "deadline": "2m"})

    def webhooks(self, values, *arguments):
        """Webhooks by name, for values that switch the webhook on."""
        objects = self.helm.objects(f"{{controller: {{enabled: true}}, webhook: {{enabled: true, {values}}}}}", *arguments)
        return {one["name"]: one for one in objects["MutatingWebhookConfiguration", "autopilot-preflight"]["webhooks"]}

    def test_pods_are_looked_at_where_the_webhook_is_wanted(self):
        self.assertNotIn("MutatingWebhookConfiguration", {kind for kind, _ in self.helm.objects("controller: {enabled: true}")})
        webhooks = self.webhooks("")
        self.assertEqual(list(webhooks), ["namespace.preflight.autopilot.ibm.com", "preflight.autopilot.ibm.com"])
        webhook = webhooks["preflight.autopilot.ibm.com"]
        self.assertEqual({key: webhook[key] for key in ("failurePolicy", "reinvocationPolicy", "sideEffects", "matchPolicy", "timeoutSeconds")},
                         {"failurePolicy": "Ignore", "reinvocationPolicy": "IfNeeded", "sideEffects": "None", "matchPolicy": "Equivalent",
                          "timeoutSeconds": 5})
        self.assertEqual(webhook["rules"], [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
                                             "scope": "Namespaced"}])
        # The controller writes the CA; a field of the chart would remove it with each upgrade.
        self.assertEqual(webhook["clientConfig"], {"service": {"name": "autopilot-controller", "namespace": NAMESPACE, "port": 9443,
                                                               "path": "/mutate-pod"}})

    def test_system_pods_and_whoever_does_not_want_it_are_left_alone(self):
        def out(webhook):
            return {one["key"]: one["values"] for one in webhook["namespaceSelector"]["matchExpressions"] if one["operator"] == "NotIn"}
        name = "preflight.autopilot.ibm.com"
        webhook = self.webhooks("", "--namespace", "gpu")[name]
        self.assertEqual(out(webhook), {"autopilot.ibm.com/preflight": ["disabled"], "kubernetes.io/metadata.name": ["gpu", "kube-system"]})
        self.assertEqual(webhook["objectSelector"]["matchExpressions"], [{"key": "autopilot", "operator": "Exists"},
                                                                         {"key": "autopilot", "operator": "NotIn", "values": ["false"]}])
        webhook = self.webhooks("excludedNamespaces: [ops, autopilot], failurePolicy: Fail")[name]
        self.assertEqual((out(webhook)["kubernetes.io/metadata.name"], webhook["failurePolicy"]), ([NAMESPACE, "kube-system", "ops"], "Fail"))
        self.assertEqual(out(self.webhooks("excludedNamespaces: null")[name])["kubernetes.io/metadata.name"], [NAMESPACE, "kube-system"])

    def test_training_pods_get_settings_in_namespaces_that_want_them(self):
        webhooks = self.webhooks("observation: true, failurePolicy: Fail")
        self.assertEqual(list(webhooks), ["observation.autopilot.ibm.com", "namespace.preflight.autopilot.ibm.com",
                                          "preflight.autopilot.ibm.com"])
        webhook = webhooks["observation.autopilot.ibm.com"]
        # The creation of pods does not depend on it.
        self.assertEqual((webhook["failurePolicy"], webhook["clientConfig"]["service"]["path"]), ("Ignore", "/observe-pod"))
        self.assertIn({"key": "autopilot.ibm.com/observation", "operator": "In", "values": ["enabled"]},
                      webhook["namespaceSelector"]["matchExpressions"])
        other = self.helm.objects("{labelPrefix: gpu.example.com, controller: {enabled: true}, webhook: {enabled: true, observation: true}}")
        keys = [one["key"] for webhook in other["MutatingWebhookConfiguration", "autopilot-preflight"]["webhooks"]
                for one in webhook["namespaceSelector"]["matchExpressions"]]
        self.assertEqual(keys, ["gpu.example.com/observation", "kubernetes.io/metadata.name",
                                *["gpu.example.com/preflight", "kubernetes.io/metadata.name"] * 2])

    def test_a_namespace_may_want_tests_for_all_its_pods(self):
        webhook = self.webhooks("failurePolicy: Fail, excludedNamespaces: [ops]")["namespace.preflight.autopilot.ibm.com"]
        self.assertEqual((webhook["failurePolicy"], webhook["clientConfig"]["service"]["path"]), ("Fail", "/mutate-pod-in-namespace"))
        self.assertEqual(webhook["namespaceSelector"]["matchExpressions"], [
            {"key": "autopilot.ibm.com/preflight", "operator": "In", "values": ["enabled"]},
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [NAMESPACE, "kube-system", "ops"]}])
        # A pod with the label belongs to the other webhook, whatever the value of the label.
        self.assertEqual(webhook["objectSelector"]["matchExpressions"], [{"key": "autopilot", "operator": "DoesNotExist"}])

    def test_a_label_of_the_values_takes_the_place_of_none_of_ours(self):
        own = {"app": "autopilot", "app.kubernetes.io/name": "autopilot", "app.kubernetes.io/component": "agent"}
        objects = self.helm.objects("""
            prometheusRule: {create: true, labels: {app: kube-prometheus, role: alerts}}
            dashboard: {create: true, labels: {app: autopilot, folder: gpu}}
            annotations: {checksum/config: mine, team: a}
            podAnnotations: {team: b, tier: c}""", *MONITORING)
        self.assertEqual(objects["PrometheusRule", "autopilot-metrics"]["metadata"]["labels"], own | {"role": "alerts"})
        self.assertEqual(objects["ConfigMap", "autopilot-dashboard"]["metadata"]["labels"], own | {"grafana_dashboard": "1", "folder": "gpu"})
        annotations = objects["DaemonSet", "autopilot"]["spec"]["template"]["metadata"]["annotations"]
        self.assertEqual((annotations["team"], annotations["tier"], len(annotations["checksum/config"])), ("a", "c", 64))

    def test_a_section_without_a_word_is_as_if_it_were_not_there(self):
        usual = self.helm.objects("", *MONITORING)
        sections = ("prometheusRule", "dashboard", "networkPolicy", "pullSecrets", "state", "compat", "config", "tls", "controller", "webhook")
        for values in (*(f"{section}:" for section in sections), "\n".join(f"{section}:" for section in sections)):
            with self.subTest(values=values):
                self.assertEqual(self.helm.objects(values, *MONITORING), usual)
        self.helm.objects("{config: {expectation: {thresholds: null}}, prometheusRule: {create: true, labels: null}}", *MONITORING)
        for values, words in (("image:", "image is required"), ("service:", "service is required"), ("profile:", "profile is required"),
                              ("labelPrefix:", "labelPrefix is required"), ("kubeletFolder:", "kubeletFolder is required"),
                              ("image: {repository: }", "repository is required"), ("service: {port: }", "port is required")):
            with self.subTest(values=values), self.assertRaisesRegex(AssertionError, words):
                self.helm.objects(values)

    def test_a_dashboard_and_a_network_policy_where_they_are_wanted(self):
        objects = self.helm.objects("""
            dashboard: {create: true}
            networkPolicy: {create: true, from: [{namespaceSelector: {matchLabels: {name: monitoring}}}]}""")
        dashboard = objects["ConfigMap", "autopilot-dashboard"]
        self.assertEqual(dashboard["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertEqual(len(json.loads(dashboard["data"]["autopilot.json"])["panels"]), 9)
        ingress = objects["NetworkPolicy", "autopilot"]["spec"]["ingress"]
        self.assertEqual(ingress[0]["from"], [{"podSelector": {"matchLabels": {"app": "autopilot"}}}])
        self.assertEqual(ingress[1]["from"], [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}])
        kinds = {kind for kind, _ in self.helm.objects()}
        self.assertFalse(kinds & {"NetworkPolicy", "PrometheusRule", "SecurityContextConstraints"})
        self.assertEqual(len(self.helm.objects("networkPolicy: {create: true}")["NetworkPolicy", "autopilot"]["spec"]["ingress"]), 1)

    def test_the_webhooks_may_be_for_the_certificate_of_the_api_server_alone(self):
        objects = self.helm.objects("{tls: {mode: controller}, webhook: {enabled: true, clientAuthority: api-server-authority}, controller: {enabled: true}}")
        settings = yaml.safe_load(objects["ConfigMap", "autopilot-controller"]["data"]["controller.yaml"])
        self.assertTrue(settings["webhook"]["enabled"])
        path = settings["webhook"]["client_authorities"]
        pod = objects["Deployment", "autopilot-controller"]["spec"]["template"]["spec"]
        volume, = (one for one in pod["volumes"] if one.get("configMap", {}).get("name") == "api-server-authority")
        mount, = (one for one in pod["containers"][0]["volumeMounts"] if one["name"] == volume["name"])
        self.assertEqual(mount["mountPath"] + "/" + volume["configMap"]["items"][0]["path"], path)

    def test_the_webhooks_are_open_until_somebody_says_where_the_api_server_asks_from(self):
        def ingress(more):
            values = f"{{controller: {{enabled: true}}, networkPolicy: {{create: true{more}}}}}"
            return self.helm.objects(values)["NetworkPolicy", "autopilot-controller"]["spec"]["ingress"]

        self.assertEqual(ingress(""), [{"ports": [{"port": "tls"}]}])
        self.assertEqual(ingress(", webhookFrom: [{ipBlock: {cidr: 10.0.0.0/28}}]"),
                         [{"ports": [{"port": "tls"}],
                           "from": [{"ipBlock": {"cidr": "10.0.0.0/28"}}, {"podSelector": {"matchLabels": {"app": "autopilot"}}}]}])

    def test_openshift_gives_what_the_profile_needs_and_no_more(self):
        openshift = ("--api-versions", "security.openshift.io/v1")
        small = self.helm.objects("", *openshift)["SecurityContextConstraints", "scc-autopilot"]
        self.assertEqual(small["users"], [f"system:serviceaccount:{NAMESPACE}:autopilot"])
        self.assertEqual((small["runAsUser"], small["allowedCapabilities"], small["allowHostPID"], small["allowHostDirVolumePlugin"]),
                         ({"type": "MustRunAs", "uid": 65532}, [], False, False))
        self.assertNotIn("hostPath", small["volumes"])
        for values, capabilities in (("profile: full", ["SYSLOG", "SYS_ADMIN", "SYS_PTRACE"]),
                                     ("{profile: full, jobs: {helper: false}}", ["SYSLOG"])):
            with self.subTest(values):
                full = self.helm.objects(values, *openshift)["SecurityContextConstraints", "scc-autopilot"]
                self.assertEqual((full["allowedCapabilities"], full["allowHostPID"], full["allowPrivilegedContainer"]), (capabilities, True, False))
                pod = self.pod(values)["spec"]
                asked = {right for one in pod["containers"] for right in one["securityContext"]["capabilities"].get("add", [])}
                self.assertEqual((asked, pod["hostPID"]), (set(capabilities), True))
                self.assertLessEqual({next(key for key in volume if key != "name") for volume in pod["volumes"]}, set(full["volumes"]))

    def test_the_driver_is_asked_for_without_a_variable_where_the_runtime_takes_none(self):
        values = "driverRequest: volumeMount"
        agent = self.agent(values)
        self.assertEqual([one["name"] for one in agent["env"] if one["name"].startswith("NVIDIA_")], ["NVIDIA_DRIVER_CAPABILITIES"])
        [mount] = [one for one in agent["volumeMounts"] if one["mountPath"] == "/var/run/nvidia-container-devices/all"]
        [volume] = [one for one in self.pod(values)["spec"]["volumes"] if one["name"] == mount["name"]]
        self.assertEqual(volume["hostPath"], {"path": "/dev/null", "type": "CharDevice"})
        self.assertFalse([one for one in self.pod("")["spec"]["volumes"] if "hostPath" in one])
        # As in an upgrade with the values of an older release.
        self.assertEqual(self.pod("driverRequest:"), self.pod(""))
        granted = self.helm.objects(values, "--api-versions", "security.openshift.io/v1")["SecurityContextConstraints", "scc-autopilot"]
        self.assertTrue(granted["allowHostDirVolumePlugin"])
        self.assertIn("hostPath", granted["volumes"])
        self.assertEqual(granted["runAsUser"], {"type": "MustRunAs", "uid": 65532})

    def test_openshift_lets_the_pods_of_tests_be_a_user_of_their_own(self):
        objects = self.helm.objects("profile: full", "--api-versions", "security.openshift.io/v1")
        tests = objects["SecurityContextConstraints", "scc-autopilot-tests"]
        # Jobs and pods of the agent name no account.
        self.assertEqual(tests["users"], [f"system:serviceaccount:{NAMESPACE}:default"])
        self.assertEqual((tests["runAsUser"], tests["allowedCapabilities"]), ({"type": "MustRunAsNonRoot"}, []))
        self.assertFalse([key for key, value in tests.items() if key.startswith("allow") and value is True])

    def test_the_job_that_looks_once_is_given_the_driver_without_what_only_tests_of_gpus_need(self):
        job = yaml.safe_load((ROOT / "deploy" / "examples" / "system-check-job.yaml").read_text(encoding="utf-8"))
        def asked(container):
            return {one["name"]: one["value"] for one in container["env"] if one["name"].startswith("NVIDIA_")}

        agent = asked(self.agent(""))
        self.assertEqual(agent, {"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"})
        self.assertEqual(asked(job["spec"]["template"]["spec"]["containers"][0]), agent | {"NVIDIA_DRIVER_CAPABILITIES": "utility"})

    def test_what_nobody_knows_is_refused_with_its_name(self):
        for values, words in (("invasiv: 4h", "invasiv"), ("invasive: soon", "invasive: expected a duration such as 4h"),
                              ("invasive: 30s", "invasive: expected 0, or 10m to 8760h"), ("invasive: 9m", "expected 0, or 10m"),
                              ("invasive: 100000h", "expected 0, or 10m"), ("loglevel: debug", "loglevel"),
                              ("repeat: 1h2x", "repeat: expected a duration"), ("PCIeBW: fast", "PCIeBW"),
                              ('PCIeBW: "08"', "PCIeBW: Does not match"), ('PCIeBW: "010"', "PCIeBW: Does not match"),
                              ('PCIeBW: "0"', "PCIeBW: Does not match"), ("PCIeBW: 0", "PCIeBW: Must be greater than or equal to 1"),
                              ("PCIeBW: -3", "PCIeBW: Must be greater"), ('PCIeBW: "99999999999999999999"', "PCIeBW: Does not match"),
                              ("PCIeBW: 10000", "PCIeBW: Must be less than or equal to 9999"), ("PCIeBW: 3.5", "PCIeBW: Invalid type"),
                              (f"config: {{expectation: {{thresholds: {{{PCIE}: fast}}}}}}", "config.expectation.thresholds"),
                              ('invasive: "08"', "expected 0, or 10m"), ('invasive: "99999999999999999999"', "expected 0, or 10m"),
                              ('loglevel: "08"', "loglevel: Does not match"), ("loglevel: -1", "loglevel: Must be greater"),
                              ("namespace: {create: true}", "helm install --namespace NAME --create-namespace"),
                              ("service: {port: 8080}", "service.port"), ("image: {pullPolicy: Sometimes}", "pullPolicy"),
                              ("prometheusRule: {create: true}", "prometheusRule.create: this cluster has no PrometheusRule"),
                              ("networkPolicy: {from: all}", "networkPolicy"), ("tls: {mode: on}", "tls.mode"),
                              ("tls: {mode: secret, port: 8081}", "tls.port"),
                              ("tls: {mode: secret, secretName: }", "tls.secretName: expected"),
                              ("tls: {mode: secret, port: }", "tls.port: expected a port"),
                              ("tls: {mode: secret, port: 3333}", "tls.port: expected another port than service.port, 3333"),
                              ("driverRequest: mount", "driverRequest"), ("webhook: {enabled: true}", "webhook.enabled: the controller serves the webhook"),
                              ("webhook: {failurePolicy: Maybe}", "webhook.failurePolicy"), ("webhook: {on: true}", "webhook"),
                              ("pullSecrets: {create: true}", "pullSecrets.imagePullSecretData: expected")):
            with self.subTest(values=values), self.assertRaisesRegex(AssertionError, words):
                self.helm.objects(values)


class WayTest(unittest.TestCase):
    """Installation, upgrade, rollback and removal in a cluster, with a values file for IBM's chart."""

    def test_from_installation_to_removal(self):
        cluster = Cluster().open()
        if not cluster.nodes:
            self.skipTest(cluster.why_no_nodes)
        api, node, kubeconfig = cluster.api, "node-0", cluster.kubeconfig
        folder = tempfile.TemporaryDirectory(prefix="autopilot-test-")
        self.addCleanup(folder.cleanup)
        helm = Helm(folder.name)
        repository, tag = images.name_of("autopilot").rsplit(":", 1)
        ours = yaml.safe_load(IBM_VALUES) | {
            "onlyOnGPUNodes": False, "nodeSelector": {"kubernetes.io/hostname": node}, "resources": {},
            "image": {"repository": repository, "tag": tag}, "extraArgs": ["--simulate", "hgx-h100-8", "--allow-simulated"]}
        wait = ("--wait", "--timeout", "120s")
        chart = str(render.CHART)
        self.addCleanup(api.run, "label", "node", node, f"{PREFIX}/gpuhealth-")
        self.addCleanup(api.run, "annotate", "node", node, f"{PREFIX}/summary-", f"{PREFIX}/checked-at-")
        self.addCleanup(api.run, "delete", "namespace", NAMESPACE, "--ignore-not-found")

        def settings():
            return yaml.safe_load(api.get("configmap/autopilot", "-n", NAMESPACE)["data"]["config.yaml"])

        def pod():
            return [one["metadata"]["name"] for one in api.get("pods", "-n", NAMESPACE, "-l", "app=autopilot")["items"]
                    if "deletionTimestamp" not in one["metadata"]]

        notes = helm.run("install", "autopilot", chart, "--create-namespace", *wait, values=yaml.dump(ours), kubeconfig=kubeconfig)
        self.assertIn("service/autopilot-healthchecks", notes)
        api.wait(lambda: api.get("node", node)["metadata"]["labels"].get(f"{PREFIX}/gpuhealth") == "PASS", "the node is PASS")
        self.assertEqual(settings()["deep_test"]["every"], "4h")
        before = pod()
        helm.run("upgrade", "autopilot", chart, *wait, values=yaml.dump(ours | {"invasive": 0}), kubeconfig=kubeconfig)
        self.assertEqual(settings()["deep_test"]["every"], "0s")
        self.assertNotEqual(pod(), before, "the agent runs with the old configuration")
        helm.run("rollback", "autopilot", *wait, kubeconfig=kubeconfig)
        self.assertEqual(settings()["deep_test"]["every"], "4h")
        helm.run("uninstall", "autopilot", *wait, kubeconfig=kubeconfig)

        def left():
            kinds = "all,configmaps,roles,rolebindings,serviceaccounts"
            return [one["metadata"]["name"] for one in api.get(kinds, "-n", NAMESPACE, "-l", "app=autopilot")["items"]]
        api.wait(lambda: not left(), "nothing is left of it")

        helm.run("install", "autopilot", chart, values=yaml.dump(ours | {"controller": {"enabled": True}}), kubeconfig=kubeconfig)
        said = helm.run("uninstall", "autopilot", *wait, kubeconfig=kubeconfig)
        self.assertIn("[ConfigMap] autopilot-held-nodes", said)
        api.wait(lambda: left() == ["autopilot-held-nodes"], "nothing but the list of held nodes is left of it")


if __name__ == "__main__":
    testing.main()
