// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "checks/kernel_log/record_effects.hpp"
#include "tests/fakes/fake_host.hpp"

namespace autopilot::runtime {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// What the fake checks see; set by each test.
struct World {
  std::atomic<std::int64_t> count{0};
  std::atomic<bool> hang{false};
  std::mutex mutex;
  std::condition_variable released;
  std::atomic<int> inside{0};
};
World* world = nullptr;

Result<checks::Observed> observe_count(const host::Host& host, const checks::Request&) {
  if (world->hang) {
    World* mine = world;
    ++mine->inside;
    std::unique_lock lock(mine->mutex);
    mine->released.wait(lock, [mine] { return !mine->hang; });
    --mine->inside;
  }
  Observation observation;
  observation.name = "count";
  observation.value = world->count.load();
  observation.time = host.clock.now();
  return checks::Observed{{observation}, {"memory"}, LogParts::none, std::nullopt, 0};
}

Findings judge_count(const checks::JudgeInput& input) {
  if (input.history.number(host_subject(), "count").value_or(0) <= 0) return {};
  Finding finding;
  finding.health = Health::degraded;
  finding.reason = "too_many";
  finding.message = "too many";
  return {finding};
}

Result<checks::Observed> observe_nothing(const host::Host& host, const checks::Request& request) {
  Observation record;
  record.name = "xid";
  record.value = std::int64_t{79};
  record.source = "/dev/kmsg";
  record.sequence = request.kernel_log_from + 1;
  record.time = host.clock.now();
  record.attributes = {{"line", std::string("NVRM: Xid")}};
  return checks::Observed{{record}, {"/dev/kmsg"}, LogParts::others, request.kernel_log_from + 2, 0};
}

// The check finds that each new record repeats an earlier one.
checks::Interpretation interpret_as_repeated(checks::InterpretInput) {
  return {};
}

// Of what it found, seven records are more than a round may tell.
Result<checks::Observed> observe_loss(const host::Host&, const checks::Request& request) {
  return checks::Observed{{}, {"/dev/kmsg"}, LogParts::others, request.kernel_log_from + 10, 7};
}

struct LossyLog : host::KernelLog {
  [[nodiscard]] Result<host::KernelRecords> read(std::uint64_t, MonoTime) const override {
    return fail(Errc::denied, "/dev/kmsg");
  }
  [[nodiscard]] host::RecordLosses losses() const override { return {.lost = count}; }
  std::atomic<std::uint64_t> count{0};
};

// A storm: far more than anybody wants to read.
Result<checks::Observed> observe_storm(const host::Host& host, const checks::Request& request) {
  Observations records;
  for (std::uint64_t i = 0; i < 150; ++i) {
    Observation record;
    record.name = "xid";
    record.value = std::int64_t{45};
    record.source = "/dev/kmsg";
    record.sequence = request.kernel_log_from + i;
    record.time = host.clock.now();
    records.push_back(std::move(record));
  }
  return checks::Observed{
      std::move(records), {"/dev/kmsg"}, LogParts::others, request.kernel_log_from + 150, 0};
}

// A GPU that is lost as long as the count is 1.
Result<checks::Observed> observe_gpu(const host::Host& host, const checks::Request&) {
  Observation state;
  state.name = "gpu.state";
  state.subject = {SubjectKind::gpu, "0000:3b:00.0", std::nullopt, "", ""};
  state.value = std::string(world->count == 1 ? "lost" : "ok");
  state.time = host.clock.now();
  return checks::Observed{{state}, {"nvml"}, LogParts::none, std::nullopt, 0};
}

Findings judge_resets(const checks::JudgeInput& input) {
  Findings findings;
  for (const Observation& event : input.history.events())
    if (const auto reset = checks::reset_in(event)) {
      Finding finding;
      finding.health = Health::degraded;
      finding.reason = "was_reset";
      finding.subject = reset->gpu;
      findings.push_back(finding);
    }
  return findings;
}

Result<checks::Observed> observe_refused(const host::Host&, const checks::Request&) {
  return fail(Errc::timed_out, "the driver does not answer");
}

Findings judge_nothing(const checks::JudgeInput&) {
  return {};
}

checks::Check make_check(const std::string& id,
                         Result<checks::Observed> (*observe)(const host::Host&, const checks::Request&),
                         Findings (*judge)(const checks::JudgeInput&)) {
  checks::Check check{{}, observe, judge};
  check.info.id = id;
  check.info.period = 30s;
  check.info.deadline = 2s;
  return check;
}

class RuntimeTest : public ::testing::Test {
 protected:
  RuntimeTest() { world = &world_; }
  void TearDown() override {
    release();
    runtime_.reset();
    // A look that hung comes back before the world it looks at goes away.
    while (world_.inside > 0)
      std::this_thread::yield();
  }

  void release() {
    const std::lock_guard lock(world_.mutex);
    world_.hang = false;
    world_.released.notify_all();
  }

  Runtime& start(RuntimeSettings settings = {}, Remembered remembered = {}) {
    RuntimeOptions options;
    options.node = "node-a";
    options.boot_id = "11111111-2222-3333-4444-555555555555";
    options.workers = {.threads = 2, .max_stuck = 2, .max_queued = 16};
    options.follow_up_check = follow_up_check_;
    Outlets outlets;
    outlets.wake = [this] {
      const std::lock_guard lock(wake_mutex_);
      awake_ = true;
      woken_.notify_all();
    };
    outlets.commit = [this](store::Batch batch, const std::function<void(bool)>& done) {
      batches_.push_back(std::move(batch));
      if (commits_) done(true);
    };
    runtime_ =
        std::make_unique<Runtime>(machine_ ? machine_ : fakes::EmptyHost::share(host_), catalog_, checks_,
                                  options, std::move(settings), outlets, std::move(remembered));
    return *runtime_;
  }

  // Polls until `condition` holds; wakes come from workers in real time.
  bool poll_until(const std::function<bool()>& condition) {
    const auto give_up = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < give_up) {
      runtime_->poll();
      if (condition()) return true;
      std::unique_lock lock(wake_mutex_);
      woken_.wait_for(lock, 10ms, [this] { return awake_; });
      awake_ = false;
    }
    return false;
  }

  const CheckResult& result(std::string_view id) {
    snapshot_ = runtime_->snapshot();
    for (const auto& one : snapshot_->results)
      if (one.check == id) return one;
    ADD_FAILURE() << "no result of " << id;
    return snapshot_->results.front();
  }
  bool has_completed(std::string_view id) { return result(id).completed != WallTime{}; }

  World world_;
  std::shared_ptr<fakes::EmptyHost> host_ = std::make_shared<fakes::EmptyHost>();
  std::shared_ptr<const host::Host> machine_;  // none: that of host_
  catalog::Catalog catalog_;
  std::array<checks::Check, 2> checks_{make_check("test.count", observe_count, judge_count),
                                       make_check("test.log", observe_nothing, judge_nothing)};
  std::map<std::string, std::string, std::less<>> follow_up_check_;
  std::mutex wake_mutex_;
  std::condition_variable woken_;
  bool awake_ = false;
  bool commits_ = true;
  std::vector<store::Batch> batches_;
  SnapshotPtr snapshot_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(RuntimeTest, before_the_first_look_everything_is_unknown) {
  start();
  EXPECT_EQ(result("test.count").health, Health::unknown);
  EXPECT_EQ(runtime_->snapshot()->verdict, Verdict::none);
  EXPECT_FALSE(runtime_->has_run_once());
}

TEST_F(RuntimeTest, a_finding_shows_in_the_snapshot_the_incidents_the_journal_and_the_events) {
  world_.count = 5;
  start();
  ASSERT_TRUE(
      poll_until([this] { return has_completed("test.count") && !runtime_->snapshot()->incidents.empty(); }));
  EXPECT_EQ(result("test.count").health, Health::degraded);
  ASSERT_THAT(runtime_->snapshot()->incidents, SizeIs(1));
  ASSERT_TRUE(poll_until([this] { return runtime_->events().after(0).size() >= 2; }));
  std::vector<std::string> reasons;
  for (const Event& event : runtime_->events().after(0))
    reasons.push_back(event.reason);
  EXPECT_THAT(reasons, Contains("too_many"));
  bool journaled = false;
  for (const auto& batch : batches_)
    journaled = journaled || !batch.incidents.empty();
  EXPECT_TRUE(journaled);
}

// A flag of the driver that only a new card ends.
std::atomic<int> looks_with_the_flag{0};
std::atomic<int> all_looks{0};

Result<checks::Observed> observe_first_flags(const host::Host& host, const checks::Request&) {
  Observation flag;
  flag.name = "flag";
  flag.value = ++all_looks <= looks_with_the_flag;
  flag.time = host.clock.now();
  return checks::Observed{{flag}, {"nvml"}, LogParts::none, std::nullopt, 0};
}

Findings judge_flags(const checks::JudgeInput& input) {
  if (input.history.number(host_subject(), "flag").value_or(0) == 0) return {};
  Finding finding;
  finding.health = Health::failed;
  finding.reason = "worn_out";
  return {finding};
}

class PermanentFault : public RuntimeTest {
 protected:
  void start_with_flag(int looks) {
    looks_with_the_flag = looks;
    all_looks = 0;
    catalog::Facts facts;
    facts.reasons.push_back({.id = "worn_out",
                             .max_health = Health::failed,
                             .raise_rounds = 2,
                             .asks_again = true,
                             .clear = catalog::ClearRule::replaced});
    catalog_ = catalog::Catalog(std::move(facts));
    checks_[0] = make_check("test.count", observe_first_flags, judge_flags);
    start();
  }
};

TEST_F(PermanentFault, that_one_answer_alone_tells_is_not_believed) {
  start_with_flag(1);
  ASSERT_TRUE(poll_until([this] { return runtime_->has_run_once(); }));
  EXPECT_EQ(all_looks, 2) << "it is asked again at once";
  EXPECT_EQ(result("test.count").health, Health::healthy);
  EXPECT_THAT(runtime_->snapshot()->incidents, IsEmpty());
}

TEST_F(PermanentFault, that_the_next_look_confirms_is_told_without_waiting_for_a_period) {
  start_with_flag(1000);
  ASSERT_TRUE(poll_until([this] { return !runtime_->snapshot()->incidents.empty(); }));
  EXPECT_EQ(all_looks, 2);
  EXPECT_EQ(result("test.count").health, Health::failed);
}

TEST_F(PermanentFault, who_asks_for_a_look_gets_the_answer_of_the_second) {
  start_with_flag(0);
  ASSERT_TRUE(poll_until([this] { return runtime_->has_run_once(); }));
  looks_with_the_flag = 1000;
  std::vector<Health> answers;
  ASSERT_TRUE(runtime_->run_now("test.count",
                                [&answers](const CheckResult& answer) { answers.push_back(answer.health); }));
  ASSERT_TRUE(poll_until([&answers] { return !answers.empty(); }));
  EXPECT_THAT(answers, ElementsAre(Health::failed));
  EXPECT_EQ(all_looks, 3);
}

TEST_F(PermanentFault, between_the_two_looks_nothing_is_known) {
  start_with_flag(1000);
  std::set<Health> seen;
  ASSERT_TRUE(poll_until([&] {
    seen.insert(result("test.count").health);
    return !runtime_->snapshot()->incidents.empty();
  }));
  EXPECT_THAT(seen, Not(Contains(Health::healthy)));
}

class LostMemory : public RuntimeTest {
 protected:
  static constexpr int kRounds = 20;
  Runtime& start_with_loss(std::vector<std::string> required) {
    RuntimeSettings settings;
    settings.expectation.required_checks = std::move(required);
    Remembered remembered;
    remembered.lost = "journal.db: cut off";
    checks_[1] = make_check("test.other", observe_count, judge_nothing);
    catalog::Facts facts;
    facts.reasons.push_back({.id = "slow", .raise_rounds = kRounds});
    catalog_ = catalog::Catalog(std::move(facts));
    return start(std::move(settings), std::move(remembered));
  }
  // Beside those of the schedule.
  void look(const std::string& check, int times) {
    for (int i = 0; i < times; ++i) {
      bool is_done = false;
      ASSERT_TRUE(runtime_->run_now(check, [&is_done](const CheckResult&) { is_done = true; }));
      ASSERT_TRUE(poll_until([&is_done] { return is_done; }));
    }
  }
  [[nodiscard]] bool says_lost(std::string_view check) {
    return std::ranges::any_of(result(check).findings,
                               [](const Finding& finding) { return finding.reason == "memory_lost"; });
  }
};

TEST_F(LostMemory, is_unknown_until_each_required_check_has_looked_as_often_as_a_finding_needs) {
  start_with_loss({"test.count", "test.other"});
  look("test.count", 1);
  look("test.other", 1);
  EXPECT_EQ(runtime_->snapshot()->verdict, Verdict::warn);
  EXPECT_TRUE(says_lost("test.count"));
  EXPECT_EQ(result("test.count").health, Health::unknown);
  look("test.count", kRounds);
  EXPECT_FALSE(says_lost("test.count"));
  EXPECT_TRUE(says_lost("test.other"));
  EXPECT_EQ(runtime_->snapshot()->verdict, Verdict::warn);
  look("test.other", kRounds);
  EXPECT_FALSE(says_lost("test.other"));
  EXPECT_EQ(runtime_->snapshot()->verdict, Verdict::none) << "there is no accelerator";
}

TEST_F(LostMemory, is_told_once_and_kept_until_it_is_over) {
  start_with_loss({"test.count"});
  look("test.count", kRounds);
  std::vector<std::string> told;
  ASSERT_TRUE(poll_until([this, &told] {
    told.clear();
    for (const Event& event : runtime_->events().after(0))
      if (event.reason == "memory_lost") told.emplace_back(to_string(event.kind));
    return told.size() == 2;
  }));
  EXPECT_THAT(told, ::testing::ElementsAre("finding_raised", "finding_cleared"));
  std::vector<std::string> kept;
  for (const store::Batch& batch : batches_)
    for (const auto& [name, value] : batch.values)
      if (name == kMemoryLossFact) kept.push_back(value);
  EXPECT_THAT(kept, ::testing::ElementsAre("journal.db: cut off", ""));
}

TEST_F(LostMemory, counts_for_all_checks_where_none_is_required) {
  start_with_loss({});
  look("test.other", 1);
  EXPECT_TRUE(says_lost("test.other"));
  EXPECT_EQ(runtime_->snapshot()->verdict, Verdict::warn);
}

TEST_F(LostMemory, does_not_count_a_look_that_saw_nothing) {
  checks_[0] = make_check("test.count", observe_refused, judge_nothing);
  start_with_loss({"test.count"});
  look("test.count", kRounds);
  EXPECT_TRUE(says_lost("test.count"));
}

TEST_F(RuntimeTest, who_may_know_why_another_check_is_blind_looks_at_once) {
  checks_[1] = make_check("test.blind", observe_refused, judge_nothing);
  checks_[1].info.tags = {"dark"};
  follow_up_check_ = {{"dark", "test.count"}};
  start();
  ASSERT_TRUE(poll_until([this] { return runtime_->has_run_once(); }));
  host_->clock.advance(1s);
  const WallTime now = host_->clock.now().wall;
  ASSERT_LT(result("test.count").completed, now);
  ASSERT_TRUE(runtime_->run_now("test.blind", [](const CheckResult&) {}));
  EXPECT_TRUE(poll_until([&] { return result("test.count").completed == now; }));
}

TEST_F(RuntimeTest, a_look_that_hangs_is_unknown_at_its_deadline_and_others_go_on) {
  world_.hang = true;
  start();
  ASSERT_TRUE(poll_until([this] { return has_completed("test.log") && world_.inside == 1; }));
  host_->clock.advance(3s);
  ASSERT_TRUE(poll_until([this] { return has_completed("test.count"); }));
  EXPECT_EQ(result("test.count").health, Health::unknown);
  EXPECT_EQ(result("test.count").findings.at(0).reason, "timed_out");
  EXPECT_EQ(runtime_->snapshot()->self.lanes_stuck, 1);

  // The next period neither waits nor wedges another lane.
  host_->clock.advance(40s);
  ASSERT_TRUE(poll_until([this] {
    return result("test.count").findings.at(0).message.find("has not returned") != std::string::npos;
  }));
  EXPECT_EQ(world_.inside, 1);

  release();
  ASSERT_TRUE(poll_until([this] { return result("test.count").health == Health::healthy; }));
  EXPECT_EQ(runtime_->snapshot()->self.results_dropped, 1U);
  ASSERT_TRUE(poll_until([this] {
    runtime_->update_self([](SelfStatus&) {});
    return runtime_->snapshot()->self.lanes_stuck == 0;
  }));
}

TEST_F(RuntimeTest, a_look_whose_lane_has_not_begun_is_asked_after_at_its_own_deadline) {
  world_.hang = true;
  start();
  // The workers may begin at any time: after this poll, or before it.
  const MonoTime now = host_->clock.now().mono;
  EXPECT_LE(runtime_->poll(), now + checks_[0].info.deadline + 1s);
  release();
}

TEST_F(RuntimeTest, run_now_answers_with_a_fresh_result) {
  start();
  ASSERT_TRUE(poll_until([this] { return has_completed("test.count"); }));
  world_.count = 1;
  std::optional<Health> answer;
  EXPECT_TRUE(
      runtime_->run_now("test.count", [&answer](const CheckResult& fresh) { answer = fresh.health; }));
  ASSERT_TRUE(poll_until([&answer] { return answer.has_value(); }));
  EXPECT_EQ(answer, Health::degraded);
  EXPECT_FALSE(runtime_->run_now("test.none", [](const CheckResult&) {}));
}

TEST_F(RuntimeTest, a_node_that_is_kept_for_a_deep_test_is_testing) {
  start();
  ASSERT_TRUE(poll_until([this] { return runtime_->has_run_once(); }));
  const Verdict before = runtime_->snapshot()->verdict;
  runtime_->set_reserved_for_deep_test(true);
  runtime_->poll();
  EXPECT_EQ(runtime_->snapshot()->verdict, Verdict::testing);
  runtime_->set_reserved_for_deep_test(false);
  runtime_->poll();
  EXPECT_EQ(runtime_->snapshot()->verdict, before);
}

TEST_F(RuntimeTest, a_pass_record_is_journaled) {
  start();
  runtime_->remember(std::vector<PassRecord>{{"GPU-1", "deep_test", WallTime{1s}, "boot", "test-1"}});
  ASSERT_TRUE(poll_until([this] {
    return std::ranges::any_of(batches_,
                               [](const store::Batch& batch) { return !batch.pass_records.empty(); });
  }));
}

TEST_F(RuntimeTest, a_disabled_check_is_not_shown_and_comes_back_when_enabled) {
  RuntimeSettings settings;
  settings.checks["test.count"].enabled = false;
  start(settings);
  ASSERT_TRUE(poll_until([this] { return has_completed("test.log"); }));
  EXPECT_THAT(runtime_->snapshot()->results, SizeIs(1));
  runtime_->apply({});
  ASSERT_TRUE(poll_until(
      [this] { return runtime_->snapshot()->results.size() == 2 && has_completed("test.count"); }));
}

TEST_F(RuntimeTest, kernel_records_are_journaled_once_even_after_a_restart) {
  start();
  ASSERT_TRUE(poll_until([this] { return has_completed("test.log"); }));
  std::size_t records = 0;
  std::string position;
  for (const auto& batch : batches_) {
    for (const Event& event : batch.events)
      records += event.kind == EventKind::kernel_record ? 1U : 0U;
    for (const auto& [name, value] : batch.values)
      if (name == "kernel_log.position/test.log") position = value;
  }
  EXPECT_EQ(records, 1U);
  EXPECT_EQ(position, "11111111-2222-3333-4444-555555555555/2");

  batches_.clear();
  Remembered remembered;
  remembered.kernel_log_positions["test.log"] = 2;
  start({}, remembered);
  ASSERT_TRUE(poll_until([this] { return has_completed("test.log"); }));
  for (const auto& batch : batches_)
    for (const Event& event : batch.events)
      EXPECT_NE(event.kind, EventKind::kernel_record);
}

TEST_F(RuntimeTest, a_storm_of_records_is_told_in_part_and_counted_whole) {
  checks_[1].observe = observe_storm;
  start();
  ASSERT_TRUE(poll_until([this] { return has_completed("test.log"); }));
  runtime_->kernel_log_grew(LogParts::others);
  const auto seen = [this] {
    const auto snapshot = runtime_->snapshot();
    return snapshot->records.empty() ? 0U : snapshot->records.front().count;
  };
  ASSERT_TRUE(poll_until([&seen] { return seen() == 300; }));
  runtime_->stop();
  std::int64_t told = 0;
  std::int64_t further = 0;
  for (const auto& batch : batches_)
    for (const Event& event : batch.events) {
      if (event.reason == "further_records")
        further += static_cast<std::int64_t>(as_number(*find_attribute(event.details, "count")).value_or(0));
      else if (event.kind == EventKind::kernel_record)
        ++told;
    }
  EXPECT_EQ(told, 200);
  EXPECT_EQ(further, 100);
}

TEST_F(RuntimeTest, how_far_a_log_is_read_that_tells_nothing_is_written_every_two_seconds) {
  checks_[1].observe = observe_loss;
  start();
  ASSERT_TRUE(poll_until([this] { return runtime_->has_run_once(); }));
  for (int i = 0; i < 10; ++i) {
    host_->clock.advance(1s);
    bool is_done = false;
    ASSERT_TRUE(runtime_->run_now("test.log", [&is_done](const CheckResult&) { is_done = true; }));
    ASSERT_TRUE(poll_until([&is_done] { return is_done; }));
  }
  int written = 0;
  for (const auto& batch : batches_)
    for (const auto& [name, value] : batch.values)
      written += name == "kernel_log.position/test.log" ? 1 : 0;
  EXPECT_GE(written, 2);
  EXPECT_LE(written, 7);
}

TEST_F(RuntimeTest, lost_records_are_told_with_the_number_that_is_counted_and_not_every_round) {
  LossyLog log;
  log.count = 100;
  host::Host machine{host_->clock,    host_->files,     log,        host_->gpus, host_->filesystems,
                     host_->ethernet, host_->time_sync, host_->nvme};
  machine_ = std::shared_ptr<const host::Host>(&machine, [](const host::Host*) {});
  checks_[1].observe = observe_loss;
  start();
  ASSERT_TRUE(poll_until([this] { return runtime_->has_run_once(); }));
  for (int i = 0; i < 20; ++i) {
    log.count += 10;
    host_->clock.advance(500ms);
    (void)runtime_->poll();
  }
  runtime_->stop();
  std::int64_t lost = 0;
  int times = 0;
  for (const auto& batch : batches_)
    for (const Event& event : batch.events)
      if (event.kind == EventKind::records_lost) {
        lost += static_cast<std::int64_t>(as_number(*find_attribute(event.details, "lost")).value_or(0));
        ++times;
      }
  EXPECT_EQ(lost, 307);
  EXPECT_LE(times, 4);  // at once, every five seconds, and at the end
  (void)runtime_->poll();
  EXPECT_EQ(runtime_->snapshot()->self.kernel_records_lost, 300U);
  EXPECT_EQ(runtime_->snapshot()->self.kernel_records_missed, 7U);
  runtime_.reset();
}

TEST_F(RuntimeTest, a_record_that_the_check_drops_is_neither_an_event_nor_counted) {
  checks_[1].interpret = interpret_as_repeated;
  start();
  ASSERT_TRUE(poll_until([this] { return has_completed("test.log"); }));
  for (const auto& batch : batches_)
    for (const Event& event : batch.events)
      EXPECT_NE(event.kind, EventKind::kernel_record);
  EXPECT_THAT(runtime_->snapshot()->records, IsEmpty());
}

TEST_F(RuntimeTest, a_reset_that_looks_prove_is_told_to_the_judges_of_driver_records_and_outlives_a_restart) {
  checks_[0].observe = observe_gpu;
  checks_[0].judge = judge_nothing;
  checks_[1].judge = judge_resets;
  checks_[1].info.tags = {"gpu", "kernel_log"};
  world_.count = 1;
  start();
  ASSERT_TRUE(poll_until([this] { return runtime_->has_run_once(); }));
  EXPECT_THAT(result("test.log").findings, IsEmpty());
  world_.count = 0;
  host_->clock.advance(1s);
  ASSERT_TRUE(runtime_->run_now("test.count", [](const CheckResult&) {}));
  ASSERT_TRUE(poll_until([this] { return !result("test.log").findings.empty(); }));
  EXPECT_EQ(result("test.log").findings[0].subject.key, "0000:3b:00.0");

  Remembered remembered;
  for (const auto& batch : batches_)
    for (const auto& [name, value] : batch.values)
      remembered.facts.values[name] = value;
  start({}, remembered);
  ASSERT_TRUE(poll_until([this] { return has_completed("test.log"); }));
  EXPECT_THAT(result("test.log").findings, SizeIs(1));
}

TEST_F(RuntimeTest, new_kernel_records_make_those_look_at_once_who_read_such) {
  start();
  ASSERT_TRUE(poll_until([this] { return has_completed("test.log"); }));
  const auto runs = runtime_->snapshot()->self.checks_run;
  runtime_->kernel_log_grew(LogParts::gpu_driver);
  (void)runtime_->poll();
  runtime_->kernel_log_grew(LogParts::others);
  ASSERT_TRUE(poll_until([this, runs] { return runtime_->snapshot()->self.checks_run == runs + 1; }));
}

TEST_F(RuntimeTest, without_an_answer_of_the_journal_events_are_shown_late_and_say_so) {
  commits_ = false;
  world_.count = 1;
  start();
  ASSERT_TRUE(poll_until([this] { return has_completed("test.count"); }));
  EXPECT_THAT(runtime_->events().after(0), IsEmpty());
  std::optional<bool> durable;
  runtime_->when_durable([&durable](bool is) { durable = is; });
  host_->clock.advance(300ms);
  ASSERT_TRUE(
      poll_until([this, &durable] { return durable.has_value() && !runtime_->events().after(0).empty(); }));
  EXPECT_EQ(durable, false);
  EXPECT_FALSE(runtime_->events().after(0).front().durable);
}

}  // namespace
}  // namespace autopilot::runtime
