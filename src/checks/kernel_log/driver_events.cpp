// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/driver_events.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/driver_advice.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "checks/kernel_log/rule_events.hpp"

namespace autopilot::checks {
namespace {

// A library event and a kernel log record within this time describe one error.
constexpr Duration kJoin = std::chrono::seconds{5};
// Seconds between the library's event and its reception, at most.
constexpr std::string_view kLate = "late";

constexpr std::array<std::string_view, 5> kTroubleRules = {
    "gpu.reset_required", "gpu.unsupported", "gpu.bar_invalid", "gpu.probe_failed", "gpu.probes_failed"};

std::string_view event_name(const DecodedRecord& decoded) {
  if (decoded.kind == "xid") return kXidEvent;
  // Of its detail lines only the line with the severity can represent the error.
  if (decoded.kind == "sxid")
    return decoded.is_detail && decoded.severity.empty() ? std::string_view{} : kSxidEvent;
  if (decoded.kind == "off_bus") return kOffBusEvent;
  if (decoded.rule == "gpu.init_failed") return kInitFailedEvent;
  if (std::ranges::find(kTroubleRules, decoded.rule) != kTroubleRules.end()) return kTroubleEvent;
  if (decoded.rule == "gpu.driver_loaded") return kDriverLoadedEvent;
  return {};
}

Subject subject_of(const DecodedRecord& decoded) {
  Subject subject;
  if (decoded.pci.empty()) return subject;
  subject.kind = decoded.kind == "sxid" ? SubjectKind::nvswitch : SubjectKind::gpu;
  subject.key = decoded.pci;
  if (decoded.gpu_instance) {
    subject.kind = SubjectKind::gpu_instance;
    subject.key += "/" + std::to_string(*decoded.gpu_instance);
    if (decoded.compute_instance) subject.key += "/" + std::to_string(*decoded.compute_instance);
  }
  return subject;
}

bool is_stored_elsewhere(std::string_view name) {
  return name == "kind" || name == "rule" || name == "code" || name == "name" || name == "pci" ||
         name == "text" || name == "class" || name == "action" || name == "line";
}

Observation to_observation(const host::KernelRecord& record, const DecodedRecord& decoded,
                           std::string_view name, const std::string& witness) {
  Observation event;
  event.name = name;
  event.subject = subject_of(decoded);
  if (decoded.code)
    event.value = std::int64_t{*decoded.code};
  else
    event.value = decoded.rule;
  event.source = witness;
  event.time = record.time;
  event.sequence = record.sequence;
  event.attributes.emplace_back("line", line_of(record.text));
  for (auto& [attribute, value] : to_attributes(decoded))
    if (!is_stored_elsewhere(attribute)) event.attributes.emplace_back(attribute, std::move(value));
  return event;
}

// Key of equal records.
using Kind = std::tuple<std::string_view, std::string, int, int, int, std::string,
                        std::optional<std::uint32_t>, int, bool, bool, bool>;

Kind kind_of(const DecodedRecord& decoded, std::string_view name) {
  return {name,
          decoded.pci,
          decoded.gpu_instance.value_or(-1),
          decoded.compute_instance.value_or(-1),
          decoded.nvlink ? decoded.nvlink->link.value_or(-1) : -1,
          decoded.rule,
          decoded.caused_by,
          decoded.recovery_to.value_or(-1),
          decoded.from_kernel,
          decoded.injected,
          decoded.is_cut};
}

// The catalog is consulted when the event is judged, once for many records.
std::optional<DecodedRecord> decode_of_driver(const host::KernelRecord& record) {
  auto decoded = decode_nvidia(record);
  return decoded ? decoded : builtin_decoder().decode(record);
}

// A record that is an event, and the event's name.
struct DriverRecord {
  DecodedRecord decoded;
  std::string_view name;
};

std::optional<DriverRecord> driver_record(const host::KernelRecord& record) {
  if (!may_be_nvidia(record.text)) return std::nullopt;
  auto decoded = decode_of_driver(record);
  if (!decoded) return std::nullopt;
  // Only the driver itself can report its error injection; a program may write any text.
  decoded->injected = record.injected || (decoded->injected && record.from_kernel());
  const std::string_view name = event_name(*decoded);
  if (name.empty()) return std::nullopt;
  return DriverRecord{std::move(*decoded), name};
}

// Numbers the processes with one error: the first few have their own group, the others share one.
class Processes {
 public:
  int number_of(const Kind& kind, const DecodedRecord& decoded, std::size_t groups) {
    auto& known = known_[kind];
    const auto found = std::ranges::find(known, decoded.pid);
    const auto number = static_cast<int>(found - known.begin());
    if (found != known.end()) return number;
    const bool has_room = groups < DriverEvents::kMaxKinds / 2 || known.empty();
    if (!has_room || known.size() >= DriverEvents::kMaxProcesses) return kOthers;
    known.push_back(decoded.pid);
    return number;
  }

 private:
  static constexpr int kOthers = -1;
  std::map<Kind, std::vector<std::optional<std::int64_t>>> known_;
};

// Counts the kinds of each code; all codes that the catalog does not know count as one.
class Codes {
 public:
  bool has_room(const DecodedRecord& decoded, std::size_t groups) {
    std::size_t& kinds = kinds_[{decoded.kind, known_code(decoded)}];
    if (groups >= DriverEvents::kMaxKinds && kinds >= DriverEvents::kKeptOfCode) return false;
    ++kinds;
    return true;
  }

 private:
  static std::uint32_t known_code(const DecodedRecord& decoded) {
    if (!decoded.code) return 0;
    if (decoded.kind != "sxid") return catalog::builtin().xid(*decoded.code) != nullptr ? *decoded.code : 0;
    const catalog::Sxid* sxid = catalog::builtin().sxid(*decoded.code);
    return sxid != nullptr ? sxid->code : 0;
  }

  std::map<std::pair<std::string, std::uint32_t>, std::size_t> kinds_;
};

// Errors of switches whose first line is in the log: their detail lines add nothing.
class KnownErrors {
 public:
  bool is_repeated(const DecodedRecord& decoded) {
    if (decoded.kind != "sxid") return false;
    const std::pair error(decoded.pci, decoded.code.value_or(0));
    if (decoded.is_detail) return errors_.contains(error);
    if (errors_.size() < DriverEvents::kMaxKinds) errors_.insert(error);
    return false;
  }

 private:
  std::set<std::pair<std::string, std::uint32_t>> errors_;
};

struct Group {
  std::size_t first = 0;  // indexes of records
  std::size_t last = 0;
  std::int64_t count = 0;
};

DriverEvents fold(std::span<const host::KernelRecord> records, const std::string& witness,
                  KnownErrors& errors) {
  DriverEvents result;
  std::map<std::pair<Kind, int>, Group> groups;
  Processes processes;
  Codes codes;
  for (std::size_t index = 0; index < records.size(); ++index) {
    const auto record = driver_record(records[index]);
    if (!record || errors.is_repeated(record->decoded)) continue;
    std::pair kind{kind_of(record->decoded, record->name), 0};
    kind.second = processes.number_of(kind.first, record->decoded, groups.size());
    auto found = groups.find(kind);
    if (found == groups.end()) {
      if (!codes.has_room(record->decoded, groups.size())) {
        ++result.dropped;
        continue;
      }
      found = groups.emplace(std::move(kind), Group{index, index, 0}).first;
    }
    found->second.last = index;
    ++found->second.count;
  }
  const auto add = [&](std::size_t index, std::int64_t count) {
    auto record = driver_record(records[index]);
    if (!record) return;
    add_link_down_reason(catalog::builtin(), record->decoded);
    result.events.push_back(to_observation(records[index], record->decoded, record->name, witness));
    if (count > 1) result.events.back().attributes.emplace_back("count", count);
  };
  for (const Group& group : std::views::values(groups)) {
    add(group.first, 1);
    if (group.last != group.first) add(group.last, group.count - 1);
  }
  std::ranges::sort(result.events, {}, [](const Observation& event) { return *event.sequence; });
  return result;
}

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

std::uint32_t code_of(const Observation& event) {
  constexpr double kLargest = std::numeric_limits<std::uint32_t>::max();
  const auto number = event.value ? as_number(*event.value) : std::nullopt;
  return number && *number >= 0 && *number <= kLargest ? static_cast<std::uint32_t>(*number) : 0;
}

Subject gpu_of(const Subject& subject) {
  if (subject.kind != SubjectKind::gpu_instance && subject.kind != SubjectKind::nvlink) return subject;
  return make_subject(SubjectKind::gpu, subject.key.substr(0, subject.key.find('/')));
}

std::string line_of(std::string_view text) {
  constexpr std::size_t longest = 500;
  if (text.size() <= longest) return std::string(text);
  std::size_t size = longest;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U)
    --size;
  return std::string(text.substr(0, size));
}

std::optional<Subject> link_of(const Observation& event) {
  const Value* number = find_attribute(event.attributes, "nvlinkLink");
  if (number == nullptr || event.subject.kind != SubjectKind::gpu) return std::nullopt;
  return make_subject(SubjectKind::nvlink, event.subject.key + "/" + to_string(*number));
}

DriverEvents collect_driver_events(const host::KernelRecords& records, std::uint64_t counted) {
  const std::span<const host::KernelRecord> all(records.records);
  const auto first_new = std::ranges::partition_point(
      all, [counted](const host::KernelRecord& record) { return record.sequence < counted; });
  const auto old = static_cast<std::size_t>(first_new - all.begin());
  KnownErrors errors;
  DriverEvents result = fold(all.first(old), records.witness, errors);
  DriverEvents news = fold(all.subspan(old), records.witness, errors);
  std::ranges::move(news.events, std::back_inserter(result.events));
  result.dropped = news.dropped;
  return result;
}

Observation to_observation(const host::GpuEvent& event) {
  Observation observation;
  observation.name = kXidEvent;
  observation.subject = event.subject;
  observation.value = std::int64_t{event.code};
  observation.source = kNvmlEvents;
  observation.time = event.time;
  if (event.late > Duration{0}) observation.attributes.emplace_back(kLate, to_seconds(event.late));
  // The library does not number events: time and subject distinguish them.
  std::uint64_t number = static_cast<std::uint64_t>(event.time.mono.time_since_epoch().count());
  for (const char c : event.subject.key)
    number = number * 31 + static_cast<unsigned char>(c);
  observation.sequence = (number * 1024 + static_cast<std::uint64_t>(event.code)) >> 1U;
  return observation;
}

bool is_same_error(const Observation& record, const Observation& library_event) {
  if (record.source == kNvmlEvents || record.name != kXidEvent || !may_act(record)) return false;
  if (gpu_of(record.subject) != gpu_of(library_event.subject) || code_of(record) != code_of(library_event))
    return false;
  const Value* late = find_attribute(library_event.attributes, kLate);
  const std::chrono::duration<double> seconds{late == nullptr ? 0 : as_number(*late).value_or(0)};
  const MonoTime heard = library_event.time.mono;
  const MonoTime earliest = heard - std::chrono::duration_cast<Duration>(seconds) - kJoin;
  return record.time.mono >= earliest && record.time.mono <= heard + kJoin;
}

Observations joined(Observations news, const std::deque<Observation>& earlier) {
  if (std::ranges::none_of(news, [](const Observation& event) { return event.source == kNvmlEvents; }))
    return news;
  const Observations all = news;
  std::erase_if(news, [&](const Observation& event) {
    if (event.source != kNvmlEvents) return false;
    const auto is_same = [&event](const Observation& record) { return is_same_error(record, event); };
    return std::ranges::any_of(all, is_same) || std::ranges::any_of(earlier, is_same);
  });
  return news;
}

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
