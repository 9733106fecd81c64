// SPDX-License-Identifier: Apache-2.0
#include "postflight/validator.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "learning/record_check.hpp"
#include "tests/support/diagnostics/gpu_fixture.hpp"

namespace autopilot::postflight {
namespace {

using namespace std::chrono_literals;
using diagnostics::testing::gpu;
using learning::Depth;
using learning::JobOutcome;
using learning::ValidationResult;
using learning::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kPairTest = "network.bandwidth";

class SteppedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return now_; }
  void move(Duration by) {
    now_.wall += by;
    now_.mono += by;
  }

 private:
  Instant now_{WallTime(std::chrono::hours(500000)), MonoTime(1h)};
};

Observation seen_on(const Subject& subject, std::string_view name, Value value) {
  Observation one;
  one.name = name;
  one.subject = subject;
  one.source = "nvml";
  one.value = std::move(value);
  return one;
}

// A machine of two GPUs. Its checks answer at once, unless they are silent; its diagnostics end when the test
// says so.
class ValidatorOfANode : public testing::Test {
 protected:
  ValidatorOfANode() {
    settings_ = {.allowed = Allowed::quick,
                 .most = 10min,
                 .retry = 5min,
                 .quick = {"gpu.pcie_bandwidth", "gpu.sdc"},
                 .deep = {"gpu.memory_test"}};
    results_["gpu.present"].observations =
        Observations{seen_on(gpu(0), "gpu.state", Value(std::string("ok"))),
                     seen_on(gpu(1), "gpu.state", Value(std::string("ok"))),
                     seen_on(gpu(0), "gpu.model", Value(std::string("NVIDIA H100"))),
                     seen_on(gpu(1), "gpu.model", Value(std::string("NVIDIA H100")))};
    for (const char* check : {"gpu.present", "gpu.ecc", "gpu.pcie_bandwidth", "gpu.sdc", "gpu.memory_test"})
      set(check, Health::healthy);
    set_processes(0);
    validator_ = make();
  }

  std::unique_ptr<Validator> make() {
    ValidatorDoors doors;
    doors.settings = [this] { return settings_; };
    doors.snapshot = [this] { return snapshot(); };
    doors.passive_checks = [] { return std::vector<std::string>{"gpu.present", "gpu.ecc"}; };
    doors.run_check = [this](const std::string& check, const auto& done) {
      ++looks_[check];
      if (check != silent_) done(results_[check]);
      return true;
    };
    doors.holder = [] { return std::optional<Result<std::string>>{}; };
    doors.passes = [this] { return passes_; };
    doors.wanted_by = [this] { return wanted_by_; };
    doors.start = [this](const std::string& check, const std::vector<Subject>& gpus, Duration) {
      return start(check, gpus);
    };
    doors.cancel = [this](const std::string& id, const std::string& why) {
      cancelled_.push_back(why);
      EXPECT_EQ(id, running_.id);
    };
    doors.ask = [this](const std::string& job, const auto& done) {
      ++asked_;
      if (answers_) done(facts_[job]);
    };
    doors.remember_open = [this](std::string value) { open_ = std::move(value); };
    doors.sink = [this](learning::HistoryRecord record) {
      const Status storable = learning::check(record);
      EXPECT_TRUE(storable) << learning::type_of(record) << ": " << storable.error().what;
      history_.push_back(std::move(record));
    };
    doors.on_finished = [this](const ValidationResult& result) { finished_.push_back(result); };
    return std::make_unique<Validator>("n0", clock_, std::move(doors));
  }

  SnapshotPtr snapshot() {
    auto snapshot = std::make_shared<NodeSnapshot>();
    for (const auto& [check, result] : results_)
      snapshot->results.push_back(result);
    return snapshot;
  }

  void set(const std::string& check, Health health) {
    CheckResult& result = results_[check];
    result.check = check;
    result.health = health;
    result.completed = clock_.now().wall;
    result.required = check == "gpu.ecc";
    result.findings.clear();
    if (health == Health::healthy) return;
    Finding& finding = result.findings.emplace_back();
    finding.subject = gpu(1);
    finding.health = health;
    finding.message = "something is wrong";
  }

  void set_processes(std::int64_t count) {
    CheckResult& users = results_["gpu.processes"];
    users.check = "gpu.processes";
    users.health = Health::healthy;
    users.observations = Observations{seen_on(host_subject(), "processes.all_visible", Value(true)),
                                      seen_on(gpu(0), "processes.count", Value(count)),
                                      seen_on(gpu(1), "processes.count", Value(count))};
  }

  // As gpu.present and gpu.processes answer then.
  void hang_driver() {
    results_["gpu.present"].observations =
        Observations{seen_on(host_subject(), "driver.state", Value(std::string("unresponsive")))};
    CheckResult& users = results_["gpu.processes"];
    users.health = Health::unknown;
    users.observations = {};
  }

  Result<Operation> start(const std::string& check, const std::vector<Subject>& gpus) {
    if (!refusal_.empty()) return fail(Errc::conflict, refusal_);
    if (check == refused_) return fail(Errc::conflict, "it is already running");
    running_ = {};
    running_.id = "op-" + std::to_string(++started_count_);
    running_.kind = check;
    running_.created = clock_.now().wall;
    running_.state = OperationState::running;
    running_.reservation = gpus;
    started_.push_back(check);
    set_processes(check == kPairTest ? 0 : 1);  // its own
    return running_;
  }

  void end(OperationState state, const std::string& message = {}) {
    running_.state = state;
    running_.message = message;
    set_processes(0);
    validator_->note(running_);
  }

  // Lets the time pass; diagnostics that begin pass at once if `passes`.
  void pass(Duration time, bool passes = true) {
    for (Duration gone{0}; gone < time; gone += 1s) {
      clock_.move(1s);
      validator_->poll();
      if (passes && running_.state == OperationState::running) end(OperationState::succeeded);
    }
  }

  void run_job(const std::string& job, std::vector<int> gpus = {0, 1}) {
    validator_->begin_job(job);
    clock_.move(60s);
    validator_->end_job({.job = job,
                         .name = job,
                         .start = clock_.now().wall - 60s,
                         .end = clock_.now().wall,
                         .gpus = std::move(gpus)});
  }

  SteppedClock clock_;
  ValidatorSettings settings_;
  std::map<std::string, CheckResult> results_;
  std::map<std::string, int> looks_;
  std::map<std::string, JobFacts> facts_;
  std::vector<PassRecord> passes_;
  std::string silent_, wanted_by_, refusal_, refused_, open_;
  bool answers_ = true;
  int asked_ = 0;
  Operation running_;
  int started_count_ = 0;
  std::vector<std::string> started_, cancelled_;
  std::vector<learning::HistoryRecord> history_;
  std::vector<ValidationResult> finished_;
  std::unique_ptr<Validator> validator_;
};

TEST_F(ValidatorOfANode, checks_at_once_and_then_tests_the_idle_gpus_of_a_job) {
  run_job("a");
  EXPECT_EQ(looks_["gpu.ecc"], 1) << "passive checks do not wait";
  EXPECT_THAT(started_, IsEmpty());
  pass(60s);
  EXPECT_THAT(started_, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc"));
  ASSERT_THAT(finished_, SizeIs(1));
  const ValidationResult& result = finished_[0];
  EXPECT_EQ(result.record.verdict, Verdict::passed) << result.summary;
  EXPECT_EQ(result.record.depth, Depth::quick);
  EXPECT_EQ(result.record.job, "a");
  EXPECT_EQ(result.compared, 4);
  EXPECT_EQ(result.summary, "2 checks and 2 diagnostics ran; all of 4 checks are as good as before the job");
  EXPECT_THAT(validator_->results(), SizeIs(1));
  EXPECT_EQ(validator_->counts().passed, 1);
  EXPECT_EQ(validator_->counts().waiting, 0);
}

TEST_F(ValidatorOfANode, writes_the_job_and_the_validation_to_history) {
  run_job("a");
  pass(60s);
  ASSERT_THAT(history_, SizeIs(2));
  EXPECT_EQ(std::get<learning::NodeJob>(history_[0]).id, "a@n0");
  EXPECT_THAT(std::get<learning::NodeJob>(history_[0]).gpus, ElementsAre("GPU-0", "GPU-1"));
  EXPECT_EQ(std::get<learning::Validation>(history_[1]).verdict, Verdict::passed);
}

TEST_F(ValidatorOfANode, what_a_diagnostic_measured_is_written_with_the_kind_of_machine) {
  run_job("a");
  pass(25s, false);
  ASSERT_THAT(started_, SizeIs(1));
  Observation rate = seen_on(gpu(1), "pcie_bandwidth.host_to_device", Value(25.0));
  rate.unit = "gigabytes_per_second";
  running_.observations = {rate};
  end(OperationState::succeeded);
  ASSERT_THAT(history_, SizeIs(1));
  const auto& measurement = std::get<learning::Measurement>(history_[0]);
  EXPECT_EQ(measurement.kind, "gpu=NVIDIA H100");
  EXPECT_THAT(measurement.values, ElementsAre(25));
}

TEST_F(ValidatorOfANode, jobs_with_long_keys_reach_history_one_by_one) {
  const std::string key(300, 'k');
  run_job(key + "1");
  run_job(key + "2");
  pass(2min);
  ASSERT_THAT(history_, SizeIs(4)) << "job and validation of each";
  EXPECT_NE(learning::id_of(history_[0]), learning::id_of(history_[2]));
  EXPECT_NE(learning::id_of(history_[1]), learning::id_of(history_[3]));
  EXPECT_THAT(validator_->results(), SizeIs(2));
}

TEST_F(ValidatorOfANode, a_check_that_fails_after_the_job_is_worse_than_before) {
  validator_->begin_job("a");
  set("gpu.ecc", Health::degraded);
  validator_->end_job(
      {.job = "a", .name = "a", .start = clock_.now().wall, .end = clock_.now().wall, .gpus = {1}});
  pass(60s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::failed);
  EXPECT_EQ(finished_[0].worse_checks, 1);
  EXPECT_THAT(finished_[0].worse,
              ElementsAre(HasSubstr("gpu.ecc: healthy before the job, degraded after it")));
}

TEST_F(ValidatorOfANode, a_gpu_that_fails_its_diagnostic_fails_the_validation) {
  run_job("a");
  pass(25s, false);
  ASSERT_THAT(started_, SizeIs(1));
  set("gpu.pcie_bandwidth", Health::degraded);
  pass(60s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::failed);
}

TEST_F(ValidatorOfANode, without_permission_for_load_nothing_is_started) {
  settings_.allowed = Allowed::passive;
  run_job("a");
  pass(60s);
  EXPECT_THAT(started_, IsEmpty());
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.depth, Depth::passive);
  EXPECT_EQ(finished_[0].record.verdict, Verdict::passed);
  settings_.allowed = Allowed::off;
  run_job("b");
  pass(60s);
  EXPECT_THAT(finished_, SizeIs(1));
}

TEST_F(ValidatorOfANode, yields_within_two_seconds_and_tries_again) {
  run_job("a");
  pass(25s, false);
  ASSERT_THAT(started_, SizeIs(1));
  set_processes(2);
  pass(2s, false);
  ASSERT_THAT(cancelled_, SizeIs(1));
  EXPECT_THAT(cancelled_[0], HasSubstr("in use by another process"));
  end(OperationState::cancelled, "cancelled by validation");
  pass(1s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::unknown);
  EXPECT_THAT(finished_[0].record.cause, HasSubstr("in use by another process"));
  pass(6min);
  ASSERT_THAT(finished_, SizeIs(2));
  EXPECT_EQ(finished_[1].record.id, finished_[0].record.id) << "it replaces the first record";
  EXPECT_EQ(finished_[1].record.verdict, Verdict::passed);
  EXPECT_EQ(finished_[1].tries, 2);
  EXPECT_THAT(validator_->results(), SizeIs(1));
}

TEST_F(ValidatorOfANode, yields_to_the_gate_at_once) {
  run_job("a");
  pass(25s, false);
  wanted_by_ = "a pod waits at the pre-flight gate";
  pass(1s, false);
  ASSERT_THAT(cancelled_, ElementsAre("a pod waits at the pre-flight gate"));
  end(OperationState::cancelled);
  pass(1s);
  EXPECT_EQ(finished_.at(0).record.verdict, Verdict::unknown);
  EXPECT_EQ(validator_->counts().yielded, 1);
}

TEST_F(ValidatorOfANode, tries_three_times_and_within_six_hours_only) {
  refusal_ = "another test of GPUs runs";
  run_job("a");
  pass(30min);
  EXPECT_THAT(finished_, SizeIs(3));
  EXPECT_EQ(finished_.back().tries, 3);
  settings_.retry = 7h;
  run_job("b");
  pass(60s);
  EXPECT_THAT(finished_, SizeIs(4));
  EXPECT_EQ(validator_->counts().waiting, 0);
}

TEST_F(ValidatorOfANode, the_state_of_busy_gpus_is_the_state_of_the_checks) {
  set_processes(1);
  run_job("a");
  pass(60s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_EQ(finished_[0].record.depth, Depth::passive);
  EXPECT_THAT(finished_[0].record.cause, HasSubstr("is in use by 1 process"));
  EXPECT_EQ(validator_->counts().waiting, 1) << "diagnostics are tried again";
  EXPECT_EQ(
      finished_[0].summary,
      "2 checks ran; passive checks only, because gpu/0000:00:00.0 is in use by 1 process; all of 2 checks "
      "are as good as before the job; the diagnostics are tried again in 5m");
  pass(12min);
  ASSERT_THAT(finished_, SizeIs(3));
  EXPECT_THAT(finished_[2].summary, Not(HasSubstr("tried again"))) << "the third try is the last one";
}

TEST_F(ValidatorOfANode, a_driver_that_hangs_is_the_cause_that_is_stated) {
  run_job("a");
  hang_driver();
  pass(60s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_THAT(finished_[0].record.cause, HasSubstr("because NVIDIA's driver does not answer"));
  run_job("b");
  pass(60s);
  ASSERT_THAT(finished_, SizeIs(2));
  EXPECT_THAT(finished_[1].record.cause, HasSubstr("because NVIDIA's driver does not answer"))
      << "the driver lists no GPU any more";
}

TEST_F(ValidatorOfANode, a_driver_that_hangs_ends_the_diagnostic) {
  run_job("a");
  pass(25s, false);
  ASSERT_THAT(started_, SizeIs(1));
  hang_driver();
  pass(2s, false);
  EXPECT_THAT(cancelled_, ElementsAre("NVIDIA's driver does not answer"));
}

TEST_F(ValidatorOfANode, failed_jobs_come_first) {
  facts_["b"] = {
      .outcome = JobOutcome::failed, .failure = "application", .failure_text = "CUDA ran out of memory"};
  run_job("a");
  validator_->end_job(
      {.job = "b", .name = "b", .start = clock_.now().wall, .end = clock_.now().wall, .gpus = {1}});
  pass(60s);
  ASSERT_THAT(finished_, SizeIs(2));
  EXPECT_EQ(finished_[0].record.job, "b");
  EXPECT_EQ(finished_[0].failure_text, "CUDA ran out of memory");
}

TEST_F(ValidatorOfANode, a_user_whose_jobs_end_in_a_loop_leaves_room_for_others) {
  for (std::size_t at = 0; at < Validator::kMostQueued; ++at)
    run_job("loop/" + std::to_string(at));
  EXPECT_EQ(validator_->counts().joined, Validator::kMostQueued - Validator::kMostQueuedOfUser);
  run_job("ml/1");
  pass(2min);
  const auto found = std::ranges::find_if(
      finished_, [](const ValidationResult& result) { return result.record.job == "ml/1"; });
  ASSERT_NE(found, finished_.end()) << "it does not wait for all jobs of the loop";
  EXPECT_EQ(found->record.depth, Depth::quick);
}

TEST_F(ValidatorOfANode, a_suspected_node_gets_deeper_diagnostics) {
  facts_["a"] = {.suspects_node = true};
  run_job("a");
  pass(60s);
  EXPECT_THAT(started_, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc", "gpu.memory_test"));
  EXPECT_EQ(finished_.at(0).record.depth, Depth::deep);
}

TEST_F(ValidatorOfANode, does_not_wait_for_in_flight_for_ever) {
  answers_ = false;
  run_job("a");
  pass(50s);
  EXPECT_THAT(finished_, IsEmpty());
  EXPECT_GT(asked_, 5);
  pass(20s);
  EXPECT_THAT(finished_, SizeIs(1));
}

TEST_F(ValidatorOfANode, a_check_without_an_answer_is_unknown) {
  silent_ = "gpu.ecc";
  run_job("a");
  pass(60s);
  EXPECT_THAT(finished_, IsEmpty());
  pass(60s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::unknown);
  EXPECT_THAT(finished_[0].summary, HasSubstr("gpu.ecc has no result: no answer within 1m30s"));
}

TEST_F(ValidatorOfANode, a_diagnostic_that_cannot_run_is_unknown_and_the_next_one_runs) {
  run_job("a");
  pass(25s, false);
  end(OperationState::failed, "the probe was not found");
  pass(10s);
  EXPECT_THAT(started_, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc"));
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::unknown);
  EXPECT_THAT(finished_[0].summary, HasSubstr("the probe was not found"));
  EXPECT_EQ(validator_->counts().waiting, 0) << "it is not repeated";
}

TEST_F(ValidatorOfANode, jobs_beyond_the_limit_share_one_run_of_the_passive_checks) {
  for (int at = 0; at < 32; ++at)
    run_job("j" + std::to_string(at));
  EXPECT_EQ(validator_->counts().waiting, Validator::kMostQueued);
  silent_ = "gpu.ecc";
  run_job("first");  // its run waits for gpu.ecc
  const int runs = looks_["gpu.present"];
  set("gpu.present", Health::degraded);
  for (int at = 0; at < 20; ++at)
    run_job("late" + std::to_string(at));
  EXPECT_EQ(looks_["gpu.present"], runs) << "they wait for the run that begins after their end";
  EXPECT_EQ(validator_->counts().joined, 21);
  EXPECT_EQ(validator_->counts().dropped, 0);
  silent_.clear();
  validator_->poll();
  EXPECT_EQ(looks_["gpu.present"], runs + 1) << "one run for all of them";
  validator_->poll();
  ASSERT_THAT(finished_, SizeIs(21));
  EXPECT_EQ(finished_[20].record.job, "late19");
  EXPECT_EQ(finished_[20].record.depth, Depth::passive);
  EXPECT_THAT(finished_[20].summary, HasSubstr("because too many validations wait"));
  EXPECT_THAT(finished_[0].summary, HasSubstr("gpu.ecc has no result"));
  pass(40min);
  EXPECT_THAT(finished_, SizeIs(53)) << "no job is left out";
  EXPECT_EQ(validator_->counts().waiting, 0);
}

TEST_F(ValidatorOfANode, jobs_beyond_the_limit_of_one_run_are_counted) {
  silent_ = "gpu.ecc";
  for (std::size_t at = 0; at < Validator::kMostQueued + 1 + Validator::kMostJoined + 8; ++at)
    validator_->end_job({.job = "j" + std::to_string(at),
                         .name = {},
                         .start = clock_.now().wall,
                         .end = clock_.now().wall,
                         .gpus = {}});
  EXPECT_EQ(validator_->counts().dropped, 8);
  pass(20min);
  EXPECT_EQ(validator_->counts().waiting, 0);
  EXPECT_THAT(finished_, SizeIs(Validator::kMostQueued + 1 + Validator::kMostJoined));
}

TEST_F(ValidatorOfANode, repetitions_do_not_displace_a_job_that_ends) {
  settings_.retry = 5h;
  set_processes(1);
  for (int at = 0; at < 40; ++at) {
    run_job("busy" + std::to_string(at));
    pass(30s);
  }
  EXPECT_THAT(finished_, SizeIs(40));
  EXPECT_EQ(validator_->counts().waiting, Validator::kMostRetries);
  EXPECT_EQ(validator_->counts().dropped_retries, 8) << "the oldest";
  const int runs = looks_["gpu.ecc"];
  set_processes(0);
  run_job("new");
  EXPECT_EQ(looks_["gpu.ecc"], runs + 1) << "passive checks at once";
  pass(60s);
  EXPECT_EQ(finished_.back().record.job, "new");
  EXPECT_EQ(finished_.back().record.depth, Depth::quick);
}

TEST_F(ValidatorOfANode, what_a_killed_agent_left_is_recorded_as_unknown) {
  run_job("a");
  pass(25s, false);
  const std::string left = open_;
  EXPECT_THAT(left, HasSubstr("a\t"));
  validator_ = make();
  validator_->restore(left);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::unknown);
  EXPECT_EQ(finished_[0].record.job, "a");
  EXPECT_THAT(finished_[0].summary, HasSubstr("the agent ended before the validation was complete"));
  EXPECT_THAT(open_, IsEmpty());
}

TEST_F(ValidatorOfANode, a_killed_agent_leaves_the_jobs_that_share_a_run_too) {
  for (std::size_t at = 0; at < Validator::kMostQueued; ++at)
    run_job("j" + std::to_string(at));
  silent_ = "gpu.ecc";
  run_job("first");  // its run waits for gpu.ecc
  run_job("second");
  const std::string left = open_;
  validator_ = make();
  validator_->restore(left);
  ASSERT_THAT(finished_, SizeIs(Validator::kMostQueued + 2));
  EXPECT_EQ(finished_[32].record.job, "first");
  EXPECT_EQ(finished_[33].record.job, "second");
  EXPECT_EQ(finished_[33].record.verdict, Verdict::unknown);
  EXPECT_THAT(open_, IsEmpty());
}

TEST_F(ValidatorOfANode, a_shared_run_that_ended_is_not_in_the_journal) {
  for (std::size_t at = 0; at < Validator::kMostQueued; ++at)
    run_job("j" + std::to_string(at));
  run_job("late");
  EXPECT_THAT(open_, HasSubstr("late\t"));
  validator_->poll();
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_THAT(open_, Not(HasSubstr("late\t")));
}

TEST_F(ValidatorOfANode, an_end_in_order_leaves_the_job_in_the_journal) {
  run_job("a");
  pass(25s, false);
  validator_->stop();
  EXPECT_THAT(cancelled_, ElementsAre("the agent stops"));
  end(OperationState::cancelled);
  pass(5s);
  EXPECT_THAT(finished_, IsEmpty());
  EXPECT_THAT(open_, HasSubstr("a\t"));
}

TEST_F(ValidatorOfANode, gpus_that_passed_within_the_hour_are_left_alone) {
  for (const char* test : {"gpu.pcie_bandwidth", "gpu.sdc"})
    for (const char* uuid : {"GPU-0", "GPU-1"})
      passes_.push_back({uuid, test, clock_.now().wall, "boot", "op"});
  run_job("a");
  pass(60s);
  EXPECT_THAT(started_, IsEmpty());
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::passed);
}

// Nodes n0 and n1 of a job whose network was suspected; this is n0.
class ValidatorOfASuspectedNetwork : public ValidatorOfANode {
 protected:
  ValidatorOfASuspectedNetwork() {
    settings_.pair_check = kPairTest;
    facts_["job"] = {.outcome = JobOutcome::failed,
                     .failure = "infrastructure",
                     .suspects_network = true,
                     .pair_nodes = {"n0", "n1"}};
    set(kPairTest, Health::healthy);
  }
  void suspect(const Subject& subject, const std::string& sentence) {
    CheckResult& result = results_[kPairTest];
    result.health = Health::degraded;
    Finding& finding = result.findings.emplace_back();
    finding.subject = subject;
    finding.health = Health::degraded;
    finding.reason = "nic_slower_than_others";
    finding.message = sentence;
  }
  static Subject nic_of(const std::string& node) {
    Subject subject;
    subject.kind = SubjectKind::nic_port;
    subject.key = node + ":net0";
    return subject;
  }
  [[nodiscard]] bool is_pair_test_running() const {
    return running_.kind == kPairTest && running_.state == OperationState::running;
  }
};

TEST_F(ValidatorOfASuspectedNetwork, a_test_between_the_nodes_of_the_job_runs_before_the_diagnostics) {
  run_job("job");
  pass(25s, false);
  ASSERT_TRUE(is_pair_test_running());
  EXPECT_EQ(running_.reservation, subjects_of({"n0", "n1"}));
  suspect(nic_of("n1"), "net0 of n1 receives 40 % less than usual");
  end(OperationState::succeeded, "4 of 4 tests measured");
  pass(30s);
  EXPECT_THAT(started_, ElementsAre(kPairTest, "gpu.pcie_bandwidth", "gpu.sdc"));
  ASSERT_THAT(finished_, SizeIs(1));
  const ValidationResult& result = finished_[0];
  EXPECT_EQ(result.record.verdict, Verdict::passed) << "another node is suspected: " << result.summary;
  ASSERT_TRUE(result.pair_test);
  EXPECT_THAT(result.pair_test->suspects, ElementsAre("net0 of n1 receives 40 % less than usual"));
  EXPECT_THAT(result.summary, HasSubstr("test between 2 nodes: net0 of n1 receives 40 % less than usual"));
  EXPECT_EQ(std::ranges::count(result.record.checks, kPairTest, &learning::CheckOutcome::check), 1);
}

TEST_F(ValidatorOfASuspectedNetwork, what_the_test_finds_at_this_node_fails_it) {
  run_job("job");
  pass(25s, false);
  suspect(nic_of("n0"), "net0 of n0 sends 30 % less than usual");
  end(OperationState::succeeded, "4 of 4 tests measured");
  pass(30s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::failed);
}

TEST_F(ValidatorOfASuspectedNetwork, a_test_without_a_result_changes_no_verdict) {
  run_job("job");
  pass(25s, false);
  end(OperationState::failed, "no agent answers on n1");
  pass(30s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::passed) << finished_[0].summary;
  EXPECT_EQ(finished_[0].pair_test->text, "no agent answers on n1");
}

TEST_F(ValidatorOfASuspectedNetwork, a_test_that_cannot_start_leaves_the_diagnostics) {
  refused_ = kPairTest;
  run_job("job");
  pass(50s);
  EXPECT_THAT(started_, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc"));
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_THAT(finished_[0].pair_test->text, HasSubstr("it did not start: "));
}

TEST_F(ValidatorOfASuspectedNetwork, the_next_job_ends_the_test) {
  run_job("job");
  pass(25s, false);
  ASSERT_TRUE(is_pair_test_running());
  set_processes(1);
  pass(2s, false);
  ASSERT_THAT(cancelled_, SizeIs(1));
  end(OperationState::cancelled, "the next job");
  pass(2s, false);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.verdict, Verdict::unknown);
  EXPECT_THAT(finished_[0].summary, HasSubstr("are tried again in 5m"));
}

TEST_F(ValidatorOfASuspectedNetwork, another_node_starts_it_and_this_one_keeps_its_gpus_idle_meanwhile) {
  facts_["job"].pair_nodes = {"a0", "n0"};
  run_job("job");
  pass(Validator::kMostSettle + Validator::kPairTest - 5s);
  EXPECT_THAT(started_, IsEmpty());
  pass(40s);
  EXPECT_THAT(started_, ElementsAre("gpu.pcie_bandwidth", "gpu.sdc"));
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_THAT(finished_[0].record.cause, HasSubstr("a0 starts a test between the nodes of the job"));
  EXPECT_FALSE(finished_[0].pair_test);
}

TEST_F(ValidatorOfASuspectedNetwork, a_job_without_gpus_gets_the_test_as_well) {
  run_job("job", {});
  pass(25s, false);
  EXPECT_TRUE(is_pair_test_running());
  end(OperationState::succeeded, "4 of 4 tests measured");
  pass(5s);
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_EQ(finished_[0].record.depth, Depth::pair);
  EXPECT_EQ(finished_[0].record.verdict, Verdict::passed);
}

TEST_F(ValidatorOfASuspectedNetwork, without_permission_it_does_not_start) {
  settings_.allowed = Allowed::passive;
  run_job("job");
  pass(70s);
  EXPECT_THAT(started_, IsEmpty());
  ASSERT_THAT(finished_, SizeIs(1));
  EXPECT_THAT(finished_[0].record.cause, HasSubstr("autopilot test network.bandwidth"));
}

}  // namespace
}  // namespace autopilot::postflight
