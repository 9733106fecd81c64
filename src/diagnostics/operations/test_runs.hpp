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

// Operations whose kind is a check: what they found is judged by it as soon as they are over, and who asked
// for one waits for that. On the loop's thread.
class TestRuns {
 public:
  // How long somebody waits: well within the minute in which a server must answer.
  static constexpr Duration kPatience = std::chrono::seconds{40};
  // So often one begins at most: some end at once, and each is written down.
  static constexpr Duration kSame = std::chrono::seconds{2};
  // So long a test waits for its turn.
  static constexpr Duration kMostQueued = std::chrono::minutes{10};

  // What became of a test for somebody who asked for it.
  struct Run {
    WallTime began{};        // results that ended before are not of it
    std::string not_run;     // in a sentence why there is none of now; empty: there is
    bool is_in_use = false;  // because what it tests is in use
  };
  using OnRun = std::function<void(const Run& run)>;

  // note_changes: tells journal and events what began. poll_soon: the runtime has something to do.
  TestRuns(net::EventLoop& loop, const Clock& clock, Operations& operations, runtime::Runtime& runtime,
           std::function<void()> note_changes, std::function<void()> poll_soon);

  [[nodiscard]] bool can_run(std::string_view check) const;
  // A test of that check of the whole machine for `owner`, or the one that is under way or began within kSame
  // and was not cancelled. Errors: why none begins.
  [[nodiscard]] Result<Operation> begin(const std::string& check, const std::string& owner);
  // Likewise, and waits for it. A test of GPUs that would meet another is begun when that is over. Calls
  // back, not from within, when its result has been judged or kPatience has passed; the test goes on then, or
  // is begun all the same within kMostQueued.
  void run(const std::string& check, const std::string& owner, OnRun on_run);
  // An operation that began or ended.
  void note(const Operation& operation);
  // Tells all who wait that the agent is stopping: no check looks any more.
  void stop();

 private:
  struct Waiting {
    std::string check;
    Operation operation;  // as it began; before that, without an id
    OnRun on_run;
    net::Subscription patience;
  };

  // Has not begun.
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
  std::vector<Queued> queue_;                  // one of a check at most
  std::map<std::string, std::string> judged_;  // by check: its operation that was judged last
  std::uint64_t next_ = 0;
};

}  // namespace autopilot::diagnostics
