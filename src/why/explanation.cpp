// SPDX-License-Identifier: Apache-2.0
#include "why/explanation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include "core/value.hpp"
#include "core/word_table.hpp"
#include "incidents/causes.hpp"
#include "incidents/devices.hpp"
#include "incidents/evidence.hpp"
#include "why/joining.hpp"
#include "why/ties.hpp"
#include "why/waits.hpp"

namespace autopilot::why {
namespace {

constexpr double kLikelyFrom = 0.7;
// Consequences of the end of a process, such as the driver's cleanup, follow within this time.
constexpr Duration kSoonAfter = std::chrono::minutes{2};

// --- what explains what ---

struct Candidate {
  Evidence evidence;
  Tie tie = Tie::none;
  std::optional<std::size_t> root;       // the candidate that explains it
  const catalog::Cause* rule = nullptr;  // by which it explains others
  std::vector<std::size_t> explains;
};

bool is_rule_consequence(const Candidate& root, const Candidate& other) {
  if (root.evidence.boots_ago != other.evidence.boots_ago) return false;
  // Also a root, by the same rule or by one with precedence.
  if (other.rule != nullptr && !incidents::CauseRules::outranks(*root.rule, *other.rule)) return false;
  // What holds now shows that an error of this boot still has its effect.
  const bool stands = root.evidence.holds_now ||
                      (other.evidence.holds_now && root.evidence.finding.health != Health::healthy);
  return incidents::takes(*root.rule, root.evidence.finding, stands, other.evidence.finding);
}

bool is_same_fault(const Candidate& root, const Candidate& other) {
  return root.rule == other.rule && is_one_episode(root.evidence, other.evidence) &&
         root.evidence.boots_ago == other.evidence.boots_ago &&
         incidents::is_same_cause(*root.rule, root.evidence.finding, other.evidence.finding);
}

bool precedes(const Evidence& a, const Evidence& b, Duration within) {
  if (!has_time(a) || !has_time(b) || a.boots_ago != b.boots_ago) return false;
  return a.finding.since <= b.finding.since && b.finding.since <= last_of(a) + within;
}

// The driver cleans up after a process, and the service manager reports its end.
bool ended_before(const Evidence& cause, const Evidence& other) {
  const std::int64_t pid = pid_of(cause);
  return pid != 0 && pid == pid_of(other) && precedes(cause, other, kSoonAfter);
}

bool may_end_a_machine(const Evidence& evidence) {
  static constexpr std::array<std::string_view, 7> kReasons{"machine_overheats", "machine_check_uncorrected",
                                                            "kernel_panic",      "external_abort",
                                                            "cpu_stuck_hard",    "platform_error",
                                                            "kernel_oops"};
  return std::ranges::find(kReasons, evidence.finding.reason) != kReasons.end();
}

// The kernel, or the firmware, states after the boot how the previous one ended.
bool tells_of_the_end(const Evidence& cause, const Evidence& other) {
  return cause.kind == Kind::machine_ended && other.kind == Kind::machine_ended &&
         cause.boots_ago == other.boots_ago && cause.finding.reason != kNoShutdown &&
         other.finding.reason == kNoShutdown;
}

bool ended_the_machine(const Evidence& cause, const Evidence& other) {
  if (tells_of_the_end(cause, other)) return true;
  return other.kind == Kind::machine_ended && cause.finding.reason != other.finding.reason &&
         may_end_a_machine(cause) && precedes(cause, other, kNear);
}

using Explains = bool (*)(const Candidate& root, const Candidate& other);

bool explains_by_rule(const Candidate& root, const Candidate& other) {
  return root.rule != nullptr && (is_rule_consequence(root, other) || is_same_fault(root, other));
}

bool explains_by_process(const Candidate& root, const Candidate& other) {
  const bool is_end = root.evidence.kind != Kind::state && root.evidence.kind != Kind::reported_end;
  return is_end && ended_before(root.evidence, other.evidence);
}

bool explains_the_machine(const Candidate& root, const Candidate& other) {
  return ended_the_machine(root.evidence, other.evidence);
}

bool explains_a_hang(const Candidate& root, const Candidate& other) {
  return may_block(root.evidence, other.evidence);
}

bool explains_a_bus_error(const Candidate& root, const Candidate& other) {
  return root.evidence.finding.reason == kSharedMemoryFull && other.evidence.kind == Kind::crashed &&
         other.evidence.boots_ago == 0 && root.evidence.boots_ago == 0 &&
         incidents::word_of(other.evidence.finding, kSignal) == "SIGBUS";
}

void group_by(Explains explains, std::vector<Candidate>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].root) continue;
    for (std::size_t j = 0; j < all.size(); ++j) {
      if (i == j || all[j].root || !all[j].explains.empty() || !explains(all[i], all[j])) continue;
      all[j].root = i;
      all[i].explains.push_back(j);
    }
  }
}

// Roots with precedence come first, of equal ones the earliest with a time.
void order_by_precedence(std::vector<Candidate>& all) {
  std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) {
    if ((a.rule != nullptr) != (b.rule != nullptr)) return a.rule != nullptr;
    if (a.rule != b.rule) return incidents::CauseRules::outranks(*a.rule, *b.rule);
    if (has_time(a.evidence) != has_time(b.evidence)) return has_time(a.evidence);
    return a.evidence.finding.since < b.evidence.finding.since;
  });
}

std::vector<Candidate> grouped(std::vector<Evidence> evidence, const Target& target,
                               const incidents::CauseRules& rules) {
  std::vector<Candidate> all;
  for (Evidence& one : evidence) {
    Candidate candidate;
    candidate.tie = tie_of(one, target);
    candidate.rule = rules.cause_of(one.finding);
    candidate.evidence = std::move(one);
    all.push_back(std::move(candidate));
  }
  order_by_precedence(all);
  group_by(&explains_by_rule, all);
  group_by(&explains_by_process, all);
  group_by(&explains_the_machine, all);
  group_by(&explains_a_hang, all);
  group_by(&explains_a_bus_error, all);
  return all;
}

Target with_job(Target target, const std::vector<Evidence>& evidence) {
  target.is_also_job = target.is_also_job || std::ranges::any_of(evidence, [&target](const Evidence& one) {
                         return is_of_owner(one, target);
                       });
  return target;
}

// --- ties through consequences, and in time ---

void tie_roots(std::vector<Candidate>& all) {
  for (Candidate& root : all)
    for (const std::size_t index : root.explains)
      if (all[index].tie == Tie::names_it && (root.tie == Tie::none || root.tie == Tie::its_number))
        root.tie = Tie::explains_it;
      else if (all[index].tie == Tie::its_number && root.tie == Tie::none)
        root.tie = Tie::its_number;
}

bool is_about_it(const Candidate& candidate) {
  return candidate.tie == Tie::names_it || candidate.tie == Tie::its_number;
}

bool may_end_programs(const Evidence& evidence) {
  return evidence.kind == Kind::machine_ended ||
         (evidence.kind == Kind::device_error && evidence.finding.health == Health::failed);
}

// An error shortly before a record about the program, or while the program runs and does not continue.
void tie_by_time(std::vector<Candidate>& all) {
  std::vector<const Evidence*> of_program;
  for (const Candidate& one : all)
    if (is_about_it(one) && has_time(one.evidence)) of_program.push_back(&one.evidence);
  for (Candidate& one : all) {
    if (one.tie != Tie::none || one.root || !may_end_programs(one.evidence)) continue;
    const bool is_near = std::ranges::any_of(of_program, [&one](const Evidence* record) {
      return precedes(one.evidence, *record, kNear) ||
             (one.evidence.kind == Kind::machine_ended && precedes(*record, one.evidence, kNear));
    });
    if (is_near) one.tie = Tie::near;
  }
}

// --- ranking ---

double confidence_of(const Evidence& evidence, const catalog::Catalog& facts) {
  return incidents::confidence_of(evidence.finding,
                                  [&facts](std::string_view id) { return facts.reason(id); });
}

// The record itself is the end of the program or of the machine.
bool states_the_end(const Evidence& evidence) {
  switch (evidence.kind) {
    case Kind::machine_ended:
    case Kind::killed_for_memory:
    case Kind::blocked:
    case Kind::stopped:
    case Kind::crashed:
    case Kind::reported_end:
      return true;
    default:
      return false;
  }
}

Certainty certainty_of(const Candidate& candidate, const Target& target, const catalog::Catalog& facts) {
  const Evidence& evidence = candidate.evidence;
  if (target.is_machine()) {
    if (states_the_end(evidence)) return Certainty::certain;
    return confidence_of(evidence, facts) >= kLikelyFrom || evidence.finding.health == Health::failed
               ? Certainty::likely
               : Certainty::possible;
  }
  switch (candidate.tie) {
    case Tie::names_it:
      return evidence.kind == Kind::state ? Certainty::possible : Certainty::certain;
    case Tie::explains_it:
    case Tie::its_device:
      return Certainty::likely;
    default:
      return Certainty::possible;
  }
}

bool is_cause(const Candidate& candidate, const Target& target) {
  if (candidate.root) return false;
  if (!target.is_machine()) return candidate.tie != Tie::none;
  const Evidence& evidence = candidate.evidence;
  if (states_the_end(evidence) || evidence.kind == Kind::program_error) return true;
  if (evidence.finding.health == Health::failed) return true;
  return evidence.finding.health == Health::degraded && evidence.kind != Kind::state;
}

// 0 is the worst.
int severity_of(const Evidence& evidence) {
  if (evidence.finding.health == Health::failed) return 0;
  return evidence.finding.health == Health::degraded ? 1 : 2;
}

// Of a machine, what is broken precedes programs that ended, and those precede what only may have an effect.
int group_of(const Evidence& evidence) {
  if (evidence.kind == Kind::machine_ended || evidence.finding.health == Health::failed) return 0;
  return states_the_end(evidence) ? 1 : 2;
}

// The smallest ranks first.
auto rank_of(const FoundCause& cause, const Target& target, const catalog::Catalog& facts) {
  const int group = target.is_machine() ? group_of(cause.main) : 0;
  return std::tuple(group, static_cast<int>(cause.certainty), static_cast<int>(cause.main.kind),
                    severity_of(cause.main), -confidence_of(cause.main, facts),
                    -last_of(cause.main).time_since_epoch());
}

std::string grounds_of(const Candidate& candidate, const Target& target) {
  if (candidate.rule != nullptr && !candidate.rule->because.empty()) return candidate.rule->because;
  return grounds_of(candidate.evidence, candidate.tie, target);
}

FaultEnd end_of(const Candidate& candidate) {
  if (candidate.rule != nullptr) return candidate.rule->end;
  if (candidate.evidence.finding.reason == kBadMemory) return FaultEnd::hardware;
  return candidate.evidence.kind == Kind::program_error ? FaultEnd::application : FaultEnd::unclear;
}

void sort_by_time(std::vector<Evidence>& evidence) {
  std::ranges::stable_sort(evidence, {}, [](const Evidence& one) { return one.finding.since; });
}

// An event of a process that nothing ties to the program.
bool is_of_others(const Candidate& candidate, const Target& target) {
  return !target.is_machine() && candidate.tie == Tie::none && pid_of(candidate.evidence) != 0;
}

// An error of the device soon after the error that a program is accused of: the device may have caused both.
const Evidence* error_after(const std::vector<Candidate>& all, const Evidence& accused) {
  constexpr Duration kSoon = std::chrono::minutes{15};
  if (accused.kind != Kind::program_error) return nullptr;
  const auto found = std::ranges::find_if(all, [&](const Candidate& one) {
    return one.evidence.kind == Kind::device_error && one.evidence.finding.health == Health::failed &&
           one.evidence.finding.subject == accused.finding.subject && precedes(accused, one.evidence, kSoon);
  });
  return found == all.end() ? nullptr : &found->evidence;
}

// Without a finding about the device, the checks of this boot do not report it.
std::optional<bool> still_holds(const std::vector<Candidate>& all, const Evidence& cause) {
  if (cause.boots_ago == 0) return std::nullopt;
  const Subject device = incidents::device_of(cause.finding.subject);
  return std::ranges::any_of(all, [&](const Candidate& one) {
    const Finding& finding = one.evidence.finding;
    if (!one.evidence.holds_now || one.evidence.boots_ago != 0) return false;
    const bool is_device =
        device.kind != SubjectKind::host && incidents::device_of(finding.subject) == device;
    return finding.reason == cause.finding.reason || (is_device && finding.health >= Health::degraded);
  });
}

std::string name_of_error(const Evidence& error) {
  const auto code = code_of(error);
  return code ? "error " + std::to_string(*code) : std::string("an error");
}

FoundCause to_cause(const std::vector<Candidate>& all, const Candidate& root, const Target& target,
                    const catalog::Catalog& facts) {
  FoundCause cause;
  cause.main = root.evidence;
  cause.certainty = certainty_of(root, target, facts);
  cause.grounds = grounds_of(root, target);
  cause.end = end_of(root);
  cause.still_holds = still_holds(all, root.evidence);
  if (const Evidence* error = error_after(all, root.evidence)) {
    cause.certainty = std::max(cause.certainty, Certainty::likely);
    cause.end = FaultEnd::unclear;
    cause.grounds = "The same device reports " + name_of_error(*error) +
                    " soon after it, so that the device may be at fault.";
  }
  for (const std::size_t index : root.explains)
    if (!is_of_others(all[index], target)) cause.consequences.push_back(all[index].evidence);
  sort_by_time(cause.consequences);
  return cause;
}

std::vector<Evidence> in_order(const std::vector<FoundCause>& causes) {
  std::vector<Evidence> order;
  for (const FoundCause& cause : causes) {
    if (has_time(cause.main)) order.push_back(cause.main);
    std::ranges::copy_if(cause.consequences, std::back_inserter(order), has_time);
  }
  sort_by_time(order);
  return order;
}

bool is_told(const Candidate& candidate, const std::vector<Candidate>& all, const Target& target) {
  if (is_of_others(candidate, target)) return false;
  return is_cause(candidate, target) || (candidate.root && is_cause(all[*candidate.root], target));
}

}  // namespace

std::string_view to_string(Certainty certainty) {
  static constexpr WordTable<Certainty, 3> kWords{
      {{Certainty::certain, "certain"}, {Certainty::likely, "likely"}, {Certainty::possible, "possible"}}};
  return word_of(kWords, certainty);
}

Explanation explain(std::vector<Evidence> evidence, const Target& asked, const catalog::Catalog& facts) {
  const Target target = with_job(asked, evidence);
  auto all =
      grouped(joined_evidence(std::move(evidence), target), target, incidents::CauseRules(facts.causes()));
  tie_roots(all);
  tie_by_time(all);
  Explanation explanation;
  for (const Candidate& candidate : all) {
    if (is_cause(candidate, target)) explanation.causes.push_back(to_cause(all, candidate, target, facts));
    if (!is_told(candidate, all, target)) explanation.seen.push_back(candidate.evidence);
  }
  std::ranges::stable_sort(explanation.causes, [&](const FoundCause& a, const FoundCause& b) {
    return rank_of(a, target, facts) < rank_of(b, target, facts);
  });
  std::ranges::stable_sort(explanation.seen, [](const Evidence& a, const Evidence& b) {
    const int one = severity_of(a);
    const int other = severity_of(b);
    return one != other ? one < other : last_of(a) > last_of(b);
  });
  explanation.order = in_order(explanation.causes);
  return explanation;
}

}  // namespace autopilot::why
