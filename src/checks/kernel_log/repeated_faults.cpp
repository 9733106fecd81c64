// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/repeated_faults.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string_view>
#include <tuple>

#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;
using catalog::RecursAt;

constexpr Duration kOneJob = 30s;
constexpr Duration kConsequence = 30s;
constexpr std::array<std::string_view, 3> kNotOfHardware{"app", "sympathetic", "info"};

std::string process_of(const Observation& event) {
  return attribute_of(event, "pid");
}

bool is_same_program(const Observation& one, const Observation& other) {
  if (process_of(one) == process_of(other)) return true;
  const std::string name = attribute_of(one, "process");
  return !name.empty() && name == attribute_of(other, "process") &&
         std::chrono::abs(one.time.mono - other.time.mono) <= kOneJob;
}

class Faults {
 public:
  Faults(const catalog::Catalog& facts, std::span<const Observation* const> records)
      : facts_(facts), records_(records) {}

  std::vector<RepeatedFault> repeated() {
    for (const Observation* record : records_)
      if (counts(*record)) note(*record);
    std::vector<RepeatedFault> result;
    for (auto& [place, fault] : faults_)
      if (fault.processes.size() > 1) result.push_back(std::move(fault));
    return result;
  }

 private:
  using Place = std::tuple<std::string, std::uint32_t, int, int, bool>;

  [[nodiscard]] RecursAt place_of(const Observation& record) const {
    const catalog::Xid* xid = facts_.xid(code_of(record));
    return xid == nullptr ? RecursAt::nowhere : xid->recurs_at;
  }

  // A line without a unit does not count.
  [[nodiscard]] bool has_place(const Observation& record) const {
    const RecursAt place = place_of(record);
    if (place != RecursAt::unit) return place == RecursAt::gpu;
    return attribute_number(record, "gpc") && attribute_number(record, "tpc");
  }

  [[nodiscard]] bool counts(const Observation& record) const {
    return has_place(record) && !process_of(record).empty() && !follows_program(record) &&
           !is_consequence(record);
  }

  [[nodiscard]] bool follows_program(const Observation& record) const {
    return std::ranges::any_of(records_, [&](const Observation* other) {
      return code_of(*other) == code_of(record) && gpu_of(other->subject) != gpu_of(record.subject) &&
             is_injected(*other) == is_injected(record) && is_same_program(*other, record);
    });
  }

  [[nodiscard]] bool is_of_hardware(const Observation& record) const {
    const catalog::Xid* xid = facts_.xid(code_of(record));
    return xid == nullptr || std::ranges::find(kNotOfHardware, xid->classes.front()) == kNotOfHardware.end();
  }

  [[nodiscard]] bool is_consequence(const Observation& record) const {
    return std::ranges::any_of(records_, [&](const Observation* other) {
      return is_of_hardware(*other) && gpu_of(other->subject) == gpu_of(record.subject) &&
             other->time.mono <= record.time.mono && record.time.mono - other->time.mono <= kConsequence;
    });
  }

  void note(const Observation& record) {
    const bool has_unit = place_of(record) == RecursAt::unit;
    const auto gpc = has_unit ? attribute_number(record, "gpc") : std::nullopt;
    const auto tpc = has_unit ? attribute_number(record, "tpc") : std::nullopt;
    RepeatedFault& fault = faults_[{gpu_of(record.subject).key, code_of(record), gpc.value_or(-1),
                                    tpc.value_or(-1), is_injected(record)}];
    fault.gpu = gpu_of(record.subject);
    fault.code = code_of(record);
    fault.gpc = gpc;
    fault.tpc = tpc;
    fault.injected = is_injected(record);
    fault.processes.emplace(process_of(record), attribute_of(record, "process"));
    if (fault.second == nullptr && fault.processes.size() > 1) fault.second = &record;
    fault.last = &record;
  }

  const catalog::Catalog& facts_;
  std::span<const Observation* const> records_;
  std::map<Place, RepeatedFault> faults_;
};

}  // namespace

std::string RepeatedFault::named() const {
  constexpr std::size_t kNamed = 8;
  std::string text;
  std::size_t listed = 0;
  for (const auto& [pid, name] : processes) {
    if (listed++ == kNamed) return text + " and " + std::to_string(processes.size() - kNamed) + " more";
    text.append(text.empty() ? "" : ", ").append(pid);
    if (!name.empty()) text.append(" (").append(name).append(")");
  }
  return text;
}

std::vector<RepeatedFault> repeated_faults(const catalog::Catalog& facts,
                                           std::span<const Observation* const> records) {
  return Faults(facts, records).repeated();
}

}  // namespace autopilot::checks
