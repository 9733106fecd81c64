// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "controller/gangs/gangs.hpp"
#include "controller/planner/world.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/caches.hpp"
#include "kube/client.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {

// Answers agents that ask for a pod of a job: POST /v1/gangs with a GangQuestion and the token of the agent's
// pod gets a GangAnswer. An agent may ask for the pods of its own node alone. 503: this controller does not
// lead, or has not seen the cluster yet; another one may. On the loop's thread.
class GangService {
 public:
  static constexpr std::size_t kLongestBody = std::size_t{4} << 10;
  // What the API server said of a token.
  static constexpr Duration kRemembered = std::chrono::seconds{30};
  static constexpr std::size_t kMostRemembered = 4096;
  static constexpr std::size_t kMostAtOnce = 32;

  // world: as the leader sees it; nullptr: this controller does not lead.
  GangService(kube::Client& client, const Clock& clock, const std::string& name_space,
              std::function<const World*()> world);
  GangService(const GangService&) = delete;
  GangService& operator=(const GangService&) = delete;
  ~GangService() = default;

  void add_routes(net::HttpServer& server);

 private:
  // Whose token it is.
  struct Caller {
    std::string node;
    int refused = 0;  // the status; 0: it is the agent of that node
    Error why{};
  };

  void answer(const net::HttpRequest& request, net::Responder responder);
  void take_review(const std::string& token, const kube::ApiResult<std::string>& answer);
  void decide(const Caller& caller, const api::GangQuestion& question, net::Responder& responder);

  kube::Client& client_;
  const Clock& clock_;
  const std::string account_;
  const std::function<const World*()> world_;
  Gangs gangs_;
  kube::SharedAnswers<std::string, Caller> callers_;  // by token
};

}  // namespace autopilot::controller
