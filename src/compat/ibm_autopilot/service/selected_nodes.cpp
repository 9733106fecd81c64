// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/service/selected_nodes.hpp"

#include <utility>

#include "compat/ibm_autopilot/reading.hpp"
#include "kube/objects.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace {

constexpr std::size_t kMostRemembered = 16;
constexpr std::size_t kMostQuestionsAtOnce = 2;
constexpr const char* kNodes = "/api/v1/nodes";

}  // namespace

SelectedNodes::SelectedNodes(kube::Client& client, const Clock& clock)
    : client_(client),
      answers_(clock, {kRemembered, kMostRemembered, kMostQuestionsAtOnce},
               fail(Errc::exhausted, "too many look for nodes at once; try again")) {}

void SelectedNodes::labeled(const std::string& selector, OnNames on_names) {
  ask({kNodes, selector}, std::move(on_names));
}

void SelectedNodes::of_pods(const std::string& name_space, const std::string& selector, OnNames on_names) {
  ask({"/api/v1/namespaces/" + name_space + "/pods", selector}, std::move(on_names));
}

void SelectedNodes::ask(const Key& key, OnNames on_names) {
  if (answers_.ask(key, std::move(on_names))) list(key, {}, "", 0);
}

void SelectedNodes::list(const Key& key, const Names& found, const std::string& from, std::size_t pages) {
  kube::ApiPath path{std::get<0>(key),
                     {{"labelSelector", std::get<1>(key)}, {"limit", std::to_string(kPage)}}};
  if (!from.empty()) path.query["continue"] = from;
  answers_.hold(key, client_.get(std::move(path),
                                 [this, key, found, pages](const kube::ApiResult<std::string>& answer) {
                                   take(key, found, pages + 1, answer);
                                 }));
}

void SelectedNodes::take(const Key& key, Names found, std::size_t pages,
                         const kube::ApiResult<std::string>& answer) {
  if (!answer) return answers_.settle(key, fail(answer.error().error), false);
  const bool is_of_pods = std::get<0>(key) != kNodes;
  const auto rest = kube::read_list_page(*answer, [&](const kube::JsonObject& object) {
    std::string name = is_of_pods ? kube::parse_pod(object).node : kube::parse_meta(object).name;
    if (!name.empty()) found.insert(std::move(name));
  });
  if (!rest) return answers_.settle(key, fail(rest.error()), false);
  if (rest->empty()) return answers_.settle(key, std::move(found), true);
  if (pages >= kMostPages)
    return answers_.settle(key, fail(Errc::exhausted, "more than 5000 objects are selected"), false);
  list(key, found, *rest, pages);
}

namespace {

namespace ibm = compat::ibm_autopilot;

using OnFound = std::function<void(WantedNodes found)>;

std::string lines_of(const std::string& nobody, const Result<SelectedNodes::Names>& names) {
  if (!names) return "Cannot look for nodes: " + ibm::on_one_line(names.error().what) + ". ABORT.\n";
  return names->empty() ? nobody : "";
}

WantedNodes found_by(std::string said, const std::string& nobody, const Result<SelectedNodes::Names>& names) {
  return {std::move(said) + lines_of(nobody, names), names ? *names : SelectedNodes::Names{}};
}

// The caller may list the pods.
void find_of_job(const NodeFinder& finder, const std::string& name_space, const std::string& selector,
                 OnFound on_found) {
  finder.of_pods(name_space, selector,
                 [said = ibm::gpu_user_line(name_space, selector), selector,
                  on_found = std::move(on_found)](const Result<SelectedNodes::Names>& names) {
                   on_found(found_by(said, "No workload labeled with " + selector + " - ABORT.\n", names));
                 });
}

void find_job(const NodeFinder& finder, const ibm::StatusRequest& wanted, const net::HttpRequest& request,
              OnFound on_found) {
  if (wanted.job == ibm::kUnset) return on_found({});
  const auto job = ibm::read_job(wanted.job);
  if (!job) return on_found({job.error().what + "\n", {}});
  const auto& [name_space, selector] = *job;
  if (finder.is_open && finder.of_pods) return find_of_job(finder, name_space, selector, std::move(on_found));
  const kube::AccessQuestion question{.verb = "list",
                                      .group = "",
                                      .resource = "pods",
                                      .subresource = "",
                                      .name = "",
                                      .name_space = name_space};
  kube::authorize(
      finder.rights, request, question,
      [finder, name_space = name_space, selector = selector, on_found = std::move(on_found)](
          const kube::Caller&, const std::optional<kube::Refusal>& refusal) {
        if (!refusal && finder.of_pods) return find_of_job(finder, name_space, selector, on_found);
        on_found({ibm::gpu_user_line(name_space, selector) + ibm::not_allowed_line(name_space), {}});
      });
}

void find_labeled(const NodeFinder& finder, const ibm::StatusRequest& wanted, OnFound on_found) {
  if (wanted.node_label == ibm::kUnset) return on_found({});
  const std::string nobody = "No node is labeled with " + wanted.node_label + "  - ABORT.\n";
  if (!finder.labeled)
    return on_found(found_by("", nobody, fail(Errc::unsupported, "this agent is in no cluster")));
  finder.labeled(wanted.node_label,
                 [nobody, on_found = std::move(on_found)](const Result<SelectedNodes::Names>& names) {
                   on_found(found_by("", nobody, names));
                 });
}

}  // namespace

void find_wanted_nodes(const NodeFinder& finder, const ibm::StatusRequest& wanted,
                       const net::HttpRequest& request, OnFound on_found) {
  find_job(finder, wanted, request,
           [finder, wanted, on_found = std::move(on_found)](const WantedNodes& of_job) {
             find_labeled(finder, wanted, [of_job, on_found](WantedNodes labeled) {
               labeled.said.insert(0, of_job.said);
               labeled.nodes.insert(of_job.nodes.begin(), of_job.nodes.end());
               on_found(std::move(labeled));
             });
           });
}

}  // namespace autopilot::compat::ibm_autopilot
