// SPDX-License-Identifier: Apache-2.0
#include "cuda/host_kernels.hpp"

#include <array>
#include <cstring>
#include <tuple>
#include <utility>

#include "probes/gpu/kernels/canary.hpp"
#include "probes/gpu/kernels/gemm_bf16.hpp"
#include "probes/gpu/kernels/gemm_bf16_wgmma.hpp"
#include "probes/gpu/kernels/gemm_f64.hpp"
#include "probes/gpu/kernels/memory.hpp"

namespace autopilot::simulator::cuda {
namespace {

namespace kernels = probes::gpu::kernels;

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;
constexpr double kShort = 1e-5;  // seconds of a kernel whose speed is not measured

// A parameter read through its pointer: addresses have the width of the GPU's.
template <class T>
T argument(const void* from) {
  T value;
  // NOLINTNEXTLINE(bugprone-sizeof-expression): of a pointer, the pointer itself
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class... Parameters, std::size_t... I>
std::tuple<Parameters...> arguments_at(void** from, std::index_sequence<I...>) {
  return std::tuple<Parameters...>{argument<Parameters>(from[I])...};
}

template <class... Parameters>
std::tuple<Parameters...> arguments_of(void (*)(Parameters...), void** from) {
  return arguments_at<Parameters...>(from, std::index_sequence_for<Parameters...>{});
}

std::uint64_t wrong_bits_of(const GpuTable& gpu, unsigned multiprocessor) {
  const auto found = gpu.wrong_bits.find(multiprocessor);
  return found == gpu.wrong_bits.end() ? 0 : found->second;
}

template <auto Function>
void run_threads(const Launch& launch) {
  const auto arguments = arguments_of(Function, launch.arguments);
  for (unsigned block = 0; block < launch.blocks; ++block) {
    const unsigned multiprocessor = block % launch.gpu.multiprocessors;
    kernels::place = {.thread = 0,
                      .block = block,
                      .threads = launch.threads,
                      .blocks = launch.blocks,
                      .multiprocessor = multiprocessor,
                      .wrong_bits = wrong_bits_of(launch.gpu, multiprocessor)};
    for (unsigned& thread = kernels::place.thread; thread < launch.threads; ++thread)
      std::apply(Function, arguments);
  }
  kernels::place = {};
}

void write_pattern(const Launch& launch) {
  run_threads<kernels::pattern_write>(launch);
  const auto [words, count, seed, flip] = arguments_of(kernels::pattern_write, launch.arguments);
  for (const StuckWord& stuck : launch.gpu.stuck)
    if (stuck.offset / 8 < count) words[stuck.offset / 8] |= stuck.bits;
}

float value_of(std::uint16_t number) {
  return kernels::from_bf16(number);
}
double value_of(double number) {
  return number;
}

void turn_over(float& number, std::uint64_t bits) {
  number =
      kernels::bits_as<float>(kernels::bits_as<std::uint32_t>(number) ^ static_cast<std::uint32_t>(bits));
}
void turn_over(double& number, std::uint64_t bits) {
  number = kernels::bits_as<double>(kernels::bits_as<std::uint64_t>(number) ^ bits);
}

// Corrupts all elements of each tile that a wrong multiprocessor computed.
template <class Sum>
void spoil(const Launch& launch, Sum* c, unsigned tile_rows, unsigned tile_columns,
           const kernels::BlockShape& tile) {
  for (unsigned block = 0; block < launch.blocks; ++block) {
    const std::uint64_t row = std::uint64_t{block % tile_rows} * tile.rows;
    const std::uint64_t column = std::uint64_t{block / tile_rows} * tile.columns;
    for (unsigned i = 0; i < tile.rows * tile.columns; ++i)
      turn_over(c[(row + i / tile.columns) * tile_columns * tile.columns + column + i % tile.columns],
                wrong_bits_of(launch.gpu, block % launch.gpu.multiprocessors));
  }
}

template <auto Function, const kernels::BlockShape& Tile>
void multiply(const Launch& launch) {
  const auto [c, a, b, tile_rows, tile_columns, depth] = arguments_of(Function, launch.arguments);
  const std::size_t rows = std::size_t{tile_rows} * Tile.rows;
  const std::size_t columns = std::size_t{tile_columns} * Tile.columns;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      std::remove_reference_t<decltype(*c)> sum = 0;
      for (std::size_t k = 0; k < depth; ++k)
        sum += value_of(a[row * depth + k]) * value_of(b[column * depth + k]);
      c[row * columns + column] = sum;
    }
  if (!launch.gpu.wrong_bits.empty()) spoil(launch, c, tile_rows, tile_columns, Tile);
}

// A kernel that is wrong on this GPU, on every multiprocessor.
void multiply_by_warpgroups(const Launch& launch) {
  multiply<kernels::gemm_bf16_wgmma, kernels::kWgmmaBlock>(launch);
  const auto [c, a, b, tile_rows, tile_columns, depth] =
      arguments_of(kernels::gemm_bf16_wgmma, launch.arguments);
  const std::size_t elements =
      std::size_t{tile_rows} * kernels::kWgmmaBlock.rows * tile_columns * kernels::kWgmmaBlock.columns;
  for (std::size_t i = 0; i < elements; ++i)
    turn_over(c[i], launch.gpu.wrong_wgmma);
}

template <auto Function, const kernels::BlockShape& Tile, double GpuTable::*Speed>
double seconds_of_product(const Launch& launch) {
  const auto [c, a, b, tile_rows, tile_columns, depth] = arguments_of(Function, launch.arguments);
  return 2.0 * tile_rows * Tile.rows * tile_columns * Tile.columns * depth / kTera / launch.gpu.*Speed;
}

// For kernels whose last parameter is the number of pairs.
template <auto Function, unsigned Buffers>
double seconds_of_stream(const Launch& launch) {
  const auto arguments = arguments_of(Function, launch.arguments);
  const auto pairs = std::get<std::tuple_size_v<decltype(arguments)> - 1>(arguments);
  return static_cast<double>(pairs * sizeof(kernels::Pair)) * Buffers / kGiga / launch.gpu.memory_gb_per_s;
}

double seconds_of_spin(const Launch& launch) {
  const auto [flag, nanoseconds] = arguments_of(kernels::spin, launch.arguments);
  return static_cast<double>(nanoseconds) / kGiga;
}

double short_time(const Launch&) {
  return kShort;
}

template <auto Function>
std::vector<std::uint64_t> values_of(void** from) {
  return std::apply(
      [](auto... values) {
        const auto word = [](auto value) {
          std::uint64_t bits = 0;
          // NOLINTNEXTLINE(bugprone-sizeof-expression): of a pointer, the pointer itself
          std::memcpy(&bits, &value, sizeof value);
          return bits;
        };
        return std::vector<std::uint64_t>{word(values)...};
      },
      arguments_of(Function, from));
}

using kernels::canary;
using kernels::daxpy;
using kernels::fill_bf16;
using kernels::fill_f64;
using kernels::fill_stream;
using kernels::gemm_bf16;
using kernels::gemm_bf16_wgmma;
using kernels::gemm_f64_fused;
using kernels::gemm_f64_tensor;
using kernels::pattern_verify;
using kernels::pattern_write;
using kernels::spin;
using kernels::stream_copy;
using kernels::stream_scale;
using kernels::stream_triad;

template <auto Function>
constexpr HostKernel simple(std::string_view name, bool repeatable,
                            double (*seconds)(const Launch&) = short_time) {
  return {name, repeatable, run_threads<Function>, seconds, values_of<Function>};
}

template <auto Function, const kernels::BlockShape& Tile, double GpuTable::*Speed>
constexpr HostKernel product(std::string_view name, void (*run)(const Launch&) = multiply<Function, Tile>) {
  return {name, true, run, seconds_of_product<Function, Tile, Speed>, values_of<Function>, Tile.shared_bytes};
}

constexpr std::array kKernels{
    simple<fill_stream>("fill_stream", true),
    simple<stream_copy>("stream_copy", true, seconds_of_stream<stream_copy, 2>),
    simple<stream_scale>("stream_scale", true, seconds_of_stream<stream_scale, 2>),
    simple<stream_triad>("stream_triad", true, seconds_of_stream<stream_triad, 3>),
    simple<daxpy>("daxpy", false, seconds_of_stream<daxpy, 3>),
    HostKernel{"pattern_write", true, write_pattern, short_time, values_of<pattern_write>},
    simple<pattern_verify>("pattern_verify", false),
    simple<canary>("canary", false),
    simple<spin>("spin", true, seconds_of_spin),
    simple<fill_bf16>("fill_bf16", true),
    simple<fill_f64>("fill_f64", true),
    product<gemm_bf16, kernels::kBf16Block, &GpuTable::bf16_tflops>("gemm_bf16"),
    product<gemm_bf16_wgmma, kernels::kWgmmaBlock, &GpuTable::wgmma_tflops>("gemm_bf16_wgmma",
                                                                            multiply_by_warpgroups),
    product<gemm_f64_tensor, kernels::kF64Block, &GpuTable::f64_tflops>("gemm_f64_tensor"),
    product<gemm_f64_fused, kernels::kF64Block, &GpuTable::f64_tflops>("gemm_f64_fused"),
};

}  // namespace

const HostKernel* find_kernel(std::string_view name) {
  for (const HostKernel& kernel : kKernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

}  // namespace autopilot::simulator::cuda
