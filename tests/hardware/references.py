#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of other libraries on the first GPU of this machine, for comparison with the GPU probe in the same run.

Copies use the driver's library, and matrix products cuBLAS, if it is installed. Copies and products of a framework (PyTorch, whose products
use cuBLAS) are measured if it is installed. Prints one JSON object: "measured" contains name -> {"unit", "best", "how"} of the fastest
result, "slower" a list of the other results with their "name", and "missing" the reasons for missing results.
"""

import argparse
import array
import contextlib
import ctypes
import functools
import glob
import json
import os
import random
import struct
import sys
import time

MIB = 1 << 20
LONGEST_COPY = 256 * MIB
SIDE = 8192  # of a matrix, where the memory is large enough
MOST_F64, MOST_BF16 = (1 << 20) - 1, 63  # as in probes/gpu/kernels/numbers.hpp
PERIOD = 65521  # of the numbers in a matrix: a prime, so that no two rows are alike
CUBLAS = ("libcublas.so.13", "libcublas.so.12", "libcublas.so.11")
BF16 = 14  # cudaDataType
COMPUTE_F32 = 68  # cublasComputeType_t
ANY_ALGORITHM = -1  # cublasGemmAlgo_t


class LibraryError(RuntimeError):
    pass


class Library:
    """Every other result of a call than success is an error with its number."""

    def __init__(self, library):
        self._library = ctypes.CDLL(library)

    def has(self, name):
        return hasattr(self._library, name)

    def call(self, name, *arguments):
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            raise LibraryError(f"{name}: error {result}")

    def handle(self, name, *arguments):
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle


class Gpu:
    """The first one, in a context that others in this process share; closed, it has its memory back."""

    def __init__(self, library):
        self._driver = Library(library)
        self.is_simulated = self._driver.has("cuAutopilotSimulated")
        self._driver.call("cuInit", 0)
        self._device = ctypes.c_int()
        self._driver.call("cuDeviceGet", ctypes.byref(self._device), 0)
        context = self._driver.handle("cuDevicePrimaryCtxRetain", self._device)
        self._memory = []
        self._driver.call("cuCtxSetCurrent", context)
        self.stream = self._driver.handle("cuStreamCreate", 0)
        self._events = [self._driver.handle("cuEventCreate", 0) for _ in range(2)]

    def free_bytes(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def allocate(self, size):
        memory = ctypes.c_uint64()
        self._driver.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(size))
        self._memory.append(memory)
        return memory

    def allocate_on_host(self, size):
        return self._driver.handle("cuMemHostAlloc", ctypes.c_size_t(size), 0)

    def free(self):
        while self._memory:
            self._driver.call("cuMemFree_v2", self._memory.pop())

    def copy(self, name, to, source, size):
        self._driver.call(name, to, source, ctypes.c_size_t(size), self.stream)

    def fill(self, memory, size, numbers):
        """Again and again with the same."""
        piece = numbers.tobytes()
        for offset in range(0, size, len(piece)):
            self.copy("cuMemcpyHtoDAsync_v2", ctypes.c_uint64(memory.value + offset), piece, min(len(piece), size - offset))
        self._driver.call("cuStreamSynchronize", self.stream)

    def seconds_of(self, work):
        begin, end = self._events
        self._driver.call("cuEventRecord", begin, self.stream)
        work()
        self._driver.call("cuEventRecord", end, self.stream)
        self._driver.call("cuStreamSynchronize", self.stream)
        milliseconds = ctypes.c_float()
        self._driver.call("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
        return milliseconds.value / 1000

    def close(self):
        self._driver.call("cuDevicePrimaryCtxRelease_v2", self._device)


def shortest(seconds_of, seconds):
    """The shortest of as many runs as the time allows, and of at least three; the first is not counted."""
    seconds_of()
    end, times = time.monotonic() + seconds, []
    while len(times) < 3 or time.monotonic() < end:
        times.append(seconds_of())
    return min(times)


def measure_copies(gpu, seconds):
    """Measures copies between two buffers, each with a tenth of the free memory of the GPU, at most 256 MiB."""
    size = min(LONGEST_COPY, gpu.free_bytes() // 10)
    device, other, host = gpu.allocate(size), gpu.allocate(size), gpu.allocate_on_host(size)
    how = f"copies of {size // MIB} MiB by the driver, between two events"
    for name, call, to, source, moved in (("host_to_device", "cuMemcpyHtoDAsync_v2", device, host, size),
                                          ("device_to_host", "cuMemcpyDtoHAsync_v2", host, device, size),
                                          ("copy", "cuMemcpyDtoDAsync_v2", other, device, 2 * size)):
        work = functools.partial(gpu.copy, call, to, source, size)
        best = moved / shortest(functools.partial(gpu.seconds_of, work), seconds) / 1e9
        yield name, {"unit": "GB/s", "best": best, "how": how + (", reads and writes together" if moved > size else "")}
    gpu.free()


def bits_of_bf16(number):
    """Exact for whole numbers of few digits."""
    return struct.unpack("<I", struct.pack("<f", number))[0] >> 16


def cublas_files(named):
    """Possible paths of cuBLAS: of the loader, of a toolkit, of a Python package."""
    if named:
        return [named]
    folders = ["/usr/local/cuda*/lib64", *(os.path.join(path, "nvidia", "*", "lib") for path in sys.path if path)]
    return [*CUBLAS, *(file for name in CUBLAS for folder in folders for file in sorted(glob.glob(os.path.join(folder, name))))]


def open_cublas(named):
    why = ""
    for file in cublas_files(named):
        try:
            return Library(file)
        except OSError as problem:
            why = why or str(problem)
    raise LibraryError(why)


class Products:
    """Products of two square matrices by cuBLAS, in at most half of the free memory of the GPU."""

    def __init__(self, gpu, library):
        self._gpu, self._cublas = gpu, library
        self._handle = library.handle("cublasCreate_v2")
        library.call("cublasSetStream_v2", self._handle, gpu.stream)
        version = ctypes.c_int()
        library.call("cublasGetVersion_v2", self._handle, ctypes.byref(version))
        self._version = f"cuBLAS {version.value}"

    def measure(self, seconds):
        # The probe's numbers: what is multiplied changes what the GPU draws, and with it how fast it is.
        numbers = random.Random(1)
        f64 = array.array("d", (numbers.randint(-MOST_F64, MOST_F64) for _ in range(PERIOD)))
        bf16 = array.array("H", (bits_of_bf16(numbers.randint(-MOST_BF16, MOST_BF16)) for _ in range(PERIOD)))
        for name, filling, most, multiply in (("f64", f64, MOST_F64, self._multiply_f64), ("bf16", bf16, MOST_BF16, self._multiply_bf16)):
            side = self._side(filling.itemsize)
            size = side * side * filling.itemsize
            left, right, product = (self._gpu.allocate(size) for _ in range(3))
            for matrix in (left, right):
                self._gpu.fill(matrix, size, filling)
            for transposed in (0, 1):
                work = functools.partial(multiply, transposed, side, left, right, product)
                best = shortest(functools.partial(self._gpu.seconds_of, work), seconds)
                yield name, {"unit": "TFLOP/s", "best": 2 * side**3 / best / 1e12,
                             "how": f"{self._version}: product of two {name} matrices of {side} rows, "
                                    f"{'the left one transposed, ' if transposed else ''}whole numbers up to {most}"}
            self._gpu.free()
        self._cublas.call("cublasDestroy_v2", self._handle)

    def _side(self, itemsize):
        side = SIDE
        while 3 * side * side * itemsize > self._gpu.free_bytes() // 2:
            side //= 2
        return side

    def _multiply_f64(self, transposed, side, left, right, product):
        one, zero = ctypes.c_double(1), ctypes.c_double(0)
        self._cublas.call("cublasDgemm_v2", self._handle, transposed, 0, side, side, side, ctypes.byref(one), left, side, right, side,
                          ctypes.byref(zero), product, side)

    def _multiply_bf16(self, transposed, side, left, right, product):
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        self._cublas.call("cublasGemmEx", self._handle, transposed, 0, side, side, side, ctypes.byref(one), left, BF16, side, right, BF16, side,
                          ctypes.byref(zero), product, BF16, side, COMPUTE_F32, ANY_ALGORITHM)


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
    yield "copy", {"unit": "GB/s", "how": f"{version}: copy_ of {moved // 2 // MIB} MiB, reads and writes together",
                   "best": moved / shortest(lambda: seconds_of(lambda: target.copy_(source)), seconds) / 1e9}
    del source, target
    # The probe's numbers here as well.
    for name, kind, most in (("f64", torch.float64, MOST_F64), ("bf16", torch.bfloat16, MOST_BF16)):
        left, right = (torch.randint(-most, most + 1, (SIDE, SIDE), generator=generator, device="cuda").to(kind) for _ in range(2))
        best = shortest(lambda left=left, right=right: seconds_of(lambda: left @ right), seconds)
        yield name, {"unit": "TFLOP/s", "best": 2 * SIDE**3 / best / 1e12,
                     "how": f"{version}: product of two {name} matrices of {SIDE} rows, whole numbers up to {most}"}


class References:
    def __init__(self):
        self.measured, self.slower, self.missing = {}, [], {}

    def add(self, whose, measurements):
        """Adds results; results before a failure count as well."""
        try:
            for name, reference in measurements:
                self._add(name, reference)
        except Exception as problem:  # pylint: disable=broad-except  (a framework fails in ways of its own, and the rest is of worth)
            self.missing[whose] = str(problem) if isinstance(problem, (OSError, LibraryError)) else f"{type(problem).__name__}: {problem}"

    def _add(self, name, reference):
        before = self.measured.get(name)
        best, *slower = sorted([reference, *([before] if before else [])], key=lambda one: -one["best"])
        self.measured[name] = best
        self.slower += ({"name": name, **one} for one in slower)


def copies_of_driver(options):
    with contextlib.closing(Gpu(options.library)) as gpu:
        yield from measure_copies(gpu, options.seconds)


def products_of_cublas(options):
    with contextlib.closing(Gpu(options.library)) as gpu:
        if gpu.is_simulated and not options.cublas:
            raise LibraryError("one that is installed knows nothing of a simulated driver")
        yield from Products(gpu, open_cublas(options.cublas)).measure(options.seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", default="libcuda.so.1")
    parser.add_argument("--cublas", help="the library; without it, one that is installed")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    options = parser.parse_args()
    references = References()
    references.add("copies of the driver", copies_of_driver(options))
    references.add("cuBLAS", products_of_cublas(options))
    references.add("PyTorch", measure_framework(options.seconds))
    print(json.dumps(vars(references)))


if __name__ == "__main__":
    main()
