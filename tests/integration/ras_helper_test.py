# SPDX-License-Identifier: Apache-2.0
"""An agent without any right sees a rank of another user in another network namespace, and asks its NCCL RAS, through
`autopilot helper ras`, run by root."""

import contextlib
import ctypes
import fcntl
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import unittest

import harness

AGENT_USER = 65534
JOB_USER = 65533
PYTHON = "/usr/bin/python3"  # open to every user
PORT = 28031
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1

# A rank that answers clients of RAS as NCCL 2.28 does.
RANK_PROGRAM = """
import json, os, socket
status = {"init_state": 0, "async_error": 0, "finalize_called": False, "destroy_flag": False, "abort_flag": False}
rank = {"rank": 0, "host": "127.0.0.1", "pid": os.getpid(), "cuda_dev": 0, "nvml_dev": 0, "status": status,
        "collective_counts": {"AllReduce": 42}}
communicator = {"hash": "0x6f1c", "secondary_hash": "0xb7e7:0xb824", "size": 1, "ranks_count": 1, "missing_ranks_count": 0,
                "ranks": [rank], "missing_ranks": []}
answer = {"nccl_version": "2.28.9", "cuda_runtime_version": 13000, "cuda_driver_version": 13000,
          "timestamp": "2026-11-29 10:00:00", "communicators_count": 1, "communicators": [communicator]}
server = socket.create_server(("127.0.0.1", int(os.environ["NCCL_RAS_ADDR"].split(":")[1])))
print("serves", flush=True)
while True:
    client = server.accept()[0]
    with client, client.makefile("rw") as lines:
        for line in lines:
            if line.startswith("CLIENT PROTOCOL"):
                lines.write("SERVER PROTOCOL 2\\n")
            elif line.startswith("VERBOSE STATUS"):
                lines.write(json.dumps(answer) + "\\n")
                break
            else:
                lines.write("OK\\n")
            lines.flush()
"""


def enter_new_network():
    """Of this process, with a loopback that works."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def become_rank():
    enter_new_network()
    os.setgroups([])
    os.setgid(JOB_USER)
    os.setuid(JOB_USER)


class Rank:
    def __init__(self):
        environment = {"PATH": "/usr/bin:/bin", "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
                       "MASTER_PORT": "29500", "NCCL_RAS_ADDR": f"localhost:{PORT}", "SECRET": "hunter2"}
        self.child = subprocess.Popen([PYTHON, "-c", RANK_PROGRAM], env=environment, cwd="/", stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, text=True, preexec_fn=become_rank)
        if self.child.stdout.readline() != "serves\n":
            raise AssertionError("the rank does not serve")

    def started_ticks(self):
        with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as file:
            return int(file.read().rsplit(")", 1)[1].split()[19])

    def close(self):
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()


class RasHelperTest(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root to become another user")
        try:
            subprocess.run(["/bin/true"], preexec_fn=enter_new_network, check=True)
        except subprocess.SubprocessError:
            raise unittest.SkipTest("needs the permission to make a network namespace") from None
        self.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)
        # The build folder may be closed to others.
        self.program = shutil.copy(harness.AUTOPILOT, self.folder)
        os.chmod(self.program, 0o755)
        self.socket = os.path.join(self.folder, "ras.sock")

    def start_helper(self, *arguments):
        helper = harness.Process([self.program, "helper", "ras", "--listen", self.socket, *arguments])
        self.addCleanup(helper.stop, signal.SIGKILL)
        harness.wait_until(lambda: helper.find("listens on"), "the helper listens")
        return helper

    def start_rank(self):
        rank = Rank()
        self.addCleanup(rank.close)
        return rank

    def start_agent(self):
        folder = os.path.join(self.folder, "agent")
        os.mkdir(folder)
        os.chown(folder, AGENT_USER, AGENT_USER)
        settings = os.path.join(self.folder, "config.yaml")
        with open(settings, "w", encoding="ascii") as file:
            file.write("jobs: {search_every: 1s}\n")
        agent = harness.Agent("--config", settings, folder=folder, program=self.program, user=AGENT_USER,
                              environment={"AUTOPILOT_JOBS_HELPER_SOCKET": self.socket})
        self.addCleanup(agent.close)
        return agent

    def ask(self, method, **params):
        """The answer of the helper to this test, as text."""
        question = json.dumps({"version": 1, "id": 1, "method": method, "timeoutMs": 10000, "params": params}).encode()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(self.socket)
            connection.sendall(struct.pack(">I", len(question)) + question)
            with connection.makefile("rb") as answer:
                return answer.read(struct.unpack(">I", answer.read(4))[0]).decode()

    def test_an_agent_without_rights_knows_the_rank_and_asks_its_nccl(self):
        self.start_helper("--allow-uid", str(AGENT_USER))
        rank = self.start_rank()
        agent = self.start_agent()
        with contextlib.closing(records_of(agent)) as records:
            job = next(one for one in records if is_job_of(one, rank))
            collectives = next(one for one in records if one["type"] == "collectives" and one["job"] == job["job"])
        self.assertEqual([one["rank"] for one in job["ranks"]], [0])
        self.assertFalse(job.get("local_ranks"), job)
        self.assertEqual(collectives["communicators"][0]["started"], [42])

    def test_a_helper_that_starts_late_is_found(self):
        rank = self.start_rank()
        agent = self.start_agent()
        harness.wait_until(lambda: f"{self.socket}: no helper listens" in str(json.loads(agent.get("/v1/jobs"))["notSeen"]),
                           "the agent states why it knows no rank")
        self.start_helper("--allow-uid", str(AGENT_USER))
        with contextlib.closing(records_of(agent)) as records:
            next(one for one in records if is_job_of(one, rank))

    def test_only_listed_variables_leave_the_helper(self):
        self.start_helper("--allow-uid", str(AGENT_USER))
        rank = self.start_rank()
        text = self.ask("facts", pid=rank.child.pid, startedTicks=rank.started_ticks())
        self.assertEqual(json.loads(text)["result"]["environment"],
                         {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500",
                          "NCCL_RAS_ADDR": f"localhost:{PORT}"})
        self.assertNotIn("hunter2", text)

    def test_of_the_rights_of_root_it_keeps_the_two_that_it_needs(self):
        helper = self.start_helper()
        with open(f"/proc/{helper.child.pid}/status", encoding="ascii") as file:
            rights = dict(line.split(":\t") for line in file.read().splitlines() if line.startswith(("Cap", "NoNewPrivs")))
        both = f"{1 << 21 | 1 << 19:016x}"
        self.assertEqual((rights["CapPrm"], rights["CapEff"], rights["CapInh"]), (both, both, "0" * 16))
        self.assertEqual(rights["NoNewPrivs"], "1")


def is_job_of(record, rank):
    return record["type"] == "job" and rank.child.pid in [one.get("pid") for one in record["ranks"]]


def records_of(agent):
    """What the agent collects about jobs, from now on."""
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=60)
    try:
        connection.request("GET", "/v1/jobs/records")
        for line in connection.getresponse():
            if line.startswith(b"data:"):
                yield json.loads(line.removeprefix(b"data:"))
    finally:
        connection.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
