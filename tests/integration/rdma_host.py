#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Becomes a program that sees RDMA devices where the kernel has none: in place of /sys/class, which is a folder in the mount
namespace of this process from then on. To be run in one of its own. With a GPU, by its PCI address, both are below a bridge of
their own, in place of /sys/bus.

  rdma_host.py DEVICE=INTERFACE[=GPU]... -- PROGRAM ARGUMENT..."""

import os
import subprocess
import sys

import own_classes

BUS = "/sys/bus"
GPU = {"vendor": "0x10de", "device": "0x2330", "class": "0x030200"}  # an H100 SXM5
ADAPTER = {"vendor": "0x15b3", "device": "0x1021", "class": "0x020700"}  # a ConnectX-7
PORT = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)", "link_layer": "InfiniBand"}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text + "\n")


def plug_in(number, gpu):
    """A GPU and an adapter below one bridge; the folder of the adapter."""
    adapter = f"0000:f{number}:00.0"
    for address, facts in ((gpu, GPU), (adapter, ADAPTER)):
        folder = os.path.join(BUS, "roots", f"pci000{number}:00", f"000{number}:00:01.0", address)
        for name, text in facts.items():
            write(os.path.join(folder, name), text)
        os.symlink(folder, os.path.join(BUS, "pci", "devices", address))
    return folder


def main():
    middle = sys.argv.index("--")
    wanted = [word.split("=") for word in sys.argv[1:middle]]
    own_classes.take()
    if any(gpus for _, _, *gpus in wanted):
        subprocess.run(["mount", "-t", "tmpfs", "none", BUS], check=True)
        os.makedirs(os.path.join(BUS, "pci", "devices"))
    for number, (device, interface, *gpus) in enumerate(wanted):
        folder = os.path.join(own_classes.CLASSES, "infiniband", device)
        for name, text in PORT.items():
            write(os.path.join(folder, "ports", "1", name), text)
        for gpu in gpus:
            os.symlink(plug_in(number, gpu), os.path.join(folder, "device"))
        write(os.path.join(folder, "device", "net", interface, "dev_port"), "0")
    os.execvp(sys.argv[middle + 1], sys.argv[middle + 1:])


if __name__ == "__main__":
    main()
