// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <thread>

#include "probes/gpu/active_tests/busy.hpp"
#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/kernels/spin.hpp"

namespace autopilot::probes::gpu {
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
