// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/test_runs.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::diagnostics {
namespace {

// Times in results may be cut to whole seconds.
WallTime began_of(const Operation& operation) {
  return std::chrono::floor<std::chrono::seconds>(operation.created);
}

TestRuns::Run run_of(const Operation& operation) {
  TestRuns::Run run{.began = began_of(operation), .not_run = {}};
  if (operation.state == OperationState::succeeded) return run;
  run.is_in_use = operation.state == OperationState::skipped;
  run.not_run = operation.message;
  return run;
}

}  // namespace

TestRuns::TestRuns(net::EventLoop& loop, const Clock& clock, Operations& operations,
                   runtime::Runtime& runtime, std::function<void()> note_changes,
                   std::function<void()> poll_soon)
    : loop_(loop),
      clock_(clock),
      operations_(operations),
      runtime_(runtime),
      note_changes_(std::move(note_changes)),
      poll_soon_(std::move(poll_soon)) {}

bool TestRuns::can_run(std::string_view check) const {
  return std::ranges::find(operations_.kinds(), check, &OperationKind::id) != operations_.kinds().end();
}

Result<Operation> TestRuns::begin(const std::string& check, const std::string& owner) {
  const auto all = operations_.list();
  const auto is_as_good = [&check, now = clock_.now().wall](const Operation& one) {
    if (one.kind != check || one.state == OperationState::cancelled || !one.reservation.empty()) return false;
    return !one.is_over() || (one.created <= now && now - one.created < kSame);
  };
  const auto known = std::ranges::find_if(all, is_as_good);
  if (known != all.end()) return *known;
  auto operation = operations_.start({check, owner, {}, std::nullopt});
  if (!operation) return operation;
  note_changes_();
  poll_soon_();
  return operation;
}

void TestRuns::run(const std::string& check, const std::string& owner, OnRun on_run) {
  Result<Operation> operation = begin(check, owner);
  if (!operation && !may_wait(check, operation.error())) {
    const Run run{.began = clock_.now().wall, .not_run = operation.error().what};
    return loop_.post([run, on_run = std::move(on_run)] { on_run(run); });
  }
  if (operation) leave_queue(check, *operation);
  const std::uint64_t number = ++next_;
  waiting_[number] = {check, operation.value_or(Operation{}), std::move(on_run),
                      loop_.after(kPatience, [this, number] { give_up(number); })};
  if (operation)
    tell_if_judged(*operation);
  else
    queue(check, owner, operation.error().what);
}

// The caller may wait only if the end of another diagnostic removes the error.
bool TestRuns::may_wait(const std::string& check, const Error& error) const {
  const auto kind = std::ranges::find(operations_.kinds(), check, &OperationKind::id);
  return kind != operations_.kinds().end() && kind->is_told_reservation &&
         (error.code == Errc::conflict || error.code == Errc::exhausted);
}

void TestRuns::queue(const std::string& check, const std::string& owner, const std::string& why) {
  if (std::ranges::find(queue_, check, &Queued::check) == queue_.end())
    queue_.push_back({check, owner, why, clock_.now().mono});
}

// The diagnostic has begun: callers that wait for the queued one now wait for this operation.
void TestRuns::leave_queue(const std::string& check, const Operation& operation) {
  std::erase_if(queue_, [&check](const Queued& queued) { return queued.check == check; });
  for (auto& [number, waiting] : waiting_)
    if (is_queued(check)(waiting)) waiting.operation = operation;
}

void TestRuns::begin_queued() {
  const MonoTime now = clock_.now().mono;
  for (Queued& queued : std::exchange(queue_, {})) {
    if (now - queued.since > kMostQueued) continue;  // its callers have given up
    Result<Operation> operation = begin(queued.check, queued.owner);
    if (!operation && may_wait(queued.check, operation.error())) {
      queued.why = operation.error().what;
      queue_.push_back(std::move(queued));
    } else if (!operation) {
      tell_waiting(is_queued(queued.check), {.began = clock_.now().wall, .not_run = operation.error().what});
    } else {
      leave_queue(queued.check, *operation);
      tell_if_judged(*operation);
    }
  }
}

// Posted, so that on_run is never called from within run().
void TestRuns::tell_if_judged(const Operation& operation) {
  if (operation.is_over() && judged_[operation.kind] == operation.id)
    loop_.post([this, operation] { tell_waiting(is_of(operation), run_of(operation)); });
}

void TestRuns::note(const Operation& operation) {
  if (!operation.is_over()) return;
  if (!queue_.empty()) loop_.post([this] { begin_queued(); });
  // Twice: a run of the check that is in progress may have begun before the operation ended.
  look(operation, [this, operation] { look(operation, [this, operation] { tell(operation); }); });
}

// Calls `done` without a run if no check has that name, or if the check is disabled.
void TestRuns::look(const Operation& operation, std::function<void()> done) {
  const bool is_asked = runtime_.run_now(operation.kind, [done](const CheckResult&) { done(); });
  if (!is_asked) return loop_.post(std::move(done));
  poll_soon_();
}

void TestRuns::tell(const Operation& operation) {
  if (can_run(operation.kind)) judged_[operation.kind] = operation.id;
  tell_waiting(is_of(operation), run_of(operation));
}

void TestRuns::tell_waiting(const std::function<bool(const Waiting&)>& is_meant, const Run& run) {
  std::vector<OnRun> told;
  std::erase_if(waiting_, [&](auto& one) {
    if (!is_meant(one.second)) return false;
    told.push_back(std::move(one.second.on_run));
    return true;
  });
  for (const OnRun& on_run : told)
    on_run(run);
}

std::function<bool(const TestRuns::Waiting&)> TestRuns::is_of(const Operation& operation) {
  return [id = operation.id](const Waiting& one) { return one.operation.id == id; };
}

std::function<bool(const TestRuns::Waiting&)> TestRuns::is_queued(const std::string& check) {
  return [check](const Waiting& one) { return one.check == check && one.operation.id.empty(); };
}

void TestRuns::stop() {
  queue_.clear();
  for (const auto& [number, waiting] : std::exchange(waiting_, {}))
    waiting.on_run({.began = began_of(waiting.operation), .not_run = "the agent is stopping"});
}

void TestRuns::give_up(std::uint64_t number) {
  auto waiting = waiting_.extract(number);
  if (waiting.empty()) return;
  const Operation& operation = waiting.mapped().operation;
  if (!operation.id.empty())
    return waiting.mapped().on_run(
        {.began = began_of(operation),
         .not_run = "the diagnostic is still running as " + operation.id + "; ask again later"});
  const auto queued = std::ranges::find(queue_, waiting.mapped().check, &Queued::check);
  waiting.mapped().on_run(
      {.began = clock_.now().wall,
       .not_run = "it has not begun yet: " + (queued == queue_.end() ? "" : queued->why)});
}

}  // namespace autopilot::diagnostics
