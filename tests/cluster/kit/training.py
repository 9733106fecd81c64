# SPDX-License-Identifier: Apache-2.0
"""A real training job in pods of the cluster: an Indexed Job of PyTorch with gloo, whose Python and libraries are those of this machine. Only
the GPUs are played: a simulated driver on each node reports what the ranks of the node do (tests/real_jobs/coupling.py)."""

import shutil
import subprocess
import sys
from pathlib import Path

from kit import images
from kit.cluster import ROOT

REAL_JOBS = ROOT / "tests" / "real_jobs"
PYTHON = "/usr/bin/python3"  # for which Debian packages PyTorch
MACHINE = "l40s-4"
GPUS = images.GPUS
NVIDIA = {"vendor": "0x10de", "device": "0x26b9", "class": "0x030200"}
NAME = "train"
# Below a folder that each node has for itself.
PLACE = "/var/lib/kubelet/training"
RANKS = 8


def agent_settings() -> list[str]:
    """Values of the chart: the agent of a node sees the played GPUs of that node."""
    mounts = {"machine": "/machine", "libraries": "/libraries", "devices": "/sys/bus/pci/devices"}
    settings = ["env[0].name=AUTOPILOT_SIM_MACHINE", "env[0].value=/machine", "env[1].name=LD_LIBRARY_PATH", "env[1].value=/libraries"]
    for number, (name, path) in enumerate(mounts.items()):
        settings += [f"additionalVolumeClaimTemplates[{number}].name={name}",
                     f"additionalVolumeClaimTemplates[{number}].hostPath.path={PLACE}/{name}",
                     f"additionalVolumeMounts[{number}].name={name}", f"additionalVolumeMounts[{number}].mountPath={path}",
                     f"additionalVolumeMounts[{number}].readOnly=true"]
    return settings


def has_torch() -> bool:
    return subprocess.run([PYTHON, "-c", "import torch, yaml"], capture_output=True, check=False).returncode == 0


class Rank:
    """`pid` on this machine, `inner` on its node."""

    def __init__(self, number: int, node, pid: int, inner: str):
        self.number = number
        self.node = node
        self.pid = pid
        self.inner = inner


class Training:
    def __init__(self, api, nodes, namespace: str):
        self._api = api
        self._nodes = nodes
        self._namespace = namespace
        self._couplings = []

    def prepare(self, programs: Path) -> None:
        """What the agents and the ranks need on each node."""
        for node in self._nodes:
            place = self._place(node)
            for name in ("libraries", "state"):
                (place / name).mkdir(parents=True)
            (place / "state").chmod(0o777)
            subprocess.run([programs / "autopilot-sim", "create", MACHINE, "--now", "--out", place / "machine"], check=True, stdout=subprocess.DEVNULL)
            shutil.copy(programs / "libnvidia-ml-sim.so", place / "libraries" / "libnvidia-ml.so.1")
            for address in GPUS:
                device = place / "devices" / address
                device.mkdir(parents=True)
                for name, text in NVIDIA.items():
                    (device / name).write_text(text + "\n")

    def start(self) -> list[Rank]:
        """The ranks, whose GPUs report what they do."""
        self._api.apply(_service(self._namespace), _job(self._namespace, [node.name for node in self._nodes]))
        pods = self._api.wait(self._running, "the ranks run", 120)
        ranks = self._api.wait(lambda: self._find(pods), "the processes of all ranks", 60)
        for node in self._nodes:
            own = [rank for rank in ranks if rank.node is node]
            holders = [f"{address}={rank.number}:{rank.pid}:{rank.inner}" for address, rank in zip(GPUS, own)]
            place = self._place(node)
            self._couplings.append(subprocess.Popen([sys.executable, "-B", REAL_JOBS / "coupling.py", place / "machine", place / "state", *holders]))
        return ranks

    def stop(self) -> None:
        for coupling in self._couplings:
            coupling.kill()
            coupling.wait()
        self._couplings = []
        for node in self._nodes:
            shutil.rmtree(self._place(node), ignore_errors=True)

    @staticmethod
    def _place(node) -> Path:
        return node.folder / "kubelet" / Path(PLACE).name

    def _running(self) -> dict | None:
        """UID -> node."""
        pods = self._api.get("pods", "-n", self._namespace, "-l", f"batch.kubernetes.io/job-name={NAME}")["items"]
        running = {pod["metadata"]["uid"]: pod["spec"]["nodeName"] for pod in pods if pod["status"]["phase"] == "Running"}
        return running if len(running) == RANKS else None

    def _find(self, pods: dict) -> list[Rank] | None:
        ranks = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                uid = next((uid for uid in pods if f"pod{uid}/" in (folder / "cgroup").read_text()), None)
                if uid is None or b"train.py" not in (folder / "cmdline").read_bytes():
                    continue
                environment = dict(word.split(b"=", 1) for word in (folder / "environ").read_bytes().split(b"\0") if b"=" in word)
                inner = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("NSpid:")).split()[-2]
            except (FileNotFoundError, ProcessLookupError):
                continue
            node = next(one for one in self._nodes if one.name == pods[uid])
            ranks.append(Rank(int(environment[b"RANK"]), node, int(folder.name), inner))
        return sorted(ranks, key=lambda rank: rank.number) if len(ranks) == RANKS else None


def _service(namespace: str) -> dict:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME, "namespace": namespace},
            "spec": {"clusterIP": "None", "selector": {"batch.kubernetes.io/job-name": NAME}, "publishNotReadyAddresses": True}}


def _job(namespace: str, nodes: list[str]) -> dict:
    index = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}}
    fixed = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": f"{NAME}-0.{NAME}", "MASTER_PORT": "29500", "OMP_NUM_THREADS": "1",
             "GLOO_SOCKET_IFNAME": "eth0", "PYTHONDONTWRITEBYTECODE": "1"}
    places = {"/usr": "/usr", "/lib": "/usr/lib", "/lib64": "/usr/lib64", "/etc/alternatives": "/etc/alternatives",
              "/etc/ld.so.cache": "/etc/ld.so.cache", "/real_jobs": str(REAL_JOBS), "/state": f"{PLACE}/state"}
    volumes = {path.strip("/").replace("/", "-").replace(".", "-").replace("_", "-"): (path, source) for path, source in places.items()}
    main = {"name": "main", "image": images.name_of("busybox"), "imagePullPolicy": "Never",
            "command": [PYTHON, "/real_jobs/train.py", "--state", "/state", "--data", "/tmp/index"],
            "env": [{"name": "RANK", "valueFrom": index}, *({"name": name, "value": value} for name, value in fixed.items())],
            "volumeMounts": [{"name": name, "mountPath": path, "readOnly": path != "/state"} for name, (path, _) in volumes.items()]}
    spread = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
              "labelSelector": {"matchLabels": {"batch.kubernetes.io/job-name": NAME}}}
    among = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": nodes}]}]}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "subdomain": NAME, "topologySpreadConstraints": [spread],
           "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": among}}, "containers": [main],
           "volumes": [{"name": name, "hostPath": {"path": source}} for name, (_, source) in volumes.items()]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": NAME, "namespace": namespace},
            "spec": {"completionMode": "Indexed", "completions": RANKS, "parallelism": RANKS, "backoffLimit": 0, "template": {"spec": pod}}}
