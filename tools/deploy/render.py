#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renders the plain manifests of deploy/manifests/ from the Helm chart.

  render.py            writes them
  render.py --check    exits with 1 if a manifest is out of date
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "autopilot"
NAMESPACE = "autopilot"
OLDEST = "1.30.0"  # oldest Kubernetes that accepts the manifests
# Profile -> Pod Security level of the namespace. `full` uses folders and the processes of the node.
PROFILES = {"dropin": "restricted", "full": "privileged"}
HEAD = """# SPDX-License-Identifier: Apache-2.0
# Made by tools/deploy/render.py from deploy/helm/; a change here is lost.
"""

NAMESPACE_OBJECT = """---
apiVersion: v1
kind: Namespace
metadata:
  name: {name}
  labels:
    pod-security.kubernetes.io/enforce: {level}
"""


def render(helm: Path, profile: str, settings=(), apis=()) -> str:
    """All objects to apply. `settings` are further values of the chart, "key=value" as for --set; `apis` are APIs of the cluster
    beyond Kubernetes itself."""
    changed = [word for setting in (f"profile={profile}", *settings) for word in ("--set", setting)]
    changed += [word for api in apis for word in ("--api-versions", api)]
    chart = subprocess.run([str(helm), "template", "autopilot", str(CHART), "--namespace", NAMESPACE, "--kube-version", OLDEST,
                            *changed],
                           capture_output=True, text=True, check=False)
    if chart.returncode != 0:
        raise RuntimeError(chart.stderr.strip())
    kinds = "".join(f"---\n{path.read_text().removeprefix('---').lstrip()}" for path in sorted((CHART / "crds").glob("*.yaml")))
    return HEAD + NAMESPACE_OBJECT.format(name=NAMESPACE, level=PROFILES[profile]) + kinds + chart.stdout


def path_of(profile: str) -> Path:
    return DEPLOY / "manifests" / f"{profile}.yaml"


def stale(helm: Path) -> dict[Path, str]:
    """The expected text of each manifest that is out of date."""
    texts = {path_of(profile): render(helm, profile) for profile in PROFILES}
    return {path: text for path, text in texts.items() if not path.exists() or path.read_text() != text}


def find_helm() -> Path:
    """The helm of the test cluster, so that the output is the same everywhere."""
    sys.path.insert(0, str(ROOT / "tests" / "cluster"))
    from kit import programs
    return programs.build(["helm"], lambda text: print(text, file=sys.stderr))["helm"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    found = stale(find_helm())
    for path, text in found.items():
        if arguments.check:
            print(f"{path.relative_to(ROOT)} is not current; tools/deploy/render.py writes it")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"{path.relative_to(ROOT)} written")
    return 1 if arguments.check and found else 0


if __name__ == "__main__":
    sys.exit(main())
