// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/actions/action_plan.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <utility>

#include "kube/json_path.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

constexpr std::string_view kWorkloads = "/apis/kueue.x-k8s.io/v1beta1/namespaces/";

std::string node_path(const Node& node) {
  return "/api/v1/nodes/" + node.name;
}

JobActionPlan refuse(std::string why) {
  return {.steps = {}, .refusal = std::move(why)};
}

// {"spec": {"suspend": value}} for "/spec/suspend".
json::value nested(std::string_view pointer, const json::value& value) {
  if (pointer.empty()) return value;
  const std::size_t end = pointer.find('/', 1);
  const std::string_view name = pointer.substr(1, end == std::string_view::npos ? end : end - 1);
  const std::string_view rest = end == std::string_view::npos ? std::string_view() : pointer.substr(end);
  return json::object{{name, nested(rest, value)}};
}

JobStep accuse(const jobs::WantedAction& action, const Node& node, const NodeMarks& marks, bool keeps_pods) {
  const jobs::JobFinding& finding = action.finding;
  const Accusation accusation{.finding = finding.id,
                              .job = finding.job,
                              .effect = std::string(jobs::to_string(finding.effect)),
                              .blamed = blamed_of(finding.culprit),
                              .since = finding.onset,
                              .keeps_pods = keeps_pods};
  return {.kind = JobStepKind::accuse_node,
          .text = "hold node " + node.name + (keeps_pods ? "" : " and move its pods") +
                  ", by a plan within the budgets",
          .write = {Write::Method::merge_patch, node_path(node),
                    annotation_patch(marks.accused, format_accusation(accusation))}};
}

std::vector<JobStep> request_checkpoint(const jobs::WantedAction& action, const JobObjects& objects,
                                        const JobMarks& marks) {
  const std::string patch = annotation_patch(marks.checkpoint, action.finding.id);
  std::vector<JobStep> steps;
  if (objects.kind != nullptr)
    steps.push_back({.kind = JobStepKind::request_checkpoint,
                     .text = "request a checkpoint from " + objects.owner->kind + ' ' + objects.owner->name,
                     .write = {Write::Method::merge_patch, owner_path(objects), patch}});
  for (const Pod* pod : objects.pods)
    if (steps.size() <= kMaxEvictions)
      steps.push_back({.kind = JobStepKind::request_checkpoint,
                       .text = "request a checkpoint from pod " + pod->name,
                       .write = {Write::Method::merge_patch, pod_path(*pod), patch}});
  return steps;
}

// The Workload of that owner in a list of Kueue; its controller would resume a suspended owner.
std::optional<std::string> workload_of(const json::object& list, const Owner& owner) {
  for (const json::object* workload : kube::objects_at(list, {"items"}))
    for (const json::object* reference : kube::objects_at(*workload, {"metadata", "ownerReferences"}))
      if (kube::text_at(*reference, {"kind"}) == owner.kind &&
          kube::text_at(*reference, {"name"}) == owner.name)
        return std::string(kube::text_at(*workload, {"metadata", "name"}));
  return std::nullopt;
}

JobStep suspend(const JobObjects& objects) {
  const Owner owner = *objects.owner;
  const std::string workloads = std::string(kWorkloads) + objects.name_space + "/workloads";
  const Write own{Write::Method::merge_patch, owner_path(objects),
                  json::serialize(nested(objects.kind->suspend, true))};
  return {.kind = JobStepKind::suspend,
          .text = "suspend " + owner.kind + ' ' + objects.name_space + '/' + owner.name,
          .write = {Write::Method::get, workloads, {}},
          .from_current = [own, owner, workloads](const std::string& text) -> Result<Write> {
            json::error_code error;
            const json::value read = text.empty() ? json::value(json::object()) : json::parse(text, error);
            if (error || !read.is_object())
              return fail(Errc::malformed, workloads + ": the response is not a JSON object");
            const auto workload = workload_of(read.get_object(), owner);
            if (!workload) return own;
            return Write{Write::Method::merge_patch, workloads + '/' + *workload,
                         json::serialize(nested("/spec/active", false))};
          }};
}

JobStep evict(const jobs::WantedAction& action, const Pod& pod) {
  PlannedAction eviction;
  eviction.kind = ActionKind::evict_pod;
  eviction.target = {.kind = "Pod", .name_space = pod.name_space, .name = pod.name, .uid = pod.uid};
  eviction.why = action.finding.summary;
  return {.kind = JobStepKind::evict_pod,
          .text = "evict pod " + pod.name_space + '/' + pod.name,
          .write = remove_pod_step(eviction)};
}

JobActionPlan restart(const jobs::WantedAction& action, const JobObjects& objects) {
  const std::string& node = action.finding.culprit.node;
  JobActionPlan plan;
  for (const Pod* pod : objects.pods) {
    if (!node.empty() && pod->node != node) continue;
    if (!pod->owner) return refuse("pod " + pod->name + " has no owner that would create it again");
    plan.steps.push_back(evict(action, *pod));
  }
  if (plan.steps.size() > kMaxEvictions)
    return refuse("the job has more than " + std::to_string(kMaxEvictions) +
                  " pods; restart it by its owner");
  if (plan.steps.empty()) return refuse("the API server has no pod of the job on node " + node);
  return plan;
}

// The accused node, if a pod of the job runs there.
Result<const Node*> accused_node(const jobs::Entity& culprit, const World& world, const JobObjects& objects) {
  if (culprit.kind == jobs::EntityKind::leaf)
    return fail(Errc::unsupported, "a leaf switch cannot be held; repair " + jobs::to_string(culprit));
  const bool has_pod =
      std::ranges::any_of(objects.pods, [&](const Pod* pod) { return pod->node == culprit.node; });
  const Node* node = world.node(culprit.node);
  if (!has_pod || node == nullptr)
    return fail(Errc::denied, "the API server has no pod of the job on node " + culprit.node);
  return node;
}

}  // namespace

bool waits_for_checkpoint(const jobs::WantedAction& action) {
  return action.request.choice == jobs::Choice::swap_at_checkpoint && action.part == jobs::ActionPart::whole;
}

std::string blamed_of(const jobs::Entity& culprit) {
  if (culprit.kind == jobs::EntityKind::gpu) return "gpu/" + std::to_string(culprit.gpu);
  if (culprit.kind == jobs::EntityKind::nic) return "nic/" + culprit.nic;
  return "host";
}

Write withdraw_accusation(const Node& node, const NodeMarks& marks) {
  const json::object annotations{{marks.accused, nullptr}};
  return {Write::Method::merge_patch, node_path(node),
          json::serialize(json::object{{"metadata", json::object{{"annotations", annotations}}}})};
}

JobActionPlan plan_action(const jobs::WantedAction& action, const World& world, const JobObjects& objects,
                          const NodeMarks& node_marks, const JobMarks& job_marks) {
  const jobs::Choice choice = action.request.choice;
  if (choice == jobs::Choice::keep_running) return refuse("nothing is to be done");
  if (!action.request.is_known) return refuse("the finding rests on data that is missing");
  if (!objects.owner)
    return refuse("the API server has no pod of the owner '" + action.owner.substr(0, 200) +
                  "' on the nodes of the job");
  if (choice == jobs::Choice::restart_in_place) return restart(action, objects);
  if (action.finding.culprit.is_accused()) {
    const auto node = accused_node(action.finding.culprit, world, objects);
    if (!node) return refuse(node.error().what);
    const bool waits = waits_for_checkpoint(action);
    JobActionPlan plan{.steps = {accuse(action, **node, node_marks, waits)}, .refusal = {}};
    if (!waits) return plan;
    for (JobStep& step : request_checkpoint(action, objects, job_marks))
      plan.steps.push_back(std::move(step));
    return plan;
  }
  if (choice != jobs::Choice::stop_now) return refuse("no node is accused, so none can be swapped");
  if (objects.kind == nullptr || objects.kind->suspend.empty())
    return refuse("a " + objects.owner->kind + " cannot be suspended; stop it by hand");
  return {.steps = {suspend(objects)}, .refusal = {}};
}

}  // namespace autopilot::controller
