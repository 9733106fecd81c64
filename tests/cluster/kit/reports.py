# SPDX-License-Identifier: Apache-2.0
"""The kind of the nodes' reports, NodeHealthReport, and the namespace they are in."""

from pathlib import Path

CRD = Path(__file__).resolve().parents[3] / "deploy" / "helm" / "autopilot" / "crds" / "nodehealthreports.yaml"
NAME = "nodehealthreports.autopilot.ibm.com"


def make(api, namespace: str) -> None:
    api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    api.run("apply", "--server-side", "-f", str(CRD))
    api.wait_for_kinds(NAME)


def remove(api) -> None:
    """Removes the kind with all reports, so that agents of other tests take over nothing."""
    api.run("delete", "--ignore-not-found", "crd", NAME)
