# SPDX-License-Identifier: Apache-2.0
"""The API server, asked through kubectl."""

import contextlib
import json
import re
import subprocess
import time
from pathlib import Path


class Api:
    def __init__(self, kubectl: Path, kubeconfig: Path):
        self._command = [str(kubectl), f"--kubeconfig={kubeconfig}", "--request-timeout=20s"]

    def run(self, *arguments: str, text: str | None = None, codes=(0,)) -> str:
        """Output of kubectl. `codes`: accepted exit codes; with exec those of the program, which raise no ApiError."""
        done = subprocess.run([*self._command, *arguments], input=text, capture_output=True, text=True, check=False)
        if done.returncode not in codes:
            raise ApiError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *arguments: str) -> dict:
        return json.loads(self.run("get", "-o", "json", *arguments))

    def apply(self, *objects: dict) -> None:
        """Server-side apply, which refuses unknown fields. Afterwards each object is as given, unless another client owns some fields."""
        listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        # kubectl's own look at the fields costs megabytes each time.
        self.run("apply", "--server-side", "--force-conflicts", "--field-manager=kit", "--validate=ignore", "-f", "-",
                 text=json.dumps(listed))

    @contextlib.contextmanager
    def forward(self, namespace: str, pod: str, port: int):
        """A port of this machine that is forwarded to a port of a pod, through API server and kubelet."""
        command = [*self._command, "port-forward", "-n", namespace, f"pod/{pod}", f":{port}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
            try:
                line = child.stdout.readline()
                found = re.search(r"Forwarding from 127\.0\.0\.1:(\d+)", line)
                if not found:
                    raise ApiError(f"kubectl port-forward: {line.strip()}")
                yield int(found.group(1))
            finally:
                child.kill()

    def wait_for_kinds(self, *names: str) -> None:
        """Waits until the server serves these definitions. `kubectl wait` ends with an error if a definition is so new that it has no
        conditions at all."""
        self.wait(lambda: all(condition_of(self.get("crd", name), "Established") == "True" for name in names), f"{', '.join(names)} are served")

    def wait(self, condition, what: str, patience: float = 60.0):
        """Result of `condition` once it is true; an ApiError inside it counts as false."""
        until = time.monotonic() + patience
        pause = 0.1
        last = "it is false"
        while True:
            try:
                found = condition()
                if found:
                    return found
            except ApiError as error:
                last = str(error)
            if time.monotonic() > until:
                raise AssertionError(f"not after {patience:.0f} s: {what} ({last})")
            # Slow conditions are polled rarely, because each poll costs a kubectl.
            time.sleep(pause)
            pause = min(1.0, pause * 1.2)


class ApiError(Exception):
    pass


def condition_of(object_: dict, kind: str) -> str | None:
    for condition in object_.get("status", {}).get("conditions") or []:
        if condition["type"] == kind:
            return condition["status"]
    return None
