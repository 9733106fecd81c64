// SPDX-License-Identifier: Apache-2.0
// A driver that gives one false answer, in one run among correct ones.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "checks/check.hpp"
#include "golden/golden_case.hpp"
#include "host/host.hpp"
#include "host/open_host.hpp"
#include "incidents/node_state.hpp"
#include "incidents/verdict.hpp"
#include "runtime/conclude.hpp"
#include "tests/paths/paths.hpp"

namespace autopilot::golden {
namespace {

using namespace std::chrono_literals;
using testing::IsSupersetOf;

constexpr std::int64_t kAllOnes = 4294967295;
constexpr std::int64_t kLargest = 9223372036854775807;

// A driver that answers what the test gives it; without that, what the true one answers.
class LyingGpus final : public host::Gpus {
 public:
  LyingGpus(const host::Gpus& driver, const Clock& clock) : driver_(driver), clock_(clock) {}

  [[nodiscard]] Result<host::GpuReport> read(const std::vector<host::GpuGroup>& groups,
                                             MonoTime /*deadline*/) const override {
    if (lie) return *lie;
    truth = TRY(driver_.read(groups, clock_.now().mono + kPatience));
    EXPECT_EQ(truth.state, host::DriverState::ok) << truth.detail;
    for (host::GpuDevice& gpu : truth.gpus)  // links are alike
      std::erase_if(gpu.readings,
                    [](const host::GpuReading& reading) { return reading.link.value_or(0) > 0; });
    return truth;
  }
  [[nodiscard]] Result<std::vector<host::GpuEvent>> take_events(MonoTime) const override {
    return std::vector<host::GpuEvent>{};
  }

  std::optional<host::GpuReport> lie;
  mutable host::GpuReport truth;  // what the true driver answered last

 private:
  static constexpr Duration kPatience = 30s;

  const host::Gpus& driver_;
  const Clock& clock_;
};

std::vector<Value> other_values(const std::optional<Value>& value) {
  std::vector<Value> values{
      true,     false,    std::int64_t{-1},      std::int64_t{1}, std::int64_t{100}, std::int64_t{60'000},
      kAllOnes, kLargest, std::string("garbage")};
  std::erase_if(values, [&](const Value& other) { return value == other; });
  return values;
}

struct Lie {
  std::string what;
  host::GpuReport report;
};

// Each reading of the first GPU and of its first link, one after the other.
void add_readings(const host::GpuReport& truth, std::vector<Lie>& lies) {
  for (std::size_t i = 0; i < truth.gpus.front().readings.size(); ++i) {
    const host::GpuReading& told = truth.gpus.front().readings[i];
    for (const Value& value : other_values(told.value)) {
      lies.push_back({told.name + " " + to_string(value), truth});
      host::GpuReading& reading = lies.back().report.gpus.front().readings[i];
      reading.value = value;
      reading.code = 0;
    }
  }
}

std::vector<Lie> lies_about(const host::GpuReport& truth) {
  using host::DriverState;
  using host::GpuState;
  std::vector<Lie> lies;
  add_readings(truth, lies);
  for (const GpuState state :
       {GpuState::lost, GpuState::reset_required, GpuState::unresponsive, GpuState::unreadable}) {
    lies.push_back({std::string(to_string(state)), truth});
    lies.back().report.gpus.front().state = state;
    lies.back().report.gpus.front().readings.clear();
  }
  for (const DriverState state :
       {DriverState::library_broken, DriverState::driver_not_loaded, DriverState::version_mismatch,
        DriverState::init_failed, DriverState::unresponsive}) {
    lies.push_back({std::string(to_string(state)), truth});
    lies.back().report.state = state;
    lies.back().report.gpus.clear();
  }
  lies.push_back({"one GPU is not listed", truth});
  lies.back().report.gpus.erase(lies.back().report.gpus.begin());
  lies.push_back({"no GPU is listed", truth});
  lies.back().report.gpus.clear();
  return lies;
}

using Seen = Result<checks::Observed>;

// The same look, made at another time.
Seen again(Seen seen, Instant now) {
  if (seen)
    for (Observation& observation : seen->observations)
      observation.time = now;
  return seen;
}

// The agent's state of one check after some runs.
class Watched {
 public:
  explicit Watched(const checks::Check& check)
      : check_(&check),
        state_([](std::string_view reason) { return catalog::builtin().reason(reason); },
               catalog::builtin().causes(), "boot") {}

  void take(Seen seen, Instant now) {
    const bool looked = seen.has_value();
    const Findings said = runtime::conclude(*check_, std::move(seen), check_->info.window, now,
                                            catalog::builtin(), Expectation{}, history_);
    static_cast<void>(
        state_.complete_round(check_->info.id, now, said, looked ? history_.latest().all() : Observations{}));
  }

  [[nodiscard]] bool evicts() const {
    const std::vector<Incident> incidents = state_.incidents();
    return incidents::verdict_of({.results = {}, .incidents = incidents, .has_accelerator = true}) ==
           Verdict::evict;
  }
  [[nodiscard]] std::set<std::string> reasons() const {
    std::set<std::string> reasons;
    for (const Finding& finding : state_.findings(check_->info.id))
      reasons.insert(finding.reason);
    return reasons;
  }

 private:
  const checks::Check* check_;
  History history_;
  incidents::NodeState state_;
};

class FalseAnswers : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const auto source = simulator::open_source(GetParam());
    ASSERT_TRUE(source) << source.error().what;
    const simulator::Machine machine = source->simulation.at(0s);
    ASSERT_TRUE(bench_.put(machine));
    host::OpenOptions options;
    options.helper_program = paths::program("autopilot");
    options.nvml_library = paths::program("libnvidia-ml-sim.so");
    auto opened = host::open_tree_host(bench_.directory(), options);
    ASSERT_TRUE(opened) << opened.error().what;
    opened_ = *std::move(opened);
    begin_ = opened_.host->clock.now();
  }

  MachineBench bench_;
  host::OpenedHost opened_;
  Instant begin_;
};

TEST_P(FalseAnswers, in_one_look_never_evict_and_in_two_looks_may) {
  const host::Host& tree = *opened_.host;
  LyingGpus nvidia(tree.nvidia_gpus, tree.clock);
  LyingGpus amd(tree.amd_gpus, tree.clock);
  const host::Host host{tree.clock,           tree.files,    tree.kernel_log, nvidia,
                        tree.filesystems,     tree.ethernet, tree.time_sync,  tree.nvme,
                        tree.spared_adapters, amd,           tree.kubelet,    tree.name_servers,
                        tree.ethtool,         tree.tests};
  const bool is_amd = std::string_view(GetParam()).starts_with("mi");
  LyingGpus& driver = is_amd ? amd : nvidia;
  const auto after = [this](int looks) {
    return Instant{begin_.wall + looks * 1min, begin_.mono + looks * 1min};
  };
  std::set<std::string> evicting;
  for (const checks::Check& check : checks::builtin_checks()) {
    if (std::ranges::find(check.info.witnesses, is_amd ? "amdgpu" : "nvml") == check.info.witnesses.end())
      continue;
    const auto look = [&] {
      return check.observe(host, {.now = begin_, .deadline = begin_.mono + check.info.deadline});
    };
    driver.lie.reset();
    driver.truth = {};
    const Seen truth = look();
    Watched healthy(check);
    healthy.take(truth, begin_);
    healthy.take(again(truth, after(1)), after(1));
    ASSERT_FALSE(healthy.evicts()) << check.info.id;
    if (driver.truth.gpus.empty()) continue;  // it does not ask the driver
    for (const Lie& lie : lies_about(driver.truth)) {
      driver.lie = lie.report;
      const Seen lied = again(look(), after(2));
      Watched once = healthy;
      once.take(lied, after(2));
      EXPECT_FALSE(once.evicts()) << check.info.id << ": " << lie.what;
      Watched twice = once;
      twice.take(again(lied, after(3)), after(3));
      if (twice.evicts()) evicting.merge(twice.reasons());
      once.take(again(truth, after(3)), after(3));
      EXPECT_FALSE(once.evicts()) << check.info.id << ": " << lie.what;
    }
  }
  if (is_amd)
    EXPECT_THAT(evicting, IsSupersetOf({"ecc_uncorrected", "gpu_missing", "gpu_reset_required"}));
  else
    EXPECT_THAT(evicting, IsSupersetOf({"row_remap_failed", "row_remap_limit", "row_remap_unrepairable",
                                        "ecc_uncorrected", "ecc_sram_threshold", "gpu_lost", "gpu_missing",
                                        "gpu_reset_required", "gpu_recovery_wanted"}));
}

INSTANTIATE_TEST_SUITE_P(Machines, FalseAnswers, testing::Values("hgx-h100-8", "mi300x-8"),
                         [](const auto& machine) {
                           std::string name = machine.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace autopilot::golden
