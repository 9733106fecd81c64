// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/loopback_tester.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/observation.hpp"
#include "host/clock/system_clock.hpp"
#include "tests/support/net/test_server.hpp"

namespace autopilot::nettest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kPortRate = 200'000'000'000;
const std::string kWritten =
    R"({"role":"measure","directions":[{"direction":"to_peer","sent_bits_per_second":1.9e11,"received_bits_per_second":1.9e11}]})";
const std::string kGpuWritten =
    R"({"role":"measure","directions":[{"direction":"to_peer","sent_bits_per_second":1.8e11,"received_bits_per_second":1.8e11}]})";

// A node with RDMA ports; each child is over at once, with the report of its port.
class LoopbackTesterTest : public ::testing::Test {
 protected:
  Status begin(const std::vector<Subject>& ports = {}) {
    said_.reset();
    return tester_.begin({.on_progress = [this](const std::string& what) { progress_.push_back(what); },
                          .on_end = [this](Result<std::string> said) { said_ = std::move(said); },
                          .reservation = ports});
  }
  void run(const std::vector<Subject>& ports = {}) {
    const Status begun = begin(ports);
    ASSERT_TRUE(begun) << begun.error().what;
    EXPECT_FALSE(said_) << "it ended within its beginning";
    ASSERT_TRUE(run_until([this] { return said_.has_value(); }));
  }
  [[nodiscard]] bool run_until(const std::function<bool()>& is_so) {
    return net::testing::run_until(loop_, is_so);
  }
  Result<host::ChildReport> run_child(const host::Command& command) {
    EXPECT_EQ(command.arguments.front(), "rdma-loopback");
    const std::string& port = command.arguments.at(2);
    const bool uses_gpu = command.arguments.size() > 5;
    tested_.push_back(uses_gpu ? port + " by " + command.arguments.at(6) : port);
    if (uses_gpu) {
      EXPECT_EQ(ends_.processes_on(command.arguments.at(6), clock_.now().wall), 2) << "client and server";
      return told(gpu_problem_.empty() ? kGpuWritten : problem_report(gpu_problem_));
    }
    if (port == cancels_at_) loop_.post([this] { tester_.cancel(); });
    if (port == job_comes_at_) job_ = "team/train holds GPU 0";
    const auto problem = problems_.find(port);
    return told(problem == problems_.end() ? kWritten : problem_report(problem->second));
  }
  static host::ChildReport told(const std::string& output) {
    host::ChildReport report;
    report.output = output;
    return report;
  }
  static std::string problem_report(const std::string& reason) {
    return R"({"role":"measure","reason":")" + reason + R"(","error":"it is so"})";
  }
  // "mlx5_0/1=190" in Gbit/s, "mlx5_1/1 by gpu=180", "mlx5_1/1=timed_out", "outcome=measured".
  [[nodiscard]] std::vector<std::string> found() const {
    std::vector<std::string> words;
    const Observations all = board_->last(kLoopbackCheck).value();
    for (const Observation& one : all)
      if (one.name == "rdma_loopback.outcome")
        words.push_back("outcome=" + autopilot::to_string(*one.value));
      else
        words.push_back(one.subject.key + (one.name == "rdma_loopback.written_by_gpu" ? " by gpu=" : "=") +
                        (one.value ? autopilot::to_string(Value{as_number(*one.value).value() / 1e9})
                                   : std::string(one.missing)));
    return words;
  }
  static Subject port(const std::string& key) { return subject_of(SubjectKind::nic_port, key); }

  net::EventLoop loop_;
  const host::SystemClock clock_;
  std::vector<api::RdmaPort> ports_{{"mlx5_0/1", kPortRate, "ib0"}, {"mlx5_1/1", kPortRate}};
  std::string job_;
  std::map<std::string, std::string> problems_;
  std::string gpu_problem_;
  std::string cancels_at_;
  std::string job_comes_at_;
  std::vector<std::string> tested_;
  std::vector<std::string> progress_;
  std::optional<Result<std::string>> said_;
  bool holds_children_ = false;  // until the test runs them
  std::vector<std::function<void()>> tasks_;
  int looks_ = 0;
  OwnNetwork own_{loop_, clock_, [] { return api::NodeNetwork{}; },
                  [this] {
                    return OwnLines{{}, ports_};
                  },
                  [](const std::function<void()>& task) {
                    task();
                    return true;
                  }};
  BandwidthEnds::Doors doors() {
    return {.program = std::string("/opt/probe"),
            .gpu_program = fail(Errc::not_found, "no test here has a GPU"),
            .run = [this](const host::Command& command, MonoTime, const std::stop_token&,
                          const host::LineHandler&) { return run_child(command); },
            .submit =
                [this](std::function<void()> task) {
                  if (holds_children_)
                    tasks_.push_back(std::move(task));
                  else
                    task();
                  return true;
                }};
  }
  BandwidthEnds ends_{loop_, clock_, "n-", doors()};
  BandwidthEnds standing_{loop_, clock_, "s-", doors()};
  std::shared_ptr<host::TestBoard> board_ = std::make_shared<host::TestBoard>();
  LoopbackTester tester_{
      loop_, clock_, {own_, ends_, standing_, [this] { return job_; }, [this] { ++looks_; }}, board_};
};

TEST_F(LoopbackTesterTest, measures_one_port_after_the_other) {
  run();
  ASSERT_TRUE(*said_) << said_->error().what;
  EXPECT_EQ(**said_, "2 of 2 RDMA ports measured");
  EXPECT_THAT(progress_, ElementsAre("mlx5_0/1 is measured", "mlx5_1/1 is measured"));
  EXPECT_THAT(found(), ElementsAre("outcome=measured", "mlx5_0/1=190", "mlx5_1/1=190"));
  EXPECT_EQ(looks_, 1);
  EXPECT_TRUE(ends_.is_idle());
}

TEST_F(LoopbackTesterTest, and_once_more_out_of_the_memory_of_the_nearest_gpu) {
  ports_[1].gpu = "0000:1b:00.0";
  run();
  EXPECT_EQ(said_->value(), "2 of 2 RDMA ports measured");
  EXPECT_THAT(tested_, ElementsAre("mlx5_0/1", "mlx5_1/1", "mlx5_1/1 by 0000:1b:00.0"));
  EXPECT_THAT(found(),
              ElementsAre("outcome=measured", "mlx5_0/1=190", "mlx5_1/1=190", "mlx5_1/1 by gpu=180"));
  EXPECT_EQ(progress_.back(), "mlx5_1/1 is measured from the memory of GPU 0000:1b:00.0");
}

// Most packages of it are.
TEST_F(LoopbackTesterTest, a_perftest_without_cuda_is_asked_once_and_makes_nothing_unknown) {
  ports_[0].gpu = ports_[1].gpu = "0000:1b:00.0";
  gpu_problem_ = "no_cuda";
  run();
  EXPECT_EQ(said_->value(),
            "2 of 2 RDMA ports measured; not from the memory of GPUs: perftest is built without CUDA");
  EXPECT_THAT(tested_, ElementsAre("mlx5_0/1", "mlx5_0/1 by 0000:1b:00.0", "mlx5_1/1"));
  EXPECT_THAT(found(), ElementsAre("outcome=measured", "mlx5_0/1=190", "mlx5_1/1=190"));
}

TEST_F(LoopbackTesterTest, another_problem_with_the_memory_of_a_gpu_is_reported) {
  ports_[0].gpu = "0000:1b:00.0";
  gpu_problem_ = "denied";
  run();
  EXPECT_THAT(found(),
              ElementsAre("outcome=measured", "mlx5_0/1=190", "mlx5_0/1 by gpu=denied", "mlx5_1/1=190"));
}

TEST_F(LoopbackTesterTest, or_only_the_named_ports) {
  run({port("mlx5_1/1")});
  EXPECT_THAT(tested_, ElementsAre("mlx5_1/1"));
  run({port("mlx5_7/1")});
  ASSERT_FALSE(*said_);
  EXPECT_EQ(said_->error().code, Errc::not_found);
  const Status refused = begin({subject_of(SubjectKind::gpu, "0000:3b:00.0")});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("name ports as nic_port/mlx5_0/1"));
}

TEST_F(LoopbackTesterTest, a_port_that_cannot_be_measured_has_the_reason_and_hides_no_other) {
  problems_["mlx5_0/1"] = "timed_out";
  run();
  EXPECT_EQ(said_->value(), "1 of 2 RDMA ports measured");
  EXPECT_THAT(found(), ElementsAre("outcome=measured", "mlx5_0/1=timed_out", "mlx5_1/1=190"));
}

TEST_F(LoopbackTesterTest, a_node_without_a_port_has_nothing_to_test) {
  ports_.clear();
  run();
  EXPECT_EQ(said_->value(), "this node has no RDMA port that is active");
  EXPECT_THAT(found(), ElementsAre("outcome=no_targets"));
}

TEST_F(LoopbackTesterTest, beside_a_job_nothing_is_tested) {
  job_ = "team/train holds GPU 0";
  const Status refused = begin();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_THAT(refused.error().what, HasSubstr("team/train holds GPU 0"));
}

TEST_F(LoopbackTesterTest, nor_any_further_when_one_begins) {
  job_comes_at_ = "mlx5_0/1";
  run();
  EXPECT_EQ(said_->value(), "1 of 2 RDMA ports measured");
  EXPECT_THAT(tested_, ElementsAre("mlx5_0/1"));
  EXPECT_THAT(found(), ElementsAre("outcome=measured", "mlx5_0/1=190", "mlx5_1/1=not_tested"));
}

TEST_F(LoopbackTesterTest, nor_the_port_whose_test_made_room_for_it) {
  job_comes_at_ = "mlx5_1/1";
  problems_["mlx5_1/1"] = "killed";
  run();
  EXPECT_EQ(said_->value(), "1 of 2 RDMA ports measured");
  EXPECT_THAT(found(), ElementsAre("outcome=measured", "mlx5_0/1=190", "mlx5_1/1=not_tested"));
}

TEST_F(LoopbackTesterTest, a_test_that_makes_room_for_a_job_has_no_result) {
  job_comes_at_ = "mlx5_0/1";
  problems_["mlx5_0/1"] = "killed";
  run();
  ASSERT_FALSE(*said_);
  EXPECT_EQ(said_->error().code, Errc::conflict);
}

// A test of another caller on that line.
TEST_F(LoopbackTesterTest, what_others_test_is_not_ended_with_it) {
  holds_children_ = true;
  std::optional<Result<BandwidthReport>> others;
  (void)ends_.measure_loopback("ib0", {.port = "mlx5_0/1", .seconds = 1},
                               [&others](const Result<BandwidthReport>& report) { others = report; });
  ASSERT_TRUE(begin());
  tester_.cancel();
  EXPECT_FALSE(ends_.is_idle());
  ASSERT_EQ(tasks_.size(), 1U);
  tasks_.front()();
  ASSERT_TRUE(run_until([&others] { return others.has_value(); }));
  EXPECT_TRUE(*others);
}

TEST_F(LoopbackTesterTest, what_was_measured_before_its_end_is_a_result_and_the_rest_is_not_tested) {
  ports_.push_back({"mlx5_2/1", kPortRate});
  cancels_at_ = "mlx5_1/1";
  run();
  EXPECT_EQ(said_->value(), "1 of 3 RDMA ports measured");
  EXPECT_THAT(found(),
              ElementsAre("outcome=measured", "mlx5_0/1=190", "mlx5_1/1=not_tested", "mlx5_2/1=not_tested"));
  const Observations all = board_->last(kLoopbackCheck).value();
  EXPECT_EQ(attribute_text(all.back(), "error"), "the test was ended before");
  EXPECT_TRUE(begin());
  EXPECT_FALSE(begin());
}

TEST_F(LoopbackTesterTest, ended_at_the_memory_of_a_gpu_that_one_is_not_tested) {
  ports_[0].gpu = "0000:1b:00.0";
  holds_children_ = true;
  ASSERT_TRUE(begin());
  ASSERT_TRUE(run_until([this] { return tasks_.size() == 1; }));
  tasks_[0]();
  ASSERT_TRUE(run_until([this] { return tasks_.size() == 2; }));
  EXPECT_EQ(tester_.cancel(), "1 of 2 RDMA ports measured");
  EXPECT_THAT(found(), ElementsAre("outcome=measured", "mlx5_0/1=190", "mlx5_0/1 by gpu=not_tested",
                                   "mlx5_1/1=not_tested"));
}

TEST_F(LoopbackTesterTest, a_test_that_ends_before_a_measurement_leaves_no_result) {
  cancels_at_ = "mlx5_0/1";
  ASSERT_TRUE(begin());
  ASSERT_TRUE(run_until([this] { return !tested_.empty() && ends_.is_idle(); }));
  EXPECT_FALSE(board_->last(kLoopbackCheck));
}

}  // namespace
}  // namespace autopilot::nettest
