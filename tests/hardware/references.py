#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others reach on the first GPU of this machine, for comparison with the GPU probe in the same run.

The driver's own copies are asked of its library. Copies and products of matrices of a framework (PyTorch, whose products are
cuBLAS's) are measured where it is installed. One JSON object on standard output: name -> {"unit", "best", "how"}, and under
"missing" why something could not be measured.
"""

import argparse
import ctypes
import json
import time

MIB = 1 << 20
LONGEST_COPY = 256 * MIB
SIDE = 8192  # of a matrix
MOST_F64, MOST_BF16 = (1 << 20) - 1, 63  # as in probes/gpu/kernels/numbers.hpp


class DriverError(RuntimeError):
    pass


class Driver:
    """The few calls of the CUDA driver API that a copy takes; every other result than success is an error with its number."""

    def __init__(self, library):
        self._library = ctypes.CDLL(library)

    def call(self, name, *arguments):
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            raise DriverError(f"{name}: CUDA error {result}")

    def handle(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle


class Copies:
    """Pinned memory of the host and memory of the first GPU, as large as a tenth of what is free there, at most 256 MiB."""

    def __init__(self, library):
        self._driver = Driver(library)
        self._driver.call("cuInit", 0)
        device = ctypes.c_int()
        self._driver.call("cuDeviceGet", ctypes.byref(device), 0)
        self._context = self._driver.handle("cuCtxCreate_v2", 0, device)
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        self.bytes = min(LONGEST_COPY, free.value // 10)
        self._device = ctypes.c_uint64()
        self._driver.call("cuMemAlloc_v2", ctypes.byref(self._device), ctypes.c_size_t(self.bytes))
        self._host = self._driver.handle("cuMemHostAlloc", ctypes.c_size_t(self.bytes), 0)
        self._stream = self._driver.handle("cuStreamCreate", 0)
        self._events = [self._driver.handle("cuEventCreate", 0) for _ in range(2)]

    def to_device(self):
        self._driver.call("cuMemcpyHtoDAsync_v2", self._device, self._host, ctypes.c_size_t(self.bytes), self._stream)

    def to_host(self):
        self._driver.call("cuMemcpyDtoHAsync_v2", self._host, self._device, ctypes.c_size_t(self.bytes), self._stream)

    def seconds_of(self, copy):
        begin, end = self._events
        self._driver.call("cuEventRecord", begin, self._stream)
        copy()
        self._driver.call("cuEventRecord", end, self._stream)
        self._driver.call("cuStreamSynchronize", self._stream)
        milliseconds = ctypes.c_float()
        self._driver.call("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
        return milliseconds.value / 1000

    def close(self):
        self._driver.call("cuCtxDestroy_v2", self._context)


def shortest(seconds_of, seconds):
    """Of as many runs as the time allows, and of three at least; the first is not counted."""
    seconds_of()
    end, times = time.monotonic() + seconds, []
    while len(times) < 3 or time.monotonic() < end:
        times.append(seconds_of())
    return min(times)


def measure_copies(library, seconds):
    copies = Copies(library)
    how = f"copies of {copies.bytes // MIB} MiB by the driver, between two events"
    found = {}
    for name, copy in (("host_to_device", copies.to_device), ("device_to_host", copies.to_host)):
        best = copies.bytes / shortest(lambda copy=copy: copies.seconds_of(copy), seconds) / 1e9
        found[name] = {"unit": "GB/s", "best": best, "how": how}
    copies.close()
    return found


def measure_framework(seconds):
    import torch  # pylint: disable=import-outside-toplevel  (few machines have it)

    def seconds_of(work):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1000

    generator = torch.Generator("cuda").manual_seed(1)
    version = f"PyTorch {torch.__version__}"
    source = torch.rand(LONGEST_COPY, generator=generator, device="cuda").to(torch.float32)
    target = torch.empty_like(source)
    moved = 2 * source.numel() * source.element_size()
    found = {"copy": {"unit": "GB/s", "how": f"{version}: copy_ of {moved // 2 // MIB} MiB, reads and writes together",
                      "best": moved / shortest(lambda: seconds_of(lambda: target.copy_(source)), seconds) / 1e9}}
    del source, target
    # The probe's numbers: what is multiplied changes what the GPU draws, and with it how fast it is.
    for name, kind, most in (("f64", torch.float64, MOST_F64), ("bf16", torch.bfloat16, MOST_BF16)):
        left, right = (torch.randint(-most, most + 1, (SIDE, SIDE), generator=generator, device="cuda").to(kind) for _ in range(2))
        best = shortest(lambda left=left, right=right: seconds_of(lambda: left @ right), seconds)
        found[name] = {"unit": "TFLOP/s", "best": 2 * SIDE**3 / best / 1e12,
                       "how": f"{version}: product of two {name} matrices of {SIDE} rows, whole numbers up to {most}"}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default="libcuda.so.1")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    options = parser.parse_args()
    found, missing = {}, {}
    try:
        found |= measure_copies(options.library, options.seconds)
    except (OSError, AttributeError, DriverError) as problem:
        missing["copies of the driver"] = str(problem)
    try:
        found |= measure_framework(options.seconds)
    except Exception as problem:  # pylint: disable=broad-except  (a framework fails in ways of its own, and the rest is of worth)
        missing["PyTorch"] = f"{type(problem).__name__}: {problem}"
    print(json.dumps({"measured": found, "missing": missing}))


if __name__ == "__main__":
    main()
