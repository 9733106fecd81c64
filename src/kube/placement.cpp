// SPDX-License-Identifier: Apache-2.0
#include "kube/placement.hpp"

#include <algorithm>
#include <cstdint>

#include "core/parse.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {
namespace {

bool is_beyond(const NodeRequirement& wanted, const std::string& value) {
  if (wanted.values.size() != 1) return false;
  const auto bound = parse_number<std::int64_t>(wanted.values.front());
  const auto number = parse_number<std::int64_t>(value);
  if (!bound || !number) return false;
  return wanted.op == "Gt" ? *number > *bound : *number < *bound;
}

bool is_met(const NodeRequirement& wanted, const std::string* value) {
  const bool is_listed = value != nullptr && std::ranges::find(wanted.values, *value) != wanted.values.end();
  if (wanted.op == "In") return is_listed;
  if (wanted.op == "NotIn") return !is_listed;
  if (wanted.op == "Exists") return value != nullptr;
  if (wanted.op == "DoesNotExist") return value == nullptr;
  if (wanted.op == "Gt" || wanted.op == "Lt") return value != nullptr && is_beyond(wanted, *value);
  return false;
}

bool is_met(const NodeTerm& term, const std::string& node, const Labels& labels) {
  const auto by_label = [&labels](const NodeRequirement& wanted) {
    const auto found = labels.find(wanted.key);
    return is_met(wanted, found == labels.end() ? nullptr : &found->second);
  };
  const auto by_field = [&node](const NodeRequirement& wanted) {
    return wanted.key == "metadata.name" && is_met(wanted, &node);
  };
  if (term.labels.empty() && term.fields.empty()) return false;
  return std::ranges::all_of(term.labels, by_label) && std::ranges::all_of(term.fields, by_field);
}

bool tolerates(const Toleration& one, const Taint& taint) {
  if (!one.effect.empty() && one.effect != taint.effect) return false;
  if (one.op == "Exists") return one.key.empty() || one.key == taint.key;
  return one.key == taint.key && one.value == taint.value;
}

}  // namespace

bool may_be_placed(const Placement& placement, std::string_view node, const Labels& labels,
                   const std::vector<Taint>& taints) {
  const bool is_selected = std::ranges::all_of(placement.selector, [&labels](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
  const auto is_met_here = [&, name = std::string(node)](const NodeTerm& term) {
    return is_met(term, name, labels);
  };
  const bool is_wanted = !placement.terms || std::ranges::any_of(*placement.terms, is_met_here);
  const auto is_tolerated = [&placement](const Taint& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
    return std::ranges::any_of(placement.tolerations,
                               [&taint](const Toleration& one) { return tolerates(one, taint); });
  };
  return is_selected && is_wanted && std::ranges::all_of(taints, is_tolerated);
}

}  // namespace autopilot::kube
