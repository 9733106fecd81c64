# SPDX-License-Identifier: Apache-2.0
"""A simulated machine whose kernel log we write, record by record, through a socket in place of /dev/kmsg."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
import harness  # noqa: E402

MACHINE = "hgx-h100-8"
GPUS = ["0000:1b:00", "0000:43:00", "0000:52:00", "0000:61:00", "0000:9d:00", "0000:c3:00", "0000:d1:00", "0000:df:00"]


class FedMachine:
    """An agent on such a machine, with words of its own; the other keyword arguments go to `autopilot-sim feed`."""

    def __init__(self, agent=(), **options):
        self.folder = tempfile.mkdtemp(prefix="autopilot-bench-")
        self.tree = os.path.join(self.folder, "machine")
        self.agent = self.feeder = None
        try:
            subprocess.run([harness.AUTOPILOT_SIM, "create", MACHINE, "--now", "--out", self.tree], check=True,
                           stdout=subprocess.DEVNULL)
            words = [word for key, value in options.items() for word in ("--" + key.replace("_", "-"), str(value))]
            self.feeder = subprocess.Popen([harness.AUTOPILOT_SIM, "feed", self.tree, *words],
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.feeder.stdout.readline()
            self.agent = harness.Agent("--root", self.tree, *agent)
            self.agent.wait_ready()
        except BaseException:
            self.close()
            raise

    def write(self, block):
        """Writes bytes of whole lines."""
        self.feeder.stdin.write(block)
        self.feeder.stdin.flush()

    def records(self):
        """Counts so far: read, lost, and read records that some check missed."""
        self_status = self.agent.node()["self"]
        return [self_status["kernelRecords" + word] for word in ("Read", "Lost", "Missed")]

    def close(self):
        if self.agent:
            self.agent.close()
        if self.feeder:
            self.feeder.stdin.close()
            self.feeder.wait(10)
            self.feeder.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def xid(gpu, code, text):
    return f"NVRM: Xid (PCI:{GPUS[gpu]}): {code}, {text}\n".encode()
