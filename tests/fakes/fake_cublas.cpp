// SPDX-License-Identifier: Apache-2.0
// In the place of cuBLAS, beside the simulated driver: it takes the products of square matrices that
// tests/hardware/references.py asks for and nothing else, and spends the time of the stream on them, half as
// much where the left matrix is transposed.
#include <cstddef>
#include <cstdint>

#include "probes/gpu/driver/cuda_abi.h"

// NOLINTBEGIN(readability-identifier-naming): functions are named as in the libraries

namespace cuda = autopilot::probes::gpu::cuda;

extern "C" {

cuda::Return cuMemsetD8Async(cuda::DevicePointer pointer, unsigned char value, std::size_t bytes,
                             cuda::Stream stream);

struct FakeCublas {
  cuda::Stream stream;
};

}  // extern "C"

namespace {

constexpr int kInvalidValue = 7;
constexpr int kBf16 = 14;
constexpr int kComputeF32 = 68;
constexpr int kAnyAlgorithm = -1;

bool is_square(int rows, int columns, int depth, int left, int right, int product) {
  return rows > 0 && columns == rows && depth == rows && left == rows && right == rows && product == rows;
}

// Refused where the driver does not know the memory, or not so much of it.
int multiply(const FakeCublas& cublas, int transposed, int side, std::size_t item, cuda::DevicePointer left,
             cuda::DevicePointer right, cuda::DevicePointer product) {
  const std::size_t bytes = item * static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  if (left == right || left == product || right == product) return kInvalidValue;
  for (int i = transposed; i < 2; ++i)
    if (cuMemsetD8Async(product, 0, bytes, cublas.stream) != cuda::kSuccess) return kInvalidValue;
  return 0;
}

}  // namespace

extern "C" {

int cublasCreate_v2(FakeCublas** cublas) {
  static FakeCublas one{};
  *cublas = &one;
  return 0;
}

int cublasDestroy_v2(FakeCublas*) {
  return 0;
}

int cublasGetVersion_v2(FakeCublas*, int* version) {
  *version = 120304;
  return 0;
}

int cublasSetStream_v2(FakeCublas* cublas, cuda::Stream stream) {
  cublas->stream = stream;
  return 0;
}

int cublasDgemm_v2(FakeCublas* cublas, int left_operation, int right_operation, int rows, int columns,
                   int depth, const double* alpha, cuda::DevicePointer left, int left_rows,
                   cuda::DevicePointer right, int right_rows, const double* beta, cuda::DevicePointer product,
                   int product_rows) {
  if (!is_square(rows, columns, depth, left_rows, right_rows, product_rows) || right_operation != 0 ||
      *alpha != 1 || *beta != 0)
    return kInvalidValue;
  return multiply(*cublas, left_operation, rows, sizeof(double), left, right, product);
}

int cublasGemmEx(FakeCublas* cublas, int left_operation, int right_operation, int rows, int columns,
                 int depth, const float* alpha, cuda::DevicePointer left, int left_type, int left_rows,
                 cuda::DevicePointer right, int right_type, int right_rows, const float* beta,
                 cuda::DevicePointer product, int product_type, int product_rows, int compute_type,
                 int algorithm) {
  if (!is_square(rows, columns, depth, left_rows, right_rows, product_rows) || right_operation != 0 ||
      *alpha != 1 || *beta != 0 || left_type != kBf16 || right_type != kBf16 || product_type != kBf16 ||
      compute_type != kComputeF32 || algorithm != kAnyAlgorithm)
    return kInvalidValue;
  return multiply(*cublas, left_operation, rows, sizeof(std::uint16_t), left, right, product);
}

}  // extern "C"

// NOLINTEND(readability-identifier-naming)
