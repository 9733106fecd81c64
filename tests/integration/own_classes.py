# SPDX-License-Identifier: Apache-2.0
"""A /sys/class of one's own, for programs that play a host: a folder in the mount namespace of this process, from then on."""

import os
import subprocess

CLASSES = "/sys/class"


def links():
    """Of the classes that there are: what is in them are links into /sys/devices."""
    found = {}
    for name in os.listdir(CLASSES):
        folder = os.path.join(CLASSES, name)
        found[name] = {one: os.readlink(os.path.join(folder, one)) for one in os.listdir(folder) if os.path.islink(os.path.join(folder, one))}
    return found


def take():
    """With what the kernel has there."""
    classes = links()
    subprocess.run(["mount", "-t", "tmpfs", "none", CLASSES], check=True)
    for name, targets in classes.items():
        os.makedirs(os.path.join(CLASSES, name))
        for one, target in targets.items():
            os.symlink(target, os.path.join(CLASSES, name, one))
