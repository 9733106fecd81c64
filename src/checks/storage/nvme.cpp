// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>

#include "checks/builtin.hpp"
#include "checks/judgement.hpp"
#include "checks/kernel_log/record_effects.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "checks/storage/stall.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace storage_nvme {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr std::string_view kSysfs = "sysfs";
constexpr std::string_view kAdminCommand = "nvme admin command";

// Observations about one controller. The health page is complete or missing as a whole.
constexpr std::string_view kState = "nvme.state";
constexpr std::string_view kCriticalWarning = "nvme.critical_warning";
constexpr std::string_view kTemperature = "nvme.temperature";
constexpr std::string_view kSpare = "nvme.available_spare";
constexpr std::string_view kSpareThreshold = "nvme.spare_threshold";
constexpr std::string_view kUsed = "nvme.percentage_used";
constexpr std::string_view kMediaErrors = "nvme.media_errors";
constexpr std::string_view kErrorLogEntries = "nvme.error_log_entries";
constexpr std::string_view kUnsafeShutdowns = "nvme.unsafe_shutdowns";
constexpr std::string_view kPowerOnHours = "nvme.power_on_hours";
// About a PCI function without a driver, subject disk/<address>: whether the driver is bound to others.
constexpr std::string_view kDriverless = "nvme.driverless";

constexpr std::string_view kTimeoutRule = "storage.nvme_timeout";
constexpr std::string_view kDownRule = "storage.nvme_down";
constexpr std::string_view kGoneRule = "storage.nvme_gone";
constexpr std::string_view kNotReadyRule = "storage.nvme_not_ready";
constexpr std::string_view kProbeRule = "storage.nvme_probe_failed";
constexpr std::array kRules = {kTimeoutRule, kDownRule, kGoneRule, kNotReadyRule, kProbeRule};
constexpr std::string_view kDriver = "nvme";

// Time limit for one controller, so that the others are read too.
constexpr auto kPatience = seconds{3};
// Missing, because the run ended before this controller was read.
constexpr std::string_view kNotAsked = "not_asked";

Subject disk(std::string_view name, std::string_view serial = {}) {
  Subject subject;
  subject.kind = SubjectKind::disk;
  subject.key = name;
  subject.serial = serial;
  return subject;
}

// --- observe ---

class Collector {
 public:
  Collector(const host::Host& host, const Request& request) : host_(host), request_(request) {}

  // True if the controller answered.
  bool read(const host::NvmeController& controller) {
    const Subject subject = disk(controller.name, controller.serial);
    Observation& state = add(subject, kState, kSysfs, "");
    if (controller.state.empty())
      state.missing = "not_supported";
    else
      state.value = controller.state;
    state.attributes = {{"model", controller.model}, {"firmware", controller.firmware}};
    add_activity(subject);
    return add_health(subject);
  }
  void found_without_driver(const std::string& address, bool driver_has_others) {
    add(disk(address), kDriverless, kSysfs, "").value = driver_has_others;
  }
  [[nodiscard]] Observations take() { return std::move(observations_); }

 private:
  Observation& add(const Subject& subject, std::string_view name, std::string_view source,
                   std::string_view unit) {
    Observation observation;
    observation.name = name;
    observation.subject = subject;
    observation.source = source;
    observation.unit = unit;
    observation.time = request_.now;
    return observations_.emplace_back(std::move(observation));
  }
  void add_number(const Subject& subject, std::string_view name, double value, std::string_view unit) {
    add(subject, name, kAdminCommand, unit).value = value;
  }
  void add_activity(const Subject& subject) {
    const auto activity = host::read_nvme_activity(host_.files, subject.key);
    if (!activity) return;  // a controller without a namespace has no activity
    add(subject, kBlockCompleted, kSysfs, "count").value = static_cast<std::int64_t>(activity->completed);
    add(subject, kBlockInFlight, kSysfs, "count").value = static_cast<std::int64_t>(activity->in_flight);
  }
  void add_missing_health(const Subject& subject, std::string_view why, const std::string& what) {
    Observation& missing = add(subject, kCriticalWarning, kAdminCommand, "");
    missing.missing = why;
    missing.attributes = {{"error", what}};
  }
  bool add_health(const Subject& subject) {
    const MonoTime last = request_.deadline - seconds{1};
    const MonoTime now = host_.clock.now().mono;
    if (now >= last) {
      add_missing_health(subject, kNotAsked, "the run reached its deadline before this controller was read");
      return false;
    }
    const auto health = host_.nvme.health(subject.key, std::min(now + kPatience, last));
    if (!health) {
      add_missing_health(subject, to_string(health.error().code), health.error().what);
      return false;
    }
    add(subject, kCriticalWarning, kAdminCommand, "").value = std::int64_t{health->critical_warning};
    add_number(subject, kTemperature, health->temperature_celsius, "celsius");
    add_number(subject, kSpare, health->available_spare_percent, "percent");
    add_number(subject, kSpareThreshold, health->spare_threshold_percent, "percent");
    add_number(subject, kUsed, health->percentage_used, "percent");
    add_number(subject, kMediaErrors, health->media_errors, "count");
    add_number(subject, kErrorLogEntries, health->error_log_entries, "count");
    add_number(subject, kUnsafeShutdowns, health->unsafe_shutdowns, "count");
    add_number(subject, kPowerOnHours, health->power_on_hours, "hours");
    return true;
  }

  const host::Host& host_;
  const Request& request_;
  Observations observations_;
};

Subject disk_of(const DecodedRecord& decoded) {
  for (const auto& [name, value] : decoded.attributes)
    if (name == "device") return disk(value);
  return host_subject();
}

// Functions without a driver, except functions that an administrator reserves for another driver.
std::vector<std::string> without_driver(const host::Files& files,
                                        const std::vector<host::PciDevice>& functions) {
  std::vector<std::string> addresses;
  for (const host::PciDevice& function : functions)
    if (function.driver.empty() && !host::is_meant_for_one_driver(files, function.address))
      addresses.push_back(function.address);
  return addresses;
}

// Removes lines about devices that are bound to the driver by now.
void forget_started(const std::vector<host::PciDevice>& functions, Observations& observations) {
  std::erase_if(observations, [&](const Observation& event) {
    return event.name == kProbeRule && std::ranges::any_of(functions, [&](const host::PciDevice& function) {
             return function.address == event.subject.key && function.driver == kDriver;
           });
  });
}

Result<Observed> observe(const host::Host& host, const Request& request) {
  constexpr std::array kClasses{host::pci_class::kNvme};
  const auto controllers = TRY(host.nvme.controllers());
  const auto functions = host::scan_pci_classes(host.files, kClasses).value_or(host::PciScan{}).devices;
  const auto driverless = without_driver(host.files, functions);
  if (controllers.empty() && driverless.empty())
    return fail(Errc::unsupported, "the kernel lists no NVMe controller");
  Collector collector(host, request);
  bool any_answered = false;
  for (const host::NvmeController& controller : controllers)
    if (collector.read(controller)) any_answered = true;
  for (const std::string& address : driverless)
    collector.found_without_driver(address, !host::devices_of_driver(host.files, kDriver).empty());
  Observed observed;
  observed.observations = collector.take();
  observed.witnesses = {std::string(kSysfs)};
  if (any_answered) observed.witnesses.emplace_back(kAdminCommand);
  // Timeouts are visible only in the log; if it cannot be read, `witnesses` lacks it.
  static_cast<void>(add_rule_events(host, request, kRules, disk_of, observed));
  forget_started(functions, observed.observations);
  return observed;
}

// --- judge ---

std::string seconds_text(Duration duration) {
  return format_duration(std::chrono::duration_cast<seconds>(duration));
}

struct WarningBit {
  int bit;
  Health health;
  std::string_view meaning;
};
// Byte 0 of log page 02h.
constexpr std::array kWarningBits = {
    WarningBit{0, Health::failed, "spare blocks are running out"},
    WarningBit{1, Health::degraded, "temperature is out of its range"},
    WarningBit{2, Health::failed, "reliability is degraded"},
    WarningBit{3, Health::failed, "media is read-only"},
    WarningBit{4, Health::degraded, "the backup of the volatile memory failed"},
    WarningBit{5, Health::degraded, "the persistent memory region is unreliable"},
};

class DiskJudge {
 public:
  DiskJudge(const JudgeInput& input, const Subject& subject) : input_(input), disk_(subject) {}

  [[nodiscard]] Findings findings() {
    judge_state();
    judge_answer();
    judge_warnings();
    judge_wear();
    judge_media();
    judge_stall();
    judge_log();
    judge_driver();
    return std::move(findings_);
  }

 private:
  [[nodiscard]] std::optional<double> number(std::string_view name) const {
    return input_.history.number(disk_, name);
  }
  [[nodiscard]] std::string name() const {
    const Observation* state = input_.history.find(disk_, kState);
    const Value* model = state == nullptr ? nullptr : find_attribute(state->attributes, "model");
    return model == nullptr || to_string(*model).empty() ? disk_.key
                                                         : disk_.key + " (" + to_string(*model) + ")";
  }
  void add(std::string_view reason, Health health, const std::string& text, Attributes evidence) {
    Finding finding = make_finding(input_, disk_, reason, health, name() + ": " + text);
    finding.evidence = std::move(evidence);
    findings_.push_back(std::move(finding));
  }
  void add(std::string_view reason, const std::string& text, double value, const Limit& limit) {
    findings_.push_back(
        make_finding(input_, disk_, reason, limit.max_health, name() + ": " + text, value, limit));
  }

  void judge_state() {
    const auto state = input_.history.word(disk_, kState);
    if (!state || *state == "live" || *state == "new") return;
    const Attributes evidence = {{"value", *state}, {"witness", std::string(kSysfs)}};
    const bool is_lost = *state == "dead" || *state == "deleting" || *state == "deleting (no IO)";
    if (is_lost || *state == "resetting" || *state == "connecting")
      add("nvme_not_live", is_lost ? Health::failed : Health::degraded, "the controller is " + *state,
          evidence);
    else
      add("malformed_answer", Health::unknown, "the kernel reports the unknown state '" + *state + "'",
          evidence);
  }

  void judge_answer() {
    const Observation* answer = input_.history.find(disk_, kCriticalWarning);
    if (answer == nullptr || answer->missing.empty()) return;
    const Value* error = find_attribute(answer->attributes, "error");
    const std::string what = error == nullptr ? answer->missing.text() : to_string(*error);
    const Attributes evidence = {{"witness", std::string(kAdminCommand)}, {"error", what}};
    if (answer->missing == to_string(Errc::timed_out))
      add("io_timeouts", Health::degraded, "the controller does not answer", evidence);
    else if (answer->missing == to_string(Errc::exhausted))
      add("limit_reached", Health::unknown, "was not read", evidence);
    else if (answer->missing == kNotAsked || answer->missing == to_string(Errc::internal))
      add("could_not_look", Health::unknown, "was not read", evidence);
    else if (!input_.history.word(disk_, kState))
      add("could_not_look", Health::unknown, "neither its state nor its health could be read", evidence);
    // Without permission or device file only the health page is missing; sysfs is still read.
  }

  void judge_warnings() {
    const int warning = static_cast<int>(number(kCriticalWarning).value_or(0));
    Health health = Health::healthy;
    std::string text;
    for (const WarningBit& bit : kWarningBits) {
      if ((warning >> bit.bit & 1) == 0) continue;
      health = worst(health, bit.health);
      text += (text.empty() ? "" : ", ") + std::string(bit.meaning);
    }
    if (health != Health::healthy)
      add("nvme_critical_warning", health, text,
          {{"value", std::int64_t{warning}}, {"witness", std::string(kAdminCommand)}});
  }

  void judge_wear() {
    const auto spare = number(kSpare);
    const auto least = number(kSpareThreshold);
    // A threshold of 0 or 100 is not valid.
    if (spare && least && *least > 0 && *least < 100 && *spare < *least)
      add("nvme_spare_low", Health::failed,
          percent(*spare / 100) + " of the spare blocks are left; the vendor's limit is " +
              percent(*least / 100),
          {{"value", *spare}, {"threshold", *least}, {"thresholdSource", "the device"}});
    const auto used = number(kUsed);
    if (!used) return;
    const Limit worn = limit(input_, "storage.nvme.worn_percent");
    const Limit wearing = limit(input_, "storage.nvme.wearing_percent");
    const std::string text = percent(*used / 100) + " of its endurance is used";
    if (*used >= worn.value)
      add("nvme_worn", text, *used, worn);
    else if (*used >= wearing.value)
      add("nvme_wearing", text, *used, wearing);
  }

  void judge_media() {
    const auto growth = input_.history.growth(disk_, kMediaErrors, input_.now, kWindow);
    const Limit most = limit(input_, "storage.nvme.media_errors");
    if (growth && growth->delta > most.value)
      add("media_errors",
          to_string(Value{growth->delta}) + " new media errors in " + seconds_text(growth->interval),
          growth->delta, most);
  }

  void judge_stall() {
    const Limit longest = limit(input_, "storage.nvme.stall_time");
    const Duration stalled = stalled_for(input_.history, disk_);
    if (to_seconds(stalled) >= longest.value)
      add("io_stalled", "requests are in flight, and none has finished for " + seconds_text(stalled),
          to_seconds(stalled), longest);
  }

  void judge_log() {
    const Limit most = limit(input_, "storage.nvme.io_timeouts");
    double timeouts = 0;
    const Observation* last = nullptr;
    for (const Observation& event : input_.history.events()) {
      if (event.subject != disk_ || !may_act(event)) continue;
      if (const auto why = why_gone(event.name.text()); !why.empty()) {
        add_gone(event, why);
      } else {
        timeouts += static_cast<double>(event_count(event));
        last = &event;
      }
    }
    if (last == nullptr || timeouts <= most.value || is_reported("io_timeouts")) return;
    add("io_timeouts",
        to_string(Value{timeouts}) + " commands timed out in the last " + format_duration(kWindow), timeouts,
        most);
    add_line(*last);
  }
  // What the line states about a device that stopped working; empty for any other line.
  static std::string_view why_gone(std::string_view rule) {
    if (rule == kGoneRule) return "the kernel has given up the device";
    if (rule == kNotReadyRule) return "the controller did not become ready";
    return rule == kProbeRule ? "the driver could not start the device" : "";
  }
  // The current state of a controller counts more than an old line. A removed controller has no state.
  void add_gone(const Observation& event, std::string_view why) {
    if (input_.history.word(disk_, kState) || is_reported("nvme_not_live")) return;
    add("nvme_not_live", Health::degraded, std::string(why), {{"witness", event.source}});
    add_line(event);
  }
  // If the driver is bound to other devices, it refused this one or lost it.
  void judge_driver() {
    const Observation* driverless = input_.history.find(disk_, kDriverless);
    if (driverless == nullptr || !findings_.empty()) return;
    const Attributes evidence = {{"witness", std::string(kSysfs)}};
    if (driverless->value == Value{true})
      add("nvme_not_live", Health::degraded, "it is in the PCI tree, but the driver is not bound to it",
          evidence);
    else
      add("could_not_look", Health::unknown, "it is in the PCI tree, but no driver is bound to it", evidence);
  }
  [[nodiscard]] bool is_reported(std::string_view reason) const {
    return std::ranges::any_of(findings_, [&](const Finding& finding) { return finding.reason == reason; });
  }
  void add_line(const Observation& event) {
    findings_.back().injected = is_injected(event);
    if (const Value* line = find_attribute(event.attributes, "line"))
      findings_.back().evidence.emplace_back("line", *line);
  }

 public:
  static constexpr Duration kWindow = minutes{60};

 private:
  const JudgeInput& input_;
  const Subject& disk_;
  Findings findings_;
};

// Disks of the last run, and disks that only the log names.
std::vector<Subject> disks(const History& history) {
  std::vector<Subject> subjects = history.subjects(SubjectKind::disk);
  for (const Observation& event : history.events())
    if (event.subject.kind == SubjectKind::disk &&
        std::find(subjects.begin(), subjects.end(), event.subject) == subjects.end())
      subjects.push_back(event.subject);
  return subjects;
}

Findings judge(const JudgeInput& input) {
  Findings findings;
  for (const Subject& subject : disks(input.history))
    for (Finding& finding : DiskJudge(input, subject).findings())
      findings.push_back(std::move(finding));
  return findings;
}

}  // namespace
}  // namespace storage_nvme

const Check kStorageNvme = {
    .info = {.id = "storage.nvme",
             .title = "NVMe devices",
             .tags = {"storage", "passive"},
             .period = std::chrono::minutes{1},
             .deadline = std::chrono::seconds{10},
             .window = storage_nvme::DiskJudge::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(storage_nvme::kSysfs), std::string(storage_nvme::kAdminCommand),
                           "/dev/kmsg"},
             .rights = {"CAP_SYS_ADMIN"},
             .needs_window = false,
             .judges_growth = true},
    .observe = storage_nvme::observe,
    .judge = storage_nvme::judge,
    .interpret = interpret_records,
};

}  // namespace autopilot::checks
