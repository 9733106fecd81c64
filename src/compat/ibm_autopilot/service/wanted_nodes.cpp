// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/wanted_nodes.hpp"

#include <utility>

#include "compat/ibm_autopilot/said.hpp"

namespace autopilot::compat::ibm_autopilot {
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
                 [said = ibm::workload_line(name_space, selector), selector,
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
        on_found({ibm::workload_line(name_space, selector) + ibm::not_allowed_line(name_space), {}});
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
