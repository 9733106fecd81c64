// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/selected_nodes.hpp"

#include <utility>

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

}  // namespace autopilot::compat::ibm_autopilot
