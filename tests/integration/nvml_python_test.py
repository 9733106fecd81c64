#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nvidia-ml-py, an independent client, reads the values of the machine tree from the simulated driver."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import packages

packages.use()

import pynvml  # noqa: E402
import yaml  # noqa: E402

import harness  # noqa: E402

LIBRARY = os.path.join(harness.BIN, "libnvidia-ml-sim.so")


def load_library():
    """pynvml opens libnvidia-ml.so.1 by name; it gets ours instead."""
    import ctypes
    # In a separate process first, because a sanitizer that Python was not built with ends the process that loads it.
    probe = subprocess.run([sys.executable, "-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])", LIBRARY],
                           capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise unittest.SkipTest(f"{LIBRARY} cannot be loaded by Python: {probe.stderr.strip().splitlines()[-1]}")
    pynvml.nvmlLib = ctypes.CDLL(LIBRARY)


class NvmlPythonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="autopilot-nvml-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.tree = os.path.join(cls.folder, "machine")
        subprocess.run([harness.AUTOPILOT_SIM, "create", "hgx-h100-8", "--out", cls.tree], check=True,
                       stdout=subprocess.DEVNULL)
        os.environ["AUTOPILOT_SIM_MACHINE"] = cls.tree
        load_library()

    def setUp(self):
        with open(os.path.join(self.tree, "nvml.yaml"), encoding="utf-8") as file:
            self.driver = yaml.safe_load(file)
        self.gpus = list(self.driver["gpus"].items())
        pynvml.nvmlInit()
        self.addCleanup(pynvml.nvmlShutdown)

    def sim(self, *arguments):
        subprocess.run([harness.AUTOPILOT_SIM, *arguments], check=True)

    def test_driver_and_identity(self):
        self.assertEqual(pynvml.nvmlSystemGetDriverVersion(), self.driver["driver"]["version"])
        self.assertEqual(pynvml.nvmlSystemGetCudaDriverVersion(), self.driver["driver"]["cuda_version"])
        self.assertEqual(pynvml.nvmlDeviceGetCount(), len(self.gpus))
        for index, (address, gpu) in enumerate(self.gpus):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            self.assertEqual(pynvml.nvmlDeviceGetName(handle), gpu["name"])
            self.assertEqual(pynvml.nvmlDeviceGetUUID(handle), gpu["uuid"])
            self.assertEqual(pynvml.nvmlDeviceGetSerial(handle), gpu["serial"])
            pci = pynvml.nvmlDeviceGetPciInfo(handle)
            self.assertEqual(str(pci.busId).lower(), "0000" + address)
            self.assertEqual(pci.pciDeviceId, int(gpu["pci_device_id"], 16))

    def test_readings(self):
        for index, (_, gpu) in enumerate(self.gpus):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            values = gpu["readings"]
            self.assertEqual(list(pynvml.nvmlDeviceGetRemappedRows(handle)),
                             [values["row_remap.correctable"], values["row_remap.uncorrectable"],
                              int(values["row_remap.pending"]), int(values["row_remap.failed"])])
            self.assertEqual(pynvml.nvmlDeviceGetRowRemapperHistogram(handle).max, values["row_remap.banks_max"])
            self.assertEqual(pynvml.nvmlDeviceGetTotalEccErrors(handle, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                                                pynvml.NVML_VOLATILE_ECC),
                             values["ecc.volatile_uncorrected"])
            self.assertEqual(pynvml.nvmlDeviceGetEccMode(handle), [1, 1])
            self.assertEqual(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
                             values["temperature.gpu"])
            self.assertEqual(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM), values["clocks.sm"])
            self.assertEqual(pynvml.nvmlDeviceGetMaxClockInfo(handle, pynvml.NVML_CLOCK_SM), values["clocks.sm_max"])
            self.assertEqual(pynvml.nvmlDeviceGetPowerUsage(handle), values["power.usage"] * 1000)
            self.assertEqual(pynvml.nvmlDeviceGetCurrPcieLinkWidth(handle), values["pcie.width"])
            self.assertEqual(pynvml.nvmlDeviceGetMemoryInfo(handle).total, values["memory.total"])

    def test_links_and_fields(self):
        handle = pynvml.nvmlDeviceGetHandleByIndex(7)
        _, gpu = self.gpus[7]
        for number, link in enumerate(gpu["links"]):
            self.assertEqual(pynvml.nvmlDeviceGetNvLinkState(handle, number), int(link["nvlink.active"]))
            remote = pynvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, number)
            self.assertEqual(str(remote.busId).lower(), "0000" + link["nvlink.remote"])
        memory, power_cap, unknown = pynvml.nvmlDeviceGetFieldValues(
            handle, [pynvml.NVML_FI_DEV_MEMORY_TEMP, pynvml.NVML_FI_DEV_PERF_POLICY_POWER, 60000])
        self.assertEqual(memory.nvmlReturn, pynvml.NVML_SUCCESS)
        self.assertEqual(memory.value.uiVal, gpu["readings"]["temperature.memory"])
        self.assertEqual(power_cap.value.ullVal, gpu["readings"]["throttle.power_cap"])
        self.assertEqual(unknown.nvmlReturn, pynvml.NVML_ERROR_NOT_SUPPORTED)
        with self.assertRaises(pynvml.NVMLError_NotSupported):
            pynvml.nvmlDeviceGetTemperatureThreshold(handle, pynvml.NVML_TEMPERATURE_THRESHOLD_SHUTDOWN)

    def test_the_parts_of_a_divided_gpu(self):
        address, gpu = self.gpus[3]
        parts = [{"gpu_instance": 5, "compute_instance": 0, "uuid": "MIG-1"},
                 {"gpu_instance": 6, "compute_instance": 1, "uuid": "MIG-2"}]
        gpu["readings"]["mig"] = True
        gpu["instances"] = parts
        path = os.path.join(self.tree, "nvml.yaml")
        with open(path, encoding="utf-8") as file:
            before = file.read()
        self.addCleanup(self.replace, path, before)
        self.replace(path, yaml.safe_dump(self.driver, sort_keys=False))
        handle = pynvml.nvmlDeviceGetHandleByIndex(3)
        self.assertEqual(pynvml.nvmlDeviceGetMigMode(handle), [1, 1])
        self.assertEqual(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle), 7)
        for number, part in enumerate(parts):
            instance = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
            self.assertEqual(pynvml.nvmlDeviceGetUUID(instance), part["uuid"])
            self.assertEqual(pynvml.nvmlDeviceGetGpuInstanceId(instance), part["gpu_instance"])
            self.assertEqual(pynvml.nvmlDeviceGetComputeInstanceId(instance), part["compute_instance"])
        with self.assertRaises(pynvml.NVMLError_NotFound):
            pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, len(parts))
        self.assertEqual(pynvml.nvmlDeviceGetUUID(handle), gpu["uuid"], address)

    @staticmethod
    def replace(path, text):
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(path + ".new", path)

    def test_a_lost_gpu_moves_the_others_up(self):
        third = pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(3))
        lost = pynvml.nvmlDeviceGetHandleByIndex(2)
        self.sim("inject", self.tree, "fell_off_bus", "--subject", "gpu/2")
        self.addCleanup(self.sim, "recover", self.tree, "fell_off_bus")
        with self.assertRaises(pynvml.NVMLError_GpuIsLost):
            pynvml.nvmlDeviceGetTemperature(lost, pynvml.NVML_TEMPERATURE_GPU)
        pynvml.nvmlShutdown()
        pynvml.nvmlInit()
        self.assertEqual(pynvml.nvmlDeviceGetCount(), len(self.gpus) - 1)
        self.assertEqual(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(2)), third)


if __name__ == "__main__":
    unittest.main()
