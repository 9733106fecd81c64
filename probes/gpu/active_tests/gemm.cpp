// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/kernels/gemm_bf16.hpp"
#include "probes/gpu/kernels/gemm_bf16_wgmma.hpp"
#include "probes/gpu/kernels/gemm_f64.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr double kTera = 1e12;
constexpr std::uint64_t kSeedA = 1;
constexpr std::uint64_t kSeedB = 2;
constexpr std::size_t kMostMatrixBytes = std::size_t{1} << 30;  // of all three matrices
constexpr unsigned kMostTileRows = 32;
constexpr unsigned kWideDepth = 512;  // the depth is shortened down to this value before the rows are
constexpr double kLongestRun = 0.05;  // seconds; a GPU that is slow in this precision gets a smaller product
constexpr unsigned kTiles = 512;      // one element is compared in each of them
constexpr unsigned kShortestRunSteps = 2;  // of the run that shows the speed

// One precision: its kernels, and the tiles of their blocks.
template <class In, class Sum>
struct Kind {
  const char* name;
  kernels::BlockShape tile;
  int most;
  Kernel<cuda::DevicePointer, std::uint64_t, std::uint64_t> fill;
  Kernel<cuda::DevicePointer, cuda::DevicePointer, cuda::DevicePointer, unsigned, unsigned, unsigned>
      multiply;
};

// The product has one tile in each column for each multiprocessor, so that all of them finish at the same
// time.
struct Shape {
  std::size_t tile_rows;
  std::size_t tile_columns;
  std::size_t depth;
};

template <class In, class Sum>
std::size_t bytes_of(const Kind<In, Sum>& kind, const Shape& shape) {
  const std::size_t rows = shape.tile_rows * kind.tile.rows;
  const std::size_t columns = shape.tile_columns * kind.tile.columns;
  return (rows + columns) * shape.depth * sizeof(In) + rows * columns * sizeof(Sum);
}

// The largest product that fits into memory.
template <class In, class Sum>
Result<Shape> shape_for(const Session& session, const Kind<In, Sum>& kind) {
  Shape shape{.tile_rows = kMostTileRows,
              .tile_columns = session.facts().multiprocessors,
              .depth = kernels::kMostDepth};
  const std::size_t most = std::min(kMostMatrixBytes, session.budget_bytes());
  while (bytes_of(kind, shape) > most) {
    const std::size_t least_depth =
        shape.tile_rows > 1 ? kWideDepth : std::size_t{kind.tile.depth} * kShortestRunSteps;
    if (shape.depth > least_depth)
      shape.depth /= 2;
    else if (shape.tile_rows > 1)
      shape.tile_rows /= 2;
    else
      return fail(Errc::exhausted,
                  "too little memory for a matrix product: " + std::to_string(most >> 20) + " MiB");
  }
  return shape;
}

template <class In, class Sum>
class Product {
 public:
  Product(Session& session, const Kind<In, Sum>& kind, const Shape& shape, Buffer a, Buffer b, Buffer c)
      : session_(session), kind_(kind), shape_(shape), a_(std::move(a)), b_(std::move(b)), c_(std::move(c)) {}

  static Result<Product> make(Session& session, const Kind<In, Sum>& kind, const Shape& shape) {
    const std::size_t rows = shape.tile_rows * kind.tile.rows;
    const std::size_t columns = shape.tile_columns * kind.tile.columns;
    auto a = TRY(session.allocate(rows * shape.depth * sizeof(In)));
    auto b = TRY(session.allocate(columns * shape.depth * sizeof(In)));
    auto c = TRY(session.allocate(rows * columns * sizeof(Sum)));
    return Product(session, kind, shape, std::move(a), std::move(b), std::move(c));
  }

  // Shortens the depth until one run takes at most kLongestRun, then allocates the matrices.
  Status prepare() {
    const std::size_t most = shape_.depth;
    shape_.depth = std::size_t{kind_.tile.depth} * kShortestRunSteps;
    TRY_STATUS(run());
    const double seconds = TRY(session_.seconds_of([this] { return run(); }));
    while (shape_.depth < most &&
           seconds * 2 * static_cast<double>(shape_.depth) / (kind_.tile.depth * kShortestRunSteps) <
               kLongestRun)
      shape_.depth *= 2;
    const Grid grid = wide_grid(session_.facts());
    TRY_STATUS(session_.launch(kind_.fill, grid, a_.pointer(), a_.bytes() / sizeof(In), kSeedA));
    return session_.launch(kind_.fill, grid, b_.pointer(), b_.bytes() / sizeof(In), kSeedB);
  }

  Status run() {
    const Grid grid{.blocks = static_cast<unsigned>(shape_.tile_rows * shape_.tile_columns),
                    .threads = kind_.tile.threads,
                    .shared_bytes = kind_.tile.shared_bytes};
    return session_.launch(kind_.multiply, grid, c_.pointer(), a_.pointer(), b_.pointer(),
                           static_cast<unsigned>(shape_.tile_rows),
                           static_cast<unsigned>(shape_.tile_columns), static_cast<unsigned>(shape_.depth));
  }

  [[nodiscard]] double tera_operations() const {
    return 2.0 * static_cast<double>(rows() * columns() * shape_.depth) / kTera;
  }

  // Compares one element of each of the tiles all over the product, at different positions within the tiles.
  Status compare(Measurement& measurement) {
    const std::size_t tiles = shape_.tile_rows * shape_.tile_columns;
    const std::size_t compared = std::min<std::size_t>(tiles, kTiles);
    for (std::size_t i = 0; i < compared; ++i) {
      const std::size_t tile = i * tiles / compared;
      const std::uint64_t place = kernels::mixed(tile);
      const std::size_t row = tile % shape_.tile_rows * kind_.tile.rows + place % kind_.tile.rows;
      const std::size_t column =
          tile / shape_.tile_rows * kind_.tile.columns + (place >> 32) % kind_.tile.columns;
      Sum seen = 0;
      TRY_STATUS(session_.read(&seen, c_, (row * columns() + column) * sizeof(Sum), sizeof seen));
      const auto right = static_cast<Sum>(element(row, column));
      if (seen != right)
        add_wrong(measurement, {.where = std::string(kind_.name) + " product, row " + std::to_string(row) +
                                         ", column " + std::to_string(column),
                                .count = 1,
                                .detail = std::to_string(seen) + " instead of " + std::to_string(right)});
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t rows() const { return shape_.tile_rows * kind_.tile.rows; }
  [[nodiscard]] std::size_t columns() const { return shape_.tile_columns * kind_.tile.columns; }

  [[nodiscard]] std::int64_t element(std::size_t row, std::size_t column) const {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < shape_.depth; ++k)
      sum += std::int64_t{kernels::matrix_number(row * shape_.depth + k, kSeedA, kind_.most)} *
             kernels::matrix_number(column * shape_.depth + k, kSeedB, kind_.most);
    return sum;
  }

  Session& session_;
  Kind<In, Sum> kind_;
  Shape shape_;
  Buffer a_;
  Buffer b_;
  Buffer c_;
};

// A kernel that faults ends all tests of the GPU, so the error must name it.
template <class T>
Result<T> by_kernel(const char* name, Result<T> outcome) {
  if (!outcome) outcome.error().what = std::string(name) + ": " + outcome.error().what;
  return outcome;
}

template <class In, class Sum>
Status measure_product(Session& session, const Kind<In, Sum>& kind, double seconds,
                       Measurement& measurement) {
  const Shape shape = TRY(shape_for(session, kind));
  auto product = TRY((Product<In, Sum>::make(session, kind, shape)));
  TRY_STATUS(product.prepare());
  measurement.series.push_back(TRY(measure(session, kind.name, "TFLOP/s", product.tera_operations(), seconds,
                                           [&] { return product.run(); })));
  return product.compare(measurement);
}

template <class In, class Sum>
Result<Measurement> measure_kind(Session& session, const Kind<In, Sum>& kind, double seconds) {
  Measurement measurement;
  TRY_STATUS(by_kernel(kind.multiply.name, measure_product(session, kind, seconds, measurement)));
  return measurement;
}

template <class In, class Sum>
Status multiply_often(Session& session, const Kind<In, Sum>& kind, const std::function<bool()>& more) {
  const Shape shape = TRY(shape_for(session, kind));
  auto product = TRY((Product<In, Sum>::make(session, kind, shape)));
  TRY_STATUS(product.prepare());
  while (more()) {
    TRY_STATUS(session.driver().go_on());
    TRY_STATUS(product.run());
    TRY_STATUS(session.wait());
  }
  return {};
}

template <class In, class Sum>
Status run_kind(Session& session, const Kind<In, Sum>& kind, const std::function<bool()>& more) {
  return by_kernel(kind.multiply.name, multiply_often(session, kind, more));
}

template <class In, class Sum>
bool has(const Session& session, const Kind<In, Sum>& kind) {
  return session.kernels().has(kind.multiply.name);
}

Kind<double, double> f64_kind(const Session& session) {
  Kind<double, double> kind{.name = "f64",
                            .tile = kernels::kF64Block,
                            .most = kernels::kMostF64,
                            .fill = AUTOPILOT_GPU_KERNEL(fill_f64),
                            .multiply = AUTOPILOT_GPU_KERNEL(gemm_f64_tensor)};
  if (!has(session, kind)) kind.multiply = AUTOPILOT_GPU_KERNEL(gemm_f64_fused);
  return kind;
}

Kind<std::uint16_t, float> bf16_kind() {
  return {.name = "bf16",
          .tile = kernels::kBf16Block,
          .most = kernels::kMostBf16,
          .fill = AUTOPILOT_GPU_KERNEL(fill_bf16),
          .multiply = AUTOPILOT_GPU_KERNEL(gemm_bf16)};
}

Kind<std::uint16_t, float> bf16_wgmma_kind() {
  return {.name = "bf16",
          .tile = kernels::kWgmmaBlock,
          .most = kernels::kMostBf16,
          .fill = AUTOPILOT_GPU_KERNEL(fill_bf16),
          .multiply = AUTOPILOT_GPU_KERNEL(gemm_bf16_wgmma)};
}

// Uses the faster kernel if the GPU supports it. That kernel is not proven on any GPU: a wrong result counts
// as a fault of the GPU only if the other kernel is wrong as well.
Result<Measurement> measure_bf16(Session& session, double seconds) {
  if (!has(session, bf16_wgmma_kind())) return measure_kind(session, bf16_kind(), seconds);
  Measurement fast = TRY(measure_kind(session, bf16_wgmma_kind(), seconds));
  if (fast.wrong.empty()) return fast;
  auto slower = bf16_kind();
  slower.name = "bf16_mma_sync";  // prevents a comparison with GPUs that use the faster kernel
  Measurement sure = TRY(measure_kind(session, slower, seconds));
  if (sure.wrong.empty()) {
    std::fprintf(stderr, "gpu %d: gemm: the kernels disagree: %s is wrong where %s is right\n",
                 session.facts().index, bf16_wgmma_kind().multiply.name, slower.multiply.name);
    sure.disputed = std::move(fast.wrong);
  }
  return sure;
}

void append(Measurement& all, Measurement more) {
  std::ranges::move(more.series, std::back_inserter(all.series));
  for (Wrong& wrong : more.wrong)
    add_wrong(all, std::move(wrong));
  std::ranges::move(more.disputed, std::back_inserter(all.disputed));
}

}  // namespace

Result<Measurement> test_gemm(Session& session, const TestLimits& limits) {
  const bool has_bf16 = has(session, bf16_kind());
  const double seconds = limits.seconds / (has_bf16 ? 2 : 1);
  Measurement measurement = TRY(measure_kind(session, f64_kind(session), seconds));
  if (!has_bf16) return measurement;
  auto of_bf16 = measure_bf16(session, seconds);
  if (!of_bf16) return ended(std::move(measurement), fail(of_bf16.error()));
  append(measurement, *std::move(of_bf16));
  return measurement;
}

Status multiply_while(Session& session, const std::function<bool()>& more) {
  for (const auto& kind : {bf16_wgmma_kind(), bf16_kind()})
    if (has(session, kind)) return run_kind(session, kind, more);
  return run_kind(session, f64_kind(session), more);
}

}  // namespace autopilot::probes::gpu
