// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/objects.hpp"
#include "kube/shared_answers.hpp"

namespace autopilot::kube {

// Who serves one Service. Listed when somebody asks, and remembered for seconds: every agent that watched
// them would be told of every start of every other agent. On the loop's thread.
class ServiceEndpoints {
 public:
  // Each address once, also where several slices name it, in order of their addresses. The error of the
  // server is not remembered.
  using OnEndpoints = std::function<void(const Result<std::vector<Endpoint>>& endpoints)>;

  ServiceEndpoints(Client& client, const Clock& clock, const std::string& name_space,
                   const std::string& service, Duration remembered = std::chrono::seconds{10});
  ServiceEndpoints(const ServiceEndpoints&) = delete;
  ServiceEndpoints& operator=(const ServiceEndpoints&) = delete;
  ~ServiceEndpoints() = default;

  // Answers at once what it remembers. Those who ask while it is listed get the same answer. `on_answer` may
  // ask again, but not end this.
  void get(OnEndpoints on_answer);
  // Lists that were begun.
  [[nodiscard]] std::uint64_t lists() const { return lists_; }

 private:
  Client& client_;
  const ApiPath path_;
  std::uint64_t lists_ = 0;
  SharedAnswers<std::string, Result<std::vector<Endpoint>>> answers_;  // by path, of which there is one
};

}  // namespace autopilot::kube
