// SPDX-License-Identifier: Apache-2.0
// A read of a file that never returns: the run is abandoned, not the machine.
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <thread>

#include "host/open_host.hpp"
#include "runtime/runtime.hpp"
#include "tests/support/host/fuse_server.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::SizeIs;

constexpr const char* kPort = "/root/sys/class/infiniband/mlx5_0/ports/1/";
constexpr const char* kCounter = "counters/symbol_error";

class HangingFileTest : public ::testing::Test {
 protected:
  HangingFileTest() {
    folder_.write(
        "/machine.yaml",
        "schema: autopilot.machine/v1\nnode: node-1\nboot_id: 5d1ad1d8-5c5c-4b1e-9c5e-000000000001\n"
        "time: 2026-01-15T08:00:00Z\nuptime: 36h\nsimulated: true\n"
        "time_sync: {synchronised: true}\n");
    for (const auto& [name, text] :
         {std::pair("state", "4: ACTIVE\n"), std::pair("phys_state", "5: LinkUp\n"),
          std::pair("link_layer", "InfiniBand\n"), std::pair(kCounter, "0\n")})
      folder_.write(std::string(kPort) + name, text);
  }

  void start() {
    RuntimeOptions options;
    options.node = "node-1";
    options.has_hysteresis = false;
    RuntimeSettings settings;
    settings.checks["network.ib_port"] = {.period = 100ms, .deadline = 200ms};
    settings.checks["host.clock"] = {.period = 100ms};
    Outlets outlets;
    outlets.wake = [this] { wake(); };
    for (const char* id : {"network.ib_port", "host.clock"})
      checks_.push_back(*checks::find_check(id));
    const auto opened = host::open_tree_host(folder_.path(), {});
    ASSERT_TRUE(opened) << opened.error().what;
    runtime_ = std::make_unique<Runtime>(opened->host, catalog::builtin(), checks_, options,
                                         std::move(settings), outlets, Remembered{});
  }

  bool poll_until(const std::function<bool()>& condition) {
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < give_up) {
      runtime_->poll();
      if (condition()) return true;
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, 10ms, [this] { return awake_; });
      awake_ = false;
    }
    return false;
  }

  CheckResult result(std::string_view id) {
    for (const auto& one : runtime_->snapshot()->results)
      if (one.check == id) return one;
    return {};
  }
  std::string message(std::string_view id) {
    const auto findings = result(id).findings;
    return findings.empty() ? "" : findings.front().message;
  }

  host::TestFolder folder_;

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    awake_ = true;
    woken_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable woken_;
  bool awake_ = false;
  std::vector<checks::Check> checks_;

 protected:
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(HangingFileTest, costs_one_lane_until_it_answers) {
  host::HangingFile file(folder_.path() + kPort + kCounter, "7\n");
  if (!file.why_not().empty()) GTEST_SKIP() << "no FUSE file here: " << file.why_not();
  start();

  ASSERT_TRUE(poll_until([&] {
    return result("network.ib_port").health == Health::unknown &&
           message("network.ib_port") != "the first run has not finished";
  }));
  ASSERT_THAT(result("network.ib_port").findings, SizeIs(1));
  EXPECT_EQ(result("network.ib_port").findings[0].reason, "timed_out");
  EXPECT_EQ(runtime_->snapshot()->self.lanes_stuck, 1);

  // Nobody asks the file again meanwhile, and the other checks go on.
  const WallTime before = result("host.clock").completed;
  ASSERT_TRUE(poll_until([&] {
    return message("network.ib_port").find("an earlier run has not returned") != std::string::npos &&
           result("host.clock").completed > before;
  })) << message("network.ib_port");
  EXPECT_EQ(result("host.clock").health, Health::healthy);
  EXPECT_EQ(runtime_->snapshot()->self.lanes_stuck, 1);

  file.answer();
  EXPECT_TRUE(poll_until([&] { return result("network.ib_port").health == Health::healthy; }))
      << message("network.ib_port");
  EXPECT_TRUE(poll_until([&] { return runtime_->snapshot()->self.lanes_stuck == 0; }));
}

}  // namespace
}  // namespace autopilot::runtime
