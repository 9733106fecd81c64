// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/decoded_record.hpp"
#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "checks/kernel_log/repeated_faults.hpp"
#include "checks/kernel_log/reset_evidence.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "checks/kernel_log/taken_back.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kReadable = "kernel_log.readable";
constexpr std::string_view kLost = "kernel_log.lost";
constexpr std::string_view kListening = "driver_events.readable";
// A GPU that the driver misses while it is being loaded is told before the line that says it was loaded.
constexpr std::string_view kMissedAtLoad = "gpu.off_bus_at_load";
constexpr Duration kLoading = 1min;

bool has_nvidia_driver_or_gpu(const host::Host& host) {
  const auto gpus = host::scan_nvidia_gpus(host.files);
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

// Only needed where the log cannot be read or lost records. A driver that does not work or lets nobody listen
// tells no events, which must not pass for silence.
Result<std::vector<host::GpuEvent>> library_events(const host::Host& host, const Request& request) {
  const auto report = TRY(host.nvidia_gpus.read({host::GpuGroup::identity}, request.deadline));
  if (report.state != host::DriverState::ok)
    return fail(Errc::unavailable, "the driver is " + std::string(to_string(report.state)));
  return host.nvidia_gpus.take_events(request.deadline);
}

// What could not listen is shown as missing, with the reason.
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

// What the records of the window say about one subject for one reason.
struct Condition {
  Health health = Health::degraded;
  Action action = Action::none;
  std::string message;
  WallTime since{};  // of the first record
  const Observation* last = nullptr;
  std::int64_t count = 0;
};

class Judgement {
 public:
  explicit Judgement(const JudgeInput& input) : input_(input) {}

  Findings judge() {
    std::vector<TakenBack> taken_back;
    for (const Observation& event : input_.history.events())
      std::ranges::copy(taken_back_by(event, input_.facts), std::back_inserter(taken_back));
    for (const Observation& event : input_.history.events()) {
      if (event.source == kNvmlEvents ? !counts_alone(event) : !may_act(event)) continue;
      if (!is_over(event, taken_back)) take(event);
    }
    Findings result = findings();
    for (const RepeatedFault& fault : repeated_faults(xids_))
      result.push_back(to_finding(fault));
    return result;
  }

 private:
  struct Key {
    Subject subject;
    std::string reason;
    bool injected = false;  // kept apart from real ones
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  // The library is asked only where the log could not be read or lost records; what the log tells as well
  // counts by the log.
  [[nodiscard]] bool counts_alone(const Observation& event) const {
    return std::ranges::none_of(input_.history.events(), [&event](const Observation& record) {
      return tells_the_same(record, event);
    });
  }

  void take(const Observation& event) {
    if (const auto reset = reset_in(event)) {
      begin_anew(*reset, event);
    } else if (event.name == kOffBusEvent) {
      note(event, gpu_of(event.subject), "gpu_fallen_off_bus", Health::failed, std::nullopt,
           "The driver lost the GPU on the bus");
    } else if (event.name == kInitFailedEvent) {
      if (event.subject.kind == SubjectKind::gpu)
        note(event, event.subject, "gpu_init_failed", Health::failed, std::nullopt,
             "The driver cannot open the GPU");
    } else if (event.name == kSxidEvent) {
      take_sxid(event);
    } else if (event.name == kXidEvent) {
      take_xid(event);
    }
  }

  // What the records before a reset said is no condition of now. Whether a finding goes is not decided here:
  // its clear rule does that.
  void begin_anew(const SeenReset& reset, const Observation& event) {
    std::erase_if(conditions_, [&](const auto& entry) {
      const Key& key = entry.first;
      return key.injected == reset.injected &&
             (reset.gpu.kind == SubjectKind::host || gpu_of(key.subject) == reset.gpu) &&
             !is_of_this_load(*entry.second.last, event);
    });
    std::erase_if(xids_, [&](const Observation* event) {
      return is_injected(*event) == reset.injected &&
             (reset.gpu.kind == SubjectKind::host || gpu_of(event->subject) == reset.gpu);
    });
  }

  static bool is_of_this_load(const Observation& told, const Observation& loaded) {
    return loaded.name == kDriverLoadedEvent && told.value == Value{std::string(kMissedAtLoad)} &&
           loaded.time.mono - told.time.mono <= kLoading;
  }

  void take_xid(const Observation& event) {
    xids_.push_back(&event);
    const std::uint32_t code = code_of(event);
    if (const auto to = attribute_number(event, "recoveryTo")) {
      take_verdict(event, *to);
      return;
    }
    const DriverAdvice advice = advice_on_event(input_.facts, event, xids_);
    if (advice.health == Health::healthy) return;
    // An error that takes the whole device along is not that of an instance.
    const bool is_whole = takes_device_out_of_service(advice.now) || advice.health == Health::failed;
    note(event, link_of(event).value_or(is_whole ? gpu_of(event.subject) : event.subject),
         reason_of_xid(code, advice.fault_class), advice.health, advice.now,
         "Xid " + std::to_string(code) + ": " + std::string(advice.meaning));
  }

  void take_verdict(const Observation& event, int number) {
    const Subject gpu = gpu_of(event.subject);
    const auto action = recovery_action(number);
    const bool is_failed = action && takes_device_out_of_service(*action);
    note(event, gpu, "xid_verdict", is_failed ? Health::failed : Health::degraded,
         action.value_or(Action::run_diagnostics),
         action ? "The driver asks for: " + std::string(to_string(*action))
                : "The driver asks for an action this release does not know: " + std::to_string(number));
  }

  void take_sxid(const Observation& event) {
    const DriverAdvice advice = advice_on_event(input_.facts, event);
    if (advice.health == Health::healthy) return;
    const Value* severity = find_attribute(event.attributes, "severity");
    note(event, event.subject, std::string(kReasonOfSxids), advice.health, advice.now,
         "SXid " + std::to_string(code_of(event)) + ": " + std::string(advice.meaning) +
             (severity == nullptr ? "" : " The driver calls it " + to_string(*severity) + "."));
  }

  void note(const Observation& event, const Subject& subject, const std::string& reason, Health health,
            std::optional<Action> action, std::string message) {
    const catalog::Reason* facts = input_.facts.reason(reason);
    if (facts != nullptr && facts->clear == catalog::ClearRule::expiry &&
        input_.now.mono - event.time.mono > facts->clear_after)
      return;
    auto& condition = conditions_[{subject, reason, is_injected(event)}];
    condition.count += attribute_number(event, "count").value_or(1);
    if (condition.last == nullptr) condition.since = event.time.wall;
    if (condition.last != nullptr && condition.health == Health::failed && health != Health::failed) return;
    condition.health = health;
    condition.action = action.value_or(facts == nullptr ? Action::none : facts->action);
    condition.message = std::move(message);
    condition.last = &event;
  }

  // What the driver says last, about the whole GPU, outranks what the table says about a code.
  [[nodiscard]] Action action_for(const Key& key, const Condition& condition) const {
    const auto verdict = conditions_.find({gpu_of(key.subject), "xid_verdict", key.injected});
    return verdict == conditions_.end() ? condition.action : verdict->second.action;
  }

  [[nodiscard]] Findings findings() const {
    Findings result;
    for (const auto& entry : conditions_) {
      const Condition& condition = entry.second;
      std::string message = condition.message;
      if (condition.count > 1) message += " (" + std::to_string(condition.count) + " times)";
      Finding finding =
          make_finding(input_, entry.first.subject, entry.first.reason, condition.health, std::move(message));
      finding.action = action_for(entry.first, condition);
      finding.injected = entry.first.injected;
      finding.since = condition.since;
      finding.evidence = evidence_of(*condition.last);
      result.push_back(std::move(finding));
    }
    return result;
  }

  // Of the record that counts most; stays the same until another one does.
  static Attributes evidence_of(const Observation& event) {
    Attributes evidence;
    if (event.name == kXidEvent || event.name == kSxidEvent)
      evidence.emplace_back("code", std::int64_t{code_of(event)});
    evidence.emplace_back("time", format_time(event.time.wall));
    evidence.emplace_back("witness", event.source);
    evidence.emplace_back("sequence", static_cast<std::int64_t>(event.sequence.value_or(0)));
    for (const std::string_view name :
         {"line", "pid", "process", "causedBy", "nvlinkUnit", "nvlinkLink", "nvlinkStatus", "nvlinkReason"})
      if (const Value* value = find_attribute(event.attributes, name)) evidence.emplace_back(name, *value);
    return evidence;
  }

  [[nodiscard]] Finding to_finding(const RepeatedFault& fault) const {
    const std::string code = std::to_string(fault.code);
    const std::string unit = fault.gpc && fault.tpc ? " in the same unit (GPC " + std::to_string(*fault.gpc) +
                                                          ", TPC " + std::to_string(*fault.tpc) + ")"
                                                    : std::string();
    Finding finding = make_finding(input_, fault.gpu, "program_faults_repeat", Health::degraded,
                                   "Xid " + code + unit + " in " + std::to_string(fault.programs.size()) +
                                       " different programs: the program changed, the fault stayed");
    finding.injected = fault.injected;
    finding.since = fault.second->time.wall;
    finding.evidence = evidence_of(*fault.last);
    std::string programs;
    for (const std::string& program : fault.programs)
      programs.append(programs.empty() ? "" : ", ").append(program);
    finding.evidence.emplace_back("programs", programs);
    return finding;
  }

  const JudgeInput& input_;
  std::map<Key, Condition> conditions_;
  std::vector<const Observation*> xids_;  // those that act, since the last reset of their GPU; oldest first
};

Findings judge(const JudgeInput& input) {
  return Judgement(input).judge();
}

}  // namespace

extern const Check kGpuXid{{.id = "gpu.xid",
                            .title = "GPU driver errors",
                            .tags = {"gpu", "kernel_log", "passive"},
                            .period = 30s,
                            .deadline = 5s,
                            .window = 1h,
                            .cost = Cost::cheap,
                            .witnesses = {"/dev/kmsg", "syslog", std::string(kNvmlEvents)},
                            .rights = {"CAP_SYSLOG"},
                            .needs_window = false},
                           observe,
                           judge};

}  // namespace autopilot::checks
