// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <compare>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "catalog/action_text.hpp"
#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "core/action.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace gpu_xid {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kReadable = "kernel_log.readable";
constexpr std::string_view kLost = "kernel_log.lost";
constexpr std::string_view kListening = "driver_events.readable";
// While the driver is loaded, it writes these lines before the line that reports the load.
constexpr std::array<std::string_view, 5> kRulesAtLoad = {
    "gpu.off_bus_at_load", "gpu.unsupported", "gpu.bar_invalid", "gpu.probe_failed", "gpu.probes_failed"};
constexpr Duration kLoading = 1min;
// A record raises findings for this time; afterwards only its clear rule matters. The window is longer: the
// first run after a start reads all records since the boot, because a fault lasts until a reset.
constexpr Duration kRecent = 1h;
constexpr Duration kSinceBoot = 24h * 365;
// Jobs that reach the same faulty unit may be hours apart.
constexpr Duration kRepeats = 24h;
// Attribute of a record that was already old when it was read, and the reason of its finding.
constexpr std::string_view kReadLate = "readLate";
constexpr std::string_view kEarlier = "gpu_fault_earlier";
constexpr std::string_view kVerdict = "xid_verdict";
constexpr std::uint32_t kVerdictXid = 154;

bool has_nvidia_driver_or_gpu(const host::Host& host) {
  const auto gpus = host.gpu_scan.gpus(host::GpuVendor::nvidia);
  return !gpus || !gpus->empty() || host::is_nvidia_module_loaded(host.files);
}

Observation about_log(std::string_view name, Value value, std::string_view source, Instant now) {
  Observation observation;
  observation.name = name;
  observation.value = std::move(value);
  observation.source = source;
  observation.time = now;
  return observation;
}

// Needed only if the log cannot be read or lost records. A driver that does not work or refuses listeners
// reports no events; that is an error, not silence.
Result<std::vector<host::GpuEvent>> library_events(const host::Host& host, const Request& request) {
  const auto report = TRY(host.nvidia_gpus.read({host::GpuGroup::identity}, request.deadline));
  if (report.state != host::DriverState::ok)
    return fail(Errc::unavailable, "the driver is " + std::string(to_string(report.state)));
  return host.nvidia_gpus.take_events(request.deadline);
}

// A failure is recorded as a missing observation with its cause.
Status take_library_events(const host::Host& host, const Request& request, Observed& observed) {
  const auto events = library_events(host, request);
  Observation listening = about_log(kListening, events.has_value(), kNvmlEvents, request.now);
  if (!events) {
    listening.value.reset();
    listening.missing = events.error().what;
  }
  observed.observations.push_back(std::move(listening));
  if (!events) return fail(events.error());
  observed.witnesses.emplace_back(kNvmlEvents);
  for (const auto& event : *events)
    observed.observations.push_back(to_observation(event));
  return {};
}

void mark_old(Observations& events, Instant now) {
  for (Observation& event : events)
    if (now.mono - event.time.mono > kRecent) event.attributes.emplace_back(kReadLate, true);
}

bool is_of_driver(const host::KernelRecord& record) {
  return may_be_nvidia(record.text);
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  if (!has_nvidia_driver_or_gpu(host))
    return fail(Errc::unsupported, "no NVIDIA GPU in the PCI scan and no driver loaded");
  Observed observed;
  std::uint64_t lost = 0;
  const auto log = host.kernel_log.read_if(request.kernel_log_from, request.deadline,
                                           {request.reader, LogParts::gpu_driver, is_of_driver});
  if (log) {
    observed.witnesses.push_back(log->witness);
    observed.kernel_log_parts = LogParts::gpu_driver;
    observed.kernel_log_next = log->next;
    auto collected = collect_driver_events(*log, request.kernel_log_counted);
    observed.records_dropped = collected.dropped;
    lost = log->lost + collected.dropped;
    observed.observations = std::move(collected.events);
    mark_old(observed.observations, request.now);
    observed.observations.push_back(
        about_log(kLost, static_cast<std::int64_t>(lost), log->witness, request.now));
  }
  if (!log || lost > 0)
    if (const auto heard = take_library_events(host, request, observed); !heard && !log)
      return fail(log.error().code, log.error().what + "; events of the driver: " + heard.error().what);
  observed.observations.push_back(
      about_log(kReadable, log.has_value(), observed.witnesses.front(), request.now));
  return observed;
}

// Meaning of one record.
struct Statement {
  std::string reason;
  std::uint32_t code = 0;  // 0: the line has no code
  Health health = Health::degraded;
  std::optional<Action> action;  // nullopt: the action of the reason
  std::string message;
  std::optional<double> confidence;  // nullopt: the confidence of the reason
};

// State by the records of the window, for one subject, reason and code.
struct Condition {
  Statement worst;
  Action action = Action::none;        // the strongest
  WallTime since{};                    // of the first record
  const Observation* first = nullptr;  // among the records with the worst health
  const Observation* last = nullptr;   // among the records with the worst health
  std::int64_t count = 0;
};

class Judgement {
 public:
  explicit Judgement(const JudgeInput& input) : input_(input) {}

  Findings judge() {
    std::vector<Retraction> retractions;
    for (const Observation& event : input_.history.events())
      std::ranges::copy(retractions_by(event, input_.facts), std::back_inserter(retractions));
    for (const Observation& event : input_.history.events()) {
      if (const auto reset = reset_in(event)) {
        begin_anew(*reset, event);
      } else if (counts(event) && !is_retracted(event, retractions)) {
        if (event.name == kXidEvent) xids_.push_back(&event);
        take(event);
      }
    }
    forget_consequences();
    Findings result = findings();
    std::erase_if(xids_, [&](const Observation* xid) { return input_.now.mono - xid->time.mono > kRepeats; });
    for (const RepeatedFault& fault : repeated_faults(input_.facts, xids_))
      if (is_recent(*fault.last)) result.push_back(to_finding(fault));
    return result;
  }

 private:
  struct Key {
    Subject subject;
    std::string reason;
    std::uint32_t code = 0;
    bool injected = false;  // separate from real ones
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  [[nodiscard]] bool counts(const Observation& event) const {
    return event.source == kNvmlEvents ? counts_alone(event) : may_act(event);
  }

  [[nodiscard]] bool is_recent(const Observation& event) const {
    return input_.now.mono - event.time.mono <= kRecent;
  }

  // The library is read only if the log could not be read or lost records. An event that the log also has
  // counts by the log.
  [[nodiscard]] bool counts_alone(const Observation& event) const {
    return std::ranges::none_of(input_.history.events(),
                                [&event](const Observation& record) { return is_same_error(record, event); });
  }

  void take(const Observation& event) {
    if (event.name == kOffBusEvent) {
      note(event, gpu_of(event.subject),
           {.reason = "gpu_fallen_off_bus",
            .code = kOffBusXid,
            .health = Health::failed,
            .message = "The GPU has fallen off the bus"});
    } else if (event.name == kInitFailedEvent) {
      if (event.subject.kind == SubjectKind::gpu)
        note(event, event.subject,
             {.reason = "gpu_init_failed",
              .health = Health::failed,
              .message = "The driver cannot open the GPU"});
    } else if (event.name == kTroubleEvent) {
      take_trouble(event);
    } else if (event.name == kSxidEvent) {
      take_sxid(event);
    } else if (event.name == kXidEvent) {
      take_xid(event);
    }
  }

  // Records before a reset do not describe the present. This does not close findings: their clear rule does.
  void begin_anew(const SeenReset& reset, const Observation& event) {
    std::erase_if(conditions_, [&](const auto& entry) {
      const Key& key = entry.first;
      return key.injected == reset.injected &&
             (reset.gpu.kind == SubjectKind::host || key.subject.kind == SubjectKind::host ||
              gpu_of(key.subject) == reset.gpu) &&
             !is_of_this_load(*entry.second.last, event);
    });
    std::erase_if(xids_, [&](const Observation* xid) {
      return is_injected(*xid) == reset.injected &&
             (reset.gpu.kind == SubjectKind::host || gpu_of(xid->subject) == reset.gpu);
    });
  }

  static bool is_of_this_load(const Observation& record, const Observation& loaded) {
    return loaded.name == kDriverLoadedEvent && loaded.time.mono - record.time.mono <= kLoading &&
           std::ranges::any_of(kRulesAtLoad, [&record](std::string_view rule) {
             return record.value == Value{std::string(rule)};
           });
  }

  // Most such lines do not name a GPU; then the finding is about the node.
  void take_trouble(const Observation& event) {
    const catalog::LogRule* rule = input_.facts.log_rule(event.value ? to_string(*event.value) : "");
    if (rule == nullptr) return;
    note(event, gpu_of(event.subject),
         {.reason = rule->reason, .health = rule->health, .message = rule->title});
  }

  // Removes general findings that a more specific one explains: the cause of a failed start replaces the
  // failed start, and a finding about a GPU replaces one about the host.
  void forget_consequences() {
    constexpr std::array<std::string_view, 3> kWhy{"gpu_unsupported", "gpu_bar_invalid",
                                                   "gpu_fallen_off_bus"};
    std::vector<Key> specific;
    for (const auto& entry : conditions_)
      if (std::ranges::find(kWhy, entry.first.reason) != kWhy.end() || is_of_start(entry))
        specific.push_back(entry.first);
    std::erase_if(conditions_, [&](const auto& entry) {
      return is_of_start(entry) && std::ranges::any_of(specific, [&entry](const Key& other) {
               const Key& key = entry.first;
               const bool is_explained =
                   key.subject == other.subject || key.subject.kind == SubjectKind::host;
               return other.injected == key.injected && is_explained && other != key;
             });
    });
  }

  void take_xid(const Observation& event) {
    const std::uint32_t code = code_of(event);
    if (const auto to = attribute_number(event, "recoveryTo")) {
      take_verdict(event, *to);
      return;
    }
    const DriverAdvice advice = advice_on_event(input_.facts, event, xids_);
    if (advice.health == Health::healthy) return;
    note(event, subject_of_error(event, advice),
         {.reason = reason_of_xid(code, advice.fault_class),
          .code = code,
          .health = advice.health,
          .action = advice.now,
          .message = "Xid " + std::to_string(code) + ": " + std::string(advice.meaning),
          .confidence = advice.confidence});
  }

  void take_verdict(const Observation& event, int number) {
    const Subject gpu = gpu_of(event.subject);
    const auto action = recovery_action(number);
    const bool is_failed = action && takes_device_out_of_service(*action);
    note(event, gpu,
         {.reason = std::string(kVerdict),
          .code = kVerdictXid,
          .health = is_failed ? Health::failed : Health::degraded,
          .action = action.value_or(Action::run_diagnostics),
          .message = action ? "The driver recommends: " + catalog::action_text(*action)
                            : "The driver recommends an action that this release does not know: " +
                                  std::to_string(number),
          .confidence = advice_on_event(input_.facts, event).confidence});
  }

  void take_sxid(const Observation& event) {
    const DriverAdvice advice = advice_on_event(input_.facts, event);
    if (advice.health == Health::healthy) return;
    const Value* severity = find_attribute(event.attributes, "severity");
    note(event, event.subject,
         {.reason = std::string(kReasonOfSxids),
          .code = code_of(event),
          .health = advice.health,
          .action = advice.now,
          .message = "SXid " + std::to_string(code_of(event)) + ": " + std::string(advice.meaning) +
                     (severity == nullptr ? "" : " Severity by the driver: " + to_string(*severity) + "."),
          .confidence = advice.confidence});
  }

  static bool lasts_until_reset(const catalog::Reason* facts) {
    return facts != nullptr &&
           (facts->clear == catalog::ClearRule::gpu_reset || facts->clear == catalog::ClearRule::reboot);
  }

  // True for a GPU that the driver could not start when it was loaded.
  static bool is_of_start(const std::pair<const Key, Condition>& entry) {
    return entry.first.reason == "gpu_init_failed" && entry.second.first->name == kTroubleEvent;
  }

  [[nodiscard]] bool is_expired(const Observation& event, const catalog::Reason* facts) const {
    return facts != nullptr && facts->clear == catalog::ClearRule::expiry &&
           input_.now.mono - event.time.mono > facts->clear_after;
  }

  // The order of records with one code does not matter; of recovery requests only the last one counts.
  void note(const Observation& event, const Subject& subject, Statement statement) {
    const catalog::Reason* facts = input_.facts.reason(statement.reason);
    if (is_expired(event, facts)) return;
    if (!is_recent(event)) {
      if (!is_true(event, kReadLate) || !lasts_until_reset(facts)) return;
      statement.reason = kEarlier;
      statement.health = Health::degraded;
    }
    const Action action = statement.action.value_or(facts == nullptr ? Action::none : facts->action);
    Condition& condition = conditions_[{subject, statement.reason, statement.code, is_injected(event)}];
    if (statement.code == kVerdictXid && condition.worst.message != statement.message) condition = {};
    condition.count += attribute_number(event, "count").value_or(1);
    if (condition.last == nullptr) condition.since = event.time.wall;
    const bool is_known = condition.last != nullptr;
    if (is_known && condition.worst.health == Health::failed && statement.health != Health::failed) return;
    condition.last = &event;
    if (is_known && condition.worst.health == statement.health) {
      condition.action = stronger(condition.action, action);
      return;
    }
    condition.first = &event;
    condition.action = action;
    condition.worst = std::move(statement);
  }

  // The driver's last request about the whole GPU takes precedence over the catalog's action for a code.
  [[nodiscard]] Action action_for(const Key& key, const Condition& condition) const {
    const auto verdict =
        conditions_.find({gpu_of(key.subject), std::string(kVerdict), kVerdictXid, key.injected});
    return (verdict == conditions_.end() ? condition : verdict->second).action;
  }

  [[nodiscard]] Findings findings() const {
    Findings result;
    for (const auto& entry : conditions_) {
      const Key& key = entry.first;
      const Condition& condition = entry.second;
      std::string message = condition.worst.message;
      if (condition.count > 1) message += " (" + std::to_string(condition.count) + " times)";
      if (key.reason == kEarlier)
        message += (message.ends_with('.') ? " Logged at " : ". Logged at ") +
                   format_time(condition.last->time.wall) + "; if the GPU was reset since then, ignore this.";
      Finding finding =
          make_finding(input_, key.subject, key.reason, condition.worst.health, std::move(message));
      finding.action = action_for(key, condition);
      finding.injected = key.injected;
      finding.since = condition.since;
      finding.evidence = evidence_of(*condition.first, condition.last, key.code);
      if (condition.worst.confidence)
        finding.evidence.emplace_back("confidence", *condition.worst.confidence);
      result.push_back(std::move(finding));
    }
    return result;
  }

  // Shows the line of the first record; the other records only update the newest time.
  static Attributes evidence_of(const Observation& event, const Observation* last, std::uint32_t code) {
    Attributes evidence;
    if (code != 0) evidence.emplace_back("code", std::int64_t{code});
    evidence.emplace_back("time", format_time(event.time.wall));
    evidence.emplace_back("witness", event.source);
    evidence.emplace_back("sequence", sequence_of(event));
    if (last != &event) {
      evidence.emplace_back("lastTime", format_time(last->time.wall));
      evidence.emplace_back("lastSequence", sequence_of(*last));
    }
    for (const std::string_view name :
         {"line", "pid", "process", "causedBy", "nvlinkUnit", "nvlinkLink", "nvlinkStatus", "nvlinkReason"})
      if (const Value* value = find_attribute(event.attributes, name)) evidence.emplace_back(name, *value);
    return evidence;
  }

  static std::int64_t sequence_of(const Observation& event) {
    return static_cast<std::int64_t>(event.sequence.value_or(0));
  }

  [[nodiscard]] Finding to_finding(const RepeatedFault& fault) const {
    const std::string code = std::to_string(fault.code);
    const std::string unit = fault.gpc && fault.tpc ? " in the same unit (GPC " + std::to_string(*fault.gpc) +
                                                          ", TPC " + std::to_string(*fault.tpc) + ")"
                                                    : std::string();
    Finding finding = make_finding(input_, fault.gpu, "program_faults_repeat", Health::degraded,
                                   "Xid " + code + unit + " in " + std::to_string(fault.processes.size()) +
                                       " different processes: the program changed, the fault remained");
    finding.injected = fault.injected;
    finding.since = fault.second->time.wall;
    finding.evidence = evidence_of(*fault.last, fault.last, fault.code);
    finding.evidence.emplace_back("processes", fault.named());
    return finding;
  }

  const JudgeInput& input_;
  std::map<Key, Condition> conditions_;
  std::vector<const Observation*> xids_;  // Xids that may act since the last reset of their GPU, oldest first
};

Findings judge(const JudgeInput& input) {
  return Judgement(input).judge();
}

}  // namespace
}  // namespace gpu_xid

const Check kGpuXid = {
    .info = {.id = "gpu.xid",
             .title = "GPU driver errors",
             .tags = {"gpu", "kernel_log", "passive"},
             .period = std::chrono::seconds{30},
             .deadline = std::chrono::seconds{5},
             .window = gpu_xid::kSinceBoot,
             .cost = Cost::cheap,
             .witnesses = {"/dev/kmsg", "syslog", std::string(kNvmlEvents)},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false},
    .observe = gpu_xid::observe,
    .judge = gpu_xid::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
