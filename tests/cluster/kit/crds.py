# SPDX-License-Identifier: Apache-2.0
"""Kinds of other projects, whose controllers the cluster does not run: their definitions, from the Go modules of the projects. Each is
fetched once, and kept beside the programs of a cluster."""

import dataclasses
import json
import os
import subprocess
import tempfile
from pathlib import Path

from kit import programs
from kit.reason import CannotRun

PATIENCE = 300  # s, for the sources of one module


@dataclasses.dataclass(frozen=True)
class Definition:
    kind: str  # the name of its definition
    module: str
    version: str
    mark: str  # of the content of the module, as in go.sum
    path: str  # in the module

    @property
    def kept(self) -> Path:
        return programs.cache() / "crds" / f"{self.kind}-{self.version}.yaml"


# Both operators of Kubeflow define mpijobs: v2beta1, which the manifests have, is that of the MPI operator.
DEFINITIONS = (
    Definition("jobsets.jobset.x-k8s.io", "sigs.k8s.io/jobset", "v0.8.1", "h1:FwosQQyjmYgOKy8sD3ERpfil1BDLNpYUOJdIqmZSz3s=",
               "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"),
    Definition("jobs.batch.volcano.sh", "volcano.sh/volcano", "v1.10.0", "h1:+GzQinGgeV0j58WpWpxByOXgF+YfUPW55zghM8GqjF0=",
               "config/crd/volcano/bases/batch.volcano.sh_jobs.yaml"),
    Definition("pytorchjobs.kubeflow.org", "github.com/kubeflow/training-operator", "v1.9.2",
               "h1:w5McwkEb7J5QFRo8b8zR9DrgyLHNU2u03Srr9eyLJtc=", "manifests/base/crds/kubeflow.org_pytorchjobs.yaml"),
    Definition("mpijobs.kubeflow.org", "github.com/kubeflow/mpi-operator", "v0.6.0", "h1:RzzG03oyQIiHe/SH2k19N+Hp4QkxEsG2l9G1T7US+ys=",
               "manifests/base/kubeflow.org_mpijobs.yaml"),
    Definition("localqueues.kueue.x-k8s.io", "sigs.k8s.io/kueue", "v0.11.6", "h1:ZuI5GY3aMrARO2iP1/7H9CkEiqYupqnt/bprchHzE0I=",
               "config/components/crd/bases/kueue.x-k8s.io_localqueues.yaml"),
)


class Kinds:
    """The server serves these kinds while the context lasts."""

    def __init__(self, api, definitions=DEFINITIONS):
        self._api = api
        self._names = [definition.kind for definition in definitions]
        self._files = [_file_of(definition) for definition in definitions]

    def __enter__(self) -> "Kinds":
        for file in self._files:
            self._api.run("apply", "--server-side", "--field-manager=kit", "--validate=ignore", "-f", str(file))
        self._api.wait_for_kinds(*self._names)
        return self

    def __exit__(self, *_) -> None:
        self._api.run("delete", "--ignore-not-found", "crd", *self._names)


def _file_of(definition: Definition) -> Path:
    if not definition.kept.exists():
        text = (_sources_of(definition) / definition.path).read_bytes()
        definition.kept.parent.mkdir(parents=True, exist_ok=True)
        # Several processes can do this at once.
        with tempfile.NamedTemporaryFile(dir=definition.kept.parent, delete=False) as fresh:
            fresh.write(text)
        os.replace(fresh.name, definition.kept)
    return definition.kept


def _sources_of(definition: Definition) -> Path:
    what = f"the sources of {definition.module} {definition.version}"
    environment = dict(os.environ, GOTOOLCHAIN="local", GOWORK="off", GOFLAGS="-modcacherw")
    with tempfile.TemporaryDirectory() as empty:  # no go.mod counts there
        try:
            done = subprocess.run([programs.find_go(), "mod", "download", "-json", f"{definition.module}@{definition.version}"], cwd=empty,
                                  env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired as error:
            raise CannotRun(f"{what} did not come within {PATIENCE} s") from error
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = {"Error": done.stderr}
    if done.returncode or "Error" in answer:
        reason = (answer.get("Error") or done.stderr).strip().splitlines() or ["no reason given"]
        raise CannotRun(f"{what} cannot be had: {reason[-1].strip()}")
    if answer["Sum"] != definition.mark:
        raise AssertionError(f"{what} have the sum {answer['Sum']}, not {definition.mark}")
    return Path(answer["Dir"])
