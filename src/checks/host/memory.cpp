// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace host_memory {
namespace {

using std::chrono::minutes;

constexpr std::string_view kEdac = "edac";
constexpr std::string_view kMeminfo = "/proc/meminfo";
constexpr std::string_view kVmstat = "/proc/vmstat";
constexpr std::string_view kPressure = "/proc/pressure/memory";

// About the host.
constexpr std::string_view kControllers = "edac.controllers";
constexpr std::string_view kTotal = "memory.total";
constexpr std::string_view kAvailable = "memory.available";
constexpr std::string_view kCorrupted = "memory.corrupted";
constexpr std::string_view kOomKills = "memory.oom_kills";
constexpr std::string_view kFullShare = "memory.pressure_full_avg60";
constexpr std::string_view kSomeShare = "memory.pressure_some_avg60";
// About one controller or module: "edac.<controller>[.<module>].corrected"; the attributes name it.
constexpr std::string_view kCorrectedSuffix = ".corrected";
constexpr std::string_view kUncorrectedSuffix = ".uncorrected";

constexpr std::string_view kId = "host.memory";
constexpr std::string_view kOomGlobalRule = "memory.oom_global";
// A kill within the limit of a pod or a job is an event of that workload, and not judged.
constexpr std::string_view kOomKillRule = "memory.oom_container";

constexpr Duration kWindow = minutes{60};

// --- observe ---

class Collector {
 public:
  Collector(const host::Files& files, const Request& request) : files_(files), request_(request) {}

  void read_edac() {
    const auto controllers = host::read_memory_controllers(files_);
    if (!controllers) return add_missing(kControllers, kEdac, controllers.error());
    add(kControllers, kEdac, "count").value = static_cast<std::int64_t>(controllers->size());
    bool any_counts = false;
    for (const host::MemoryController& controller : *controllers) {
      const std::string name = "edac." + controller.name;
      const Attributes place = {{"controller", controller.name}};
      if (add_errors(name + std::string(kCorrectedSuffix), controller.corrected, place)) any_counts = true;
      if (add_errors(name + std::string(kUncorrectedSuffix), controller.uncorrected, place))
        any_counts = true;
      for (const host::MemoryModule& module : controller.modules)
        add_module(name + "." + module.name, controller.name, module);
    }
    if (any_counts) add_witness(kEdac);
  }

  void read_usage() {
    const auto text = files_.read(kMeminfo);
    const auto usage = text ? host::parse_meminfo(*text) : fail(text.error());
    if (!usage) return add_missing(kTotal, kMeminfo, usage.error());
    add_witness(kMeminfo);
    add_count(kTotal, kMeminfo, usage->total_kilobytes, "kilobytes");
    add_count(kAvailable, kMeminfo, usage->available_kilobytes, "kilobytes");
    if (const auto& corrupted = usage->corrupted_kilobytes)
      add_count(kCorrupted, kMeminfo, *corrupted, "kilobytes");
    else
      add(kCorrupted, kMeminfo, "kilobytes").missing = "not_supported";
  }

  void read_kills() {
    const auto text = files_.read(kVmstat);
    const auto kills = text ? host::parse_oom_kills(*text) : fail(text.error());
    if (!kills) return add_missing(kOomKills, kVmstat, kills.error());
    const auto& count = *kills;
    if (!count)
      return add_missing(kOomKills, kVmstat, {Errc::unsupported, "this kernel does not count OOM kills"});
    add_witness(kVmstat);
    add_count(kOomKills, kVmstat, *count, "count");
  }

  void read_pressure() {
    const auto text = files_.read(kPressure);
    const auto pressure = text ? host::parse_pressure(*text) : fail(text.error());
    if (!pressure) return add_missing(kFullShare, kPressure, pressure.error());
    add_witness(kPressure);
    add(kFullShare, kPressure, "ratio").value = pressure->full.avg60;
    add(kSomeShare, kPressure, "ratio").value = pressure->some.avg60;
  }

  [[nodiscard]] Observed take() { return std::move(observed_); }
  [[nodiscard]] std::optional<Error> first_problem() const { return problem_; }

 private:
  Observation& add(std::string_view name, std::string_view source, std::string_view unit) {
    Observation observation;
    observation.name = name;
    observation.source = source;
    observation.unit = unit;
    observation.time = request_.now;
    return observed_.observations.emplace_back(std::move(observation));
  }
  void add_count(std::string_view name, std::string_view source, std::uint64_t count, std::string_view unit) {
    add(name, source, unit).value = static_cast<std::int64_t>(count);
  }
  // A malformed counter does not affect the others. True if it could be read.
  bool add_errors(const std::string& name, const Result<std::uint64_t>& count, const Attributes& place) {
    Observation& observation = add(name, kEdac, "count");
    observation.attributes = place;
    if (count) {
      observation.value = static_cast<std::int64_t>(*count);
      return true;
    }
    observation.missing = to_string(count.error().code);
    observation.attributes.emplace_back("error", count.error().what);
    if (!problem_) problem_ = count.error();
    return false;
  }
  void add_module(const std::string& name, const std::string& controller, const host::MemoryModule& module) {
    const Attributes place = {{"controller", controller}, {"module", module.name}, {"label", module.label}};
    add_errors(name + std::string(kCorrectedSuffix), module.corrected, place);
    add_errors(name + std::string(kUncorrectedSuffix), module.uncorrected, place);
  }
  void add_missing(std::string_view name, std::string_view source, const Error& error) {
    Observation& observation = add(name, source, "");
    observation.missing = error.code == Errc::not_found ? "not_supported" : to_string(error.code);
    observation.attributes = {{"error", error.what}};
    if (!problem_) problem_ = error;
  }
  void add_witness(std::string_view witness) { observed_.witnesses.emplace_back(witness); }

  const host::Files& files_;
  const Request& request_;
  Observed observed_;
  std::optional<Error> problem_;
};

// The pod or job that exceeded its limit. The limit of all pods together, or of a service, counts as the
// host's.
Subject limited(const DecodedRecord& decoded) {
  const std::string limit = attribute_of(decoded, "limit");
  if (!decoded.from_kernel && !decoded.injected) return host_subject();
  const GpuUserOwner owner = host::parse_cgroup_path(limit.empty() ? attribute_of(decoded, "cgroup") : limit);
  Subject subject;
  if (!owner.job.empty()) {
    subject.kind = SubjectKind::job;
    subject.key = owner.job;
    std::ranges::replace(subject.key, ' ', '/');
  } else if (!owner.pod_uid.empty()) {
    subject.kind = SubjectKind::pod;
    subject.key = owner.pod_uid;
  }
  return subject;
}

// Replaces the UID of a pod by its name. Without a name the event keeps the UID and is about the host.
void name_pods(const host::Files& files, Observations& observations) {
  host::PodNames names;
  bool is_read = false;
  for (Observation& event : observations) {
    const std::string uid = attribute_of(event, "podUid");
    if (uid.empty()) continue;
    if (!std::exchange(is_read, true)) names = host::read_pod_names(files);
    const auto found = names.find(uid);
    const std::string name = found == names.end() ? "" : found->second.first + "/" + found->second.second;
    if (!name.empty()) event.attributes.emplace_back("pod", name);
    if (event.subject.kind != SubjectKind::pod) continue;
    event.subject = name.empty() ? host_subject() : event.subject;
    if (!name.empty()) event.subject.key = name;
  }
}

// The line about the killed process lacks its owner; the line before it has the owner.
void join_kills(Observations& observations) {
  const Observation* cause = nullptr;
  for (Observation& event : observations) {
    if (!attribute_of(event, "cgroup").empty()) cause = &event;
    const std::string pid = attribute_of(event, "pid");
    if (event.name != kOomKillRule || cause == nullptr || pid.empty()) continue;
    if (attribute_of(*cause, "pid") != pid || may_act(*cause) != may_act(event)) continue;
    event.subject = cause->subject;
    for (const std::string_view name : {"podUid", "pod", "container", "job"})
      if (const Value* value = find_attribute(cause->attributes, name))
        event.attributes.emplace_back(name, *value);
  }
}

void add_kills(const host::Host& host, const Request& request, Observed& observed) {
  // Only the log shows whether the host or a limit caused a kill; if it cannot be read, `witnesses` lacks it.
  static_cast<void>(add_rule_events(host, request, kId, limited, observed));
  name_pods(host.files, observed.observations);
  join_kills(observed.observations);
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  Collector collector(host.files, request);
  collector.read_edac();
  collector.read_usage();
  collector.read_kills();
  collector.read_pressure();
  Observed observed = collector.take();
  if (observed.witnesses.empty())
    return fail(collector.first_problem().value_or(
        Error{Errc::unavailable, "no data source of main memory is available"}));
  add_kills(host, request, observed);
  return observed;
}

// --- judge ---

std::string word_of(const Observation& observation, std::string_view attribute) {
  const Value* value = find_attribute(observation.attributes, attribute);
  return value == nullptr ? std::string() : to_string(*value);
}

bool is_counter(const Observation& observation, std::string_view suffix, bool of_module) {
  return observation.name.text().starts_with("edac.") && observation.name.text().ends_with(suffix) &&
         word_of(observation, "module").empty() != of_module;
}

// "mc0: 3 on CPU0_DIMM_A1"; only the controller if no module counted the error.
std::string place_of(const JudgeInput& input, const std::string& controller, std::string_view suffix) {
  std::string place;
  for (const Observation& module : input.history.latest()) {
    if (!is_counter(module, suffix, true) || word_of(module, "controller") != controller) continue;
    const auto count = module.value ? as_number(*module.value) : std::nullopt;
    if (!count || *count <= 0) continue;
    const std::string label = word_of(module, "label");
    place += (place.empty() ? "" : ", ") + to_string(Value{*count}) + " on " +
             (label.empty() ? word_of(module, "module") : label);
  }
  return place.empty() ? controller : controller + ": " + place;
}

void judge_edac(const JudgeInput& input, Findings& findings) {
  const Limit uncorrected = limit(input, "host.memory.uncorrected");
  const Limit corrected = limit(input, "host.memory.corrected_per_hour");
  double lost = 0;
  double most_corrected = 0;
  std::string lost_places;
  std::string corrected_places;
  for (const Observation& counter : input.history.latest()) {
    const std::string controller = word_of(counter, "controller");
    if (is_counter(counter, kUncorrectedSuffix, false)) {
      const double count = input.history.number(counter.subject, counter.name).value_or(0);
      if (count <= uncorrected.value) continue;
      lost += count;
      lost_places += (lost_places.empty() ? "" : "; ") + place_of(input, controller, kUncorrectedSuffix);
    } else if (is_counter(counter, kCorrectedSuffix, false)) {
      // Counted over an hour, not extrapolated: a burst in one minute is not an hourly rate.
      const auto growth = input.history.growth(counter.subject, counter.name, input.now, minutes{60});
      if (!growth || growth->delta <= corrected.value) continue;
      most_corrected = std::max(most_corrected, growth->delta);
      corrected_places +=
          (corrected_places.empty() ? "" : "; ") + place_of(input, controller, kCorrectedSuffix);
    }
  }
  if (!lost_places.empty())
    findings.push_back(make_finding(
        input, host_subject(), "memory_uncorrected", Health::failed,
        to_string(Value{lost}) + (lost == 1 ? " uncorrected memory error" : " uncorrected memory errors") +
            " since the driver was loaded (" + lost_places + ")",
        lost, uncorrected));
  if (!corrected_places.empty())
    findings.push_back(make_finding(input, host_subject(), "memory_corrected_rate", Health::degraded,
                                    to_string(Value{most_corrected}) +
                                        " corrected memory errors of one controller within an hour, limit " +
                                        rounded(corrected.value) + " (" + corrected_places + ")",
                                    most_corrected, corrected));
}

void judge_usage(const JudgeInput& input, Findings& findings) {
  const Limit most = limit(input, "host.memory.corrupted_kilobytes");
  const double corrupted = input.history.number(host_subject(), kCorrupted).value_or(0);
  if (corrupted > most.value)
    findings.push_back(make_finding(
        input, host_subject(), "memory_corrupted", Health::degraded,
        "the kernel retired " + to_string(Value{corrupted}) + " kB of memory after uncorrected errors",
        corrupted, most));
  const Limit share = limit(input, "host.memory.pressure_full_share");
  const double waiting = input.history.number(host_subject(), kFullShare).value_or(0);
  if (waiting > share.value)
    findings.push_back(make_finding(input, host_subject(), "memory_pressure", Health::degraded,
                                    "all tasks waited for memory for " + percent(waiting) +
                                        " of the last minute (limit " + percent(share.value) + ")",
                                    waiting, share));
}

void judge_kills(const JudgeInput& input, Findings& findings) {
  double kills = 0;
  const Observation* last = nullptr;
  for (const Observation& event : input.history.events()) {
    if (event.name != kOomGlobalRule || !may_act(event)) continue;
    ++kills;
    last = &event;
  }
  const Limit most = limit(input, "host.memory.oom_kills");
  if (last == nullptr || kills <= most.value) return;
  Finding finding = make_finding(input, host_subject(), "oom_kills", Health::degraded,
                                 "the machine ran out of memory: " + to_string(Value{kills}) +
                                     (kills == 1 ? " process" : " processes") + " killed in the last " +
                                     format_duration(kWindow) + ", last " + word_of(*last, "process") + " (" +
                                     word_of(*last, "pid") + ")",
                                 kills, most);
  finding.injected = is_injected(*last);
  finding.evidence.emplace_back("line", word_of(*last, "line"));
  findings.push_back(std::move(finding));
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  judge_edac(input, findings);
  judge_usage(input, findings);
  judge_kills(input, findings);
  add_unread(input, findings);
  return findings;
}

}  // namespace
}  // namespace host_memory

const Check kHostMemory = {
    .info = {.id = std::string(host_memory::kId),
             .title = "System memory",
             .tags = {"host", "memory", "passive"},
             .period = std::chrono::minutes{1},
             .deadline = std::chrono::seconds{10},
             .window = host_memory::kWindow,
             .cost = Cost::cheap,
             .witnesses = {std::string(host_memory::kEdac), std::string(host_memory::kMeminfo),
                           std::string(host_memory::kVmstat), std::string(host_memory::kPressure),
                           "/dev/kmsg"},
             .rights = {"CAP_SYSLOG"},
             .needs_window = false,
             .judges_growth = true},
    .observe = host_memory::observe,
    .judge = host_memory::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
