// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "collect/discovery/pod_facts.hpp"
#include "collect/progress/rank_ends.hpp"
#include "kube/attribution/attribution.hpp"
#include "kube/objects.hpp"

namespace autopilot::agent {

// What the API server states about the pods of this node, for the search for jobs and the sources of job
// data. Thread-safe.
class NodePods {
 public:
  static constexpr std::size_t kMostPods = 1024;  // further ones are left out
  static constexpr std::size_t kMostGone = 64;
  // Bytes of the labels, and of the annotations, of one pod; further ones are left out.
  static constexpr std::size_t kMostTextBytes = std::size_t{16} << 10;

  // A complete list begins: what follows, up to end_list(), replaces what is known.
  void begin_list();
  void end_list();
  void put(const kube::Pod& pod);
  // Its end may still be asked for: the last kMostGone are known until the next list.
  void remove(const kube::Pod& pod);

  // nullopt: the first list is not complete. An owner of an owner is not known; labels name it.
  [[nodiscard]] std::optional<collect::PodFactsByUid> facts() const;
  // IP address; nullopt: unknown.
  [[nodiscard]] std::optional<std::string> address(const std::string& uid) const;
  // The container that ended worst; nullopt: none has, or the pod is unknown.
  [[nodiscard]] std::optional<collect::PodEnd> end(const std::string& uid) const;

 private:
  struct Known {
    collect::PodFacts facts;
    std::string address;
    std::optional<collect::PodEnd> end;
  };
  using ByUid = std::map<std::string, Known, std::less<>>;
  static void put(const kube::Pod& pod, ByUid& pods);

  mutable std::mutex mutex_;
  ByUid pods_;
  std::optional<ByUid> listed_;   // of a list that is not complete
  std::deque<std::string> gone_;  // UIDs, the newest last
  bool has_list_ = false;
};

// Fills `pods` from the watch of the node's pods.
[[nodiscard]] kube::PodListener listener_of(const std::shared_ptr<NodePods>& pods);

}  // namespace autopilot::agent
