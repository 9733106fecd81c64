// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/node_pages.hpp"

#include <algorithm>
#include <utility>

#include "catalog/action_text.hpp"
#include "cli/explain/vocabulary.hpp"
#include "cli/output/phrases.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

std::string fault_text(const Incident& incident) {
  if (!incident.end) return {};
  const std::string because = incident.because.empty() ? std::string() : ": " + incident.because;
  if (*incident.end == FaultEnd::application) return "the program, not the machine" + because;
  if (*incident.end == FaultEnd::hardware) return "the hardware, not the program" + because;
  return "the program or the hardware; the records do not decide it" + because;
}

std::string members_text(const Incident& incident) {
  constexpr std::size_t kMostMembers = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(incident.members.size(), kMostMembers); ++i)
    text += (text.empty() ? "" : "; ") + incident.members[i].finding.message;
  const auto more = static_cast<std::int64_t>(incident.members.size()) + incident.further -
                    static_cast<std::int64_t>(std::min(incident.members.size(), kMostMembers));
  return more > 0 ? text + "; and " + std::to_string(more) + " more" : text;
}

std::string clear_text(const Incident& incident, const catalog::Reason* reason) {
  if (incident.state == IncidentState::closed) return {};
  for (const IncidentMember& member : incident.members)
    if (!member.cleared && !member.finding.clears_when.empty()) return member.finding.clears_when;
  return reason == nullptr ? std::string() : catalog::how_it_clears(*reason);
}

std::string action_sentence(Action action) {
  return action == Action::none ? "no action" : catalog::action_text(action);
}

void add_reason(Explained& page, const catalog::Reason* reason) {
  if (reason == nullptr) return;
  page.add("What", reason->meaning).add("May be wrong if", reason->disproof);
}

Explained page_of_finding(const std::string& check, const Finding& finding, const catalog::Catalog& facts) {
  const std::string subject = subject_text(finding.subject);
  Explained page{.kind = "finding",
                 .id = finding.reason,
                 .title = check + " " + std::string(to_string(finding.health)) + ": " +
                          (subject.empty() ? "" : subject + ": ") + finding.message};
  const catalog::Reason* reason = facts.reason(finding.reason);
  add_reason(page, reason);
  page.add("Do now", finding.action == Action::none && reason != nullptr ? reason->cure
                                                                         : action_sentence(finding.action));
  page.add("More", finding.reason.empty() ? "" : "autopilot explain " + finding.reason);
  return page;
}

bool is_in_incident(const NodeSnapshot& node, const std::string& check, const Finding& finding) {
  return std::ranges::any_of(node.incidents, [&](const Incident& incident) {
    return std::ranges::any_of(incident.members, [&](const IncidentMember& member) {
      return member.check == check && member.finding.subject == finding.subject &&
             member.finding.reason == finding.reason;
    });
  });
}

// Unknown only if the check is required: other checks that could not run lower the coverage only.
bool is_wrong(const CheckResult& result, const Finding& finding) {
  if (finding.health == Health::unknown) return result.required;
  return finding.health == Health::failed || finding.health == Health::degraded;
}

int rank_of(Health health) {
  return health == Health::failed ? 0 : health == Health::degraded ? 1 : 2;
}

}  // namespace

Explained explain(const Incident& incident, const catalog::Catalog& facts) {
  const catalog::Reason* reason = facts.reason(incident.reason);
  Explained page{
      .kind = "incident", .id = incident.id, .title = "Incident " + incident.id + ": " + incident.summary};
  page.add("State", std::string(to_string(incident.state)) + ", " + std::string(to_string(incident.health)));
  page.add("Culprit", subject_text(incident.blamed)).add("At fault", fault_text(incident));
  page.add("Since", format_time(incident.opened));
  if (incident.closed)
    page.add("Closed", format_time(*incident.closed) +
                           (incident.closed_by.empty() ? std::string() : " (" + incident.closed_by + ")"));
  add_reason(page, reason);
  page.add("Findings", members_text(incident));
  page.add("Do now", incident.action == Action::none && reason != nullptr ? reason->cure
                                                                          : action_sentence(incident.action));
  page.add("Clears", clear_text(incident, reason));
  if (incident.acknowledged)
    page.add("Acknowledged", incident.acknowledged->by + ": " + incident.acknowledged->reason);
  else if (incident.state != IncidentState::closed)
    page.add("Acknowledge", "autopilot ack " + incident.id + " --reason TEXT");
  if (incident.injected) page.add("Injected", "for a test; it changes no verdict");
  page.add("More", incident.reason.empty() ? "" : "autopilot explain " + incident.reason);
  return page;
}

std::vector<Explained> what_is_wrong(const NodeSnapshot& node, const catalog::Catalog& facts) {
  std::vector<std::pair<Health, Explained>> ranked;
  for (const Incident& incident : node.incidents)
    ranked.emplace_back(incident.health, explain(incident, facts));
  for (const CheckResult& result : node.results)
    for (const Finding& finding : result.findings)
      if (is_wrong(result, finding) && !is_in_incident(node, result.check, finding))
        ranked.emplace_back(finding.health, page_of_finding(result.check, finding, facts));
  std::ranges::stable_sort(ranked, {}, [](const auto& one) { return rank_of(one.first); });
  std::vector<Explained> pages;
  for (auto& [health, page] : ranked)
    pages.push_back(std::move(page));
  return pages;
}

namespace {

// "2" or the PCI address of "GPU 2", "gpu/2", "0000:52:00.0", "GPU 2 (0000:52:00.0)"; empty: another form.
std::string gpu_key(std::string_view words) {
  words = trim(words);
  if (const auto address = canonical_pci_address(words)) return *address;
  const std::string lower = to_lower(words);
  if (!lower.starts_with("gpu ") && !lower.starts_with("gpu/")) return {};
  std::string_view rest = trim(std::string_view(lower).substr(4));
  if (const auto open = rest.find(" ("); open != std::string_view::npos && rest.ends_with(')'))
    rest = rest.substr(open + 2, rest.size() - open - 3);
  if (const auto address = canonical_pci_address(rest)) return *address;
  return parse_number<int>(rest) ? std::string(rest) : std::string();
}

bool concerns(const Subject& subject, const Subject& gpu) {
  return subject.key == gpu.key ? subject.kind == SubjectKind::gpu : subject.key.starts_with(gpu.key + "/");
}

}  // namespace

bool is_gpu_form(std::string_view words) {
  return !gpu_key(words).empty();
}

std::optional<Subject> named_gpu(std::string_view words, const NodeSnapshot& node) {
  const std::string key = gpu_key(words);
  const auto is_wanted = [&key](const Subject& one) {
    return one.kind == SubjectKind::gpu &&
           (one.key == key || (one.index && std::to_string(*one.index) == key));
  };
  std::optional<Subject> found;
  const auto take = [&](const Subject& one) {
    if (is_wanted(one) && (!found || !found->index)) found = one;
  };
  for (const CheckResult& result : node.results) {
    for (const Observation& observation : result.observations)
      take(observation.subject);
    for (const Finding& finding : result.findings)
      take(finding.subject);
  }
  for (const Incident& incident : node.incidents)
    take(incident.blamed);
  return found;
}

std::vector<Explained> about_gpu(const Subject& gpu, const NodeSnapshot& node,
                                 const catalog::Catalog& facts) {
  NodeSnapshot part = node;
  std::erase_if(part.incidents, [&gpu](const Incident& incident) {
    return !concerns(incident.blamed, gpu) &&
           std::ranges::none_of(incident.members, [&gpu](const IncidentMember& member) {
             return concerns(member.finding.subject, gpu);
           });
  });
  std::size_t checks = 0;
  CheckResults results;
  for (CheckResult result : node.results) {
    std::erase_if(result.findings, [&gpu](const Finding& one) { return !concerns(one.subject, gpu); });
    bool has_values = false;
    for (const Observation& one : result.observations)
      has_values = has_values || concerns(one.subject, gpu);
    if (has_values) ++checks;
    results.push_back(std::move(result));
  }
  part.results = std::move(results);
  auto pages = what_is_wrong(part, facts);
  if (!pages.empty()) return pages;
  Explained page{.kind = "GPU", .id = to_string(gpu), .title = subject_text(gpu) + ": no problem"};
  page.add("What", count_words(checks, "check has", "checks have") +
                       " values of this GPU, and none of them reports a problem.");
  page.add("More", "autopilot events --subject " + to_string(gpu));
  pages.push_back(std::move(page));
  return pages;
}

std::string verdict_line(const NodeSnapshot& node) {
  std::string text = node.node + " is " + std::string(to_string(node.health));
  const std::string_view verdict = to_string(node.verdict);
  if (!verdict.empty()) text += ", verdict " + std::string(verdict);
  text += "; " + std::to_string(node.coverage.looked) + " of " + std::to_string(node.coverage.of) +
          " checks ran.";
  for (const Word& word : machine_words())
    if (word.kind == "verdict" && word.id == verdict) text += " " + std::string(word.meaning);
  return text;
}

}  // namespace autopilot::cli
