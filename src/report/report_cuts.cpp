// SPDX-License-Identifier: Apache-2.0
#include "report/report_cuts.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "core/gpu_user.hpp"
#include "core/parse.hpp"
#include "core/text.hpp"
#include "incidents/causes.hpp"

namespace autopilot::report {
namespace {

constexpr std::size_t kLongestName = 128;  // of a check, a program, a pod, an entry of the evidence

void shorten(std::string& text, std::size_t bytes) {
  text = short_text(text, bytes);
}

// 0 is kept first.
int rank(const Incident& incident, std::size_t member) {
  const IncidentMember& one = incident.members[member];
  if (&one == &incidents::cause_member(incident)) return 0;
  if (incidents::stands(one)) return one.sympathetic ? 2 : 1;
  return 3;
}

// In their order.
std::vector<IncidentMember> first_members(Incident& incident, std::size_t limit) {
  std::vector<std::size_t> order(incident.members.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::ranges::stable_sort(order, {}, [&incident](std::size_t i) { return rank(incident, i); });
  order.resize(limit);
  std::ranges::sort(order);
  std::vector<IncidentMember> kept;
  for (const std::size_t i : order)
    kept.push_back(std::move(incident.members[i]));
  return kept;
}

}  // namespace

std::string short_text(std::string_view text, std::size_t bytes) {
  constexpr std::string_view kCut = "...";
  // Cuts first: the rest is far beyond the limit.
  std::string clean = to_utf8(text.substr(0, bytes + kCut.size() + 1));
  if (text.size() > bytes || clean.size() > bytes)
    clean = std::string(cut_utf8(clean, bytes - kCut.size())) + std::string(kCut);
  for (char& c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return clean;
}

Finding short_finding(Finding finding, const Cuts& cuts) {
  shorten(finding.message, cuts.text);
  shorten(finding.reason, kLongestName);
  shorten(finding.clears_when, cuts.text);
  if (finding.evidence.size() > cuts.evidence) finding.evidence.resize(cuts.evidence);
  for (auto& [name, value] : finding.evidence) {
    shorten(name, kLongestName);
    if (auto* text = std::get_if<std::string>(&value)) shorten(*text, cuts.evidence_text);
  }
  return finding;
}

Incident short_incident(Incident incident, const Cuts& cuts) {
  shorten(incident.summary, cuts.text);
  shorten(incident.because, cuts.text);
  shorten(incident.closed_by, kLongestName);
  if (incident.acknowledged) {
    shorten(incident.acknowledged->by, kLongestName);
    shorten(incident.acknowledged->reason, Acknowledgement::kMaxReasonBytes);
  }
  if (const std::size_t all = incident.members.size(); all > cuts.members) {
    incident.members = first_members(incident, cuts.members);
    incident.further += static_cast<std::int64_t>(all - cuts.members);
  }
  for (IncidentMember& member : incident.members)
    member.finding = short_finding(std::move(member.finding), cuts);
  // The newest are last.
  if (const std::size_t all = incident.gpu_users.size(); all > cuts.gpu_users)
    incident.gpu_users.erase(incident.gpu_users.begin(),
                             incident.gpu_users.end() - static_cast<std::ptrdiff_t>(cuts.gpu_users));
  for (GpuUser& gpu_user : incident.gpu_users) {
    shorten(gpu_user.process, kLongestName);
    for (const GpuUserField& field : kGpuUserFields)
      shorten(gpu_user.owner.*field.member, kLongestName);
  }
  return incident;
}

}  // namespace autopilot::report
