# SPDX-License-Identifier: Apache-2.0
"""What telemetry of a running job costs: the sampler with the real helper, eight simulated GPUs and ranks."""

import os
import subprocess
import time

import harness
from processes import Others, cpu_seconds, product, pss_mib

RANKS = 8
LIBRARY = "libnvidia-ml-sim.so"


class Sampler:
    def __init__(self, machine, folder):
        self._tree = os.path.join(folder, "sampled-machine")
        subprocess.run([harness.AUTOPILOT_SIM, "create", machine, "--now", "--out", self._tree], check=True, stdout=subprocess.DEVNULL)

    def __enter__(self):
        self._process = subprocess.Popen([os.path.join(harness.BIN, "sampler_cost"), self._tree, os.path.join(harness.BIN, LIBRARY), str(RANKS)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def toggle_job(self):
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def finish(self):
        """What the sampler counted."""
        words = self._process.communicate()[0].split()
        return {name: int(value) for name, value in zip(words[::2], words[1::2])}

    def cost(self, seconds):
        """Share of a core, in percent, and PSS in MiB at the end."""
        pids = product(self._process.pid)
        used, begin = sum(cpu_seconds(pid) for pid in pids), time.monotonic()
        time.sleep(seconds)
        used = sum(cpu_seconds(pid) for pid in pids) - used
        return used / (time.monotonic() - begin) * 100, pss_mib(pids)


def add_sampler_rows(table, folder, machine, seconds):
    with Sampler(machine, folder) as sampler:
        others = Others()
        rest_cpu, rest_pss = sampler.cost(seconds)
        sampler.toggle_job()
        time.sleep(15)  # one window, after which all memory is in use
        job_cpu, job_pss = sampler.cost(seconds)
        counts = sampler.finish()
    what = f"{RANKS} ranks with 4 child processes each; {others.note()}"
    table.add(f"telemetry of a job: CPU over rest, {seconds} s", job_cpu - rest_cpu, "% of a core", 1, what)
    table.add("telemetry of a job: PSS over rest", job_pss - rest_pss, "MiB", 8, "sampler and helper")
    requests = counts["gpu_requests"]
    table.add("telemetry of a job: NVML calls", counts["driver_calls"] / requests * 60, "/min", 3500,
              f"{requests} requests, {counts['gpu_failures']} without an answer")
