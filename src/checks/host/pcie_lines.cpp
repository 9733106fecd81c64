// SPDX-License-Identifier: Apache-2.0
#include "checks/host/pcie_lines.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "checks/judgement.hpp"
#include "checks/kernel_log/rule_events.hpp"
#include "core/parse.hpp"

namespace autopilot::checks {
namespace {

constexpr std::string_view kPortRule = "pcie.aer";
constexpr std::string_view kDeviceRule = "pcie.bus_error";
// Lines of machines whose firmware handles errors first; used only for uncorrected ones.
constexpr std::string_view kFirmwareRule = "pcie.firmware_error";
constexpr std::string_view kDetailRule = "pcie.error_detail";
constexpr std::string_view kSlowRule = "pcie.bandwidth_limited";

constexpr std::string_view kPossibleWidth = "possibleWidth";
constexpr std::string_view kPossibleSpeed = "possibleSpeed";

// Lines count for the same time as the counters.
constexpr Duration kWindow = std::chrono::minutes{20};
// A rate is taken over at least this time.
constexpr Duration kLeastTime = std::chrono::minutes{2};

enum class Severity : std::uint8_t { fatal, nonfatal, corrected };

struct Kind {
  std::string_view of_gpu;  // reasons
  std::string_view of_device;
  std::string_view threshold;
  std::string_view text;
};
constexpr std::array<Kind, 3> kKinds{{
    {"pcie_aer_fatal", "pcie_device_errors", "host.pcie.fatal", "fatal"},
    {"pcie_aer_nonfatal", "pcie_device_errors", "host.pcie.nonfatal", "uncorrected"},
    {"pcie_aer_correctable", "pcie_device_corrects", "host.pcie.correctable_per_minute", "corrected"},
}};

Severity severity_of(const Observation& event) {
  const std::string word = attribute_of(event, "severity");
  if (word.starts_with("Correct")) return Severity::corrected;
  return word.find("(Fatal)") == std::string::npos ? Severity::nonfatal : Severity::fatal;
}

// Lines about one subject. The port and the device each log a line about the same error.
struct Count {
  double by_port = 0;
  double by_device = 0;
  Instant first;
  const Observation* last = nullptr;

  [[nodiscard]] double errors() const { return std::max(by_port, by_device); }
};
using Key = std::tuple<Subject, bool, Severity>;  // injected

class Lines {
 public:
  explicit Lines(const JudgeInput& input) : input_(input) {
    for (const Observation& event : input.history.events()) {
      if (!may_act(event)) continue;
      if (event.name == kSlowRule) slow_.insert_or_assign(event.subject, &event);
      if (input.now.mono - event.time.mono > kWindow) continue;
      if (event.name == kDetailRule) details_.insert_or_assign(event.subject, &event);
      if (event.name == kPortRule || event.name == kDeviceRule || event.name == kFirmwareRule) note(event);
    }
  }

  void judge_errors(Findings& findings) const {
    for (const auto& [key, counted] : counts_)
      judge(key, counted, findings);
  }
  void judge_slow_links(Findings& findings) const {
    for (const auto& [subject, event] : slow_)
      judge_slow_link(subject, *event, findings);
  }

 private:
  void note(const Observation& event) {
    Count& counted = counts_[{event.subject, is_injected(event), severity_of(event)}];
    if (counted.last == nullptr) counted.first = event.time;
    (event.name == kPortRule ? counted.by_port : counted.by_device) +=
        static_cast<double>(event_count(event));
    // The line of the device is more specific than the line of the port.
    if (counted.last == nullptr || event.name != kPortRule || counted.by_device == 0) counted.last = &event;
  }

  void judge(const Key& key, const Count& counted, Findings& findings) const {
    const auto& [subject, injected, severity] = key;
    const Kind& kind = kKinds[static_cast<std::size_t>(severity)];
    const Limit most = limit(input_, kind.threshold);
    const double value = severity == Severity::corrected ? per_minute(counted) : counted.errors();
    if (value <= most.value) return;
    const std::string_view reason = subject.kind == SubjectKind::gpu ? kind.of_gpu : kind.of_device;
    const auto known = std::ranges::find_if(findings, [&, is_injected = injected](const Finding& finding) {
      return finding.subject == subject && finding.reason == reason && finding.injected == is_injected;
    });
    if (known != findings.end()) return add_facts(*known, *counted.last);
    const std::string what = rounded(value) + " " + std::string(kind.text) + " PCIe error" +
                             (value == 1 ? "" : "s") +
                             (severity == Severity::corrected ? " per minute" : " in the last 20 minutes");
    const std::string line = attribute_of(*counted.last, "line");
    findings.push_back(make_finding(input_, subject, reason, Health::degraded,
                                    place_of(subject) + ": the kernel logged " + what + ": " + line, value,
                                    most));
    findings.back().since = counted.first.wall;
    add_facts(findings.back(), *counted.last);
  }

  [[nodiscard]] double per_minute(const Count& counted) const {
    const Duration time = std::max<Duration>(input_.now.mono - counted.first.mono, kLeastTime);
    return counted.errors() / (to_seconds(time) / 60);
  }

  void add_facts(Finding& finding, const Observation& event) const {
    add_line(finding, event);
    for (const std::string_view name : {"device", "layer", "agent"})
      if (const std::string word = attribute_of(event, name); !word.empty())
        finding.evidence.emplace_back(name, word);
    const auto detail = details_.find(event.subject);
    if (detail != details_.end() && is_injected(*detail->second) == is_injected(event))
      finding.evidence.emplace_back("error", attribute_of(*detail->second, "error"));
  }

  // A GPU is idle at boot, so its link is slow by design.
  void judge_slow_link(const Subject& subject, const Observation& event, Findings& findings) const {
    const auto possible_width = number(event, kPossibleWidth);
    const auto possible_speed = number(event, kPossibleSpeed);
    const auto width = number(event, "width");
    const auto speed = number(event, "speed");
    const bool is_narrow = !possible_width || !width || *width < *possible_width;
    const bool is_slow = !possible_speed || !speed || *speed < *possible_speed;
    if (!is_narrow && (!is_slow || subject.kind == SubjectKind::gpu)) return;
    Finding finding = make_finding(input_, subject, "pcie_bandwidth_limited", Health::degraded,
                                   place_of(subject) + ": the link at " + attribute_of(event, "hop") +
                                       " on the path to it came up slow: " + attribute_of(event, "line"));
    finding.since = event.time.wall;
    for (const std::string_view name : {std::string_view("hop"), std::string_view("speed"),
                                        std::string_view("width"), kPossibleSpeed, kPossibleWidth})
      if (const Value* value = find_attribute(event.attributes, name))
        finding.evidence.emplace_back(name, *value);
    add_line(finding, event);
    findings.push_back(std::move(finding));
  }

  [[nodiscard]] static std::optional<double> number(const Observation& event, std::string_view name) {
    return parse_number<double>(attribute_of(event, name));
  }
  // "0000:3b:00.0|0000:3a:00.0": the device at the end of a link.
  [[nodiscard]] static std::string place_of(const Subject& subject) {
    return subject.key.substr(0, subject.key.find('|'));
  }

  const JudgeInput& input_;
  std::map<Key, Count> counts_;
  std::map<Subject, const Observation*> details_;
  std::map<Subject, const Observation*> slow_;
};

std::string address_of(const std::string& text) {
  return canonical_pci_address(text).value_or(text);
}

// nullopt if one end does not report it.
template <class Number>
std::optional<Number> least(const std::optional<Number>& one, const std::optional<Number>& other) {
  if (!one || !other) return std::nullopt;
  return std::min(*one, *other);
}

Subject link_at(const std::string& address) {
  return make_subject(SubjectKind::link, address);
}

}  // namespace

void PciePaths::add(const std::string& address, const Subject& whose) {
  const auto [known, is_new] = whose_.emplace(address, whose);
  if (!is_new && known->second != whose) known->second = link_at(address);
}

Subject PciePaths::of(const std::string& address) const {
  const auto found = whose_.find(address);
  return found == whose_.end() ? link_at(address) : found->second;
}

Subject PciePaths::of(const DecodedRecord& decoded) const {
  for (const std::string_view name : {"reporter", "device", "function"})
    if (const std::string address = attribute_of(decoded, name); !address.empty())
      return of(address_of(address));
  return host_subject();
}

void add_link_abilities(const host::Files& files, Observations& observations) {
  for (Observation& event : observations) {
    if (event.name != kSlowRule) continue;
    const std::string hop = address_of(attribute_of(event, "hop"));
    const auto lower = host::read_pci_link(files, hop);
    const auto bridges = host::pci_bridges_above(files, hop);
    if (!lower || !bridges || bridges->empty()) continue;
    const auto upper = host::read_pci_link(files, bridges->front());
    if (!upper) continue;
    if (const auto width = least(lower->max_width, upper->max_width))
      event.attributes.emplace_back(kPossibleWidth, std::to_string(*width));
    if (const auto speed = least(lower->max_speed_gts, upper->max_speed_gts))
      event.attributes.emplace_back(kPossibleSpeed, rounded(*speed));
  }
}

void judge_pcie_lines(const JudgeInput& input, Findings& findings) {
  const Lines lines(input);
  lines.judge_errors(findings);
  lines.judge_slow_links(findings);
}

}  // namespace autopilot::checks
