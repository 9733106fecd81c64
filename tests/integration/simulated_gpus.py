# SPDX-License-Identifier: Apache-2.0
"""A machine with four GPUs that do not exist: a tree for the simulated NVML, and beside it the table of the simulated CUDA."""

import json
import os
import subprocess

import harness

GPUS = ["0000:4a:00.0", "0000:61:00.0", "0000:ca:00.0", "0000:e1:00.0"]
SOUND = {"host_to_device_gb_per_s": 25, "device_to_host_gb_per_s": 25, "memory_gb_per_s": 780, "f64_tflops": 1.3, "bf16_tflops": 240,
         "peer_gb_per_s": 24, "memory_mib": 48}


def make_machine(folder, changes=None, calls=None, nvml=(), hidden=()):
    """Its tree. `changes` by number of the GPU in the table of CUDA's driver, `nvml` texts of nvml.yaml, old and new."""
    tree = os.path.join(folder, "machine")
    subprocess.run([harness.AUTOPILOT_SIM, "create", "l40s-4", "--now", "--out", tree], check=True, stdout=subprocess.DEVNULL)
    gpus = [{"uuid": f"GPU-{number:08x}-0000-0000-0000-000000000000", "pci_address": address} | SOUND |
            (changes or {}).get(number, {}) for number, address in enumerate(GPUS) if number not in hidden]
    with open(os.path.join(tree, "cuda.yaml"), "w", encoding="utf-8") as file:
        json.dump({"gpus": gpus} | ({"calls": calls} if calls else {}), file)
    path = os.path.join(tree, "nvml.yaml")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for old, new in (("pcie.generation: 1", "pcie.generation: 4"), *nvml):
        assert old in text, old
        text = text.replace(old, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return tree
