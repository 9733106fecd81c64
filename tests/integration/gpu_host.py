#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Becomes a program that sees GPUs of NVIDIA on the PCI bus where there are none: in place of /sys/bus, which is a folder in the mount
namespace of this process from then on. To be run in one of its own.

  gpu_host.py ADDRESS... -- PROGRAM ARGUMENT..."""

import os
import subprocess
import sys

BUS = "/sys/bus"
DEVICE = {"vendor": "0x10de", "device": "0x2330", "class": "0x030200"}  # an H100 SXM5


def main():
    middle = sys.argv.index("--")
    subprocess.run(["mount", "-t", "tmpfs", "none", BUS], check=True)
    for address in sys.argv[1:middle]:
        folder = os.path.join(BUS, "pci", "devices", address)
        os.makedirs(folder)
        for name, text in DEVICE.items():
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write(text + "\n")
    os.makedirs(os.path.join(BUS, "pci", "devices"), exist_ok=True)
    os.execvp(sys.argv[middle + 1], sys.argv[middle + 1:])


if __name__ == "__main__":
    main()
