# SPDX-License-Identifier: Apache-2.0
"""Replaces /sys/class for programs that play a host, by a folder in the mount namespace of this process."""

import os
import subprocess

CLASSES = "/sys/class"


def links():
    """Links of the existing classes, which point into /sys/devices."""
    found = {}
    for name in os.listdir(CLASSES):
        folder = os.path.join(CLASSES, name)
        found[name] = {one: os.readlink(os.path.join(folder, one)) for one in os.listdir(folder) if os.path.islink(os.path.join(folder, one))}
    return found


def take():
    """Replaces /sys/class by copies of the kernel's links."""
    classes = links()
    subprocess.run(["mount", "-t", "tmpfs", "none", CLASSES], check=True)
    for name, targets in classes.items():
        os.makedirs(os.path.join(CLASSES, name))
        for one, target in targets.items():
            os.symlink(target, os.path.join(CLASSES, name, one))
