# SPDX-License-Identifier: Apache-2.0
"""Measurements of two runs as a supercomputer and a container platform wrote them in 2020: sheets of sar and nvidia-smi with a 12-hour
clock that lost its meridiem, GPUs that wait for the CPU, a container that reaches GPUs that it did not get, and a window with another
load. The numbers are generated, in the shape of published ones."""

import datetime
import os

START = datetime.datetime(2020, 4, 20, 12, 15, 47)
FACTS_A = """name: Bluefin
gpus: 2
gpus_allocated: 8
nodes: 1
gpu_model: V100-SXM2-32GB
model: gan
batch: 128 x 4
workers: 16
dataset: photographs, 128 px
dataset_bytes: 138e9
exclusive: false
"""
FACTS_B = """name: OpenPod
aliases: [POC]
gpus: 1
nodes: 1
gpu_model: V100-SXM2-32GB
model: gan_deep
batch: 1
workers: 1
dataset: a part of photographs, 128 px
dataset_bytes: 150e6
exclusive: true
"""
COST = """currency: USD
a: {electricity_per_kwh: 0.0839, pue: 1.2, rack_kw: 25, person_year: 140000, support_fte: 0.25, system_fte: 0.25,
    hosting_per_rack_year: 3300, node_price: 50000, node_cores: 80, node_gpus: 4, years: 5, utilisation: 0.9}
b: {electricity_per_kwh: 0.0839, pue: 1.2, rack_kw: 25, person_year: 125000, support_fte: 0, system_fte: 0.5,
    node_price: 50000, node_cores: 80, node_gpus: 4, years: 5, utilisation: 0.6}
"""
REPORT = """# Running on Bluefin
## CPU usage
The workflow consumes about 20 % CPU on average.
## Memory usage
Around 8.3 % of the memory is used.
## GPU Memory usage
The GPU memory is consistently measured around 80%.
# Running on the OpenPod cluster
## Memory usage
It is around 15%. This is around 84 GB used of 541 GB available.
## GPU usage
The GPU is around 40% utilized.
"""


def clock(i, meridiem_is_lost=False):
    time = START + datetime.timedelta(seconds=5 * i)
    text = time.strftime("%I:%M:%S %p")
    # The sheet crosses 1 PM as 1 AM.
    return text.replace("PM", "AM") if meridiem_is_lost and time.hour >= 13 else text


def burst(i):
    """Every 17 readings the CPU works for two."""
    return i % 17 in (3, 4)


CPU_A = [14.5 + i % 5 * 0.2 if burst(i) else 1 + i % 9 * 0.1 for i in range(1596)]
GPU_A = [[0.0 if burst(i) else 1.0 - i % 4 * 0.01 * g for i in range(1597)] for g in (1, 2)]
MEM_A = [99_000_000 + i % 50 * 20_000 for i in range(1598)]
CPU_B = [1.0 + i % 7 * 0.05 for i in range(1278)]
CPU_LOADED_B = [16.0 + i % 9 if 15 <= i <= 55 else 0.84 for i in range(1250)]
GPU_B = [[(0.2 + i % 21 * 0.01) if g == 0 else (0.13 if i in (3, 4 + g) else 0.0) for i in range(1255)] for g in range(4)]
MEM_B = [95_000_000 + i % 10 * 1000 for i in range(1257)]
TOTAL_A, TOTAL_B, AVAILABLE_B = 1_200_412_160, 598_008_704, 567_300_000


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))


def make(folder):
    """Writes bluefin/, openpod/, cost.yaml and REPORT.md."""
    a, b = os.path.join(folder, "bluefin"), os.path.join(folder, "openpod")
    write(f"{a}/facts.yaml", FACTS_A.splitlines())
    write(f"{b}/facts.yaml", FACTS_B.splitlines())
    write(f"{a}/cpu.csv", ["time,id,%user,%system,%idle"] + [
        f"{clock(i, True)},{i + 1},{user:.2f},0.20,{99.8 - user:.2f}" for i, user in enumerate(CPU_A)])
    write(f"{a}/gpu.csv", ["id,gpu0,mem0,gpu1,mem1"] + [
        f"{i + 1},{GPU_A[0][i]:.2f},{GPU_A[0][i] * 0.6:.3f},{GPU_A[1][i]:.2f},{GPU_A[1][i] * 0.6:.3f}" for i in range(1597)])
    write(f"{a}/memory.csv", ["time,id,kbmemfree,kbmemused,%memused,kbbuffers"] + [
        f"{clock(i, True)},{i + 1},{TOTAL_A - used},{used},{100 * used / TOTAL_A:.2f},0" for i, used in enumerate(MEM_A)])
    write(f"{b}/cpu.csv", ["Time,id,%user,%system,%idle"] + [
        f"{clock(i)},{i + 1},{user:.2f},0.20,{98 - user:.2f}" for i, user in enumerate(CPU_B)])
    write(f"{b}/cpu_loaded.csv", ["Time,Id,%user,%system,%idle"] + [
        f"{clock(i)},{i + 1},{user:.2f},0.10,{99.9 - user:.2f}" for i, user in enumerate(CPU_LOADED_B)])
    write(f"{b}/gpu.csv", ["Id," + ",".join(f"gpu{g},mem{g}" for g in range(4))] + [
        f"{i + 1}," + ",".join(f"{GPU_B[g][i]:.2f},{GPU_B[g][i] * 0.2:.3f}" for g in range(4)) for i in range(1255)])
    write(f"{b}/memory.csv", ["time,id,kbmemfree,kbavail,kbmemused,%memused"] + [
        f"{clock(i)},{i + 1},{TOTAL_B - used},{AVAILABLE_B},{used},{100 * used / TOTAL_B:.2f}" for i, used in enumerate(MEM_B)])
    write(f"{folder}/cost.yaml", COST.splitlines())
    write(f"{folder}/REPORT.md", REPORT.splitlines())
    return a, b


def make_texts(folder):
    """The first side again, as sar and nvidia-smi print it, without an index of the GPUs."""
    os.makedirs(folder)
    lines = ["Linux 4.14.0-115.el7a.ppc64le (node0012) \t04/20/2020 \t_ppc64le_\t(160 CPU)", ""]
    for i, user in enumerate(CPU_A):
        if i % 20 == 0:
            lines += ["", f"{clock(i)}     CPU     %user     %nice   %system   %iowait    %steal     %idle"]
        lines.append(f"{clock(i + 1)}     all     {user:.2f}      0.00      0.20      0.00      0.00     {99.8 - user:.2f}")
    write(f"{folder}/cpu-training-2020-04-20-12:15.txt", lines + [f"Average:        all     {3.0:.2f}      0.00      0.20      0.00      0.00     97.00"])
    rows = ["name, pstate, utilization.gpu [%], utilization.memory [%]"]
    for i in range(1597):
        rows += [f"Tesla V100-SXM2-32GB, P0, {100 * GPU_A[g][i]:.0f} %, {60 * GPU_A[g][i]:.0f} %" for g in (0, 1)]
    write(f"{folder}/gpu-training-2020-04-20-12:15.txt", rows)
    return folder
