// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/rule_events.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "checks/judgement.hpp"
#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "checks/kernel_log/nvidia_lines.hpp"
#include "core/parse.hpp"
#include "host/host.hpp"

namespace autopilot::checks {
namespace {

// Lines about links, added from the newest to the oldest. Beyond the limit the shortest outages of each link
// are dropped, so that a flapping link does not hide a long outage. An outage begins with the first of
// several lines "down" and ends with the first "up" after it.
class LinkOutages {
 public:
  static constexpr std::size_t kMaxOutages = 32;  // for one link
  static constexpr std::size_t kMaxLinks = 64;

  // False if there is no room for another link.
  bool add(Observation event);
  // Removes and returns the kept events, in no particular order.
  [[nodiscard]] Observations take();

 private:
  // The oldest outage may lack its begin, the newest its end.
  struct Outage {
    std::optional<Observation> down;
    std::optional<Observation> up;
  };
  struct Link {
    Outage current;
    std::vector<Outage> outages;
    void finish();
  };
  static void move_to(Observations& events, Outage& outage);
  // Subject; may act; injected.
  using Key = std::tuple<Subject, bool, bool>;

  std::map<Key, Link> links_;
};

bool LinkOutages::add(Observation event) {
  Key key{event.subject, may_act(event), is_injected(event)};
  auto found = links_.find(key);
  if (found == links_.end()) {
    if (links_.size() >= kMaxLinks) return false;
    found = links_.emplace(std::move(key), Link{}).first;
  }
  Link& link = found->second;
  if (to_lower(attribute_of(event, "state")) == "down") {
    link.current.down = std::move(event);
    return true;
  }
  if (link.current.down) link.finish();
  link.current.up = std::move(event);
  return true;
}

void LinkOutages::Link::finish() {
  const auto length = [](const Outage& outage) {
    return outage.down && outage.up ? outage.up->time.mono - outage.down->time.mono : Duration::max();
  };
  outages.push_back(std::exchange(current, {}));
  if (outages.size() > kMaxOutages) outages.erase(std::ranges::min_element(outages, {}, length));
}

void LinkOutages::move_to(Observations& events, Outage& outage) {
  if (outage.down) events.push_back(*std::move(outage.down));
  if (outage.up) events.push_back(*std::move(outage.up));
}

Observations LinkOutages::take() {
  Observations events;
  for (auto& [key, link] : links_) {
    link.finish();
    for (Outage& outage : link.outages)
      move_to(events, outage);
  }
  links_.clear();
  return events;
}

// Number of records that an event represents, if more than one.
constexpr std::string_view kCount = "count";

// The events of a run, added from the newest to the oldest.
class Collected {
 public:
  // False if there is no room.
  bool add(Observation event) {
    if (event.name == kLinkRule) return outages_.add(std::move(event));
    auto& alike = kinds_[{event.name, event.subject, may_act(event), is_injected(event)}];
    if (alike.places.size() < kMaxEqualEvents) {
      if (events_.size() >= kMaxRuleEvents) return false;
      alike.places.push_back(events_.size());
      events_.push_back(std::move(event));
      return true;
    }
    ++alike.replaced;
    event.attributes.emplace_back(kCount, alike.replaced + 1);
    events_[alike.places.back()] = std::move(event);
    return true;
  }
  void move_to(Observations& observations) {
    std::ranges::move(outages_.take(), std::back_inserter(events_));
    std::ranges::sort(events_, {}, [](const Observation& event) { return event.sequence.value_or(0); });
    observations.insert(observations.end(), std::make_move_iterator(events_.begin()),
                        std::make_move_iterator(events_.end()));
  }

 private:
  using Kind = std::tuple<std::string, Subject, bool, bool>;
  struct Alike {
    std::vector<std::size_t> places;
    std::int64_t replaced = 0;
  };
  std::map<Kind, Alike> kinds_;
  LinkOutages outages_;
  Observations events_;
};

// Lines of the NVIDIA driver belong to gpu.xid.
bool may_be_by_rule(const host::KernelRecord& record) {
  return !may_be_nvidia(record.text);
}

// nullopt for a record that does not match.
using Decode = std::function<std::optional<DecodedRecord>(const host::KernelRecord& record)>;

void add_events(const host::KernelRecords& log, const Request& request, const Decode& decode,
                const SubjectOf& subject_of, Observed& observed) {
  observed.witnesses.push_back(log.witness);
  observed.kernel_log_next = log.next;
  Collected counted;
  Collected news;
  std::for_each(log.records.rbegin(), log.records.rend(), [&](const host::KernelRecord& record) {
    const auto decoded = decode(record);
    if (!decoded) return;
    const bool is_new = record.sequence >= request.kernel_log_counted;
    Collected& collected = is_new ? news : counted;
    if (!collected.add(rule_event(record, *decoded, subject_of(*decoded), log.witness)) && is_new)
      ++observed.records_dropped;
  });
  counted.move_to(observed.observations);
  news.move_to(observed.observations);
}

// Attributes that the catalog or the finding has, or that are equal for all events that may act.
constexpr std::array<std::string_view, 4> kStoredElsewhere{"kind", "name", "injected", "fromKernel"};

// Subject, reason, injected.
using Key = std::tuple<Subject, std::string, bool>;

struct Condition {
  Health health = Health::degraded;
  std::int64_t count = 0;
  WallTime since{};
  const Observation* last = nullptr;  // among the records with the worst health
  const catalog::LogRule* rule = nullptr;
};

class Judgement {
 public:
  explicit Judgement(const JudgeInput& input) : input_(input) {}

  Findings judge() {
    for (const Observation& event : input_.history.events()) {
      const catalog::LogRule* rule = rule_of(event);
      if (rule == nullptr || !may_act(event)) continue;
      for (const std::string& other : rule->takes_back)
        retract(other, event);
      if (!rule->reason.empty() && !is_expired(event, *rule)) note(event, *rule);
    }
    Findings findings;
    for (const auto& [key, condition] : conditions_)
      findings.push_back(to_finding(key, condition));
    return findings;
  }

 private:
  [[nodiscard]] const catalog::LogRule* rule_of(const Observation& event) const {
    return input_.facts.log_rule(event.name);
  }

  void retract(const std::string& rule, const Observation& by) {
    std::erase_if(conditions_, [&](const auto& entry) {
      const auto& [subject, reason, injected] = entry.first;
      return entry.second.rule->id == rule && subject == by.subject && injected == is_injected(by);
    });
  }

  [[nodiscard]] bool is_expired(const Observation& event, const catalog::LogRule& rule) const {
    const catalog::Reason* reason = input_.facts.reason(rule.reason);
    return reason != nullptr && reason->clear == catalog::ClearRule::expiry &&
           input_.now.mono - event.time.mono > reason->clear_after;
  }

  void note(const Observation& event, const catalog::LogRule& rule) {
    Condition& condition = conditions_[{event.subject, rule.reason, is_injected(event)}];
    condition.count += event_count(event);
    if (condition.last == nullptr) condition.since = event.time.wall;
    if (condition.last != nullptr && condition.health == Health::failed && rule.health != Health::failed)
      return;
    condition.health = rule.health;
    condition.last = &event;
    condition.rule = &rule;
  }

  // The evidence is from one record, so it changes only with a new record.
  [[nodiscard]] Finding to_finding(const Key& key, const Condition& condition) const {
    const auto& [subject, reason, injected] = key;
    const Observation& last = *condition.last;
    std::string message = condition.rule->title;
    if (condition.count > 1) message += " (" + std::to_string(condition.count) + " lines)";
    if (const Value* line = find_attribute(last.attributes, "line"); line != nullptr)
      message += ": " + to_string(*line);
    Finding finding = make_finding(input_, subject, reason, condition.health, std::move(message));
    if (condition.rule->action) finding.action = *condition.rule->action;
    finding.injected = injected;
    finding.since = condition.since;
    finding.evidence = {{"rule", last.name},
                        {"time", format_time(last.time.wall)},
                        {"witness", last.source},
                        {"sequence", static_cast<std::int64_t>(last.sequence.value_or(0))}};
    for (const auto& attribute : last.attributes)
      if (std::ranges::find(kStoredElsewhere, attribute.first) == kStoredElsewhere.end())
        finding.evidence.push_back(attribute);
    return finding;
  }

  const JudgeInput& input_;
  std::map<Key, Condition> conditions_;
};

}  // namespace

Observation rule_event(const host::KernelRecord& record, const DecodedRecord& decoded, const Subject& subject,
                       const std::string& witness) {
  Observation event;
  event.name = decoded.rule;
  event.subject = subject;
  event.value = decoded.rule;
  event.source = witness;
  event.time = record.time;
  event.sequence = record.sequence;
  event.attributes = to_attributes(decoded);
  std::erase_if(event.attributes, [](const auto& attribute) {
    return attribute.first == "text" || attribute.first == "line" || attribute.first == "rule" ||
           attribute.first == kCount;  // `count` of an EDAC line: the line has it
  });
  event.attributes.emplace_back("line", line_of(record.text));
  return event;
}

Subject subject_by_rule(const catalog::Catalog& facts, const DecodedRecord& decoded) {
  const catalog::LogRule* rule = facts.log_rule(decoded.rule);
  if (rule == nullptr || rule->subject == SubjectKind::host) return host_subject();
  const std::string device = attribute_of(decoded, "device");
  if (device.empty()) return host_subject();
  Subject subject;
  subject.kind = rule->subject;
  subject.key = subject.kind == SubjectKind::gpu ? canonical_pci_address(device).value_or(device) : device;
  return subject;
}

Status add_rule_events(const host::Host& host, const Request& request,
                       std::span<const std::string_view> rules, const SubjectOf& subject_of,
                       Observed& observed) {
  const auto log = TRY(host.kernel_log.read_if(request.kernel_log_from, request.deadline,
                                               {request.reader, LogParts::others, may_be_by_rule}));
  observed.kernel_log_parts = LogParts::others;
  const auto decode = [&rules](const host::KernelRecord& record) {
    auto decoded = builtin_decoder().decode(record);
    if (decoded && std::find(rules.begin(), rules.end(), decoded->rule) == rules.end()) decoded.reset();
    return decoded;
  };
  add_events(log, request, decode, subject_of, observed);
  return {};
}

Status add_rule_events(const host::Host& host, const Request& request, const Decoder& decoder,
                       const catalog::Catalog& facts, Observed& observed) {
  const auto log =
      TRY(host.kernel_log.read_if(request.kernel_log_from, request.deadline, {.reader = request.reader}));
  observed.kernel_log_parts = LogParts::operator_rules;
  add_events(
      log, request, [&decoder](const host::KernelRecord& record) { return decoder.decode_by_rules(record); },
      [&facts](const DecodedRecord& decoded) { return subject_by_rule(facts, decoded); }, observed);
  return {};
}

Status add_rule_events(const host::Host& host, const Request& request, std::string_view check,
                       const SubjectOf& subject_of, Observed& observed) {
  const catalog::CheckPage* page = catalog::builtin().check(check);
  AUTOPILOT_ASSERT(page != nullptr);
  const std::vector<std::string_view> rules(page->log_rules.begin(), page->log_rules.end());
  return add_rule_events(host, request, rules, subject_of, observed);
}

Status add_rule_events(const host::Host& host, const Request& request, std::string_view check,
                       Observed& observed) {
  const auto subject_of = [](const DecodedRecord& decoded) {
    return subject_by_rule(catalog::builtin(), decoded);
  };
  return add_rule_events(host, request, check, subject_of, observed);
}

bool may_act(const Observation& event) {
  return is_true(event, "fromKernel") || is_injected(event);
}

bool is_injected(const Observation& event) {
  return is_true(event, "injected");
}

std::string attribute_of(const DecodedRecord& decoded, std::string_view name) {
  for (const auto& [known, value] : decoded.attributes)
    if (known == name) return value;
  return {};
}

std::string attribute_of(const Observation& event, std::string_view name) {
  const Value* value = find_attribute(event.attributes, name);
  return value == nullptr ? std::string() : to_string(*value);
}

bool is_true(const Observation& event, std::string_view name) {
  const Value* value = find_attribute(event.attributes, name);
  return value != nullptr && *value == Value{true};
}

std::optional<int> attribute_number(const Observation& event, std::string_view name) {
  const Value* value = find_attribute(event.attributes, name);
  const auto number = value == nullptr ? std::nullopt : as_number(*value);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

void add_line(Finding& finding, const Observation& event) {
  finding.injected = is_injected(event);
  if (const Value* line = find_attribute(event.attributes, "line"))
    finding.evidence.emplace_back("line", *line);
  finding.evidence.emplace_back("witness", event.source);
}

Findings rule_findings(const JudgeInput& input) {
  return Judgement(input).judge();
}

Health allowed_health(const JudgeInput& input, const Observation& event, Health health) {
  const catalog::LogRule* rule = input.facts.log_rule(event.name);
  if (rule == nullptr) rule = catalog::builtin().log_rule(event.name);
  return rule == nullptr ? health : catalog::allowed_health(*rule, health);
}

}  // namespace autopilot::checks
