// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/node_view.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "cli/output/phrases.hpp"

namespace autopilot::cli {
namespace {

// The objects of one node.
struct Known {
  const kube::HealthReport* report = nullptr;
  const kube::Node* node = nullptr;
};

// Statement of the agent at one time.
struct Word {
  std::optional<WallTime> time;
  std::optional<Verdict> verdict;
  std::string worst;
};

std::string text_of(const std::map<std::string, std::string, std::less<>>& texts, const std::string& name) {
  const auto found = texts.find(name);
  return found == texts.end() ? std::string() : found->second;
}

Word word_of(const kube::Node& node, const std::string& prefix) {
  const std::string label = text_of(node.meta.labels, prefix + "/gpuhealth");
  return {parse_time(text_of(node.meta.annotations, prefix + "/checked-at")),
          label.empty() ? std::optional(Verdict::none) : parse_verdict(label),
          text_of(node.meta.annotations, prefix + "/summary")};
}

bool is_watched(const kube::Node& node, const std::string& prefix) {
  return node.meta.labels.contains(prefix + "/gpuhealth") ||
         node.meta.annotations.contains(prefix + "/checked-at");
}

bool is_fresh(std::optional<WallTime> time, WallTime now) {
  return time && *time <= now + kStaleAfter && *time >= now - kStaleAfter;
}

// TESTING means only that the node is reserved.
Health health_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return Health::healthy;
    case Verdict::warn:
      return Health::degraded;
    case Verdict::evict:
      return Health::failed;
    case Verdict::testing:
    case Verdict::none:
      break;
  }
  return Health::unknown;
}

std::string why_unknown(const Word& word, WallTime now) {
  if (!word.time) return "its last report has no time";
  if (is_fresh(word.time, now)) return "this version does not know its verdict; update autopilot";
  if (*word.time > now)
    return "its last report is in the future, at " + format_time(*word.time) + ": check the clocks";
  return "no report for " + age_of(*word.time, now) + ": is its agent running?";
}

std::string word_text(std::optional<Verdict> verdict) {
  return verdict ? std::string(to_string(*verdict)) : "";
}

void forget(NodeView& view, const Word& word, WallTime now) {
  view.last_verdict = word_text(word.verdict);
  view.worst = why_unknown(word, now);
  if (!view.last_verdict.empty()) view.worst += "; last verdict " + view.last_verdict;
  if (!word.worst.empty()) view.worst += "; " + word.worst;
}

NodeView view_of(const std::string& name, const Known& known, const std::string& prefix, WallTime now) {
  NodeView view;
  view.node = name;
  Word word;
  if (known.node != nullptr) word = word_of(*known.node, prefix);
  if (known.report != nullptr) {
    view.looked = known.report->looked;
    view.is_simulated = known.report->is_simulated;
    // nullopt is less than every time.
    if (known.report->observed >= word.time)
      word = {known.report->observed, known.report->written, known.report->worst_incident};
  }
  view.checked = word.time;
  if (!is_fresh(word.time, now) || !word.verdict) {
    forget(view, word, now);
    return view;
  }
  view.verdict = word.verdict;
  view.worst = std::move(word.worst);
  view.health = health_of(*word.verdict);
  if (known.report != nullptr && is_fresh(known.report->observed, now)) {
    // The report has more detail than the Node object, even if it is older.
    view.worst = known.report->worst_incident;
    view.health =
        view.health == Health::unknown ? known.report->health : worst(view.health, known.report->health);
  }
  return view;
}

}  // namespace

std::vector<NodeView> node_views(std::span<const kube::HealthReport> reports,
                                 std::span<const kube::Node> nodes, const std::string& prefix, WallTime now) {
  std::map<std::string, Known, std::less<>> known;
  for (const kube::HealthReport& report : reports)
    known[report.node].report = &report;
  for (const kube::Node& node : nodes)
    if (is_watched(node, prefix) || known.contains(node.meta.name)) known[node.meta.name].node = &node;
  std::vector<NodeView> views;
  for (const auto& [name, one] : known)
    views.push_back(view_of(name, one, prefix, now));
  return views;
}

bool needs_attention(const NodeView& view) {
  const bool is_usual = view.verdict == Verdict::pass || view.verdict == Verdict::none;
  return !is_usual || (view.health != Health::healthy && view.health != Health::unsupported);
}

void sort_worst_first(std::vector<NodeView>& views) {
  const auto rank = [](Health health) {
    switch (health) {
      case Health::failed:
        return 0;
      case Health::unknown:
        return 1;
      case Health::degraded:
        return 2;
      case Health::healthy:
      case Health::unsupported:
        break;
    }
    return 3;
  };
  std::ranges::sort(views, {}, [&rank](const NodeView& view) {
    return std::tuple(rank(view.health), std::string_view(view.node));
  });
}

}  // namespace autopilot::cli
