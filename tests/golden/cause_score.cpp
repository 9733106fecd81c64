// SPDX-License-Identifier: Apache-2.0
#include "golden/cause_score.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "catalog/catalog.hpp"
#include "checks/check.hpp"
#include "incidents/devices.hpp"

namespace autopilot::golden {
namespace {

using namespace std::chrono_literals;

// Times of records, and of findings made from them, have different precision.
constexpr Duration kSlack = 1s;

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " or ") + word;
  return text;
}

std::string class_of(std::uint32_t code) {
  const catalog::Xid* xid = catalog::builtin().xid(code);
  return xid == nullptr || xid->classes.empty() ? "unknown" : xid->classes.front();
}

// The reason of a finding that the line makes.
bool is_reason_of(const checks::DecodedRecord& line, const std::string& reason) {
  if (line.kind == "off_bus" || line.code == 79) return reason == "gpu_fallen_off_bus";
  if (line.kind == "sxid") return reason == "xid_nvlink";
  if (line.kind != "xid" || !line.code) return false;
  if (line.code == 154) return reason == "xid_verdict";
  return reason == "xid_" + class_of(*line.code) || reason.starts_with("xid_repeated");
}

bool is_told_by(const ToldLine& line, const IncidentMember& member) {
  if (!line.decoded || incidents::device_of(member.finding.subject).key != line.decoded->pci) return false;
  const Finding& finding = member.finding;
  if (line.time + kSlack < finding.since) return false;
  const Value* code = find_attribute(finding.evidence, "code");
  const bool has_code = code != nullptr && line.decoded->code;
  const bool is_same_code =
      has_code && autopilot::to_string(*code) == std::to_string(line.decoded->code.value_or(0));
  if (!is_record(finding)) return is_reason_of(*line.decoded, finding.reason) && (is_same_code || !has_code);
  return is_same_code && line.time <= std::max(finding.since, finding.last_seen) + kSlack;
}

const IncidentMember* member_of(const Incident& incident, const ToldLine& line) {
  if (incident.closed && line.time > *incident.closed) return nullptr;
  const IncidentMember* found = nullptr;
  for (const IncidentMember& member : incident.members)
    if (is_told_by(line, member) && (found == nullptr || found->sympathetic)) found = &member;
  return found;
}

std::string name_of(const Incident& incident) {
  return family_of(incident) + " (" + (incident.cause.empty() ? incident.reason : incident.cause) +
         "), blames " + autopilot::to_string(incident.blamed) + ", " +
         (incident.end ? std::string(autopilot::to_string(*incident.end)) : "none");
}

class Comparison {
 public:
  Comparison(const Labels& labels, const Story& story) : labels_(labels), story_(story) {}

  Score score() {
    for (std::size_t i = 0; i < labels_.incidents.size(); ++i)
      meet(i);
    for (std::size_t i = 0; i < story_.incidents.size(); ++i)
      if (!used_.contains(i)) score_.invented.push_back("unexpected: " + name_of(at(i)));
    for (const int number : labels_.noise)
      for (const ToldIncident& told : story_.incidents)
        if (member_of(told.last, line(number)) != nullptr)
          score_.invented.push_back("line " + std::to_string(number) + " acts");
    const std::string node(autopilot::to_string(story_.node));
    if (!contains(labels_.node, node))
      score_.invented.push_back("the node is " + node + ", not " + join(labels_.node));
    return std::move(score_);
  }

 private:
  [[nodiscard]] const Incident& at(std::size_t index) const { return story_.incidents[index].last; }
  [[nodiscard]] const ToldLine& line(int number) const {
    static const ToldLine nothing;
    const auto index = static_cast<std::size_t>(number - 1);
    return index < story_.lines.size() ? story_.lines[index] : nothing;
  }

  // The incident of the label: where its line is a cause, else where it is a member at all.
  [[nodiscard]] std::optional<std::size_t> find(const ExpectedIncident& label) const {
    std::optional<std::size_t> found;
    int best = 0;
    for (std::size_t i = 0; i < story_.incidents.size(); ++i) {
      int rank = 0;
      if (!label.subject.empty()) {
        rank = std::ranges::any_of(at(i).members, [&](const IncidentMember& member) {
          return autopilot::to_string(member.finding.subject) == label.subject;
        });
      } else if (const IncidentMember* member = member_of(at(i), line(label.lines.front()))) {
        rank = 1 + (member->sympathetic ? 0 : 2) + (used_.contains(i) ? 0 : 1);
        if (is_record(member->finding) && contains(label.families, "suspicion")) rank = 1;
      }
      if (rank > best) {
        best = rank;
        found = i;
      }
    }
    return found;
  }

  void meet(std::size_t index) {
    const ExpectedIncident& label = labels_.incidents[index];
    const auto found = find(label);
    Answer answer{label.families.front(), "", Meeting::right, ""};
    if (!found) {
      if (label.is_optional) return;
      answer.outcome = Meeting::missed;
      answer.why = "no incident";
      score_.answers.push_back(std::move(answer));
      return;
    }
    const Incident& incident = at(*found);
    answer.answered = family_of(incident);
    const bool is_again = !used_.insert(*found).second;
    if (is_again && (label.is_optional || label.joins)) return;
    judge(label, index, story_.incidents[*found], is_again, answer);
    score_.answers.push_back(std::move(answer));
  }

  void judge(const ExpectedIncident& label, std::size_t index, const ToldIncident& told, bool is_again,
             Answer& answer) const {
    const Incident& incident = told.last;
    const std::string end = incident.end ? std::string(autopilot::to_string(*incident.end)) : "none";
    const auto say = [&](Meeting outcome, std::string why) {
      if (answer.outcome != Meeting::right) return;
      answer.outcome = outcome;
      answer.why = std::move(why);
    };
    if (!contains(label.families, answer.answered))
      say(Meeting::wrong_cause, "reported " + name_of(incident));
    if (!contains(label.ends, end) || !is_blamed(label, index, incident.blamed))
      say(Meeting::wrong_end,
          "reported " + name_of(incident) + "; is " + join(label.ends) + ", " + join(label.blamed));
    if (is_again) say(Meeting::merged, "in the incident of another cause: " + name_of(incident));
    const std::string health(autopilot::to_string(told.worst));
    if (!contains(label.health, health))
      say(Meeting::incomplete, "its health is " + health + ", not " + join(label.health));
    for (const int number : label.consequences) {
      const IncidentMember* member = member_of(incident, line(number));
      if (member == nullptr || !member->sympathetic)
        say(Meeting::incomplete,
            "line " + std::to_string(number) +
                (member == nullptr ? " is not in it" : " is not reported as a consequence"));
    }
    for (const int number : label.with)
      for (const ToldIncident& other : story_.incidents)
        if (&other != &told && member_of(other.last, line(number)) != nullptr &&
            member_of(incident, line(number)) == nullptr)
          say(Meeting::incomplete, "line " + std::to_string(number) + " is in another incident");
    const bool is_over = incident.state != IncidentState::open;
    if (!label.at_end.empty() && is_over != (label.at_end == "over"))
      say(Meeting::incomplete, is_over ? "it is over at the end" : "it is still open at the end");
  }

  // `program`: a process that is named in a line of this incident, or of an incident that it joins.
  [[nodiscard]] bool is_blamed(const ExpectedIncident& label, std::size_t index,
                               const Subject& blamed) const {
    if (contains(label.blamed, autopilot::to_string(blamed))) return true;
    if (!contains(label.blamed, "program") || blamed.kind != SubjectKind::process) return false;
    const auto names = [&](const ExpectedIncident& one) {
      for (const auto* numbers : {&one.lines, &one.with})
        for (const int number : *numbers)
          if (line(number).decoded && line(number).decoded->pid &&
              std::to_string(*line(number).decoded->pid) == blamed.key)
            return true;
      return false;
    };
    if (names(label)) return true;
    for (std::size_t i = index + 1; i < labels_.incidents.size() && labels_.incidents[i].joins; ++i)
      if (names(labels_.incidents[i])) return true;
    return false;
  }

  const Labels& labels_;
  const Story& story_;
  Score score_;
  std::set<std::size_t> used_;
};

}  // namespace

std::string_view to_string(Meeting outcome) {
  switch (outcome) {
    case Meeting::right:
      return "right";
    case Meeting::missed:
      return "missed";
    case Meeting::merged:
      return "merged";
    case Meeting::wrong_cause:
      return "wrong cause";
    case Meeting::wrong_end:
      return "wrong culprit";
    case Meeting::incomplete:
      return "incomplete";
  }
  return "";
}

bool Score::is_right() const {
  return invented.empty() &&
         std::ranges::all_of(answers, [](const Answer& answer) { return answer.outcome == Meeting::right; });
}

std::string family_of(const Incident& incident) {
  static const std::map<std::string, std::string> families{{"memory_uncorrected", "memory"},
                                                           {"gpu_off_bus", "off_bus"},
                                                           {"gpu_firmware", "firmware"},
                                                           {"nvswitch_fault", "nvswitch"},
                                                           {"nvswitch_notice", "nvswitch"},
                                                           {"nvswitch_refusal", "nvswitch"},
                                                           {"pcie_signal", "pcie"},
                                                           {"nvlink_fault", "nvlink"},
                                                           {"driver_verdict", "verdict"},
                                                           {"driver_fault", "driver"},
                                                           {"application_fault", "application"},
                                                           {"work_cancelled", "cancelled_work"},
                                                           {"repeated_program_fault", "suspicion"}};
  static const std::map<std::string, std::string> by_reason{
      {"xid_memory", "memory"}, {"xid_pcie", "pcie"}, {"xid_power", "power"}, {"xid_unknown", "unknown"}};
  if (const auto found = families.find(incident.cause); found != families.end()) return found->second;
  if (const auto found = by_reason.find(incident.reason); found != by_reason.end()) return found->second;
  if (!incident.cause.empty()) return "hardware";
  const std::string domain = incident.check.substr(0, incident.check.find('.'));
  return domain == "gpu" ? incident.reason : domain;
}

Score compare(const Labels& labels, const Story& story) {
  return Comparison(labels, story).score();
}

}  // namespace autopilot::golden
