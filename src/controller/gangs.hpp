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

// Ties together the pods that one owner made, and those of all Jobs of one JobSet: one whose own GPUs are
// proven waits until all of them that have a node are proven as well, or have begun. How long at most, its
// agent decides. A pod is proven while its agent asks for it. Pods of that owner that lost their node at the
// gate are waited for where they come to next (planner/vacancies). One that is not proven yet is told where
// the others are, once all of them are somewhere. Nothing of it is stored: agents ask again, and whoever
// leads next learns all of it from that.
class Gangs {
 public:
  static constexpr Duration kProven = std::chrono::seconds{15};  // after its agent has asked
  static constexpr std::size_t kMost = 1024;
  static constexpr std::size_t kMostNamed = 3;  // in a message

  // pod: of the question, as the world has it. Without an owner it may start.
  [[nodiscard]] api::GangAnswer ask(const World& world, const Pod& pod, const api::GangQuestion& question,
                                    MonoTime now);

 private:
  struct Gang {
    std::map<std::string, MonoTime, std::less<>> proven;  // when was asked last, by the uid of the pod
    std::set<std::string, std::less<>> let_in;            // uids
  };

  [[nodiscard]] static bool is_ready(const Gang& gang, const Pod& pod, MonoTime now);
  static void forget_the_gone(Gang& gang, const World& world);

  kube::RecentMap<Gang> gangs_{kMost};  // by namespace and uid of the owner
};

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
