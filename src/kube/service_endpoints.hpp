// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "kube/caches.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"

namespace autopilot::kube {

// Endpoints of one Service. Listed on request, and cached for seconds: with a watch, every agent would
// receive every start of every other agent. On the loop's thread.
class ServiceEndpoints {
 public:
  // Each address once, also if several slices have it, ordered by address. Errors of the server are not
  // cached.
  using OnEndpoints = std::function<void(const Result<std::vector<Endpoint>>& endpoints)>;

  ServiceEndpoints(Client& client, const Clock& clock, const std::string& name_space,
                   const std::string& service, Duration remembered = std::chrono::seconds{10});
  ServiceEndpoints(const ServiceEndpoints&) = delete;
  ServiceEndpoints& operator=(const ServiceEndpoints&) = delete;
  ~ServiceEndpoints() = default;

  // Answers immediately from the cache. Requests during a list share its result. `on_answer` can call get(),
  // but not destroy this object.
  void get(OnEndpoints on_answer);
  // Number of started lists.
  [[nodiscard]] std::uint64_t lists() const { return lists_; }

 private:
  Client& client_;
  const ApiPath path_;
  std::uint64_t lists_ = 0;
  SharedAnswers<std::string, Result<std::vector<Endpoint>>> answers_;  // by path; there is only one
};

}  // namespace autopilot::kube
