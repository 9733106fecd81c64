# SPDX-License-Identifier: Apache-2.0
"""cert-manager beside a cluster: the kinds of its module, and its controllers in one process (programs/cert_manager), which sign all
requests. Its webhook and its cainjector do not run, so a request does not contain its user."""

import json

import yaml

from kit import programs
from kit.cluster import Cluster

GROUP = "cert-manager.io"
API = f"{GROUP}/v1"
REQUESTS = f"certificaterequests.{GROUP}"
KINDS = ("certificaterequests", "certificates", "clusterissuers", "issuers")
MODULE = PROCESS = "cert_manager"


class CertManager:
    """Runs cert-manager in the cluster while the context lasts."""

    def __init__(self, cluster: Cluster, say=print):
        self._api = cluster.api
        self._processes = cluster.processes
        self._kubeconfig = cluster.kubeconfig
        self._program = programs.build([MODULE], say)[MODULE]

    def __enter__(self) -> "CertManager":
        self._api.apply(*map(self._kind, KINDS))
        self._api.wait_for_kinds(*(f"{kind}.{GROUP}" for kind in KINDS))
        self._processes.start(PROCESS, [self._program, f"--kubeconfig={self._kubeconfig}"])
        return self

    def __exit__(self, *_) -> None:
        self._processes.stop(PROCESS)
        self._api.run("delete", "--ignore-not-found", "crd", *(f"{kind}.{GROUP}" for kind in KINDS))

    def _kind(self, name: str) -> dict:
        """The module has it as a part of a Helm chart; what the chart would write is labels."""
        text = (self._program.parent / programs.COPIED[MODULE][1] / f"crd-{name}.yaml").read_text(encoding="utf-8")
        return yaml.load("\n".join(line for line in text.splitlines() if "{{" not in line), yaml.CSafeLoader)

    def renew(self, namespace: str, certificate: str) -> None:
        """Requests a renewal as cert-manager's command line does."""
        object_ = self._api.get(f"certificates.{GROUP}", certificate, "-n", namespace)
        others = [one for one in object_["status"]["conditions"] if one["type"] != "Issuing"]
        issuing = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "renewed by hand",
                   "observedGeneration": object_["metadata"]["generation"]}
        self._api.run("patch", f"certificates.{GROUP}", certificate, "-n", namespace, "--subresource=status", "--type=merge", "-p",
                      json.dumps({"status": {"conditions": [*others, issuing]}}))
