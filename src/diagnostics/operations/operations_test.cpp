// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/operations.hpp"

#include <condition_variable>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "host/clock/system_clock.hpp"

namespace autopilot::diagnostics {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

constexpr auto kBoot = "1b4e28ba-2fa1-11d2-883f-0016d3cca427";

Subject gpu(const std::string& key) {
  return {SubjectKind::gpu, key, {}, {}, {}};
}

// A test made of a line of shell.
OperationKind kind(const std::string& id, const std::string& script) {
  return {id, "a test", 60s, host::Command{"/bin/sh", {"-c", script}, {"PATH=/usr/bin:/bin"}}};
}

std::vector<OperationKind> kinds() {
  return {
      kind("passes", R"(echo '{"progress":0.5,"message":"half"}'
                        echo '{"observations":[{"name":"test.speed","value":12.5,"unit":"x","subject":"gpu/a"}]}')"),
      kind("is_busy", R"(echo '{"progress":0,"message":"GPU in use by a"}'
                        echo '{"observations":[{"name":"test.outcome","value":"in_use","subject":"host"}]}'; exit 75)"),
      kind("fails", "echo 'first' >&2; echo 'no such device' >&2; exit 3"),
      kind("crashes", "kill -SEGV $$"),
      kind("says_nothing", "exit 0"),
      kind("babbles",
           R"(echo hello; printf '\000\377\n'; head -c 200000 /dev/zero; echo; echo '{"progress":7}'
                         echo '{"observations":[]}')"),
      kind("hangs", R"(sleep 600 & echo "{\"progress\":0.25,\"message\":\"$!\"}"; wait)"),
      {"missing", "", 60s, host::Command{"/nonexistent/program", {}, {}}},
      {"told", "", 60s,
       host::Command{
           "/bin/sh",
           {"-c", R"(echo "{\"progress\":1,\"message\":\"$*\"}"; echo '{"observations":[]}')", "sh"},
           {}},
       true},
      {"told_hangs", "", 60s, host::Command{"/bin/sh", {"-c", "sleep 600", "sh"}, {"PATH=/usr/bin:/bin"}},
       true},
  };
}

bool is_gone(pid_t pid) {
  if (::kill(pid, 0) != 0) return true;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  return !std::getline(stat, text) || text.find(") Z ") != std::string::npos;
}

// It was killed; the kernel may take a moment to take it away.
bool becomes_gone(pid_t pid) {
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (!is_gone(pid)) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::yield();
  }
  return true;
}

class OperationsTest : public ::testing::Test {
 protected:
  OperationsTest() { restart({}); }

  void restart(std::vector<Operation> remembered, bool simulated = false) {
    operations_.reset();
    operations_ =
        std::make_unique<Operations>(clock_, kBoot, simulated, kinds(), std::move(remembered), [this] {
          const std::lock_guard lock(mutex_);
          awake_ = true;
          woken_.notify_all();
        });
  }

  Result<Operation> start(const std::string& name, std::vector<Subject> reservation = {},
                          std::optional<Duration> deadline = {}) {
    return operations_->start({name, "uid 7", std::move(reservation), deadline});
  }

  // Polls as its owner would, when woken, until the operation is over.
  Operation to_end(const std::string& id) {
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < give_up) {
      for (const Operation& changed : operations_->poll())
        if (changed.id == id && changed.is_over()) return changed;
      std::unique_lock lock(mutex_);
      woken_.wait_for(lock, 1s, [this] { return std::exchange(awake_, false); });
    }
    ADD_FAILURE() << id << " did not end";
    return {};
  }
  // Of this process; `own_calls_` has what it may tell.
  void offer_own() {
    operations_->offer({"own", "a test", 60s,
                        OwnTest{[this](OwnTest::Calls calls) {
                                  own_calls_ = std::move(calls);
                                  return own_refusal_;
                                },
                                [this] {
                                  ++own_cancelled_;
                                  return own_found_;
                                }}});
  }
  Operation run(const std::string& name) {
    const auto started = start(name);
    EXPECT_TRUE(started.has_value()) << started.error().what;
    return started ? to_end(started->id) : Operation{};
  }
  // The process that the child left in the background; it says so with its progress.
  pid_t grandchild_of(const std::string& id) {
    const auto give_up = std::chrono::steady_clock::now() + 30s;
    while (std::chrono::steady_clock::now() < give_up) {
      const auto operation = operations_->find(id);
      if (operation && operation->progress == 0.25) return std::stoi(operation->message);
      std::this_thread::yield();
    }
    ADD_FAILURE() << id << " shows no progress";
    return 0;
  }

  host::SystemClock clock_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool awake_ = false;
  OwnTest::Calls own_calls_;
  Status own_refusal_;
  int own_cancelled_ = 0;
  std::string own_found_;  // until it is cancelled
  std::unique_ptr<Operations> operations_;
};

TEST_F(OperationsTest, a_child_that_finds_in_use_what_it_should_test_was_skipped_and_says_by_whom) {
  const Operation ended = to_end(start("is_busy")->id);
  EXPECT_EQ(ended.state, OperationState::skipped);
  EXPECT_EQ(ended.message, "GPU in use by a");
  ASSERT_EQ(ended.observations.size(), 1U);
  EXPECT_EQ(ended.observations[0].source, "is_busy");
}

TEST_F(OperationsTest, a_test_that_passes_gives_its_observations) {
  const auto started = start("passes", {gpu("a")});
  ASSERT_TRUE(started.has_value()) << started.error().what;
  EXPECT_EQ(started->id, "op-1b4e28ba-1");
  EXPECT_EQ(started->owner, "uid 7");
  EXPECT_EQ(started->state, OperationState::running);
  EXPECT_EQ(started->deadline, 60s);
  const auto changed = operations_->poll();
  ASSERT_FALSE(changed.empty());
  EXPECT_EQ(changed.front().state, OperationState::running);

  // It may have been so fast that it is over.
  const Operation ended = changed.size() > 1 ? changed.back() : to_end(started->id);
  EXPECT_EQ(ended.state, OperationState::succeeded);
  EXPECT_EQ(ended.progress, 1);
  EXPECT_EQ(ended.message, "half");
  EXPECT_TRUE(ended.finished.has_value());
  ASSERT_THAT(ended.observations, SizeIs(1));
  EXPECT_EQ(ended.observations[0].name, "test.speed");
  EXPECT_EQ(ended.observations[0].subject, gpu("a"));
  EXPECT_EQ(ended.observations[0].source, "passes");
  EXPECT_EQ(operations_->find(ended.id)->state, OperationState::succeeded);
  EXPECT_THAT(operations_->poll(), IsEmpty());
}

TEST_F(OperationsTest, those_of_a_machine_that_does_not_exist_say_so_also_when_they_are_remembered) {
  Operation old;
  old.id = "op-00000000-1";
  old.state = OperationState::succeeded;
  restart({old}, true);
  EXPECT_TRUE(operations_->find(old.id)->simulated);
  EXPECT_TRUE(run("passes").simulated);
  restart({old});
  EXPECT_FALSE(run("passes").simulated);
}

TEST_F(OperationsTest, a_test_that_fails_says_how_and_what_it_complained_about) {
  const Operation failed = run("fails");
  EXPECT_EQ(failed.state, OperationState::failed);
  EXPECT_EQ(failed.message, "exit code 3; first no such device");
  const Operation crashed = run("crashes");
  EXPECT_EQ(crashed.state, OperationState::failed);
  EXPECT_THAT(crashed.message, HasSubstr("signal 11"));
  const Operation missing = run("missing");
  EXPECT_EQ(missing.state, OperationState::failed);
  EXPECT_THAT(missing.message, HasSubstr("/nonexistent/program"));
}

TEST_F(OperationsTest, an_end_without_a_result_is_no_success) {
  const Operation ended = run("says_nothing");
  EXPECT_EQ(ended.state, OperationState::failed);
  EXPECT_EQ(ended.message, "ended without a result");
}

TEST_F(OperationsTest, lines_that_mean_nothing_are_counted) {
  const Operation ended = run("babbles");
  EXPECT_EQ(ended.state, OperationState::succeeded);
  EXPECT_EQ(ended.message, "4 lines of its output could not be read");
}

TEST_F(OperationsTest, cancel_ends_the_child_and_what_it_started) {
  const auto started = start("hangs");
  ASSERT_TRUE(started.has_value());
  const pid_t grandchild = grandchild_of(started->id);
  ASSERT_TRUE(operations_->cancel(started->id, "uid 8").has_value());
  const Operation ended = to_end(started->id);
  EXPECT_EQ(ended.state, OperationState::cancelled);
  EXPECT_EQ(ended.message, "cancelled by uid 8");
  EXPECT_TRUE(becomes_gone(grandchild));

  EXPECT_EQ(operations_->cancel(started->id, "uid 8").error().code, Errc::conflict);
  EXPECT_EQ(operations_->cancel("op-none", "uid 8").error().code, Errc::not_found);
  EXPECT_EQ(operations_->find("op-none").error().code, Errc::not_found);
}

TEST_F(OperationsTest, the_deadline_ends_it) {
  const auto started = start("hangs", {}, 300ms);
  ASSERT_TRUE(started.has_value());
  const Operation ended = to_end(started->id);
  EXPECT_EQ(ended.state, OperationState::timed_out);
  EXPECT_THAT(ended.message, HasSubstr("no end within 300ms"));
}

TEST_F(OperationsTest, a_child_that_is_told_what_is_reserved_tests_that) {
  const auto started = start("told", {gpu("a"), gpu("b")});
  ASSERT_TRUE(started.has_value()) << started.error().what;
  EXPECT_EQ(to_end(started->id).message, "gpu/a gpu/b");
}

// Those that a pod holds are left alone, whether it uses them or not.
class HeldGpusTest : public OperationsTest {
 protected:
  HeldGpusTest() {
    operations_->heed([this](const std::vector<Subject>& gpus) {
      asked_ = gpus;
      return holder_;
    });
  }
  std::string holder_;
  std::vector<Subject> asked_;
};

TEST_F(HeldGpusTest, a_test_of_gpus_that_somebody_holds_is_skipped) {
  holder_ = "ml/train-0";
  const std::vector<Subject> gpus{{SubjectKind::gpu, "0000:3b:00.0", {}, {}, {}}};
  const auto skipped = start("told", gpus);
  ASSERT_TRUE(skipped);
  EXPECT_EQ(skipped->state, OperationState::skipped);
  EXPECT_EQ(skipped->message, "GPU in use by ml/train-0");
  EXPECT_EQ(asked_, gpus);
  EXPECT_EQ(to_end(skipped->id).state, OperationState::skipped);
  EXPECT_EQ(run("passes").state, OperationState::succeeded) << "it tests no GPU";
}

TEST_F(HeldGpusTest, who_knows_the_holders_is_not_held_up) {
  holder_ = "ml/train-0";
  const auto started = operations_->start({"told", "ml/train-0", {}, {}, true});
  ASSERT_TRUE(started);
  EXPECT_EQ(to_end(started->id).state, OperationState::succeeded);
}

TEST_F(HeldGpusTest, one_that_is_under_way_ends_when_somebody_gets_the_gpu) {
  const auto started = start("told_hangs");
  ASSERT_EQ(started->state, OperationState::running);
  holder_ = "ml/train-0";
  const Operation ended = to_end(started->id);
  EXPECT_EQ(ended.state, OperationState::skipped);
  EXPECT_EQ(ended.message, "GPU in use by ml/train-0");
}

TEST_F(OperationsTest, what_is_reserved_is_refused_to_others_until_it_is_free) {
  const auto holder = start("hangs", {gpu("a"), gpu("b")});
  ASSERT_TRUE(holder.has_value());
  const auto refused = start("passes", {gpu("b")});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::conflict);
  EXPECT_EQ(refused.error().what, "gpu/b is reserved by " + holder->id + " (hangs of uid 7)");
  EXPECT_TRUE(start("passes", {gpu("c")}).has_value());
  ASSERT_TRUE(operations_->cancel(holder->id, "uid 7").has_value());
  (void)to_end(holder->id);
  EXPECT_TRUE(start("passes", {gpu("b")}).has_value());
}

TEST_F(OperationsTest, a_test_of_all_gpus_and_another_of_gpus_are_not_made_at_once) {
  const auto all = start("told_hangs");
  ASSERT_TRUE(all.has_value());
  for (const auto& reservation : {std::vector<Subject>{}, {gpu("a")}}) {
    const auto refused = start("told", reservation);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, Errc::conflict);
    EXPECT_EQ(refused.error().what,
              "another test of GPUs runs: " + all->id + " (told_hangs of uid 7); try again when it is over");
  }
  EXPECT_FALSE(start("passes", {gpu("a")}).has_value()) << "whoever reserves a GPU tests it";
  const auto of_no_gpu = start("hangs");
  EXPECT_TRUE(of_no_gpu.has_value());
  ASSERT_TRUE(operations_->cancel(of_no_gpu->id, "uid 7").has_value());
  (void)to_end(of_no_gpu->id);

  ASSERT_TRUE(operations_->cancel(all->id, "uid 7").has_value());
  (void)to_end(all->id);
  ASSERT_TRUE(start("told_hangs", {gpu("a")}).has_value());
  EXPECT_EQ(start("told").error().code, Errc::conflict);
  EXPECT_TRUE(start("told", {gpu("b")}).has_value()) << "they share no GPU";
}

TEST_F(OperationsTest, no_more_than_the_limit_run_at_once) {
  for (std::size_t i = 0; i < Operations::kMaxRunning; ++i)
    ASSERT_TRUE(start("hangs").has_value());
  const auto refused = start("passes");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::exhausted);
}

TEST_F(OperationsTest, requests_that_make_no_sense_are_refused_with_the_cure) {
  const auto unknown = start("nope");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().code, Errc::not_found);
  EXPECT_THAT(unknown.error().what, HasSubstr("there are: passes, is_busy, fails"));
  EXPECT_EQ(start("passes", {}, 0s).error().code, Errc::malformed);
  EXPECT_EQ(start("passes", {}, Operations::kMaxDeadline + 1s).error().code, Errc::malformed);
  EXPECT_EQ(start("passes", std::vector<Subject>(Operations::kMaxReserved + 1)).error().code,
            Errc::malformed);
  EXPECT_THAT(operations_->list(), IsEmpty());
}

TEST_F(OperationsTest, a_restart_fails_what_ran_and_goes_on_counting) {
  Operation running;
  running.id = "op-00000000-41";
  running.kind = "hangs";
  running.owner = "uid 7";
  running.state = OperationState::running;
  running.reservation = {gpu("a")};
  Operation over;
  over.id = "op-00000000-40";
  over.state = OperationState::succeeded;
  restart({running, over});
  const auto changed = operations_->poll();
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed[0].id, running.id);
  EXPECT_EQ(changed[0].state, OperationState::failed);
  EXPECT_EQ(changed[0].message, "the agent was restarted");
  EXPECT_TRUE(changed[0].finished.has_value());
  const auto next = start("passes", {gpu("a")});
  ASSERT_TRUE(next.has_value()) << next.error().what;
  EXPECT_EQ(next->id, "op-1b4e28ba-42");
  const auto all = operations_->list();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].id, next->id);
  EXPECT_EQ(all[2].id, over.id);
}

TEST_F(OperationsTest, only_so_many_are_kept_and_never_a_running_one_dropped) {
  std::vector<Operation> remembered(Operations::kKept);
  for (std::size_t i = 0; i < remembered.size(); ++i) {
    remembered[i].id = "op-00000000-" + std::to_string(remembered.size() - i);
    remembered[i].state = OperationState::succeeded;
  }
  restart(remembered);
  const auto started = start("hangs");
  ASSERT_TRUE(started.has_value());
  EXPECT_THAT(operations_->list(), SizeIs(Operations::kKept));
  EXPECT_EQ(operations_->list().front().id, started->id);
  EXPECT_FALSE(operations_->find("op-00000000-1").has_value());
}

TEST_F(OperationsTest, stop_leaves_nothing_behind) {
  const auto started = start("hangs");
  ASSERT_TRUE(started.has_value());
  const pid_t grandchild = grandchild_of(started->id);
  operations_->stop();
  EXPECT_TRUE(becomes_gone(grandchild));
  const auto changed = operations_->poll();
  ASSERT_THAT(changed, SizeIs(2));
  EXPECT_EQ(changed[1].state, OperationState::cancelled);
  EXPECT_EQ(changed[1].message, "cancelled by the agent, which stopped");
  EXPECT_EQ(start("passes").error().code, Errc::unavailable);
}

TEST_F(OperationsTest, a_test_of_this_process_tells_how_it_goes_and_how_it_ended) {
  offer_own();
  const auto started = start("own");
  ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->state, OperationState::running);
  own_calls_.on_progress("waiting for a volume");
  EXPECT_EQ(operations_->find(started->id)->message, "waiting for a volume");
  EXPECT_EQ(start("own").error().code, Errc::conflict);
  own_calls_.on_end(std::string("a volume was given"));
  const Operation ended = to_end(started->id);
  EXPECT_EQ(ended.state, OperationState::succeeded);
  EXPECT_EQ(ended.message, "a volume was given");
  EXPECT_EQ(own_cancelled_, 0);
  EXPECT_TRUE(start("own").has_value());
}

TEST_F(OperationsTest, a_test_of_this_process_that_cannot_begin_or_tell_is_no_success) {
  offer_own();
  own_refusal_ = fail(Errc::unavailable, "the cluster was not seen yet");
  EXPECT_EQ(start("own").error().what, "the cluster was not seen yet");
  EXPECT_THAT(operations_->list(), IsEmpty());
  own_refusal_ = {};
  const auto failed = start("own");
  own_calls_.on_end(fail(Errc::denied, "may not create claims"));
  EXPECT_EQ(to_end(failed->id).state, OperationState::failed);
  const auto skipped = start("own");
  own_calls_.on_end(fail(Errc::conflict, "GPU in use by ml/train-0"));
  const Operation ended = to_end(skipped->id);
  EXPECT_EQ(ended.state, OperationState::skipped);
  EXPECT_EQ(ended.message, "GPU in use by ml/train-0");
}

TEST_F(OperationsTest, a_test_of_this_process_is_cancelled_or_ends_with_its_deadline) {
  offer_own();
  const auto cancelled = start("own");
  ASSERT_TRUE(operations_->cancel(cancelled->id, "uid 8").has_value());
  EXPECT_TRUE(awake_);  // nothing else says that it is over
  EXPECT_EQ(to_end(cancelled->id).state, OperationState::cancelled);
  EXPECT_EQ(own_cancelled_, 1);
  own_calls_.on_end(std::string("too late, and nobody minds"));
  const auto late = start("own", {}, 1ms);
  const Operation ended = to_end(late->id);
  EXPECT_EQ(ended.state, OperationState::timed_out);
  EXPECT_EQ(ended.message, "no end within 1ms");
  EXPECT_EQ(own_cancelled_, 2);
  const auto stopped = start("own");
  operations_->stop();
  EXPECT_EQ(operations_->find(stopped->id)->state, OperationState::cancelled);
  EXPECT_EQ(own_cancelled_, 3);
}

TEST_F(OperationsTest, what_a_test_of_this_process_found_before_its_end_is_told) {
  offer_own();
  own_found_ = "2 of 5 volumes were given";
  const auto cancelled = start("own");
  ASSERT_TRUE(operations_->cancel(cancelled->id, "uid 8").has_value());
  EXPECT_EQ(to_end(cancelled->id).message, "cancelled by uid 8; 2 of 5 volumes were given");
  const auto late = start("own", {}, 1ms);
  own_calls_.on_progress("waiting for a volume");
  EXPECT_EQ(to_end(late->id).message, "no end within 1ms; 2 of 5 volumes were given");
}

TEST_F(OperationsTest, who_polls_knows_when_a_test_of_this_process_is_to_end) {
  offer_own();
  EXPECT_EQ(operations_->next_deadline(), std::nullopt);
  const MonoTime before = clock_.now().mono;
  const auto started = start("own", {}, 30s);
  ASSERT_TRUE(operations_->next_deadline().has_value());
  EXPECT_GE(*operations_->next_deadline(), before + 30s);
  EXPECT_LE(*operations_->next_deadline(), clock_.now().mono + 30s);
  own_calls_.on_end(std::string("a volume was given"));
  (void)to_end(started->id);
  EXPECT_EQ(operations_->next_deadline(), std::nullopt);
}

TEST(OperationEvent, tells_beginning_and_end) {
  Operation operation;
  operation.id = "op-1b4e28ba-1";
  operation.kind = "self_test";
  operation.owner = "uid 7";
  operation.state = OperationState::running;
  EXPECT_EQ(operation_event(operation).kind, EventKind::operation_started);
  EXPECT_EQ(operation_event(operation).message, "self_test started by uid 7");
  operation.state = OperationState::failed;
  operation.message = "exit code 3";
  const Event ended = operation_event(operation);
  EXPECT_EQ(ended.kind, EventKind::operation_finished);
  EXPECT_EQ(ended.message, "self_test failed: exit code 3");
  EXPECT_EQ(ended.health, Health::unknown);
}

}  // namespace
}  // namespace autopilot::diagnostics
