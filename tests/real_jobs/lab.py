# SPDX-License-Identifier: Apache-2.0
"""Nodes with real agents and a real training job on them. A node is a network, mount and process namespace; only its GPUs are played
(coupling.py). One agent is the coordinator: it gets what all agents see, and runs the engine."""

import json
import os
import signal
import subprocess
import sys
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import harness  # noqa: E402
import network_lab  # noqa: E402
from certificates import Certificates  # noqa: E402
from slurm import first_of_namespace  # noqa: E402

GPUS = ("0000:4a:00.0", "0000:61:00.0")  # of four of the simulated machine
MACHINE = "l40s-4"
TLS_PORT = 3343
MASTER_PORT = 29500
COORDINATOR = 1
PYTHON = "/usr/bin/python3"  # for which Debian packages PyTorch
QUOTAS = "/sys/fs/cgroup/cpu"


def write(path, text):
    with open(f"{path}.new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(f"{path}.new", path)


class Rank:
    """A process of the job: `pid` here, `inner` in the namespace of its node."""

    def __init__(self, number, host, process, pid):
        self.number = number
        self.host = host
        self.process = process
        self.pid = pid
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            self.inner = next(line for line in file if line.startswith("NSpid:")).split()[-1]

    def signal(self, number):
        os.kill(self.pid, number)


class JobLab:
    """`nodes` with as many ranks each as they have GPUs."""

    def __init__(self, nodes=4):
        self.lab = network_lab.Lab(hosts=nodes, rails=1)
        self.folder = self.lab.folder
        self.ranks = []
        self.couplings = []
        self.quotas = []
        self.job_number = 0
        self.libraries = os.path.join(self.folder, "libraries")
        os.makedirs(self.libraries)
        os.symlink(os.path.join(harness.BIN, "libnvidia-ml-sim.so"), os.path.join(self.libraries, "libnvidia-ml.so.1"))
        self.keys = Certificates(self.folder)
        self.keys.make_authority("ca")
        for host in self.lab.hosts.values():
            self.keys.make(host.name, "ca", f"DNS:{host.name},IP:{host.address(0)}")
            subprocess.run([harness.AUTOPILOT_SIM, "create", MACHINE, "--now", "--out", self.tree_of(host)], check=True, stdout=subprocess.DEVNULL)
            self.start_agent(host)
        for host in self.lab.hosts.values():
            host.wait_ready()
            host.init = first_of_namespace(host.agent.child.pid)
            host.data = self.make_data(host)

    def tree_of(self, host):
        return os.path.join(host.folder, "machine")

    @property
    def coordinator(self):
        return self.lab[COORDINATOR]

    def start_agent(self, host):
        peers = [f"{one.name}={one.address(0)}:{TLS_PORT}" for one in self.lab.hosts.values()]
        keys = {"certificate": f"{host.name}.crt", "key": f"{host.name}.key", "authorities": "ca.crt"}
        tls = {"mode": "files", "listen": f":{TLS_PORT}"} | {name: self.keys.path(file) for name, file in keys.items()}
        environment = [f"LD_LIBRARY_PATH={self.libraries}", f"AUTOPILOT_SIM_MACHINE={self.tree_of(host)}"]
        host.start(peers, prefix=["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "env", *environment,
                                  sys.executable, "-B", os.path.join(HERE, "..", "integration", "gpu_host.py"), *GPUS, "--"],
                   settings=f"tls: {json.dumps(tls)}\n{self.jobs_settings(host)}")

    def jobs_settings(self, host):
        where = {"brain": "coordinator"} if host is self.coordinator else {"coordinator": f"https://{self.coordinator.address(0)}:{TLS_PORT}"}
        return f"jobs: {json.dumps(where | {'search_every': '2s'})}\n"

    def make_data(self, host):
        """A filesystem of the data of a node, which can freeze."""
        image, folder = os.path.join(host.folder, "data.img"), os.path.join(host.folder, "data")
        os.makedirs(folder)
        with open(image, "wb") as file:
            file.truncate(32 << 20)
        network_lab.run("mkfs.ext4", "-q", image)
        self.in_node(host, "mount", "-o", "loop", image, folder)
        return folder

    def freeze_data(self, host):
        self.in_node(host, "fsfreeze", "--freeze", host.data)

    def thaw_data(self, host):
        self.in_node(host, "fsfreeze", "--unfreeze", host.data)

    @staticmethod
    def in_node(host, *command):
        return network_lab.run("nsenter", "-t", str(host.init), "--pid", "--mount", "--net", *command)

    # --- the job ---

    def start_job(self, *words):
        """A new job with a rank for each GPU, and what its GPUs report."""
        self.job_number += 1
        self.state = os.path.join(self.folder, f"job-{self.job_number}")
        os.makedirs(self.state)
        world = len(self.lab.hosts) * len(GPUS)
        for host in self.lab.hosts.values():
            for local in range(len(GPUS)):
                self.start_rank(host, len(self.ranks), local, world, words)
        for host in self.lab.hosts.values():
            holders = [f"{address}={rank.number}:{rank.pid}:{rank.inner}"
                       for address, rank in zip(GPUS, (rank for rank in self.ranks if rank.host is host))]
            self.couplings.append(harness.Process([sys.executable, "-B", os.path.join(HERE, "coupling.py"), self.tree_of(host), self.state, *holders]))
        harness.wait_until(lambda: self.last_step() >= 3, "the job makes steps", 120)

    def start_rank(self, host, number, local, world, words):
        environment = {"RANK": number, "LOCAL_RANK": local, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": len(GPUS),
                       "MASTER_ADDR": self.lab[1].address(0), "MASTER_PORT": MASTER_PORT + self.job_number,
                       "TORCHELASTIC_RUN_ID": f"train-{self.job_number}", "CUDA_VISIBLE_DEVICES": local,
                       "GLOO_SOCKET_IFNAME": host.interface(0), "OMP_NUM_THREADS": 1}
        command = ["nsenter", "-t", str(host.init), "--pid", "--mount", "--net", "env", *(f"{name}={value}" for name, value in environment.items()),
                   PYTHON, "-B", os.path.join(HERE, "train.py"), "--state", self.state,
                   "--data", os.path.join(host.data, f"index-{number}"), *words]
        with open(self.log_of(number), "wb") as log:
            process = harness.Process(command, stdout=log)
        self.ranks.append(Rank(number, host, process, harness.wait_until(lambda: harness.children_of(process.child.pid), "the rank runs")[0]))

    def log_of(self, rank):
        return os.path.join(self.state, f"rank-{rank}.log")

    def last_step(self):
        with open(self.log_of(0), encoding="utf-8") as file:
            lines = [line for line in file if line.startswith(" iteration")]
        return int(lines[-1].split()[1].rstrip("/")) if lines else 0

    def order(self, do, **more):
        """All ranks do it at a step that no rank has reached."""
        path = os.path.join(self.state, "orders.json")
        orders = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                orders = json.load(file)
        write(path, json.dumps([*orders, {"step": self.last_step() + 3, "do": do} | more]))

    def stop_job(self):
        for coupling in self.couplings:
            coupling.stop()
        for rank in self.ranks:
            try:
                rank.signal(signal.SIGKILL)
            except ProcessLookupError:
                pass
        for rank in self.ranks:
            # nsenter stops itself when its child is stopped.
            rank.process.stop(signal.SIGCONT)
        self.couplings, self.ranks = [], []

    # --- faults ---

    def limit_processor(self, rank, share):
        """The rank gets that share of one processor."""
        folder = os.path.join(QUOTAS, f"autopilot-job-{os.getpid()}-{rank.number}")
        os.makedirs(folder, exist_ok=True)
        write_file(os.path.join(folder, "cpu.cfs_period_us"), "100000")
        write_file(os.path.join(folder, "cpu.cfs_quota_us"), str(int(share * 100000)))
        write_file(os.path.join(folder, "cgroup.procs"), str(rank.pid))
        self.quotas.append((folder, rank))

    def lift_limits(self):
        for folder, rank in self.quotas:
            if os.path.exists(f"/proc/{rank.pid}"):
                write_file(os.path.join(QUOTAS, "cgroup.procs"), str(rank.pid))
            harness.wait_until(lambda folder=folder: not open(os.path.join(folder, "cgroup.procs"), encoding="ascii").read(), "the group is empty")
            os.rmdir(folder)
        self.quotas = []

    # --- what Autopilot reports ---

    def job(self):
        """The report of the running job with everything, or nothing."""
        listed = [job for job in self.coordinator.get("/v1/jobs")["jobs"] if job["health"] != "ended"]
        if len(listed) != 1:
            return None
        return self.coordinator.get("/v1/jobs?" + urllib.parse.urlencode({"job": listed[0]["job"]}))

    def why(self):
        """What `autopilot jobs why` answers."""
        return self.coordinator.command("jobs", "why", self.job()["job"])[1]

    def close(self):
        self.stop_job()
        self.lift_limits()
        for host in self.lab.hosts.values():
            # unshare ignores the signal that would end the first process of the namespace.
            os.kill(host.init, signal.SIGTERM)
        self.lab.close()


def write_file(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
