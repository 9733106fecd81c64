// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <tuple>

#include "compat/ibm_autopilot/status_request.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/caches.hpp"
#include "kube/callers/guard.hpp"
#include "kube/client.hpp"
#include "net/http.hpp"

namespace autopilot::compat::ibm_autopilot {

// Nodes by a label selector: of the nodes themselves, or of pods that are or were on them. Listed page by
// page on request, and remembered for kRemembered. On the loop's thread.
class SelectedNodes {
 public:
  using Names = std::set<std::string>;
  // malformed: not a valid selector; exhausted: more than kMostPages, or too many requests at once; otherwise
  // the server's error.
  using OnNames = std::function<void(const Result<Names>& names)>;

  static constexpr Duration kRemembered = std::chrono::seconds{10};
  static constexpr std::size_t kPage = 100;      // objects
  static constexpr std::size_t kMostPages = 50;  // 5,000 nodes

  SelectedNodes(kube::Client& client, const Clock& clock);

  void labeled(const std::string& selector, OnNames on_names);
  void of_pods(const std::string& name_space, const std::string& selector, OnNames on_names);

 private:
  using Key = std::tuple<std::string, std::string>;  // the path of the list, and the selector

  void ask(const Key& key, OnNames on_names);
  void list(const Key& key, const Names& found, const std::string& from, std::size_t pages);
  void take(const Key& key, Names found, std::size_t pages, const kube::ApiResult<std::string>& answer);

  kube::Client& client_;
  kube::SharedAnswers<Key, Result<Names>> answers_;
};

// Finds nodes for a caller. Empty functions: no cluster.
struct NodeFinder {
  kube::CallerRights rights;
  std::function<void(const std::string& selector, SelectedNodes::OnNames on_names)> labeled;
  std::function<void(const std::string& name_space, const std::string& selector,
                     SelectedNodes::OnNames on_names)>
      of_pods;
  bool is_open = false;  // each caller may learn which nodes have pods of a namespace
};

// What `job` and `nodelabel` of a question stand for.
struct WantedNodes {
  std::string said;  // lines about it, each with its end; empty where neither was named
  SelectedNodes::Names nodes;
};

// Nodes with pods of a namespace are returned only to callers with the permission to list these pods, unless
// is_open; every caller may select nodes by their labels. Calls back at once, or later; the request may be
// gone then.
void find_wanted_nodes(const NodeFinder& finder, const compat::ibm_autopilot::StatusRequest& wanted,
                       const net::HttpRequest& request, std::function<void(WantedNodes found)> on_found);

}  // namespace autopilot::compat::ibm_autopilot
