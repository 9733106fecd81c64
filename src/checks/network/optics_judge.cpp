// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "checks/judgement.hpp"
#include "checks/network/optics.hpp"
#include "checks/network/port_counters.hpp"
#include "core/parse.hpp"

namespace autopilot::checks::network_optics {
namespace {

// Up once and down again: a port that never had a link since boot has at most one change.
constexpr double kHadLink = 2;

struct LinkReason {
  std::string_view word;
  std::string_view reason;
  std::string_view what;
  bool is_of_module = false;  // a module is plugged in: the port is meant to be used
};

constexpr std::array kLinkReasons{
    LinkReason{"no_cable", "link_unplugged", "has no cable or module"},
    LinkReason{"autonegotiation_failed", "link_not_agreed", "could not negotiate with its link partner"},
    LinkReason{"link_training_failed", "link_not_agreed", "could not train with its link partner"},
    LinkReason{"logical_mismatch", "link_not_agreed", "receives data that it cannot decode"},
    LinkReason{"bad_signal_integrity", "link_signal_bad", "receives a bad signal"},
    LinkReason{"cable_issue", "link_module_unusable", "cannot use its cable", true},
    LinkReason{"eeprom_issue", "link_module_unusable", "cannot read its cable or module", true},
    LinkReason{"calibration_failure", "link_module_unusable", "could not calibrate its module", true},
    LinkReason{"power_budget_exceeded", "link_module_unusable", "has no power left for its module", true},
    LinkReason{"overheat", "link_module_unusable", "has a module that is too hot", true},
    LinkReason{"module", "link_module_unusable", "has a module that is not ready", true},
};

// Optical power is read in dBm.
std::string dbm(double milliwatts) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f dBm", 10 * std::log10(milliwatts));
  return text.data();
}

std::string with_unit(double value, std::string_view unit) {
  if (unit == "milliwatts") return dbm(value);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  const std::string_view sign = unit == "celsius" ? " °C" : unit == "volts" ? " V" : " mA";
  return text.data() + std::string(sign);
}

// The limit of the module that a value exceeds.
struct Excess {
  std::string_view limit;  // its name
  double value = 0;
  double most = 0;
  bool is_alarm = false;
  bool is_low = false;
};

std::optional<double> attribute(const Observation& observation, std::string_view name) {
  const Value* value = find_attribute(observation.attributes, name);
  return value == nullptr ? std::nullopt : as_number(*value);
}

std::optional<Excess> excess_of(const Observation& observation) {
  const auto value = observation.value ? as_number(*observation.value) : std::nullopt;
  if (!value) return std::nullopt;
  for (const auto& [name, is_alarm, is_low] :
       {std::tuple{kHighAlarm, true, false}, std::tuple{kLowAlarm, true, true},
        std::tuple{kHighWarning, false, false}, std::tuple{kLowWarning, false, true}}) {
    const auto most = attribute(observation, name);
    if (most && (is_low ? *value < *most : *value > *most))
      return Excess{.limit = name, .value = *value, .most = *most, .is_alarm = is_alarm, .is_low = is_low};
  }
  return std::nullopt;
}

// A measured quantity of the module, and its text in messages.
struct Quantity {
  std::string_view name;  // of the observation, without the number of a lane
  std::string_view reason;
  std::string_view what;
};

constexpr std::array kOfModule{
    Quantity{kTemperature, "module_temperature", "has a module at"},
    Quantity{kVoltage, "module_voltage", "has a module with a supply voltage of"},
};
constexpr std::array kOfLanes{
    Quantity{kReceived, "module_light_received", "receives"},
    Quantity{kSent, "module_light_sent", "sends"},
    Quantity{kCurrent, "module_laser_current", "has a laser bias current of"},
};

class PortJudge {
 public:
  PortJudge(const JudgeInput& input, const Subject& subject)
      : input_(input),
        subject_(subject),
        is_expected_(std::ranges::find(input.expectation.expected_interfaces, subject.key) !=
                     input.expectation.expected_interfaces.end()) {}

  Findings judge() {
    if (judge_missing()) return std::move(findings_);
    const bool is_up = is_true(kUp);
    has_carrier_ = is_up && is_true(kCarrier);
    judge_module();
    if (has_carrier_) {
      judge_fec();
      for (const Quantity& quantity : kOfLanes)
        judge_lanes(quantity);
    } else if (is_up) {
      judge_lost_link();
    }
    if (findings_.empty() && !offers_anything())
      add("not_supported", Health::unsupported,
          "has a driver or a module without measurements" + module_text());
    return std::move(findings_);
  }

 private:
  [[nodiscard]] bool is_true(std::string_view name) const {
    return input_.history.number(subject_, name).value_or(0) != 0;
  }
  [[nodiscard]] const Observation* find(std::string_view name) const {
    return input_.history.find(subject_, name);
  }
  [[nodiscard]] static std::string error_of(const Observation& missing) {
    const Value* error = find_attribute(missing.attributes, "error");
    return error == nullptr ? missing.missing.text() : to_string(*error);
  }

  Finding& add(std::string_view reason, Health health, const std::string& what) {
    findings_.push_back(make_finding(input_, subject_, reason, health, subject_.key + " " + what));
    return findings_.back();
  }

  bool judge_missing() {
    const Observation* port = find(kPort);
    if (port == nullptr || port->missing.empty()) return false;
    const bool is_late = port->missing == to_string(Errc::timed_out);
    const bool is_denied = port->missing == to_string(Errc::denied);
    add(is_late     ? "timed_out"
        : is_denied ? "not_permitted"
                    : "could_not_look",
        Health::unknown, "could not be read: " + error_of(*port));
    return true;
  }

  // True if the port has a measurement, or one failed for another reason than missing support.
  [[nodiscard]] bool offers_anything() const {
    if (find(kUncorrectable) != nullptr || find(kTemperature) != nullptr || find(kVoltage) != nullptr ||
        find(kModuleState) != nullptr)
      return true;
    if (find(std::string(kReceived) + ".1") != nullptr) return true;
    const Observation* module = find(kModule);
    return module != nullptr && !module->missing.empty() && !is_without_module(*module);
  }
  // The driver lacks the operation, or the cage is empty.
  [[nodiscard]] static bool is_without_module(const Observation& module) {
    return module.missing == to_string(Errc::unsupported) || module.missing == to_string(Errc::not_found);
  }
  [[nodiscard]] std::string module_text() const {
    const Observation* module = find(kModule);
    if (module == nullptr) return {};
    return module->missing.empty() ? " (" + name_of_module(*module) + ")" : "";
  }
  [[nodiscard]] static std::string name_of_module(const Observation& module) {
    std::string name;
    for (const std::string_view part : {"vendor", "part"})
      if (const Value* value = find_attribute(module.attributes, part); value != nullptr)
        name += (name.empty() || to_string(*value).empty() ? "" : " ") + to_string(*value);
    return name.empty() ? to_string(*module.value) : name;
  }
  // Names the module for the operator.
  void add_module_to(Finding& finding) const {
    const Observation* module = find(kModule);
    if (module != nullptr && module->missing.empty())
      finding.evidence.emplace_back("module", name_of_module(*module));
  }

  void judge_module() {
    const Observation* module = find(kModule);
    if (module == nullptr) return;
    if (!module->missing.empty()) return judge_unread(*module);
    if (input_.history.word(subject_, kModuleState) == "fault") {
      const Value* cause = find_attribute(find(kModuleState)->attributes, "cause");
      const std::string why = cause == nullptr ? "" : to_string(*cause);
      add_module_to(add("module_fault", Health::failed,
                        "has a module that reports a fault" + (why.empty() ? "" : ": " + why)));
    }
    for (const Quantity& quantity : kOfModule)
      if (const Observation* value = find(quantity.name))
        if (const auto excess = excess_of(*value)) add_excess(quantity, *value, *excess, "");
  }
  // modules_denied() reports a missing permission once for all ports; without a link the cage may be empty.
  void judge_unread(const Observation& module) {
    if (module.missing == to_string(Errc::denied) || is_without_module(module) || !has_carrier_) return;
    add("could_not_look", Health::unknown, "has a module that could not be read: " + error_of(module));
  }

  void add_excess(const Quantity& quantity, const Observation& value, const Excess& excess,
                  const std::string& where) {
    std::string what(quantity.what);
    what += " " + with_unit(excess.value, value.unit) + where + ", " + (excess.is_low ? "below" : "above") +
            " its own " + (excess.is_alarm ? "alarm" : "warning") + " limit of " +
            with_unit(excess.most, value.unit);
    Finding& finding = add(quantity.reason, Health::degraded, what);
    finding.evidence = {{"value", excess.value},
                        {"unit", value.unit},
                        {"threshold", excess.most},
                        {"thresholdSource", "the module"},
                        {"limit", std::string(excess.limit)}};
    add_module_to(finding);
  }

  // Reports the worst lane: an alarm before a warning, then the first.
  void judge_lanes(const Quantity& quantity) {
    const Observation* worst = nullptr;
    std::optional<Excess> most;
    std::string lane;
    std::string others;
    const std::string prefix = std::string(quantity.name) + ".";
    for (const Observation& observation : input_.history.latest()) {
      if (observation.subject != subject_ || !observation.name.text().starts_with(prefix)) continue;
      const auto excess = excess_of(observation);
      const std::string number = observation.name.text().substr(prefix.size());
      if (!excess || is_idle(number)) continue;
      others += (others.empty() ? "" : " ") + number;
      if (most && (most->is_alarm || !excess->is_alarm)) continue;
      worst = &observation;
      most = excess;
      lane = number;
    }
    if (worst == nullptr) return;
    add_excess(quantity, *worst, *most, " on lane " + lane);
    findings_.back().evidence.emplace_back("lanes", others);
  }

  // A lane without light is not part of an active link: it belongs to another port of a split module, or to
  // none.
  [[nodiscard]] bool is_idle(const std::string& lane) const {
    const Limit dark = limit(input_, "network.optics.dark_milliwatts");
    return std::ranges::any_of(std::array{kReceived, kSent}, [&](std::string_view name) {
      const auto light = input_.history.number(subject_, std::string(name) + "." + lane);
      return light && *light < dark.value;
    });
  }

  // A link that comes up has such blocks, and network.ethernet_link reports flapping.
  void judge_fec() {
    const auto changes = input_.history.growth(subject_, kCarrierChanges, input_.now, kWindow);
    if (!changes || changes->delta > 0) return;
    const Limit most = limit(input_, "network.optics.uncorrectable_blocks");
    const auto rate = growth_above(input_, subject_, kUncorrectable, most, kWindow);
    if (!rate) return;
    findings_.push_back(make_finding(input_, subject_, "fec_uncorrectable", Health::degraded,
                                     subject_.key + " loses data: " + rounded(*rate) +
                                         " uncorrectable FEC blocks per minute (limit " +
                                         rounded(most.value) + ")",
                                     *rate, most));
    Finding& finding = findings_.back();
    if (const auto mode = input_.history.word(subject_, kFecMode))
      finding.evidence.emplace_back("fec", *mode);
    if (const auto corrected = input_.history.growth(subject_, kCorrected, input_.now, kWindow))
      finding.evidence.emplace_back("correctedPerMinute",
                                    std::int64_t{std::llround(corrected->per_minute())});
    add_module_to(finding);
  }

  void judge_lost_link() {
    const bool is_wanted =
        is_expected_ || input_.history.number(subject_, kCarrierChanges).value_or(0) >= kHadLink;
    const auto word = input_.history.word(subject_, kLinkReason);
    const auto* const known = std::ranges::find(kLinkReasons, word.value_or(""), &LinkReason::word);
    if (known != kLinkReasons.end() && (is_wanted || known->is_of_module)) return add_link_reason(*known);
    if (is_wanted && known == kLinkReasons.end() && is_dark())
      add_module_to(add("link_no_light", Health::degraded, "has no link and receives no light"));
  }
  void add_link_reason(const LinkReason& link_reason) {
    const Value* detail = find_attribute(find(kLinkReason)->attributes, "detail");
    const std::string more = detail == nullptr ? "" : to_string(*detail);
    std::string spoken = more;
    std::ranges::replace(spoken, '_', ' ');
    Finding& finding =
        add(link_reason.reason, Health::degraded,
            "has no link: it " + std::string(link_reason.what) + (more.empty() ? "" : " (" + spoken + ")"));
    finding.evidence = {{"linkReason", std::string(link_reason.word)}};
    if (!more.empty()) finding.evidence.emplace_back("linkDetail", more);
    if (is_dark()) finding.evidence.emplace_back("light", "none");
    add_module_to(finding);
  }
  // Every lane is below the alarm limit of the module.
  [[nodiscard]] bool is_dark() const {
    bool has_lane = false;
    const std::string prefix = std::string(kReceived) + ".";
    for (const Observation& observation : input_.history.latest()) {
      if (observation.subject != subject_ || !observation.name.text().starts_with(prefix)) continue;
      const auto excess = excess_of(observation);
      if (!excess || !excess->is_alarm || !excess->is_low) return false;
      has_lane = true;
    }
    return has_lane;
  }

  const JudgeInput& input_;
  const Subject& subject_;
  const bool is_expected_;
  bool has_carrier_ = false;
  Findings findings_;
};

// One finding for all ports, because one permission is missing.
std::optional<Finding> modules_denied(const JudgeInput& input) {
  for (const Observation& observation : input.history.latest())
    if (observation.name == kModule && observation.missing == to_string(Errc::denied))
      return make_finding(input, host_subject(), kNotPermitted, Health::unknown,
                          "the modules of the ports could not be read: CAP_NET_ADMIN is missing");
  return std::nullopt;
}

}  // namespace

Findings judge(const JudgeInput& input) {
  Findings findings;
  const auto& ignored = input.expectation.ignored_interfaces;
  bool is_all_unsupported = true;
  for (const Subject& subject : input.history.subjects(SubjectKind::nic_port)) {
    if (std::ranges::find(ignored, subject.key) != ignored.end()) continue;
    auto of_port = PortJudge(input, subject).judge();
    is_all_unsupported =
        is_all_unsupported && of_port.size() == 1 && of_port.front().health == Health::unsupported;
    for (Finding& finding : of_port)
      findings.push_back(std::move(finding));
  }
  if (auto denied = modules_denied(input)) findings.push_back(*std::move(denied));
  if (is_all_unsupported && !findings.empty())
    return {make_finding(input, host_subject(), "not_supported", Health::unsupported,
                         "no driver or module of any port of this machine has measurements")};
  return findings;
}

}  // namespace autopilot::checks::network_optics
