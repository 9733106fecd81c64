#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs of this machine: real processes with ranks, the agent that watches them, and what people ask it."""

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import harness

RANKS = 4
# A rank prints a line for each step, and waits for the others: rank 0 hears of all and answers all. Like PyTorch's flight recorder, a
# thread of it writes a dump when the pipe is written.
RANK_PROGRAM = """
import os, pickle, socket, sys, threading, time
rank, world, port = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ["MASTER_PORT"])
pipe = f"{os.environ['TORCH_FR_DEBUG_INFO_PIPE_FILE']}{rank}.pipe"
os.mkfifo(pipe)
def record(requests=os.open(pipe, os.O_RDWR)):
    while os.read(requests, 1):
        entry = {"process_group": ("0", "default_pg"), "collective_seq_id": step, "state": "started", "profiling_name": "nccl:all_reduce"}
        with open(f"{os.environ['TORCH_FR_DUMP_TEMP_FILE']}{rank}", "wb") as dump:
            pickle.dump({"version": "2.4", "entries": [entry]}, dump)
step = 0
threading.Thread(target=record, daemon=True).start()
if rank == 0:
    server = socket.create_server(("127.0.0.1", port))
    print("listening", flush=True)
    peers = [server.accept()[0] for _ in range(world - 1)]
else:
    while True:
        try:
            peers = [socket.create_connection(("127.0.0.1", port))]
            break
        except OSError:
            time.sleep(0.1)
while True:
    if rank == 0:
        for peer in peers:
            peer.recv(1)
        for peer in peers:
            peer.send(b"x")
    else:
        peers[0].send(b"x")
        peers[0].recv(1)
    step += 1
    if rank == 0:
        print(f"iter {step}: loss 2.5, time 250.0ms", flush=True)
    time.sleep(0.25)
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Job:
    """Processes as a launcher starts them; rank 0 writes its log into a file."""

    def __init__(self, folder):
        self.ranks = []
        port = free_port()
        for rank in range(RANKS):
            environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS),
                           "LOCAL_WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                           "TORCH_FR_DEBUG_INFO_PIPE_FILE": os.path.join(folder, "pipe_"),
                           "TORCH_FR_DUMP_TEMP_FILE": os.path.join(folder, "trace_")}
            with open(os.path.join(folder, f"rank{rank}.log"), "wb") as log:
                self.ranks.append(subprocess.Popen([sys.executable, "-c", RANK_PROGRAM], env=environment, stdin=subprocess.DEVNULL,
                                                   stdout=log, stderr=log))

    def close(self):
        for rank in self.ranks:
            rank.kill()
        for rank in self.ranks:
            rank.wait()


def listed(agent):
    return json.loads(agent.get("/v1/jobs"))["jobs"]


@unittest.skipUnless(os.environ.get("AUTOPILOT_LONG_TESTS"), "takes six minutes; set AUTOPILOT_LONG_TESTS=1")
class JobsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="autopilot-jobs-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.config = os.path.join(self.folder, "config.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("jobs:\n  search_every: 1s\n")

    def start(self):
        agent = harness.Agent("--config", self.config)
        self.addCleanup(agent.close)
        job = Job(self.folder)
        self.addCleanup(job.close)
        found = harness.wait_until(lambda: next((one for one in listed(agent) if one["ranks"] == RANKS and "ended" not in one), None),
                                   "the agent sees the job", 60)
        return agent, job, found["job"]

    def cli(self, agent, *words, codes=(0,)):
        code, out, errors = harness.run(*words, "--socket", agent.socket)
        self.assertIn(code, codes, out + errors)
        return out

    def test_a_job_is_seen_with_its_steps_recorded_and_seen_to_end(self):
        agent, job, name = self.start()
        running = harness.wait_until(lambda: next((one for one in listed(agent) if one["job"] == name and one.get("step", 0) > 5), None),
                                     "its steps are read from its log", 90)
        self.assertEqual((running["health"], running["progressSource"]), ("running", "steps"))
        self.assertIn(name, self.cli(agent, "jobs"))
        self.assertIn("nothing is wrong", self.cli(agent, "jobs", "why", name))
        recording = os.path.join(self.folder, "recording")
        self.assertIn("records", self.cli(agent, "record", "--job", name, "--for", "11s", recording))
        code, out, errors = harness.run("jobs", "replay", recording, "-o", "json")
        self.assertEqual(code, 0, errors)
        replayed = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([one["ranks"] for one in replayed if one["type"] == "job"], [RANKS])
        self.assertGreater(replayed[-1]["records"], 10)
        self.assertEqual(replayed[-1]["malformed"], 0)
        code, _, errors = harness.run("jobs", "show", "no-such-job", "--socket", agent.socket)
        self.assertEqual(code, 70)
        self.assertIn("no-such-job", errors)
        # Other jobs can run on this machine.
        self.assertRegex(agent.get("/metrics"), r'autopilot_jobs\{health="running"\} [1-9]')
        self.cli(agent, "jobs", "mute", name, "--for", "1h")
        self.assertTrue(json.loads(self.cli(agent, "jobs", "show", name, "-o", "json"))["muted"])
        job.close()
        harness.wait_until(lambda: next((one for one in listed(agent) if one["job"] == name and "ended" in one), None),
                           "the agent sees its end", 90)
        self.assertIn("ended", self.cli(agent, "jobs", "why", name, codes=(0, 2)))

    def test_jobs_are_not_watched_if_the_configuration_says_so(self):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("jobs:\n  enabled: false\n")
        agent = harness.Agent("--config", self.config)
        self.addCleanup(agent.close)
        status, body = agent.request("GET", "/v1/jobs")
        self.assertEqual(status, 501)
        self.assertIn("jobs.enabled", body)

    def test_a_stopped_rank_is_named_within_three_minutes(self):
        agent, job, name = self.start()
        harness.wait_until(lambda: next((one for one in listed(agent) if one["job"] == name and one.get("step", 0) > 60), None),
                           "enough steps are seen to know its pace", 120)
        job.ranks[2].send_signal(signal.SIGSTOP)
        self.addCleanup(job.ranks[2].send_signal, signal.SIGCONT)
        stopped = time.monotonic()

        def hung():
            one = json.loads(self.cli(agent, "jobs", "show", name, "-o", "json", codes=(0, 1, 2, 3)))
            return one if one["health"] == "hung" else None

        report = harness.wait_until(hung, "the hang is confirmed", 200)
        self.assertLess(time.monotonic() - stopped, 200)
        hang = report["findings"][0]
        self.assertEqual((hang["effect"], hang["culprit"]["kind"], hang["ranks"]), ("hang", "host", [2]))
        page = self.cli(agent, "jobs", "why", name, codes=(2,))
        self.assertIn("rank 2", page)
        self.assertIn(hang["culprit"]["node"], page)
        self.assertLess(len(page.splitlines()), 24)
        evidence = harness.wait_until(lambda: next((one for one in json.loads(agent.request("GET", "/v1/jobs/evidence", unix=True)[1])["evidence"]
                                                    if one["id"] == hang["id"]), None), "evidence of the hang is captured", 90)
        self.assertEqual(evidence["job"], name)
        status, text = agent.request("GET", f"/v1/jobs/evidence?id={hang['id']}&item=processes.txt", unix=True)
        self.assertEqual(status, 200)
        self.assertIn("rank 2", text)
        self.assertIn(f"evidence/{hang['id']}", self.cli(agent, "jobs", "show", name, codes=(2,)))
        self.assertIn("processes.txt", self.cli(agent, "jobs", "evidence", name))
        counters = json.loads(self.cli(agent, "jobs", "evidence", hang["id"], "--get", "counters.json"))
        self.assertEqual({one["rank"]: one["state"] for one in counters["processes"]}[2], ["T", "T"])
        copies = os.path.join(self.folder, "evidence")
        self.cli(agent, "jobs", "evidence", name, "--all", copies)
        with open(os.path.join(copies, hang["id"], "processes.txt"), encoding="utf-8") as file:
            self.assertEqual(file.read(), text)
        with open(os.path.join(copies, hang["id"], "flight_recorder_rank_0"), "rb") as dump:
            self.assertEqual(pickle.load(dump)["entries"][0]["profiling_name"], "nccl:all_reduce")
        summary = self.cli(agent, "jobs", "evidence", hang["id"], "--get", "flight_recorder_summary.txt")
        self.assertIn("rank 0: waits in collective", summary)
        self.assertIn("rank 2: no dump", summary)
        self.cli(agent, "jobs", "feedback", name, "confirmed", "--note", "a test stopped it")
        self.cli(agent, "jobs", "ack", hang["id"])
        job.ranks[2].send_signal(signal.SIGCONT)
        harness.wait_until(lambda: next((one for one in listed(agent) if one["job"] == name and one["health"] == "running"), None),
                           "the job goes on", 60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
