// SPDX-License-Identifier: Apache-2.0
#include "report/node_words.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "incidents/verdict.hpp"

namespace autopilot::report {
namespace {

struct Group {
  std::string_view type;
  std::string_view prefix;  // of its checks; empty: those of no other group, as checks of an operator
};
constexpr std::array<Group, 4> kGroups = {{{"GpuHealthy", "gpu."},
                                           {"NetworkHealthy", "network."},
                                           {"StorageHealthy", "storage."},
                                           {"HostHealthy", ""}}};

bool is_of(const Group& group, std::string_view check) {
  if (!group.prefix.empty()) return check.starts_with(group.prefix);
  return std::ranges::none_of(kGroups, [check](const Group& other) {
    return !other.prefix.empty() && check.starts_with(other.prefix);
  });
}

const Group& group_of(std::string_view check, const Finding& finding) {
  if (incidents::is_accelerator_part(finding.subject.kind)) return kGroups.front();
  return *std::ranges::find_if(kGroups, [check](const Group& group) { return is_of(group, check); });
}

// Results of the checks of one group.
struct Said {
  int here = 0;    // checks that have something to look at
  int looked = 0;  // of these
  std::vector<std::string_view> required_not_looked;
  std::vector<const Finding*> bad;  // failed ones first
};

Said gather(const Group& group, const NodeSnapshot& snapshot) {
  Said said;
  for (const CheckResult& result : snapshot.results) {
    if (is_of(group, result.check) && result.health != Health::unsupported) {
      ++said.here;
      if (incidents::has_looked(result))
        ++said.looked;
      else if (result.required)
        said.required_not_looked.push_back(result.check);
    }
    for (const Finding& finding : result.findings) {
      const bool is_bad = finding.health == Health::failed || finding.health == Health::degraded;
      if (is_bad && !finding.injected && &group_of(result.check, finding) == &group)
        said.bad.push_back(&finding);
    }
  }
  std::ranges::stable_partition(said.bad, [](const Finding* one) { return one->health == Health::failed; });
  return said;
}

std::string and_more(std::size_t count) {
  return count == 0 ? "" : "; and " + std::to_string(count) + " more";
}

std::string at_most(std::size_t bytes, const std::string& text) {
  if (text.size() <= bytes) return text;
  constexpr std::string_view kCut = "...";
  return std::string(cut_utf8(text, bytes - kCut.size())) + std::string(kCut);
}

ConditionWords bad_words(const Group& group, const Said& said) {
  const Finding& worst = *said.bad.front();
  const std::string more = and_more(said.bad.size() - 1);
  const std::string text = to_string(worst.subject) + ": " + to_utf8(worst.message);
  return {std::string(group.type), "False", worst.health == Health::failed ? "Failed" : "Degraded",
          at_most(ConditionWords::kMaxMessage - more.size(), text) + more};
}

ConditionWords words_of_group(const Group& group, const NodeSnapshot& snapshot) {
  const Said said = gather(group, snapshot);
  const std::string type(group.type);
  if (!said.bad.empty()) return bad_words(group, said);
  if (said.here == 0) return {type, "True", "NothingHere", "no check of this group applies to this node"};
  const std::string looked = std::to_string(said.looked) + " of " + std::to_string(said.here) + " checks ran";
  if (!said.required_not_looked.empty())
    return {type, "Unknown", "NotLooked",
            looked + "; no result of " + std::string(said.required_not_looked.front()) +
                and_more(said.required_not_looked.size() - 1)};
  if (said.looked == 0) return {type, "Unknown", "NotLooked", looked};
  return {type, "True", "Healthy", looked};
}

// The incident that a person should know of first.
const Incident* first_of(const NodeSnapshot& snapshot, std::size_t& count) {
  const Incident* first = nullptr;
  for (const Incident& incident : snapshot.incidents) {
    if (incident.injected || incident.health == Health::healthy) continue;
    ++count;
    const bool is_worse = first == nullptr ||
                          (incident.health == Health::failed && first->health != Health::failed) ||
                          (incident.health == first->health && incident.confidence > first->confidence);
    if (is_worse) first = &incident;
  }
  return first;
}

std::string summary_of(const NodeSnapshot& snapshot, const std::string& why_evicted) {
  std::string coverage = std::to_string(snapshot.coverage.looked) + " of " +
                         std::to_string(snapshot.coverage.of) + " checks ran";
  std::size_t count = 0;
  const Incident* first = first_of(snapshot, count);
  if (first == nullptr && why_evicted.empty()) return coverage;
  const std::string& worst = first == nullptr ? why_evicted : first->summary;
  const std::string rest = and_more(count > 0 ? count - 1 : 0) + "; " + coverage;
  return at_most(NodeWords::kMaxSummary - rest.size(), to_utf8(worst)) + rest;
}

}  // namespace

NodeWords words_of(const NodeSnapshot& snapshot, Verdict written, const std::string& why_evicted) {
  NodeWords words;
  words.gpuhealth = to_string(written);
  words.summary = summary_of(snapshot, why_evicted);
  for (const Group& group : kGroups)
    words.conditions.push_back(words_of_group(group, snapshot));
  return words;
}

}  // namespace autopilot::report
