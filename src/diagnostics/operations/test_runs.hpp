// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "diagnostics/operations/operations.hpp"
#include "net/event_loop.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::diagnostics {

// Operations whose kind is a check: the check judges their results as soon as they end, and each caller is
// answered after that. On the event loop's thread.
class TestRuns {
 public:
  // Longest wait of a caller: well within the minute in which a server must answer.
  static constexpr Duration kPatience = std::chrono::seconds{40};
  // Shortest interval between two starts of one check: some end at once, and each is written to the journal.
  static constexpr Duration kSame = std::chrono::seconds{2};
  // Longest time that a diagnostic stays queued.
  static constexpr Duration kMostQueued = std::chrono::minutes{10};

  // Answer to the caller of run().
  struct Run {
    WallTime began{};        // earlier results are not results of this run
    std::string not_run;     // why there is no new result, in a sentence; empty: there is one
    bool is_in_use = false;  // no new result, because the subject is in use
  };
  using OnRun = std::function<void(const Run& run)>;

  // note_changes: writes started operations to the journal and to events. poll_soon: the runtime has work.
  TestRuns(net::EventLoop& loop, const Clock& clock, Operations& operations, runtime::Runtime& runtime,
           std::function<void()> note_changes, std::function<void()> poll_soon);

  [[nodiscard]] bool can_run(std::string_view check) const;
  // Starts the diagnostic of that check on the whole machine for `owner`. Returns an existing operation if
  // one is running, or began within kSame, and was not cancelled. Errors: those of Operations::start.
  [[nodiscard]] Result<Operation> begin(const std::string& check, const std::string& owner);
  // The same, and waits for it. A diagnostic of GPUs that conflicts with another one is queued until that one
  // ends. Calls `on_run` once, never from within this call: when the result has been judged, or when
  // kPatience has passed. The diagnostic then continues, or still begins within kMostQueued.
  void run(const std::string& check, const std::string& owner, OnRun on_run);
  // Takes an operation that began or ended.
  void note(const Operation& operation);
  // Answers all waiting callers that the agent is stopping; no check runs after that.
  void stop();

 private:
  struct Waiting {
    std::string check;
    Operation operation;  // as it began; without an id while it is queued
    OnRun on_run;
    net::Subscription patience;
  };

  struct Queued {
    std::string check;
    std::string owner;
    std::string why;  // in a sentence
    MonoTime since{};
  };

  [[nodiscard]] bool may_wait(const std::string& check, const Error& error) const;
  void queue(const std::string& check, const std::string& owner, const std::string& why);
  void leave_queue(const std::string& check, const Operation& operation);
  void begin_queued();
  void tell_if_judged(const Operation& operation);
  void tell_waiting(const std::function<bool(const Waiting&)>& is_meant, const Run& run);
  [[nodiscard]] static std::function<bool(const Waiting&)> is_of(const Operation& operation);
  [[nodiscard]] static std::function<bool(const Waiting&)> is_queued(const std::string& check);
  void look(const Operation& operation, std::function<void()> done);
  void tell(const Operation& operation);
  void give_up(std::uint64_t number);

  net::EventLoop& loop_;
  const Clock& clock_;
  Operations& operations_;
  runtime::Runtime& runtime_;
  const std::function<void()> note_changes_;
  const std::function<void()> poll_soon_;
  std::map<std::uint64_t, Waiting> waiting_;
  std::vector<Queued> queue_;                  // at most one per check
  std::map<std::string, std::string> judged_;  // check -> its operation that was judged last
  std::uint64_t next_ = 0;
};

}  // namespace autopilot::diagnostics
