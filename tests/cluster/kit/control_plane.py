# SPDX-License-Identifier: Apache-2.0
"""etcd, API server, controller manager and scheduler as programs of this machine."""

import json
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path

from kit import audit, network
from kit.keys import Keys
from kit.processes import Processes

SERVER = f"https://{network.API_ADDRESS}:{network.API_PORT}"
ETCD = f"https://{network.API_ADDRESS}:2379"
# etcd and its peers, API server, kwok, controller manager, scheduler.
PORTS = (2379, 2380, network.API_PORT, 10247, 10257, 10259)
ISSUER = "https://kubernetes.default.svc.cluster.local"


class ControlPlane:
    def __init__(self, folder: Path, programs: dict[str, Path], processes: Processes):
        self.folder = folder
        self.keys = Keys(folder / "keys")
        self._programs = programs
        self._processes = processes

    def kubeconfig(self, name: str) -> Path:
        return self.folder / f"{name}.kubeconfig"

    @property
    def audit_log(self) -> Path:
        return self.folder / "audit.log"

    def make_keys(self) -> None:
        """Everybody's certificates but those of the nodes."""
        keys = self.keys
        keys.make_authority()
        keys.make_signer("service-account")
        keys.make("etcd", "/CN=etcd", [network.API_ADDRESS])
        keys.make("apiserver", "/CN=kube-apiserver", [
            network.API_ADDRESS, network.API_SERVICE, "127.0.0.1", "localhost", "kubernetes", "kubernetes.default",
            "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"])
        # May ask kubelets for logs and exec.
        keys.make("apiserver-to-kubelet", "/O=system:masters/CN=kube-apiserver-kubelet-client")
        for name, subject in (("admin", "/O=system:masters/CN=admin"),
                              ("controller-manager", "/CN=system:kube-controller-manager"),
                              ("scheduler", "/CN=system:kube-scheduler"), ("kube-proxy", "/CN=system:kube-proxy")):
            keys.write_kubeconfig(self.kubeconfig(name), SERVER, *keys.make(name, subject))

    def start(self) -> None:
        self.start_etcd()
        self.start_apiserver()
        self.wait_ready()
        self.start_controller_manager()
        self.start_scheduler()

    def start_etcd(self) -> None:
        self._start("etcd", {
            "name": "etcd", "data-dir": self.folder / "etcd", "listen-client-urls": ETCD, "advertise-client-urls": ETCD,
            "listen-peer-urls": f"https://{network.API_ADDRESS}:2380",
            "initial-advertise-peer-urls": f"https://{network.API_ADDRESS}:2380",
            "initial-cluster": f"etcd=https://{network.API_ADDRESS}:2380",
            "cert-file": self._key("etcd.crt"), "key-file": self._key("etcd.key"), "client-cert-auth": "true",
            "trusted-ca-file": self._key("ca.crt"), "peer-cert-file": self._key("etcd.crt"),
            "peer-key-file": self._key("etcd.key"), "peer-client-cert-auth": "true",
            "peer-trusted-ca-file": self._key("ca.crt"),
            # The test data need not survive a power failure.
            "unsafe-no-fsync": "true"})

    def start_apiserver(self) -> None:
        self._start("kube-apiserver", {
            "bind-address": network.API_ADDRESS, "advertise-address": network.API_ADDRESS, "secure-port": network.API_PORT,
            "etcd-servers": ETCD, "etcd-cafile": self._key("ca.crt"), "etcd-certfile": self._key("etcd.crt"),
            "etcd-keyfile": self._key("etcd.key"), "client-ca-file": self._key("ca.crt"),
            "tls-cert-file": self._key("apiserver.crt"), "tls-private-key-file": self._key("apiserver.key"),
            "kubelet-certificate-authority": self._key("ca.crt"),
            "kubelet-client-certificate": self._key("apiserver-to-kubelet.crt"),
            "kubelet-client-key": self._key("apiserver-to-kubelet.key"),
            "kubelet-preferred-address-types": "InternalIP",
            "service-account-issuer": ISSUER, "service-account-key-file": self._key("service-account.pub"),
            "service-account-signing-key-file": self._key("service-account.key"),
            "service-cluster-ip-range": network.SERVICES, "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction", "allow-privileged": "true",
            # No kube-proxy is where it runs: it asks the pods behind the Service of a webhook itself.
            "enable-aggregator-routing": "true",
            "audit-policy-file": audit.write_policy(self.folder / "audit-policy.json"), "audit-log-path": self.audit_log,
        })

    def start_controller_manager(self) -> None:
        self._start("kube-controller-manager", self._as("controller-manager") | {
            "bind-address": network.API_ADDRESS, "use-service-account-credentials": "true",
            "root-ca-file": self._key("ca.crt"), "service-account-private-key-file": self._key("service-account.key"),
            "cluster-signing-cert-file": self._key("ca.crt"), "cluster-signing-key-file": self._key("ca.key"),
            # Half of what is usual: a test waits for it.
            "node-monitor-grace-period": "20s", "leader-elect": "false"})

    def start_scheduler(self) -> None:
        self._start("kube-scheduler", self._as("scheduler") | {"bind-address": network.API_ADDRESS, "leader-elect": "false"})

    def wait_ready(self, patience: float = 90.0) -> None:
        context = ssl.create_default_context(cafile=self.keys.authority)
        context.load_cert_chain(self._key("admin.crt"), self._key("admin.key"))
        until = time.monotonic() + patience
        while True:
            for name in ("etcd", "kube-apiserver"):
                if self._processes.pid_of(name) is None:
                    raise RuntimeError(f"{name} has ended:\n{self._processes.last_words(name)}")
            try:
                with urllib.request.urlopen(f"{SERVER}/readyz", context=context, timeout=5):
                    return
            except (urllib.error.URLError, OSError) as error:
                if time.monotonic() > until:
                    raise RuntimeError(f"the API server is not ready after {patience:.0f} s: {error}\n" +
                                       self._processes.last_words("kube-apiserver")) from error
            time.sleep(0.1)

    def forget_history(self, revision: int) -> None:
        """Makes etcd forget every state of the cluster before `revision`."""
        context = ssl.create_default_context(cafile=self.keys.authority)
        context.load_cert_chain(self._key("etcd.crt"), self._key("etcd.key"))
        body = json.dumps({"revision": str(revision), "physical": True}).encode()
        asked = urllib.request.Request(f"{ETCD}/v3/kv/compaction", data=body, method="POST")
        with urllib.request.urlopen(asked, context=context, timeout=20):
            pass

    def _as(self, name: str) -> dict:
        return {option: self.kubeconfig(name) for option in
                ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")}

    def _key(self, name: str) -> Path:
        return self.keys.folder / name

    def _start(self, name: str, options: dict) -> None:
        self._processes.start(name, [self._programs[name], *(f"--{option}={value}" for option, value in options.items())])
