// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/operations/operations.hpp"

#include <algorithm>
#include <system_error>
#include <utility>
#include <variant>

#include "core/parse.hpp"
#include "diagnostics/child/child_line.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/helper_client.hpp"

namespace autopilot::diagnostics {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr host::RunLimits kLimits{
    .output_bytes = std::size_t{64} * 1024, .grace = seconds{1}, .patience = seconds{1}};
constexpr std::size_t kTail = 400;

// The end of a child's standard error, on one line.
std::string tail_of(std::string_view errors) {
  const std::string_view all = trim(errors);
  std::string tail = to_utf8(all.substr(all.size() - std::min(all.size(), kTail)));
  std::replace(tail.begin(), tail.end(), '\n', ' ');
  return tail;
}

std::string join(std::string first, const std::string& second) {
  if (first.empty() || second.empty()) return first + second;
  return std::move(first) + "; " + second;
}

std::string in_use_by(const std::string& holder) {
  return "GPU in use by " + holder;
}

std::string garbage_note(std::uint64_t lines) {
  if (lines == 0) return {};
  return std::to_string(lines) + (lines == 1 ? " line" : " lines") + " of its output could not be read";
}

host::Command command_of(const OperationKind& kind, const std::vector<Subject>& reservation) {
  host::Command command = std::get<host::Command>(kind.test);
  if (kind.is_told_reservation)
    for (const Subject& subject : reservation)
      command.arguments.push_back(to_string(subject));
  return command;
}

// What a child has found, with what is not its to say.
void take_observations(Operation& operation, std::optional<Observations> found, const Instant& now) {
  operation.observations = std::move(found).value_or(Observations{});
  for (Observation& observation : operation.observations) {
    observation.source = operation.kind;
    observation.time = now;
  }
}

// "op-1b4e28ba-17" -> 17
std::uint64_t number_of(std::string_view id) {
  return parse_number<std::uint64_t>(id.substr(id.rfind('-') + 1)).value_or(0);
}

}  // namespace

std::vector<OperationKind> builtin_operations() {
  return {{"self_test", "Known arithmetic on every CPU in turn", minutes{1},
           host::helper_command("self_test", {"--seconds", "5"}, {})}};
}

Operations::Operations(const Clock& clock, std::string boot_id, bool simulated,
                       std::vector<OperationKind> kinds, std::vector<Operation> remembered,
                       std::function<void()> wake)
    : clock_(clock),
      boot_id_(std::move(boot_id)),
      simulated_(simulated),
      kinds_(std::move(kinds)),
      wake_(std::move(wake)) {
  std::reverse(remembered.begin(), remembered.end());
  for (Operation& operation : remembered) {
    next_number_ = std::max(next_number_, number_of(operation.id) + 1);
    operation.simulated = simulated_;
    if (!operation.is_over()) {
      operation.state = OperationState::failed;
      operation.message = "the agent was restarted";
      operation.finished = clock_.now().wall;
      changed_.push_back(operation);
    }
    entries_.emplace_back().operation = std::move(operation);
  }
  forget_oldest();
}

Operations::~Operations() {
  stop();
}

void Operations::offer(OperationKind kind) {
  kinds_.push_back(std::move(kind));
}

Operations::GpuUse Operations::use_of_gpus(const OperationStart& wanted, const OperationKind& kind) {
  if (wanted.reservation.empty()) return kind.is_told_reservation ? GpuUse::all : GpuUse::none;
  const auto is_gpu = [](const Subject& subject) { return subject.kind == SubjectKind::gpu; };
  return std::ranges::any_of(wanted.reservation, is_gpu) ? GpuUse::named : GpuUse::none;
}

Status Operations::admit(const OperationStart& wanted, const OperationKind& kind) const {
  if (stopping_) return fail(Errc::unavailable, "the agent is stopping");
  if (wanted.deadline && (*wanted.deadline <= Duration::zero() || *wanted.deadline > kMaxDeadline))
    return fail(Errc::malformed, "the deadline must be above 0 and at most " + format_duration(kMaxDeadline));
  if (wanted.reservation.size() > kMaxReserved)
    return fail(Errc::malformed, "at most " + std::to_string(kMaxReserved) + " subjects can be reserved");
  const GpuUse gpus = use_of_gpus(wanted, kind);
  std::size_t running = runner_.abandoned();
  for (const Entry& entry : entries_) {
    const Operation& other = entry.operation;
    if (other.is_over()) continue;
    ++running;
    const std::string by = other.id + " (" + other.kind + " of " + other.owner + ")";
    if (entry.own && other.kind == kind.id) return fail(Errc::conflict, "it is already running as " + by);
    for (const Subject& subject : wanted.reservation)
      if (std::find(other.reservation.begin(), other.reservation.end(), subject) != other.reservation.end())
        return fail(Errc::conflict, to_string(subject) + " is reserved by " + by);
    const bool is_of_all = gpus == GpuUse::all || entry.gpus == GpuUse::all;
    if (is_of_all && gpus != GpuUse::none && entry.gpus != GpuUse::none)
      return fail(Errc::conflict, "another test of GPUs runs: " + by + "; try again when it is over");
  }
  if (running >= kMaxRunning)
    return fail(Errc::exhausted, std::to_string(running) + " operations run already; no more than " +
                                     std::to_string(kMaxRunning) + " may");
  return {};
}

Result<Operation> Operations::start(const OperationStart& wanted) {
  const auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                                 [&wanted](const OperationKind& known) { return known.id == wanted.kind; });
  if (kind == kinds_.end()) {
    std::string known;
    for (const OperationKind& one : kinds_)
      known += (known.empty() ? "" : ", ") + one.id;
    return fail(Errc::not_found, "no operation is called '" + to_utf8(wanted.kind.substr(0, kTail)) +
                                     "'; there are: " + known);
  }
  TRY_STATUS(admit(wanted, *kind));

  Entry entry;
  Operation& operation = entry.operation;
  operation.id = "op-" + boot_id_.substr(0, 8) + "-" + std::to_string(next_number_++);
  operation.simulated = simulated_;
  operation.kind = wanted.kind;
  operation.owner = wanted.owner;
  operation.reservation = wanted.reservation;
  operation.deadline = wanted.deadline.value_or(kind->deadline);
  operation.created = clock_.now().wall;
  operation.started = operation.created;
  operation.state = OperationState::running;
  entry.gpus = use_of_gpus(wanted, *kind);
  entry.yields = kind->is_told_reservation && !wanted.knows_holders;
  if (const std::string holder = holder_of(entry); !holder.empty()) {
    operation.state = OperationState::skipped;
    operation.message = in_use_by(holder);
    operation.finished = operation.created;
  } else {
    TRY_STATUS(run(entry, *kind));
  }
  entries_.push_back(std::move(entry));
  forget_oldest();
  changed_.push_back(entries_.back().operation);
  return entries_.back().operation;
}

std::string Operations::holder_of(const Entry& entry) const {
  return holder_ && entry.yields ? holder_(entry.operation.reservation) : "";
}

Status Operations::run(Entry& entry, const OperationKind& kind) {
  if (const auto* own = std::get_if<OwnTest>(&kind.test)) return begin(entry, *own);
  return watch(entry, command_of(kind, entry.operation.reservation));
}

Status Operations::watch(Entry& entry, host::Command command) {
  const auto deadline = host::mono_now() + entry.operation.deadline;
  entry.talk = std::make_unique<Talk>();
  Talk& talk = *entry.talk;
  try {
    entry.thread =
        std::jthread([this, &talk, command = std::move(command), deadline](const std::stop_token& stop) {
          auto report = runner_.run(command, deadline, kLimits, stop,
                                    [this, &talk](std::string_view line) { take_line(talk, line); });
          {
            const std::lock_guard lock(mutex_);
            talk.report = std::move(report);
            talk.has_ended = true;
          }
          if (wake_) wake_();
        });
  } catch (const std::system_error& error) {
    return fail(Errc::exhausted, std::string("no thread for the operation: ") + error.what());
  }
  return {};
}

// The callbacks hold the operation weakly: after its end they do nothing.
Status Operations::begin(Entry& entry, const OwnTest& test) {
  entry.own = std::make_shared<OwnTalk>();
  entry.own->deadline = clock_.now().mono + entry.operation.deadline;
  entry.own->cancel = test.cancel;
  const std::weak_ptr<OwnTalk> weak = entry.own;
  return test.begin({.on_progress =
                         [weak](std::string message) {
                           if (const auto talk = weak.lock()) talk->message = std::move(message);
                         },
                     .on_end =
                         [this, weak](Result<std::string> said) {
                           const auto talk = weak.lock();
                           if (!talk) return;
                           talk->end = std::move(said);
                           if (wake_) wake_();
                         },
                     .reservation = entry.operation.reservation});
}

void Operations::take_line(Talk& talk, std::string_view line) {
  auto parsed = parse_child_line(line);
  const std::lock_guard lock(mutex_);
  if (!parsed) {
    ++talk.garbage;
  } else if (auto* progress = std::get_if<ChildProgress>(&*parsed)) {
    talk.progress = progress->progress;
    talk.message = std::move(progress->message);
  } else {
    talk.observations = std::get<Observations>(std::move(*parsed));
  }
}

std::vector<Operation> Operations::poll() {
  for (Entry& entry : entries_) {
    if (entry.own && (entry.own->end || clock_.now().mono >= entry.own->deadline)) conclude_own(entry);
    if (!entry.talk) continue;
    if (const std::string holder = holder_of(entry); !holder.empty() && entry.yielded_to.empty()) {
      entry.yielded_to = in_use_by(holder);
      entry.thread.request_stop();
    }
    {
      const std::lock_guard lock(mutex_);
      if (!entry.talk->has_ended) continue;
    }
    conclude(entry);
  }
  return std::exchange(changed_, {});
}

std::optional<MonoTime> Operations::next_deadline() const {
  std::optional<MonoTime> next;
  for (const Entry& entry : entries_)
    if (entry.own) next = std::min(next.value_or(entry.own->deadline), entry.own->deadline);
  return next;
}

// It has reported its end, or its deadline has passed.
void Operations::conclude_own(Entry& entry) {
  const std::shared_ptr<OwnTalk> talk = std::move(entry.own);
  const std::optional<Result<std::string>> end = std::move(talk->end);
  Operation& operation = entry.operation;
  const std::string found = end ? "" : talk->cancel();
  operation.finished = clock_.now().wall;
  if (!entry.cancelled_by.empty()) {
    operation.state = OperationState::cancelled;
    operation.message = join("cancelled by " + entry.cancelled_by, found);
  } else if (!end) {
    operation.state = OperationState::timed_out;
    operation.message =
        join("no end within " + format_duration(operation.deadline), found.empty() ? talk->message : found);
  } else if (const Result<std::string>& said = *end; said) {
    operation.state = OperationState::succeeded;
    operation.progress = 1;
    operation.message = *said;
  } else {
    const bool is_in_use = said.error().code == Errc::conflict;
    operation.state = is_in_use ? OperationState::skipped : OperationState::failed;
    operation.message = said.error().what;
  }
  changed_.push_back(operation);
}

// The child has ended; its thread is about to end.
void Operations::conclude(Entry& entry) {
  entry.thread.join();
  const std::unique_ptr<Talk> talk = std::move(entry.talk);
  const auto& report = talk->report;
  auto observations = std::move(talk->observations);
  Operation& operation = entry.operation;
  const Instant now = clock_.now();
  operation.finished = now.wall;
  operation.progress = talk->progress;
  operation.state = OperationState::failed;
  if (!report) {
    operation.message = "could not be started: " + report.error().what;
  } else if (report->end == host::ChildEnd::timed_out) {
    operation.state = OperationState::timed_out;
    operation.message = join("no end within " + format_duration(operation.deadline), talk->message);
  } else if (report->end == host::ChildEnd::cancelled && entry.cancelled_by.empty()) {
    operation.state = OperationState::skipped;
    operation.message = entry.yielded_to;
  } else if (report->end == host::ChildEnd::cancelled) {
    operation.state = OperationState::cancelled;
    operation.message = "cancelled by " + entry.cancelled_by;
  } else if (report->end == host::ChildEnd::exited && report->status.code == kChildInUse) {
    operation.state = OperationState::skipped;
    operation.message = std::move(talk->message);
    take_observations(operation, std::move(observations), now);
  } else if (report->end == host::ChildEnd::signalled || report->status.code != 0) {
    operation.message = join(to_string(report->status), tail_of(report->errors));
  } else if (!observations) {
    operation.message = "ended without a result";
  } else {
    operation.state = OperationState::succeeded;
    operation.progress = 1;
    operation.message = std::move(talk->message);
    take_observations(operation, std::move(observations), now);
  }
  operation.message = join(std::move(operation.message), garbage_note(talk->garbage));
  if (report && report->was_abandoned) operation.message += "; its process cannot be killed";
  changed_.push_back(operation);
}

void Operations::forget_oldest() {
  while (entries_.size() > kKept) {
    const auto oldest = std::find_if(entries_.begin(), entries_.end(),
                                     [](const Entry& entry) { return entry.operation.is_over(); });
    if (oldest == entries_.end()) return;
    entries_.erase(oldest);
  }
}

Operation Operations::now_of(const Entry& entry) const {
  Operation operation = entry.operation;
  if (entry.own) operation.message = entry.own->message;
  if (!entry.talk) return operation;
  const std::lock_guard lock(mutex_);
  operation.progress = entry.talk->progress;
  operation.message = join(entry.talk->message, garbage_note(entry.talk->garbage));
  return operation;
}

Result<Operation> Operations::find(std::string_view id) const {
  for (const Entry& entry : entries_)
    if (entry.operation.id == id) return now_of(entry);
  return fail(Errc::not_found,
              "no operation " + std::string(id) + " is known; GET /v1/operations lists them");
}

std::vector<Operation> Operations::list() const {
  std::vector<Operation> operations;
  operations.reserve(entries_.size());
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
    operations.push_back(now_of(*entry));
  return operations;
}

Result<Operation> Operations::cancel(std::string_view id, const std::string& by) {
  for (Entry& entry : entries_) {
    if (entry.operation.id != id) continue;
    if (entry.operation.is_over())
      return fail(Errc::conflict,
                  entry.operation.id + " is over: " + std::string(to_string(entry.operation.state)));
    if (entry.cancelled_by.empty()) entry.cancelled_by = by;
    if (entry.own) {
      conclude_own(entry);
      if (wake_) wake_();
    } else {
      entry.thread.request_stop();
    }
    return now_of(entry);
  }
  return fail(find(id).error());
}

void Operations::stop() {
  stopping_ = true;
  for (Entry& entry : entries_) {
    if (entry.operation.is_over()) continue;
    if (entry.cancelled_by.empty()) entry.cancelled_by = "the agent, which stopped";
    if (entry.own)
      conclude_own(entry);
    else
      entry.thread.request_stop();
  }
  for (Entry& entry : entries_)
    if (entry.talk) conclude(entry);
}

Event operation_event(const Operation& operation) {
  Event event;
  event.kind = operation.is_over() ? EventKind::operation_finished : EventKind::operation_started;
  event.time = operation.finished.value_or(operation.created);
  if (operation.reservation.size() == 1) event.subject = operation.reservation.front();
  // A diagnostic that did not complete has no result for the machine.
  const bool has_no_result = operation.is_over() && operation.state != OperationState::succeeded;
  event.health = has_no_result ? Health::unknown : Health::healthy;
  event.reason = std::string(to_string(operation.state));
  event.message =
      operation.kind + " " +
      (operation.is_over() ? std::string(to_string(operation.state)) : "started by " + operation.owner);
  if (!operation.message.empty()) event.message += ": " + operation.message;
  event.details = {{"operation", operation.id}, {"kind", operation.kind}, {"owner", operation.owner}};
  return event;
}

}  // namespace autopilot::diagnostics
