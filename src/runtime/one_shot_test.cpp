// SPDX-License-Identifier: Apache-2.0
#include "runtime/one_shot.hpp"

#include <algorithm>
#include <atomic>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/catalog.hpp"
#include "host/open_host.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Result<checks::Observed> observe_one(const host::Host& host, const checks::Request& /*request*/) {
  Observation observation;
  observation.name = "count";
  observation.value = std::int64_t{1};
  observation.time = host.clock.now();
  return checks::Observed{{observation}, {"memory"}, LogParts::none, std::nullopt, 0};
}

Findings judge_rounds(const checks::JudgeInput& input) {
  if (input.history.rounds() < 2) return {};
  Finding finding;
  finding.health = Health::degraded;
  finding.reason = "looked_twice";
  return {finding};
}

class OneShotTest : public ::testing::Test {
 protected:
  OneShotTest() {
    folder_.write(
        "/machine.yaml",
        "schema: autopilot.machine/v1\nnode: node-1\nboot_id: 5d1ad1d8-5c5c-4b1e-9c5e-000000000001\n"
        "time: 2026-01-15T08:00:00Z\nuptime: 36h\nsimulated: true\n"
        "time_sync: {synchronised: true}\n");
    folder_.write("/root/sys/kernel/x", "");
    add("test.needs", true, false);
    add("test.growth", false, true);
    add("test.once", false, false);
  }
  void add(const std::string& id, bool needs_window, bool judges_growth) {
    checks::Check check{{}, observe_one, judge_rounds};
    check.info.id = id;
    check.info.needs_window = needs_window;
    check.info.judges_growth = judges_growth;
    checks_.push_back(std::move(check));
  }
  // Those that looked twice.
  std::vector<std::string> look(Duration window, bool watches_growth) {
    const auto opened = host::open_tree_host(folder_.path(), {});
    if (!opened) {
      ADD_FAILURE() << opened.error().what;
      return {};
    }
    OneShot request;
    request.window = window;
    request.watches_growth = watches_growth;
    const auto snapshot = look_once(opened->host, catalog::builtin(), checks_, std::move(request));
    std::vector<std::string> twice;
    for (const CheckResult& result : snapshot->results)
      if (!result.findings.empty()) twice.push_back(result.check);
    return twice;
  }

  host::TestFolder folder_;
  std::vector<checks::Check> checks_;
};

TEST_F(OneShotTest, looks_twice_where_one_look_says_nothing) {
  EXPECT_THAT(look(1ms, false), ElementsAre("test.needs"));
}

TEST_F(OneShotTest, looks_twice_where_growth_is_judged_when_somebody_asks_for_it) {
  EXPECT_THAT(look(1ms, true), ElementsAre("test.needs", "test.growth"));
}

TEST_F(OneShotTest, looks_once_without_a_window) {
  EXPECT_THAT(look(0s, true), IsEmpty());
}

// Whether the driver says so in the first look, in the second, ...
std::vector<bool> flags;
std::atomic<std::size_t> next_flag{0};

Result<checks::Observed> observe_next_flag(const host::Host& host, const checks::Request& /*request*/) {
  Observation flag;
  flag.name = "flag";
  flag.value = static_cast<bool>(flags.at(next_flag++));
  flag.time = host.clock.now();
  return checks::Observed{{flag}, {"nvml"}, LogParts::none, std::nullopt, 0};
}

Findings judge_next_flag(const checks::JudgeInput& input) {
  if (input.history.number(host_subject(), "flag").value_or(0) == 0) return {};
  Finding finding;
  finding.health = Health::failed;
  finding.reason = "row_remap_failed";
  return {finding};
}

TEST_F(OneShotTest, looks_again_at_once_before_it_says_what_only_a_new_card_ends) {
  checks_ = {checks::Check{{}, observe_next_flag, judge_next_flag}};
  checks_.front().info.id = "test.flag";
  const auto says_so = [this](std::vector<bool> answers) {
    flags = std::move(answers);
    next_flag = 0;
    const bool is_said = !look(0s, false).empty();
    EXPECT_EQ(next_flag, flags.size());
    return is_said;
  };
  EXPECT_TRUE(says_so({true, true}));
  EXPECT_FALSE(says_so({true, false}));
  EXPECT_FALSE(says_so({false}));
}

TEST_F(OneShotTest, every_check_whose_counters_grow_says_so) {
  for (const char* id :
       {"gpu.pcie_link", "gpu.nvlink", "gpu.ecc", "storage.nvme", "host.pcie", "host.memory",
        "network.ethernet_link", "network.ib_port", "network.rdma_counters", "network.efa", "storage.nfs"}) {
    const checks::Check* check = checks::find_check(id);
    ASSERT_NE(check, nullptr) << id;
    EXPECT_TRUE(check->info.needs_window || check->info.judges_growth) << id;
  }
}

}  // namespace
}  // namespace autopilot::runtime
