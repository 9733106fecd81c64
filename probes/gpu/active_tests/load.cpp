// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/kernels/canary.hpp"
#include "probes/gpu/kernels/memory.hpp"

namespace autopilot::probes::gpu {
namespace {

using kernels::CanaryCount;

constexpr unsigned kRounds = 512;
constexpr unsigned kBlocksOfMultiprocessor =
    8;                             // more than run at once on some GPUs, so that all multiprocessors are busy
constexpr unsigned kLaunches = 4;  // with the digests of one seed
constexpr unsigned kMostMultiprocessors = 1024;  // ids can have gaps

std::vector<std::uint64_t> digests_of(std::uint64_t seed) {
  std::vector<std::uint64_t> digests;
  for (unsigned thread = 0; thread < kernels::kCanaryThreads; ++thread)
    digests.push_back(kernels::canary_digest(thread, kRounds, seed));
  return digests;
}

Status run_seed(Session& session, const Buffer& expected, const Buffer& counts, std::uint64_t seed) {
  const auto digests = digests_of(seed);
  TRY_STATUS(session.copy_to_gpu(expected, digests.data(), expected.bytes()));
  const Grid grid{.blocks = session.facts().multiprocessors * kBlocksOfMultiprocessor,
                  .threads = kernels::kCanaryThreads};
  for (unsigned i = 0; i < kLaunches; ++i)
    TRY_STATUS(session.launch(AUTOPILOT_GPU_KERNEL(canary), grid, expected.pointer(), counts.pointer(),
                              kMostMultiprocessors, kRounds, seed));
  return session.wait();
}

// A GPU that skipped digests, or ran no kernel, has no wrong digest either.
Status all_ran(const std::vector<CanaryCount>& counts, std::uint64_t seeds, unsigned multiprocessors) {
  std::uint64_t digests = 0;
  for (const CanaryCount& count : counts)
    digests += count.threads;
  const std::uint64_t launched =
      seeds * kLaunches * multiprocessors * kBlocksOfMultiprocessor * std::uint64_t{kernels::kCanaryThreads};
  const auto tested =
      std::ranges::count_if(counts, [](const CanaryCount& count) { return count.threads > 0; });
  if (digests == launched && tested == static_cast<std::ptrdiff_t>(multiprocessors)) return {};
  return fail(Errc::unavailable, "the GPU computed " + std::to_string(digests) + " of " +
                                     std::to_string(launched) + " digests, on " + std::to_string(tested) +
                                     " of its " + std::to_string(multiprocessors) + " multiprocessors");
}

void add_counts(const std::vector<CanaryCount>& counts, Measurement& measurement) {
  std::int64_t tested = 0;
  std::uint64_t threads = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    tested += counts[i].threads > 0 ? 1 : 0;
    threads += counts[i].threads;
    if (counts[i].wrong > 0)
      add_wrong(measurement, {.where = "multiprocessor " + std::to_string(i),
                              .count = counts[i].wrong,
                              .detail = "of " + std::to_string(counts[i].threads) + " digests; bits " +
                                        hex_text(counts[i].bits)});
  }
  measurement.facts.emplace_back("multiprocessors_tested", tested);
  measurement.facts.emplace_back("digests", threads);
}

}  // namespace

Result<Measurement> test_sdc(Session& session, const TestLimits& limits) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() +
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds));
  const Driver& driver = session.driver();
  std::vector<CanaryCount> seen(kMostMultiprocessors);
  const auto expected = TRY(session.allocate(kernels::kCanaryThreads * sizeof(std::uint64_t)));
  const auto counts = TRY(session.allocate(seen.size() * sizeof(CanaryCount)));
  TRY_STATUS(driver.run(driver.calls().memory_set, counts.pointer(), 0, counts.bytes(), session.stream()));
  std::uint64_t seed = 0;
  do {
    TRY_STATUS(driver.go_on());
    TRY_STATUS(run_seed(session, expected, counts, ++seed));
  } while (Clock::now() < end);
  TRY_STATUS(session.read(seen.data(), counts, 0, counts.bytes()));
  TRY_STATUS(all_ran(seen, seed, session.facts().multiprocessors));
  Measurement measurement;
  add_counts(seen, measurement);
  return measurement;
}

namespace {

constexpr auto kPeriod = std::chrono::milliseconds{100};  // NVML updates its value at this interval
constexpr std::uint64_t kSpinNanoseconds = 20'000'000;    // of one launch
// Limit of blocks, as in a collective.
constexpr unsigned kSpinBlocks = 32;
constexpr unsigned kSpinThreads = 512;

// One state of the GPU: samples its power ten times a second until the time is over.
class Phase {
  using Clock = std::chrono::steady_clock;

 public:
  Phase(const TestLimits& limits, const char* name)
      : watts_(limits.watts),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds / 3))),
        series_{.name = name, .unit = "W", .samples = {}} {}

  // Takes a sample if one is due. False: the phase is over, with at least one sample.
  bool goes_on() {
    const auto now = Clock::now();
    if (now >= next_ || (now >= end_ && series_.samples.empty())) {
      if (const auto watts = watts_()) series_.samples.push_back(*watts);
      next_ = now + kPeriod;
    }
    return now < end_ && series_.samples.size() < kMostSamples;
  }
  [[nodiscard]] Series series() const { return series_; }

 private:
  const std::function<std::optional<double>()>& watts_;
  Clock::time_point next_ = Clock::now() + kPeriod;  // power follows the load with a delay
  Clock::time_point end_;
  Series series_;
};

Result<Series> stay_idle(Session& session, const TestLimits& limits) {
  Phase phase(limits, "idle");
  while (phase.goes_on()) {
    TRY_STATUS(session.driver().go_on());
    std::this_thread::sleep_for(kPeriod / 5);
  }
  return phase.series();
}

Result<Series> spin(Session& session, const TestLimits& limits) {
  const auto flag = TRY(session.allocate(sizeof(std::uint64_t)));
  const Driver& driver = session.driver();
  TRY_STATUS(driver.run(driver.calls().memory_set, flag.pointer(), 0, flag.bytes(), session.stream()));
  const Grid grid{.blocks = std::min(kSpinBlocks, session.facts().multiprocessors), .threads = kSpinThreads};
  Phase phase(limits, "spin");
  while (phase.goes_on()) {
    TRY_STATUS(driver.go_on());
    TRY_STATUS(session.launch(AUTOPILOT_GPU_KERNEL(spin), grid, flag.pointer(), kSpinNanoseconds));
    TRY_STATUS(session.wait());
  }
  return phase.series();
}

Result<Series> be_busy(Session& session, const TestLimits& limits) {
  Phase phase(limits, "busy");
  TRY_STATUS(multiply_while(session, [&] { return phase.goes_on(); }));
  return phase.series();
}

}  // namespace

Result<Measurement> test_power(Session& session, const TestLimits& limits) {
  if (!limits.watts || !limits.watts())
    return fail(Errc::unsupported, "the power draw of the GPU is unknown");
  Measurement measurement;
  measurement.series.push_back(TRY(stay_idle(session, limits)));
  measurement.series.push_back(TRY(spin(session, limits)));
  measurement.series.push_back(TRY(be_busy(session, limits)));
  return measurement;
}

}  // namespace autopilot::probes::gpu
