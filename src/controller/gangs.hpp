// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "api/controller.hpp"
#include "controller/planner/world.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/caches.hpp"
#include "kube/client.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {

// Synchronizes the start of the pods of one owner, and of all Jobs of one JobSet. A pod whose GPUs have
// passed waits until all other pods that are placed on a node have passed or started. The agent limits the
// wait. A pod counts as passed while its agent repeats its request. Pods that were evicted at the gate are
// waited for on their next node (Vacancies). A pod that has not passed learns the locations of the others
// once all of them are placed. Nothing is stored: agents repeat their requests, and a new leader learns the
// state from them.
class Gangs {
 public:
  static constexpr Duration kProven = std::chrono::seconds{15};  // after the last request of its agent
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kMostNamed = 3;  // pods in a message

  // pod: the pod of the question, from the world. A pod without an owner can start.
  [[nodiscard]] api::GangAnswer ask(const World& world, const Pod& pod, const api::GangQuestion& question,
                                    MonoTime now);

 private:
  struct Gang {
    std::map<std::string, MonoTime, std::less<>> proven;  // time of the last request, by pod uid
    std::set<std::string, std::less<>> let_in;            // uids
  };

  [[nodiscard]] static bool is_ready(const Gang& gang, const Pod& pod, MonoTime now);
  static void forget_the_gone(Gang& gang, const World& world);

  kube::RecentMap<Gang> gangs_{kMost};  // by namespace and uid of the owner
};

// POST /v1/gangs: takes a GangQuestion with the token of the agent's pod and returns a GangAnswer. An agent
// can ask only about pods of its own node. 503: this controller is not the leader, or has not read the
// cluster yet; try another one. On the loop's thread.
class GangService {
 public:
  static constexpr std::size_t kLongestBody = std::size_t{4} << 10;
  // Lifetime of the API server's response about a token.
  static constexpr Duration kRemembered = std::chrono::seconds{30};
  static constexpr std::size_t kMostRemembered = 4096;
  static constexpr std::size_t kMostAtOnce = 32;

  // world: returns the leader's world; nullptr if this controller is not the leader.
  GangService(kube::Client& client, const Clock& clock, const std::string& name_space,
              std::function<const World*()> world);
  GangService(const GangService&) = delete;
  GangService& operator=(const GangService&) = delete;
  ~GangService() = default;

  void add_routes(net::HttpServer& server);

 private:
  // The caller that a token belongs to.
  struct Caller {
    std::string node;
    int refused = 0;  // HTTP status; 0: the caller is the agent of that node
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
