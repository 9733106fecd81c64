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

// A diagnostic that this process runs itself, without a child: it sends requests and waits for the answers.
// One at a time, on the thread of Operations.
struct OwnTest {
  struct Calls {
    std::function<void(std::string message)> on_progress;
    // Called once, with the result as a sentence; never from within `begin`. conflict: the subject is in use,
    // and nothing was tested; other errors: why there is no result.
    std::function<void(Result<std::string> said)> on_end;
    std::vector<Subject> reservation{};  // the subjects to test; empty: all that it can test
  };
  // Errors: why the diagnostic cannot start now.
  std::function<Status(Calls calls)> begin;
  // Stops waiting for the end; objects that the diagnostic created are removed without this call. Returns the
  // result so far as a sentence; empty: no result yet.
  std::function<std::string()> cancel;
};

// One kind of diagnostic, with the child or the function that runs it. The child writes the lines of
// diagnostics/child/child_line.hpp.
struct OperationKind {
  std::string id;
  std::string title;
  Duration deadline{};  // default, for a request without a deadline
  std::variant<host::Command, OwnTest> test;
  // The child tests the reserved GPUs ("gpu/0000:3b:00.0" follows its arguments); all GPUs of the machine if
  // none is reserved.
  bool is_told_reservation = false;
};

// All kinds that are built in.
[[nodiscard]] std::vector<OperationKind> builtin_operations();

struct OperationStart {
  std::string kind;
  std::string owner;
  std::vector<Subject> reservation;  // subjects reserved until the end; empty in a test of GPUs: all GPUs
  std::optional<Duration> deadline;  // not set: the default of the kind
  bool knows_holders = false;        // the caller has made sure that no other user has the subjects
};

// The diagnostics of one machine. Used on one thread, the runtime's; one thread per child waits until the
// child and all processes that it started have ended.
class Operations {
 public:
  static constexpr std::size_t kMaxRunning = 2;
  static constexpr std::size_t kKept =
      64;  // operations, finished ones included; the oldest are removed first
  static constexpr std::size_t kMaxReserved = 64;
  static constexpr Duration kMaxDeadline = std::chrono::hours{1};

  // `simulated`: the machine is simulated. `remembered`: operations of the journal, newest first; new ids
  // continue after theirs, and operations that were running count as failed. `wake` is called from any
  // thread and asks the owner to call poll() soon.
  Operations(const Clock& clock, std::string boot_id, bool simulated, std::vector<OperationKind> kinds,
             std::vector<Operation> remembered, std::function<void()> wake);
  Operations(const Operations&) = delete;
  Operations& operator=(const Operations&) = delete;
  // Ends running operations, as stop() does.
  ~Operations();

  // The holder of at least one of these GPUs (of all GPUs if the list is empty), even if none of its
  // processes runs there; empty: no known holder.
  using Holder = std::function<std::string(const std::vector<Subject>& gpus)>;
  // A diagnostic is skipped while `holder` names a holder of its GPUs, and a running one ends at the next
  // poll(); not if it was started with knows_holders.
  void heed(Holder holder) { holder_ = std::move(holder); }

  // Adds a kind that this process runs itself.
  void offer(OperationKind kind);
  [[nodiscard]] const std::vector<OperationKind>& kinds() const { return kinds_; }

  // Errors: not_found (no such kind; names the known ones), malformed (deadline or reservation beyond the
  // limits), conflict (a subject is reserved, a diagnostic of all GPUs conflicts with another of GPUs, or an
  // own diagnostic of this kind is already running; names the holder), exhausted (kMaxRunning, children that
  // cannot be killed included), unavailable (after stop); and those of OwnTest::begin.
  [[nodiscard]] Result<Operation> start(const OperationStart& wanted);
  // Asks a child to end; the operation is over some polls later. Errors: not_found; conflict: already over.
  [[nodiscard]] Result<Operation> cancel(std::string_view id, const std::string& by);
  // With the latest progress. Error: not_found.
  [[nodiscard]] Result<Operation> find(std::string_view id) const;
  [[nodiscard]] std::vector<Operation> list() const;  // newest first

  // The operations that began or ended since the last call, in the state of that moment, for the journal and
  // for events. Ends diagnostics of this process whose deadline has passed.
  [[nodiscard]] std::vector<Operation> poll();
  // The earliest deadline of a diagnostic of this process; not set: none is running.
  [[nodiscard]] std::optional<MonoTime> next_deadline() const;

  // Stops running operations and waits for their end (a few seconds if a child must be killed); later calls
  // of start() fail.
  void stop();

 private:
  // Output of a child so far; guarded by mutex_.
  struct Talk {
    double progress = 0;
    std::string message;
    std::uint64_t garbage = 0;
    std::optional<Observations> observations;
    bool has_ended = false;
    Result<host::ChildReport> report;  // when it has ended
  };
  // Output of a diagnostic of this process so far.
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
    bool yields = false;           // ends when another user holds its GPUs
    std::string yielded_to;        // that user, in a sentence; empty: has not yielded
    std::unique_ptr<Talk> talk;    // while a child runs
    std::shared_ptr<OwnTalk> own;  // while a diagnostic of this process runs
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
