// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/repeated_faults.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {
namespace {

using namespace std::chrono_literals;

// The work flows of these two ask whether the fault repeats at its place in other jobs.
constexpr std::uint32_t kEngineException = 13;
constexpr std::uint32_t kPageFault = 31;
// What the driver reports of a program, not of the hardware.
constexpr std::array<std::uint32_t, 8> kOfPrograms{8, 13, 31, 32, 43, 45, 68, 69};
constexpr Duration kConsequence = 30s;

std::string process_of(const Observation& event) {
  return attribute_of(event, "pid");
}

// A code, and for engine exceptions the unit; a line that names no unit says nothing about a place.
bool has_place(const Observation& event) {
  if (code_of(event) == kPageFault) return true;
  return code_of(event) == kEngineException && attribute_number(event, "gpc") &&
         attribute_number(event, "tpc");
}

class Faults {
 public:
  explicit Faults(std::span<const Observation* const> records) : records_(records) {
    for (const Observation* record : records)
      if (has_place(*record))
        for (const std::string& program : programs_of(*record))
          gpus_of_[{code_of(*record), program}].insert(gpu_of(record->subject).key);
  }

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

  // Its pid, and its name where it has one.
  static std::vector<std::string> programs_of(const Observation& record) {
    std::vector<std::string> programs{"pid " + process_of(record)};
    if (std::string name = attribute_of(record, "process"); !name.empty())
      programs.push_back(std::move(name));
    return programs;
  }

  [[nodiscard]] bool counts(const Observation& record) const {
    if (!has_place(record) || process_of(record).empty() || is_consequence(record)) return false;
    return std::ranges::all_of(programs_of(record), [&](const std::string& program) {
      return gpus_of_.at({code_of(record), program}).size() == 1;
    });
  }

  [[nodiscard]] bool is_consequence(const Observation& record) const {
    return std::ranges::any_of(records_, [&](const Observation* other) {
      return std::ranges::find(kOfPrograms, code_of(*other)) == kOfPrograms.end() &&
             gpu_of(other->subject) == gpu_of(record.subject) && other->time.mono <= record.time.mono &&
             record.time.mono - other->time.mono <= kConsequence;
    });
  }

  void note(const Observation& record) {
    const bool has_unit = code_of(record) == kEngineException;
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

  std::span<const Observation* const> records_;
  std::map<std::pair<std::uint32_t, std::string>, std::set<std::string>> gpus_of_;
  std::map<Place, RepeatedFault> faults_;
};

}  // namespace

std::string RepeatedFault::named() const {
  constexpr std::size_t kNamed = 8;
  std::string text;
  std::size_t told = 0;
  for (const auto& [pid, name] : processes) {
    if (told++ == kNamed) return text + " and " + std::to_string(processes.size() - kNamed) + " more";
    text.append(text.empty() ? "" : ", ").append(pid);
    if (!name.empty()) text.append(" (").append(name).append(")");
  }
  return text;
}

std::vector<RepeatedFault> repeated_faults(std::span<const Observation* const> records) {
  return Faults(records).repeated();
}

}  // namespace autopilot::checks
