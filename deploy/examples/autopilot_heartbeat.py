# SPDX-License-Identifier: Apache-2.0
"""Heartbeats for Autopilot: send(step) in each step; a heartbeat never waits. Mount /run/autopilot/heartbeat into the container."""
import json, os, re, socket, time

class Heartbeat:
    def __init__(self, job, rank, folder="/run/autopilot/heartbeat"):
        self.head, self.path, self.ack = f"AP1 job={job} rank={rank}", f"{folder}/socket", 0
        self.commands = f"{folder}/cmd/" + re.sub(r"[^A-Za-z0-9._-]", "_", job)[:200]
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    def send(self, step, **values):  # ph=, dt=, tok=, loss=, ckpt=
        words = [self.head, f"step={step} t={time.time_ns()} ack={self.ack}", *(f"{key}={value}" for key, value in values.items())]
        try: self.socket.sendto(" ".join(words).encode(), self.path)
        except OSError: pass  # no agent, or it is busy
    def wants_checkpoint(self):  # true once for each request; the next send() acknowledges it
        try: command = json.load(open(self.commands))
        except (OSError, ValueError): return False
        is_new, self.ack = command["seq"] > self.ack and command["cmd"] == "checkpoint_now", command["seq"]
        return is_new
