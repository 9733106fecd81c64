# SPDX-License-Identifier: Apache-2.0
"""A simulated machine whose kernel log a test writes."""

import os
import shutil
import subprocess
import tempfile

import harness


class FedKernelLog:
    """Keywords go to `autopilot-sim feed`. Of a machine of its own, or of a tree that was made with --now."""

    def __init__(self, tree=None, **options):
        self.folder = tempfile.mkdtemp(prefix="autopilot-test-")
        self.tree = tree or os.path.join(self.folder, "machine")
        if tree is None:
            subprocess.run([harness.AUTOPILOT_SIM, "create", "hgx-h100-8", "--now", "--out", self.tree], check=True,
                           stdout=subprocess.DEVNULL)
        words = [word for key, value in options.items() for word in ("--" + key.replace("_", "-"), str(value))]
        self.feeder = subprocess.Popen([harness.AUTOPILOT_SIM, "feed", self.tree, *words], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        self.boot_records = int(self.feeder.stdout.readline().split()[0])

    def write(self, *lines):
        self.feeder.stdin.write("".join(line + "\n" for line in lines))
        self.feeder.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.feeder.stdin.close()
        self.feeder.wait(10)
        self.feeder.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)
