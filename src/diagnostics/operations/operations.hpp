// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <variant>
#include <vector>

#include "core/event.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::diagnostics {

// A test that this process makes itself, without a child: it asks others, and waits. One at a time, on the
// thread of Operations.
struct OwnTest {
  struct Calls {
    std::function<void(std::string message)> on_progress;
    // Once, in a sentence. conflict: what it tests is in use, and nothing was tested; other errors: what kept
    // it from telling anything. Not from within `begin`.
    std::function<void(Result<std::string> said)> on_end;
    std::vector<Subject> reservation{};  // what it is to test; empty: all that it tests
  };
  // Errors: why none can be made now.
  std::function<Status(Calls calls)> begin;
  // Nobody waits for its end any more; what it has made goes away by itself. What it found until then, in a
  // sentence; empty: nothing.
  std::function<std::string()> cancel;
};

// One sort of active test: what is started for it. The child speaks as host/operations/child_line.hpp says.
struct OperationKind {
  std::string id;
  std::string title;
  Duration deadline{};  // of a request that names none
  std::variant<host::Command, OwnTest> test;
  // The child tests GPUs, those that are reserved for it ("gpu/0000:3b:00.0" follows its arguments), or all
  // of the machine where none is.
  bool is_told_reservation = false;
};

// THE list.
[[nodiscard]] std::vector<OperationKind> builtin_operations();

struct OperationStart {
  std::string kind;
  std::string owner;
  std::vector<Subject> reservation;  // what nobody else may test meanwhile; a test of GPUs: empty is all
  std::optional<Duration> deadline;  // the kind's own where absent
  bool knows_holders = false;        // whoever starts it has seen to it that nobody else has what it tests
};

// The active tests of one machine. Used on one thread, the runtime's; each child is watched by a thread of
// its own until it, and what it started, is gone.
class Operations {
 public:
  static constexpr std::size_t kMaxRunning = 2;
  static constexpr std::size_t kKept = 64;  // with those that are over, the oldest go first
  static constexpr std::size_t kMaxReserved = 64;
  static constexpr Duration kMaxDeadline = std::chrono::hours{1};

  // `simulated`: the machine does not exist. `remembered`: what the journal knows, newest first; ids go on
  // after them, and those that were running have failed. `wake` is called from any thread: call poll() soon.
  Operations(const Clock& clock, std::string boot_id, bool simulated, std::vector<OperationKind> kinds,
             std::vector<Operation> remembered, std::function<void()> wake);
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;
  // Ends what runs, as stop() does.
  ~Operations();

  // Who has some of these GPUs, or of all where none is named, though nothing of theirs may run on them;
  // empty: nobody that is known.
  using Holder = std::function<std::string(const std::vector<Subject>& gpus)>;
  // What it names is left alone: a test of GPUs is skipped, also one that runs at the next poll(), unless
  // whoever starts it knows_holders.
  void heed(Holder holder) { holder_ = std::move(holder); }

  // One more kind, whose test this process makes.
  void offer(OperationKind kind);
  [[nodiscard]] const std::vector<OperationKind>& kinds() const { return kinds_; }

  // Errors: not_found (no such kind; names the known ones), malformed (deadline or reservation beyond the
  // limits), conflict (a subject is reserved, a test of all GPUs would meet another of GPUs, or the one test
  // of its kind is under way; names the holder), exhausted (kMaxRunning, children that cannot be killed
  // included), unavailable (after stop); and those of OwnTest::begin.
  [[nodiscard]] Result<Operation> start(const OperationStart& wanted);
  // Asks a child to end; the operation is over some polls later. Errors: not_found; conflict: already over.
  [[nodiscard]] Result<Operation> cancel(std::string_view id, const std::string& by);
  // With the newest progress.
  [[nodiscard]] Result<Operation> find(std::string_view id) const;
  [[nodiscard]] std::vector<Operation> list() const;  // newest first

  // Those that began or ended since the last call, as they then were: for the journal and for events. Ends
  // tests of this process whose deadline has passed.
  [[nodiscard]] std::vector<Operation> poll();
  // When it has one of those to end. Nothing: none is under way.
  [[nodiscard]] std::optional<MonoTime> next_deadline() const;

  // Cancels what runs, waits for its end (a few seconds where a child must be killed) and starts no more.
  void stop();

 private:
  // What a child has said so far; guarded by mutex_.
  struct Talk {
    double progress = 0;
    std::string message;
    std::uint64_t garbage = 0;
    std::optional<Observations> observations;
    bool has_ended = false;
    Result<host::ChildReport> report;  // when it has ended
  };
  // What a test of this process has said so far.
  struct OwnTalk {
    std::string message;
    std::optional<Result<std::string>> end;
    MonoTime deadline{};
    std::function<std::string()> cancel;
  };
  enum class GpuUse : std::uint8_t { none, named, all };
  struct Entry {
    Operation operation;
    GpuUse gpus = GpuUse::none;
    std::string cancelled_by;
    bool yields = false;           // to who has what it tests
    std::string yielded_to;        // in a sentence; empty: to nobody yet
    std::unique_ptr<Talk> talk;    // while a child runs
    std::shared_ptr<OwnTalk> own;  // while a test of this process is under way
    std::jthread thread;
  };

  [[nodiscard]] static GpuUse use_of_gpus(const OperationStart& wanted, const OperationKind& kind);
  [[nodiscard]] Status admit(const OperationStart& wanted, const OperationKind& kind) const;
  [[nodiscard]] Status run(Entry& entry, const OperationKind& kind);
  [[nodiscard]] Status watch(Entry& entry, host::Command command);
  [[nodiscard]] Status begin(Entry& entry, const OwnTest& test);
  [[nodiscard]] std::string holder_of(const Entry& entry) const;
  void take_line(Talk& talk, std::string_view line);
  void conclude(Entry& entry);
  void conclude_own(Entry& entry);
  void forget_oldest();
  [[nodiscard]] Operation now_of(const Entry& entry) const;

  const Clock& clock_;
  std::string boot_id_;
  const bool simulated_;
  std::vector<OperationKind> kinds_;
  std::function<void()> wake_;
  Holder holder_;
  std::uint64_t next_number_ = 1;
  bool stopping_ = false;
  std::vector<Operation> changed_;
  mutable host::ChildRunner runner_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;  // oldest first; last member: its threads end before what they use
};

// operation_started or operation_finished.
[[nodiscard]] Event operation_event(const Operation& operation);

}  // namespace autopilot::diagnostics
