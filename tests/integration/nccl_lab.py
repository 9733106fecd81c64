# SPDX-License-Identifier: Apache-2.0
"""Hosts with the real GPU probe for tests of all-reduces between them (gpu_lab.py). Libraries play CUDA and NCCL (libcuda-sim.so,
libnccl-sim.so), whose processes really talk with each other over the network of the hosts, and a folder the kernel's list of devices
(gpu_host.py)."""

import json
import os

from gpu_lab import GPUS, GpuLabTest

USUAL = 2.0  # Gbit/s of a bus: an iteration is much longer than what the exchange itself takes


def gpu(address):
    """A row of the driver's table; JSON is YAML."""
    return {"uuid": f"GPU-000000{address[5:7]}-0000-0000-0000-000000000000", "pci_address": address.upper(), "memory_mib": 64}


class NcclLabTest(GpuLabTest):
    LIBRARIES = GpuLabTest.LIBRARIES | {"libcuda.so.1": "libcuda-sim.so", "libnccl.so.2": "libnccl-sim.so"}
    SANITIZED = "nccl_probe_test"

    @staticmethod
    def file_of(host, library):
        return os.path.join(host.folder, f"{library}.json")

    @classmethod
    def play(cls, host, driver=None, **nccl):
        """Writes the differences from a healthy node."""
        for library, table in (("cuda", {"gpus": [gpu(address) for address in GPUS]} | (driver or {})),
                               ("nccl", {"bus_gigabits_per_second": USUAL} | nccl)):
            with open(cls.file_of(host, library), "w", encoding="utf-8") as file:
                json.dump(table, file)

    @classmethod
    def start(cls, host, gpus=GPUS):
        cls.start_with(host, [f"AUTOPILOT_SIM_CUDA={cls.file_of(host, 'cuda')}", f"AUTOPILOT_SIM_NCCL={cls.file_of(host, 'nccl')}"],
                       "gpu_host.py", *gpus)

    def measure(self, host, check, *words, codes=(0, 1)):
        """Output of the verb, and the new findings of the check."""
        code, out, err = host.command("network", "test", "--kind", "nccl", *words, timeout=280)
        self.said = out + err
        self.assertIn(code, codes, self.said)
        return out, host.findings(check)
