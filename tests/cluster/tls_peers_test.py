# SPDX-License-Identifier: Apache-2.0
"""Two real agents that send requests to each other over TLS: permissions for diagnostics, keys that are renewed during a request, a
certificate of another node, and agents without TLS. The agents are processes beside the cluster, each at a separate address."""

import json
import os
import ssl
import sys
import tempfile
import threading
import unittest
from pathlib import Path

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

import harness  # noqa: E402
from certificates import Certificates  # noqa: E402
from kit import network, simulated, testing  # noqa: E402
from kit.cluster import Cluster  # noqa: E402
from kit.inside_tls import PORT, Agent  # noqa: E402
from kit.relay import Relay  # noqa: E402

SPACE = "autopilot-peers"
AUDIENCE = GROUP = "autopilot.ibm.com"
SERVICE = "autopilot-healthchecks"
CLASS = "peers-volumes"
ADDRESSES = {"peer-a": network.API_ADDRESS, "peer-b": "10.213.0.2"}
ASKED, OTHER = ADDRESSES
OLD, NEW = "peer-old", "peer-new"  # nodes whose agents are only pods


def rights(account, *nodes):
    """It may have storage classes tested on these nodes; on none: on all."""
    meta = {"name": account, "namespace": SPACE}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
    yield {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta,
           "rules": [{"apiGroups": [GROUP], "resources": ["checks/storage.pvc"], "resourceNames": list(nodes), "verbs": ["create"]}]}
    yield {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": meta,
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
           "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": SPACE}]}


def slice_of(node):
    return {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": node, "namespace": SPACE, "labels": {"kubernetes.io/service-name": SERVICE}},
            "endpoints": [{"addresses": [ADDRESSES[node]], "nodeName": node, "conditions": {"ready": True}}],
            "ports": [{"name": "healthcheck", "port": 3333}, {"name": "tls", "port": PORT}]}


def service():
    """The Service as the chart creates it with TLS."""
    ports = [{"name": name, "port": port, "targetPort": name} for name, port in (("healthcheck", 3333), ("tls", PORT))]
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE, "namespace": SPACE},
            "spec": {"selector": {"app": "autopilot"}, "ports": ports}}


def pod(node, **ports):
    """A pod that only kwok runs, which gives it an address."""
    named = [{"name": name, "containerPort": port} for name, port in ports.items()]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": node, "namespace": SPACE, "labels": {"app": "autopilot"}},
            "spec": {"nodeName": node, "automountServiceAccountToken": False,
                     "containers": [{"name": "agent", "image": "none", "ports": named}]}}


class TlsPeersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().open()
        cls.api = cls.cluster.api
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.keys = Certificates(cls.folder)
        cls.keys.make_authority("ca")
        for node in ADDRESSES:
            cls.keys.make(node, "ca", f"DNS:{node}")
        network.ip("addr", "add", f"{ADDRESSES[OTHER]}/32", "dev", network.BRIDGE)
        cls.addClassCleanup(network.ip, "addr", "del", f"{ADDRESSES[OTHER]}/32", "dev", network.BRIDGE)
        cls.api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        for kind, name in (("namespace", SPACE), *(("node", node) for node in (*ADDRESSES, OLD, NEW))):
            cls.addClassCleanup(cls.api.run, "delete", "--ignore-not-found", "--wait=false", kind, name)
        cls.api.apply(*({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}} for node in ADDRESSES),
                      *rights("everywhere"), *rights("one-node", ASKED), *map(slice_of, ADDRESSES))
        cls.relay = Relay(cls.cluster.control_plane)
        cls.addClassCleanup(cls.relay.close)
        cls.agents = {node: cls.start(node) for node in ADDRESSES}
        for agent in cls.agents.values():
            agent.wait_ready()

    @classmethod
    def start(cls, node):
        kubeconfig = cls.folder / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": cls.relay.url}}],
            "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        config = cls.folder / f"{node}.yaml"
        config.write_text(json.dumps({
            "kubernetes": {"write_node": True, "kubeconfig": str(kubeconfig), "namespace": SPACE}, "node": node,
            "pvc": {"patience": "30s", "storage_classes": {CLASS: ["ReadWriteMany"]}},
            "tls": {"mode": "files", "listen": f"{ADDRESSES[node]}:{PORT}", "certificate": cls.keys.path(f"{node}.crt"),
                    "key": cls.keys.path(f"{node}.key"), "authorities": cls.keys.path("ca.crt")}}))
        agent = harness.Agent("--simulate", "hgx-h100-8", "--allow-simulated", "--config", str(config))
        cls.addClassCleanup(agent.close)
        return agent

    def seen(self, node):
        """Accepts any name in the certificate; only agents verify names."""
        return Agent(ADDRESSES[node], node, any_name=True, cafile=self.keys.path("ca.crt"))

    def ask(self, path, account=None):
        """The agent that is asked."""
        token = account and self.api.run("create", "token", account, "-n", SPACE, "--audience", AUDIENCE).strip()
        code, body = self.seen(ASKED).ask("GET", path, {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})})
        self.assertEqual(code, 200, body)
        return {one["node"]: one for one in json.loads(body)["nodes"]}

    def ask_for_test(self, account, nodes):
        """Asks again if a test takes longer than the limit of an answer: an agent that has just started has few writes left."""
        return self.api.wait(lambda: next((told for told in [self.ask(f"/status?check=pvc&host={nodes}", account)]
                                           if "ask again later" not in json.dumps(told)), None), "the tests have ended", 180)

    def make_keys(self, node):
        self.keys.make(f"renewed-{node}", "ca", f"DNS:{node}")
        return {node: f"renewed-{node}"}

    def renew(self, names):
        """Each node gets the keys of this name, and shows them afterwards."""
        shown = {}
        for node, name in names.items():
            shown[node] = ssl.PEM_cert_to_DER_cert(Path(self.keys.path(f"{name}.crt")).read_text())
            for ending in ("key", "crt"):
                os.replace(self.keys.path(f"{name}.{ending}"), self.keys.path(f"{node}.{ending}"))

        self.api.wait(lambda: all(self.seen(node).certificate()["der"] == shown[node] for node in names), "the new certificates are shown", 30)

    def test_each_agent_asks_the_cluster_what_the_user_may_on_its_node(self):
        """Uses a class that does not exist, whose test ends at once."""
        told = self.ask_for_test("one-node", f"{ASKED},{OTHER}")
        mine, theirs = (told[node]["checks"][0] for node in (ASKED, OTHER))
        self.assertEqual((mine["outcome"], mine["fresh"]), ("aborted", True), mine)
        self.assertFalse(theirs["fresh"], theirs)
        self.assertIn(f"not run: system:serviceaccount:{SPACE}:one-node may not create checks/storage.pvc", theirs["text"])
        told = self.ask_for_test("everywhere", OTHER)
        self.assertTrue(told[OTHER]["checks"][0]["fresh"], told)

    def test_keys_that_are_renewed_under_a_question_do_not_cut_it(self):
        """The question lasts as long as a test that waits for a volume, or for the next write of an agent that has just begun."""
        self.api.apply({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": CLASS},
                        "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "Immediate"})
        self.addCleanup(self.api.run, "delete", "--ignore-not-found", "storageclass", CLASS)
        renewed = {**self.make_keys(ASKED), **self.make_keys(OTHER)}
        begin = json.dumps({"kind": "storage.pvc"})

        def is_under_way():  # a pod that has just ended is not created again at once
            self.agents[OTHER].request("POST", "/v1/operations", begin, {"Content-Type": "application/json"}, unix=True)
            return '"running"' in self.agents[OTHER].get("/v1/operations")

        self.api.wait(is_under_way, "a test is under way")
        told = []
        question = threading.Thread(target=lambda: told.append(self.ask(f"/status?check=pvc&host={OTHER}", "everywhere")))
        question.start()
        self.addCleanup(question.join)
        self.renew(renewed)
        self.assertEqual(told, [])
        question.join()
        self.assertEqual([one["name"] for one in told[0][OTHER]["checks"]], ["pvc"], told)
        # And the next one finds the new keys good.
        self.assertEqual(self.ask(f"/status?check=gpupower&host={OTHER}")[OTHER]["checks"][0]["outcome"], "passed")

    def test_a_peer_that_gets_a_certificate_of_another_node_is_believed_no_more(self):
        path = f"/status?check=gpupower&host={OTHER}"
        self.assertEqual(self.ask(path)[OTHER]["checks"][0]["outcome"], "passed")
        self.keys.make("stranger", "ca", "DNS:stranger")
        self.renew({OTHER: "stranger"})
        self.assertIn(f"the server's certificate is not trusted: it does not name {OTHER}", self.ask(path)[OTHER]["error"])
        self.renew(self.make_keys(OTHER))
        self.assertEqual(self.ask(path)[OTHER]["checks"][0]["outcome"], "passed")

    def test_an_agent_from_before_tls_is_told_as_such(self):
        """The controller of the Service finds by itself which pods lack the port."""
        self.api.apply(*map(simulated.node, (OLD, NEW)))
        self.api.wait(lambda: self.api.get("serviceaccount", "-n", SPACE, "default"), "the namespace has its account")
        self.api.apply(service(), pod(OLD, healthcheck=3333), pod(NEW, healthcheck=3333, tls=PORT))
        path = f"/status?check=gpupower&host={OLD},{OTHER}"
        self.api.wait(lambda: f"no TLS yet at {OLD}: " in self.ask(path)[OLD]["error"], "the agents of the pods are listed", 60)
        self.assertEqual(self.ask(path)[OTHER]["checks"][0]["outcome"], "passed")


if __name__ == "__main__":
    testing.main()
