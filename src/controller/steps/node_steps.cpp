// SPDX-License-Identifier: Apache-2.0
#include "controller/steps/node_steps.hpp"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "kube/objects.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

Write patch_of(const kube::Node& node, json::object annotations, json::object spec,
               json::object labels = {}) {
  json::object metadata{{"resourceVersion", node.meta.version}};
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  if (!labels.empty()) metadata["labels"] = std::move(labels);
  json::object patch{{"metadata", std::move(metadata)}};
  if (!spec.empty()) patch["spec"] = std::move(spec);
  return {Write::Method::merge_patch, "/api/v1/nodes/" + node.meta.name, json::serialize(patch)};
}

// A patch takes the whole list.
json::array taints_of(const kube::Node& node, const NodeMarks& marks, bool has_ours) {
  json::array taints;
  for (const kube::Taint& taint : node.taints) {
    if (is_probation_taint(taint, marks)) continue;
    json::object object{{"key", taint.key}, {"effect", taint.effect}};
    if (!taint.value.empty()) object["value"] = taint.value;
    if (taint.added) object["timeAdded"] = kube::api_time(*taint.added);
    taints.push_back(std::move(object));
  }
  if (has_ours) taints.push_back(json::object{{"key", marks.probation}, {"effect", kProbationEffect}});
  return taints;
}

bool is_held_by(const kube::Node& node, const NodeMarks& marks, const std::string& plan) {
  const auto held = annotation(node, marks.held);
  return held && parse_hold(*held).plan == plan;
}

Result<std::optional<Write>> cordon(const PlannedAction& action, const kube::Node& node,
                                    const NodeMarks& marks, WallTime now) {
  if (is_held_by(node, marks, action.plan) && node.is_unschedulable) return std::nullopt;
  if (node.is_unschedulable || annotation(node, marks.held))
    return fail(Errc::conflict, "node " + node.meta.name + " is cordoned by somebody else");
  const Hold hold{.plan = action.plan, .since = now};
  return patch_of(node, json::object{{marks.held, format_hold(hold)}}, json::object{{"unschedulable", true}},
                  json::object{{marks.held, held_label(action.cause)}});
}

// stays_cordoned: it is somebody else's now.
Result<std::optional<Write>> give_back(const PlannedAction& action, const kube::Node& node,
                                       const NodeMarks& marks, bool stays_cordoned) {
  const bool has_label = node.meta.labels.contains(marks.held);
  json::object labels;
  if (has_label) labels[marks.held] = nullptr;
  if (!annotation(node, marks.held))
    return has_label ? std::optional(patch_of(node, {}, {}, std::move(labels))) : std::nullopt;
  if (!is_held_by(node, marks, action.plan))
    return fail(Errc::conflict, "node " + node.meta.name + " is not held by plan " + action.plan);
  json::object spec;
  if (!stays_cordoned) spec["unschedulable"] = nullptr;
  return patch_of(node, json::object{{marks.held, nullptr}}, std::move(spec), std::move(labels));
}

Result<std::optional<Write>> taint(const PlannedAction& action, const kube::Node& node,
                                   const NodeMarks& marks) {
  if (!action.probation) return fail(Errc::internal, "a taint without a probation");
  return patch_of(node, json::object{{marks.probation, format_probation(*action.probation)}},
                  json::object{{"taints", taints_of(node, marks, true)}});
}

}  // namespace

Result<std::optional<Write>> node_step(const PlannedAction& action, const kube::Node& node,
                                       const NodeMarks& marks, WallTime now) {
  switch (action.kind) {
    case ActionKind::cordon:
      return cordon(action, node, marks, now);
    case ActionKind::uncordon:
      return give_back(action, node, marks, false);
    case ActionKind::release:
      return give_back(action, node, marks, true);
    case ActionKind::taint:
      return taint(action, node, marks);
    case ActionKind::remove_taint:
      return patch_of(node, json::object{{marks.probation, nullptr}},
                      json::object{{"taints", taints_of(node, marks, false)}});
    case ActionKind::deep_test:
      return patch_of(
          node, json::object{{marks.shall_test, format_test_order({.plan = action.plan, .since = now})}}, {});
    default:
      return fail(Errc::internal, "no action on a node: " + std::string(to_string(action.kind)));
  }
}

std::optional<Write> grant_test(const kube::Node& node, const NodeMarks& marks, WallTime now) {
  if (annotation(node, marks.may_test)) return std::nullopt;
  return patch_of(node, json::object{{marks.may_test, format_time(now)}}, {});
}

}  // namespace autopilot::controller
