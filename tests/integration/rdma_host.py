#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Becomes a program that sees RDMA devices where the kernel has none: in place of /sys/class, which is a folder in the mount
namespace of this process from then on. To be run in one of its own.

  rdma_host.py DEVICE=INTERFACE... -- PROGRAM ARGUMENT..."""

import os
import subprocess
import sys

CLASSES = "/sys/class"
PORT = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)", "link_layer": "InfiniBand"}


def links():
    """Of the classes that there are: what is in them are links into /sys/devices."""
    found = {}
    for name in os.listdir(CLASSES):
        folder = os.path.join(CLASSES, name)
        found[name] = {one: os.readlink(os.path.join(folder, one)) for one in os.listdir(folder) if os.path.islink(os.path.join(folder, one))}
    return found


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as file:
        file.write(text + "\n")


def main():
    middle = sys.argv.index("--")
    classes = links()
    subprocess.run(["mount", "-t", "tmpfs", "none", CLASSES], check=True)
    for name, targets in classes.items():
        os.makedirs(os.path.join(CLASSES, name))
        for one, target in targets.items():
            os.symlink(target, os.path.join(CLASSES, name, one))
    for wanted in sys.argv[1:middle]:
        device, interface = wanted.split("=")
        folder = os.path.join(CLASSES, "infiniband", device)
        for name, text in PORT.items():
            write(os.path.join(folder, "ports", "1", name), text)
        write(os.path.join(folder, "device", "net", interface, "dev_port"), "0")
    os.execvp(sys.argv[middle + 1], sys.argv[middle + 1:])


if __name__ == "__main__":
    main()
