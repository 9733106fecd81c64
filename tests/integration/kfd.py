# SPDX-License-Identifier: Apache-2.0
"""The data of the kernel driver of AMD GPUs, as a folder that replaces /sys/class/kfd/kfd."""

import os
import shutil

FIRST_ID = 20001  # of a GPU; a processor is a node as well, and has 0


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.write(f"{text}\n")
    os.replace(f"{path}.new", path)


def location(address):
    domain, bus, rest = address.split(":")
    device, function = rest.split(".")
    return int(domain, 16), int(bus, 16) << 8 | int(device, 16) << 3 | int(function, 16)


def make(folder, *addresses):
    """Unused GPUs; a GPU that is named twice is divided."""
    write(folder, "topology/nodes/0/gpu_id", 0)
    for number, address in enumerate(addresses):
        domain, place = location(address)
        node = f"topology/nodes/{number + 1}"
        write(folder, f"{node}/gpu_id", FIRST_ID + number)
        write(folder, f"{node}/properties", f"simd_count 1216\nlocation_id {place}\ndomain {domain}")
    os.makedirs(os.path.join(folder, "proc"), exist_ok=True)


def use(folder, pid, number=0, mebibytes=1024):
    """Gives that process memory of the GPU with this number, from 0 on."""
    write(folder, f"proc/{pid}/vram_{FIRST_ID + number}", mebibytes << 20)


def leave(folder, pid):
    shutil.rmtree(os.path.join(folder, "proc", str(pid)))
