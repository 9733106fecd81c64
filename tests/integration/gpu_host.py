#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program that sees NVIDIA GPUs on the PCI bus of a machine without any: a folder replaces /sys/bus in the mount namespace of this
process. Run it in a separate mount namespace. With --kfd the GPUs are from AMD, and FOLDER contains the data of their kernel driver
(kfd.py), below /sys/class.

  gpu_host.py [--kfd FOLDER] ADDRESS... -- PROGRAM ARGUMENT..."""

import os
import subprocess
import sys

import own_classes

BUS = "/sys/bus"
NVIDIA = {"vendor": "0x10de", "device": "0x2330", "class": "0x030200"}  # an H100 SXM5
AMD = {"vendor": "0x1002", "device": "0x74a1", "class": "0x120000"}  # an MI300X
DRIVER = "pci/drivers/amdgpu"


def main():
    middle = sys.argv.index("--")
    addresses = sys.argv[1:middle]
    kfd = addresses[1] if "--kfd" in addresses else ""
    subprocess.run(["mount", "-t", "tmpfs", "none", BUS], check=True)
    for address in addresses[2:] if kfd else addresses:
        folder = os.path.join(BUS, "pci", "devices", address)
        os.makedirs(folder)
        for name, text in (AMD if kfd else NVIDIA).items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text + "\n")
        if kfd:
            os.symlink(os.path.join(BUS, DRIVER), os.path.join(folder, "driver"))
    os.makedirs(os.path.join(BUS, "pci", "devices"), exist_ok=True)
    if kfd:
        os.makedirs(os.path.join(BUS, DRIVER))
        own_classes.take()
        os.makedirs(os.path.join(own_classes.CLASSES, "kfd"), exist_ok=True)
        os.symlink(kfd, os.path.join(own_classes.CLASSES, "kfd", "kfd"))
    os.execvp(sys.argv[middle + 1], sys.argv[middle + 1:])


if __name__ == "__main__":
    main()
