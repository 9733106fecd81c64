// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/kernels/numbers.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr std::size_t kMostCopiedBytes = std::size_t{64} << 20;  // of each of the two directions
constexpr unsigned kCopyRuns = 4;                                // in one sample
constexpr std::uint64_t kCopySeed = 11;

struct Copies {
  Session& session;
  Buffer gpu_in;
  Buffer gpu_out;
  Buffer host_in;
  Buffer host_out;

  [[nodiscard]] Status in(cuda::Stream stream) const {
    const Driver& driver = session.driver();
    return driver.run(driver.calls().copy_to_device, gpu_in.pointer(), host_in.host<void>(), gpu_in.bytes(),
                      stream);
  }
  [[nodiscard]] Status out(const Buffer& from, cuda::Stream stream) const {
    const Driver& driver = session.driver();
    return driver.run(driver.calls().copy_to_host, host_out.host<void>(), from.pointer(), from.bytes(),
                      stream);
  }
};

// Compares the data after a copy to the GPU and back.
Status compare(const Copies& copies, Measurement& measurement) {
  TRY_STATUS(copies.in(copies.session.stream()));
  TRY_STATUS(copies.out(copies.gpu_in, copies.session.stream()));
  TRY_STATUS(copies.session.wait());
  const std::size_t words = copies.host_in.bytes() / sizeof(std::uint64_t);
  const auto* sent = copies.host_in.host<std::uint64_t>();
  const auto* came = copies.host_out.host<std::uint64_t>();
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < words; ++i)
    if (sent[i] != came[i] && wrong++ == 0)
      add_wrong(measurement, {.where = "byte " + std::to_string(i * sizeof(std::uint64_t)) + " of a copy",
                              .count = 0,
                              .detail = "bits " + hex_text(sent[i] ^ came[i])});
  if (wrong > 0) measurement.wrong.back().count = wrong;
  return {};
}

}  // namespace

Result<Measurement> test_pcie(Session& session, const TestLimits& limits) {
  const std::size_t bytes = std::min(kMostCopiedBytes, session.budget_bytes() / 2) / 4096 * 4096;
  auto gpu_in = TRY(session.allocate(bytes));
  auto gpu_out = TRY(session.allocate(bytes));
  auto host_in = TRY(session.allocate_on_host(bytes));
  auto host_out = TRY(session.allocate_on_host(bytes));
  const Copies copies{session, std::move(gpu_in), std::move(gpu_out), std::move(host_in),
                      std::move(host_out)};
  auto* words = copies.host_in.host<std::uint64_t>();
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i)
    words[i] = kernels::pattern_word(i, kCopySeed);

  Measurement measurement;
  const auto in = [&] { return repeat(kCopyRuns, [&] { return copies.in(session.stream()); }); };
  const auto out = [&](cuda::Stream stream) {
    return repeat(kCopyRuns, [&, stream] { return copies.out(copies.gpu_out, stream); });
  };
  const auto both = [&]() -> Status {
    TRY_STATUS(session.fork());
    TRY_STATUS(in());
    TRY_STATUS(out(session.second_stream()));
    return session.join();
  };
  const double amount = kCopyRuns * static_cast<double>(bytes) / kGiga;
  const double seconds = limits.seconds / 3;
  measurement.series.push_back(TRY(measure(session, "host_to_device", "GB/s", amount, seconds, in)));
  measurement.series.push_back(TRY(
      measure(session, "device_to_host", "GB/s", amount, seconds, [&] { return out(session.stream()); })));
  measurement.series.push_back(TRY(measure(session, "both_ways", "GB/s", 2 * amount, seconds, both)));
  TRY_STATUS(compare(copies, measurement));
  measurement.facts.emplace_back("bytes_of_a_copy", bytes);
  return measurement;
}

}  // namespace autopilot::probes::gpu
