#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training job in a real Slurm cluster of two nodes, watched by two agents. One rank is stopped: the agents name it, and in mode `act` the job
runs again and the node is drained. Then Slurm's Prolog, Epilog and HealthCheckProgram with agents of simulated machines."""

import json
import os
import signal
import subprocess
import sys
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

import own_namespaces  # noqa: E402
import slurm  # noqa: E402

own_namespaces.enter(["--net", "--mount", "--uts"], slurm.PROGRAMS, ["true"])

import harness  # noqa: E402
from certificates import Certificates  # noqa: E402

PYTHON = "/usr/bin/python3"
PORT = 3343
RANKS = 4
STOPPED = 3
SCRIPT = """#!/bin/bash
#SBATCH --job-name=train --nodes=2 --ntasks=4 --requeue --output={folder}/out-%j
export MASTER_ADDR=10.9.0.1 MASTER_PORT=29600 WORLD_SIZE=4 GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1
exec srun --output={folder}/rank-%t.log bash -c 'export RANK=$SLURM_PROCID; exec {python} -B {train} --state {folder} --data {folder}/index-$RANK'
"""


class SlurmCase(unittest.TestCase):
    MODE = ""
    NODES = 2  # the job needs two
    agents = {}

    @classmethod
    def setUpClass(cls):
        if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode != 0:
            raise unittest.SkipTest("python3-torch is not installed: tools/install-deps.sh jobs")
        cls.lab = slurm.SlurmLab(cls.NODES)
        cls.addClassCleanup(cls.lab.close)
        cls.state = cls.lab.path("job")
        os.makedirs(cls.state)
        keys = Certificates(cls.lab.folder)
        keys.make_authority("ca")
        for number, name in enumerate(cls.lab.names, 1):
            keys.make(name, "ca", f"DNS:{name},IP:10.9.0.{number}")
            cls.start_agent(number, name, keys)

    @classmethod
    def start_agent(cls, number, name, keys):
        tls = {"mode": "files", "listen": f":{PORT}", "certificate": keys.path(f"{name}.crt"), "key": keys.path(f"{name}.key"),
               "authorities": keys.path("ca.crt")}
        brain = {"brain": "coordinator", "mode": cls.MODE} if number == 1 else {"coordinator": f"https://10.9.0.1:{PORT}"}
        peers = [f"{one}=10.9.0.{n}:{PORT}" for n, one in enumerate(cls.lab.names, 1)]
        config = cls.lab.path(f"{name}.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"node: {name}\nlisten: '127.0.0.1:3333'\npeers: {json.dumps(peers)}\ntls: {json.dumps(tls)}\n"
                       f"jobs: {json.dumps(brain | {'search_every': '2s'})}\nping: {{every: 0s}}\n"
                       # The nodes share the clock and the kernel log of this machine: all would become unhealthy at once.
                       "checks: {host.clock: {enabled: false}, host.hung_tasks: {enabled: false}}\n")
        environment = cls.lab.environment | {"AUTOPILOT_STATE_DIR": cls.lab.path(f"state-{name}"), "AUTOPILOT_SOCKET": cls.socket(name)}
        agent = harness.Process([*cls.lab.on(name), harness.AUTOPILOT, "agent", "--config", config], environment)
        cls.addClassCleanup(cls.stop_agent, agent)
        cls.agents[name] = agent
        agent.wait_says("agent ready")

    @staticmethod
    def stop_agent(agent):
        # nsenter passes no signals on.
        for child in harness.children_of(agent.child.pid):
            os.kill(child, signal.SIGTERM)
        agent.stop()

    @classmethod
    def socket(cls, name):
        return cls.lab.path(f"{name}.sock")

    def get(self, path):
        connection = harness.UnixConnection(self.socket("n1"), 30)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def job(self):
        running = [one for one in self.get("/v1/jobs")["jobs"] if one["health"] != "ended"]
        return self.get("/v1/jobs?" + urllib.parse.urlencode({"job": running[0]["job"]})) if running else None

    def pid_of(self, rank):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if f"RANK={rank}".encode() in words and self.state in harness.arguments_of(entry):
                return int(entry)
        return None

    def start_job(self):
        """The number of a job whose four ranks make steps."""
        script = self.lab.path("train.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT.format(folder=self.state, python=PYTHON, train=os.path.join(HERE, "train.py")))
        number = self.lab.run("sbatch", "--parsable", script).strip()
        self.addCleanup(self.lab.run, "scancel", number)
        job = harness.wait_until(lambda: (found := self.job()) and found["ranks"] == RANKS and found, "the coordinator knows all ranks", 120)
        self.assertIn(number, job["job"])
        self.assertEqual(2, job["nodes"])
        harness.wait_until(lambda: (self.job() or {}).get("step", 0) > 60, "the job makes steps", 300)
        return number

    def stop_rank(self):
        """The finding about a rank that is stopped."""
        os.kill(self.pid_of(STOPPED), signal.SIGSTOP)
        found = harness.wait_until(lambda: [one for one in self.job()["findings"] if one["effect"] == "hang" and one["severity"] != "info"],
                                   "the hang is found", 300)[0]
        self.assertEqual("n2", found["culprit"].get("node"), found)
        self.assertIn(STOPPED, found["ranks"])
        return found


class ObserveTest(SlurmCase):
    MODE = "observe"

    def test_a_stopped_rank_is_named_and_the_job_left_alone(self):
        number = self.start_job()
        self.stop_rank()
        self.assertIn("Restarts=0", self.lab.run("scontrol", "show", "job", number))


class ActTest(SlurmCase):
    MODE = "act"
    NODES = 3

    def test_the_job_runs_again_without_the_node(self):
        # Nothing acts on a job of which the lost work is unknown.
        with open(os.path.join(self.state, "orders.json"), "w", encoding="utf-8") as file:
            json.dump([{"step": 20, "do": "checkpoint", "seconds": 2}], file)
        number = self.start_job()
        found = self.stop_rank()
        try:
            harness.wait_until(lambda: self.lab.run("squeue", "-h", "-t", "R", "-j", number, "-o", "%N").strip() == "n[1,3]",
                               "the job runs again on the other nodes", 180)
        except AssertionError as late:
            late.add_note(json.dumps((self.job() or {}).get("findings"), indent=1))
            late.add_note(self.lab.run("squeue", "-l"))
            late.add_note("\n".join(self.agents["n1"].log[-30:]))
            raise
        self.assertIn(found["id"], self.lab.run("scontrol", "show", "node", "n2"), "the reason of the drain names the finding")


EXAMPLES = os.path.join(HERE, "..", "..", "deploy", "examples", "slurm")
OWN_REASON = "autopilot: "


class HealthCase(unittest.TestCase):
    """Three nodes whose agents have simulated machines. The scripts are those of deploy/examples/slurm, with the programs of this build."""

    MORE = ""
    agents = {}

    @classmethod
    def setUpClass(cls):
        cls.lab = slurm.SlurmLab(3, cls.MORE)
        cls.addClassCleanup(cls.lab.close)
        for name in cls.lab.names:
            cls.start_agent(name)
        for name in ("prolog", "epilog", "health-check"):
            cls.write_script(name)

    @classmethod
    def start_agent(cls, name):
        config = cls.lab.path(f"{name}.yaml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"node: {name}\nlisten: '127.0.0.1:3333'\n")
        environment = cls.lab.environment | {"AUTOPILOT_STATE_DIR": cls.lab.path(f"state-{name}"), "AUTOPILOT_SOCKET": cls.lab.path(f"{name}.sock")}
        agent = harness.Process([*cls.lab.on(name), harness.AUTOPILOT, "agent", "--simulate", "l40s-4", "--config", config], environment)
        cls.addClassCleanup(SlurmCase.stop_agent, agent)
        cls.agents[name] = agent
        agent.wait_says("agent ready")
        harness.wait_until(lambda: cls.autopilot(name, "status", "--probe", "ready").returncode == 0, f"the agent of {name} has run every check", 60)

    @classmethod
    def autopilot(cls, name, *words):
        return subprocess.run([harness.AUTOPILOT, *words, "--socket", cls.lab.path(f"{name}.sock")], capture_output=True, text=True, check=False,
                              timeout=60)

    @classmethod
    def write_script(cls, name):
        with open(os.path.join(EXAMPLES, f"{name}.sh"), encoding="utf-8") as file:
            text = file.read()
        own = f"SLURM_CONF={cls.lab.folder}/slurm.conf AUTOPILOT_SOCKET={cls.lab.folder}/$(hostname).sock {harness.AUTOPILOT} slurm {name} --allow-simulated"
        for before, after in ((f"/usr/bin/autopilot slurm {name}", own),
                              ("/usr/bin/logger -t autopilot-slurm --", f"printf '%s\\n' >> {cls.lab.folder}/$(hostname).log")):
            assert before in text, text
            text = text.replace(before, after)
        path = cls.lab.path(f"{name}.sh")
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(f"{path}.new", 0o755)
        os.replace(f"{path}.new", path)

    def inject(self, name, fault):
        done = self.autopilot(name, "inject", fault, "--subject", "gpu/0000:4a:00.0")
        self.assertEqual(0, done.returncode, done.stderr)

    def lines(self, name):
        """What the scripts of a node logged."""
        try:
            with open(self.lab.path(f"{name}.log"), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def wait_node(self, name, condition, what, deadline=60):
        try:
            return harness.wait_until(lambda: condition(*self.lab.node(name)), f"{name} {what}", deadline)
        except AssertionError as late:
            late.add_note(f"{self.lab.node(name)}")
            late.add_note("\n".join(self.lines(name)[-10:]))
            raise

    def start_job(self):
        """A job on two nodes that does nothing, and its number."""
        number = self.lab.run("sbatch", "--parsable", "--nodes=2", "--requeue", "--output=/dev/null", "--wrap", "srun sleep 600").strip()
        self.addCleanup(subprocess.run, ["scancel", number], env=self.lab.environment, check=False)
        return number

    def nodes_of(self, number):
        return self.lab.run("squeue", "-h", "-t", "R", "-j", number, "-o", "%N").strip()


class HealthCheckTest(HealthCase):
    MORE = """HealthCheckProgram={folder}/health-check.sh
HealthCheckInterval=5
"""

    def test_an_unfit_node_is_drained_and_resumed_but_not_one_that_a_person_drained(self):
        self.lab.run("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=bad fan")
        for name in ("n2", "n3"):
            self.inject(name, "reset_required")
        self.wait_node("n2", lambda state, reason: state == "drained" and reason.startswith(OWN_REASON), "drains with our reason")
        harness.wait_until(lambda: any("must not run jobs" in line and "bad fan" in line for line in self.lines("n3")), "n3 was checked")
        self.assertEqual(("drained", "bad fan"), self.lab.node("n3"))
        for name in ("n2", "n3"):
            self.inject(name, "gpu_reset")
        self.wait_node("n2", lambda state, reason: state == "idle" and reason == "none", "resumes")
        harness.wait_until(lambda: "stays drained: bad fan" in self.lines("n3")[-1], "n3 was checked again")
        self.assertEqual(("drained", "bad fan"), self.lab.node("n3"))
        self.lab.run("scontrol", "update", "NodeName=n3", "State=RESUME")


class PrologTest(HealthCase):
    MORE = """Prolog={folder}/prolog.sh
Epilog={folder}/epilog.sh
PrologFlags=Alloc
PrologEpilogTimeout=90
BatchStartTimeout=120
SchedulerParameters=nohold_on_prolog_fail
"""

    def test_a_job_goes_to_other_nodes_than_the_unfit_one(self):
        self.inject("n1", "reset_required")
        number = self.start_job()
        harness.wait_until(lambda: self.nodes_of(number) == "n[2-3]", "the job runs on the other nodes", 300)
        state, reason = self.lab.node("n1")
        self.assertEqual("drained", state)
        self.assertTrue(reason.startswith(OWN_REASON), reason)
        self.assertTrue(any(f"job {number} does not start here" in line for line in self.lines("n1")), self.lines("n1"))
        # A fault in the job: its node is drained after it.
        self.inject("n2", "reset_required")
        self.lab.run("scancel", number)
        self.wait_node("n2", lambda state, reason: state == "drained" and reason.startswith(OWN_REASON), "drains after the job")
        self.wait_node("n3", lambda state, _: state == "idle", "is free again")


if __name__ == "__main__":
    unittest.main()
