# SPDX-License-Identifier: Apache-2.0
"""A real Slurm cluster: munged, slurmctld and a slurmd on each node, which is a network and host-name namespace."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import harness  # noqa: E402
from network_lab import mount_own_names, run, try_to  # noqa: E402

PROGRAMS = ["munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol", "ip", "nsenter", "unshare"]
CONTROLLER = "10.9.0.254"

CONFIG = """\
ClusterName=lab
SlurmctldHost=ctl({controller})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/sock
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobRequeue=1
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/ctl.pid
SlurmdPidFile={folder}/d-%n.pid
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP
"""


class SlurmLab:
    """To be used inside network, mount and host-name namespaces of its own."""

    def __init__(self, nodes=2, more=""):
        """more: lines for slurm.conf, in which {folder} is the folder of the laboratory."""
        self.folder = tempfile.mkdtemp(prefix="autopilot-slurm-")
        self.names = [f"n{number}" for number in range(1, nodes + 1)]
        self.processes = []
        mount_own_names()
        self._make_network()
        self._write_files(more)
        self.environment = os.environ | {"SLURM_CONF": self.path("slurm.conf")}
        run("hostname", "ctl")
        run("ip", "link", "set", "lo", "up")
        munge = self.path("munge")
        self._start("munged", "--foreground", "--force", f"--key-file={munge}/key", f"--socket={munge}/sock", f"--pid-file={munge}/pid",
                    f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        harness.wait_until(lambda: os.path.exists(f"{munge}/sock"), "munged listens")
        self._start("slurmctld", "-D", "-f", self.path("slurm.conf"))
        self.inits = {}
        for name in self.names:
            daemon = self._start(*self.new_node(name), "slurmd", "-D", "-N", name, "-f", self.path("slurm.conf"))
            self.inits[name] = harness.wait_until(lambda daemon=daemon: first_of_namespace(daemon.child.pid), f"slurmd of {name} runs")
        harness.wait_until(lambda: self.states() == {"idle"}, "all nodes are idle", 60)

    def path(self, *words):
        return os.path.join(self.folder, *words)

    @staticmethod
    def new_node(name):
        """Words before the first program of a node. `ip netns exec` would hide the control groups, which slurmd wants."""
        return ["nsenter", f"--net=/run/netns/{name}", "unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc",
                "sh", "-c", 'hostname "$0"; exec "$@"', name]

    def on(self, name):
        """Words before a further program of a node."""
        return ["nsenter", "-t", str(self.inits[name]), "--net", "--uts", "--pid", "--mount"]

    def _make_network(self):
        run("ip", "link", "add", "slurm", "type", "bridge")
        run("ip", "addr", "add", f"{CONTROLLER}/24", "dev", "slurm")
        run("ip", "link", "set", "slurm", "up")
        for number, name in enumerate(self.names, 1):
            run("ip", "netns", "add", name)
            run("ip", "link", "add", f"s-{name}", "type", "veth", "peer", "name", "eth0", "netns", name)
            run("ip", "link", "set", f"s-{name}", "master", "slurm", "up")
            run("ip", "-n", name, "addr", "add", f"10.9.0.{number}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")

    def _write_files(self, more):
        for name in ("munge", "state", *(f"spool-{name}" for name in self.names)):
            os.makedirs(self.path(name), mode=0o755)
        os.chmod(self.folder, 0o755)
        with open(os.open(self.path("munge", "key"), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(128))
        nodes = "\n".join(f"NodeName={name} NodeAddr=10.9.0.{number} CPUs=4 RealMemory=1000 State=UNKNOWN"
                          for number, name in enumerate(self.names, 1))
        with open(self.path("slurm.conf"), "w", encoding="utf-8") as file:
            file.write(CONFIG.format(controller=CONTROLLER, folder=self.folder, nodes=nodes, names=",".join(self.names)) +
                       more.format(folder=self.folder))
        with open(self.path("cgroup.conf"), "w", encoding="utf-8") as file:
            file.write("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\nConstrainCores=no\n")

    def _start(self, *command):
        self.processes.append(harness.Process(list(command), getattr(self, "environment", None)))
        return self.processes[-1]

    def run(self, *command, timeout=60):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=timeout)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def node(self, name):
        """State and reason of a node, as Slurm states them."""
        return tuple(self.run("sinfo", "-h", "-N", "-n", name, "-o", "%T|%E").strip().split("|", 1))

    def states(self):
        done = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], env=self.environment, capture_output=True, text=True, check=False, timeout=30)
        return set(done.stdout.split()) or {done.stderr.strip()}

    def close(self):
        for init in self.inits.values():
            # unshare ignores the signal that would end the first process of the namespace.
            os.kill(init, signal.SIGTERM)
        for process in reversed(self.processes):
            process.stop()
        for name in self.names:
            try_to("ip", "link", "del", f"s-{name}")
            try_to("ip", "netns", "del", name)
        try_to("ip", "link", "del", "slurm")
        shutil.rmtree(self.folder, ignore_errors=True)


def first_of_namespace(pid):
    """The process below `pid` that is number 1 of a process namespace; nothing: not yet."""
    for child in harness.children_of(pid):
        with open(f"/proc/{child}/status", encoding="ascii", errors="replace") as file:
            numbers = next(line for line in file if line.startswith("NSpid:")).split()[1:]
        found = child if len(numbers) > 1 and numbers[-1] == "1" else first_of_namespace(child)
        if found:
            return found
    return None
