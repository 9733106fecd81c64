#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank of a real data-parallel training job: PyTorch with gloo over TCP. What torchrun sets is in its environment. The GPU is played:
the phase of each moment is one byte in a file, which coupling.py turns into readings of the simulated driver.

  train.py --state FOLDER [options]

`<state>/orders.json` changes what the job does from a step on: {"step": 40, "do": "checkpoint", "seconds": 20}."""

import argparse
import json
import mmap
import os
import sys
import time

import torch
import torch.distributed as dist

BUSY, SPIN, IDLE = b"b", b"s", b"i"
MATRIX = 160


class Gpu:
    """The phase of the played GPU of this rank."""

    def __init__(self, path):
        with open(path, "wb") as file:
            file.write(IDLE)
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 1)

    def set(self, phase):
        self._map[0:1] = phase


class Orders:
    """Orders of the test, each carried out once by all ranks at the same step."""

    def __init__(self, path):
        self._path = path
        self._done = set()

    def due(self, step):
        try:
            with open(self._path, encoding="utf-8") as file:
                orders = json.load(file)
        except FileNotFoundError:
            return []
        due = [order for number, order in enumerate(orders) if order["step"] <= step and number not in self._done]
        self._done.update(number for number, order in enumerate(orders) if order["step"] <= step)
        return due


def calibrate(seconds):
    """Products of matrices that take so much time of a processor."""
    a = torch.rand(MATRIX, MATRIX)
    begin, count = time.process_time(), 0
    while time.process_time() - begin < 0.2:
        a = (a @ a) / MATRIX
        count += 1
    return max(1, int(count * seconds / 0.2))


def compute(products):
    a = torch.rand(MATRIX, MATRIX)
    for _ in range(products):
        a = (a @ a) / MATRIX


def load(path):
    """The data loader keeps an index beside its data, as many do."""
    with open(path, "ab", buffering=0) as file:
        file.write(b"batch\n")


def collect(gpu, gradient):
    gpu.set(SPIN)
    dist.all_reduce(gradient)


def carry_out(order, gpu, rank, world):
    do, seconds = order["do"], order.get("seconds", 0)
    if do == "mismatch":
        # One rank takes part in another collective: all wait for ever.
        gpu.set(SPIN)
        if rank == order["rank"]:
            dist.broadcast(torch.zeros(8), src=(rank + 1) % world)
        else:
            dist.all_reduce(torch.zeros(1 << 20))
    elif do == "fail":
        if rank == order["rank"]:
            raise RuntimeError(order["text"])
    elif rank == 0 or do != "checkpoint":
        print(f"starting {do}" if do != "checkpoint" else f"saving checkpoint at iteration {order['step']}", flush=True)
        gpu.set(IDLE if do == "checkpoint" else BUSY)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.1)
        print(f"finished {do}" if do != "checkpoint" else "successfully saved checkpoint", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--cpu-s", type=float, default=0.05, help="time of a processor in each step")
    parser.add_argument("--kernel-s", type=float, default=0.6, help="time of the played GPU in each step")
    parser.add_argument("--gradient-mib", type=int, default=4)
    words = parser.parse_args()
    torch.set_num_threads(1)
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    gpu = Gpu(os.path.join(words.state, f"gpu-{rank}"))
    orders = Orders(os.path.join(words.state, "orders.json"))
    dist.init_process_group("gloo")
    products = calibrate(words.cpu_s)
    gradient = torch.zeros(words.gradient_mib << 18)
    dist.barrier()
    step, begin = 0, time.monotonic()
    while True:
        load(words.data)
        gpu.set(IDLE)
        compute(products)
        gpu.set(BUSY)
        time.sleep(words.kernel_s)
        collect(gpu, gradient)
        step += 1
        # Every rank acts on the same orders: those that rank 0 has read.
        due = [orders.due(step) if rank == 0 else None]
        dist.broadcast_object_list(due, src=0)
        now = time.monotonic()
        if rank == 0:
            print(f" iteration {step:8d}/ 1000000 | elapsed time per iteration (ms): {(now - begin) * 1e3:.1f} | lm loss: 2.31E+00 |", flush=True)
        begin = now
        for order in due[0]:
            carry_out(order, gpu, rank, world)
            dist.barrier()
            begin = time.monotonic()


if __name__ == "__main__":
    sys.exit(main())
