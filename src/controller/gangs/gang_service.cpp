// SPDX-License-Identifier: Apache-2.0
#include "controller/gangs/gang_service.hpp"

#include <memory>
#include <utility>

#include "controller/agent_node.hpp"
#include "kube/reviews.hpp"
#include "net/http.hpp"

namespace autopilot::controller {
namespace {

void refuse(net::Responder& responder, int status, const Error& why) {
  auto response = net::error_response(status, to_string(why.code), why.what);
  if (status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  responder.respond(std::move(response));
}

net::HttpResponse json(std::string body) {
  return {200, "application/json", std::move(body), {}};
}

}  // namespace

GangService::GangService(kube::Client& client, const Clock& clock, const std::string& name_space,
                         std::function<const World*()> world)
    : client_(client),
      clock_(clock),
      account_(agent_account(name_space)),
      world_(std::move(world)),
      callers_(clock, {kRemembered, kMostRemembered, kMostAtOnce},
               Caller{{}, 429, {Errc::exhausted, "too many ask at once; try again"}}) {}

void GangService::add_routes(net::HttpServer& server) {
  server.route("POST", api::kGangsPath, [this](const net::HttpRequest& request, net::Responder responder) {
    answer(request, std::move(responder));
  });
}

void GangService::answer(const net::HttpRequest& request, net::Responder responder) {
  // Half of the questions come to one that does not lead: it sends them on before it asks anybody.
  if (world_() == nullptr)
    return refuse(responder, 503, {Errc::unavailable, "this controller does not lead; ask again"});
  const std::string token = net::bearer_token(request);
  if (request.body.size() > kLongestBody)
    return refuse(responder, 413, {Errc::exhausted, "the body is longer than 4 KiB"});
  if (token.empty()) return refuse(responder, no_token().status, no_token().why);
  const auto question = api::parse_gang_question(request.body);
  if (!question) return refuse(responder, 400, question.error());
  const auto shared = std::make_shared<net::Responder>(std::move(responder));
  const bool is_first = callers_.ask(token, [this, shared, question = *question](const Caller& caller) {
    decide(caller, question, *shared);
  });
  if (!is_first) return;
  callers_.hold(
      token, client_.create(
                 {kube::kTokenReviews, {}}, kube::token_review_json(token, kube::kTokenAudience),
                 [this, token](const kube::ApiResult<std::string>& answer) { take_review(token, answer); }));
}

void GangService::take_review(const std::string& token, const kube::ApiResult<std::string>& answer) {
  const auto node = node_of_agent(answer, account_);
  if (node) return callers_.settle(token, Caller{*node}, true);
  // That nobody told it is not remembered.
  callers_.settle(token, Caller{{}, node.error().status, node.error().why}, node.error().status != 503);
}

void GangService::decide(const Caller& caller, const api::GangQuestion& question, net::Responder& responder) {
  if (caller.refused != 0) return refuse(responder, caller.refused, caller.why);
  const World* world = world_();
  if (world == nullptr || !world->is_complete)
    return refuse(
        responder, 503,
        {Errc::unavailable, world == nullptr ? "this controller does not lead; ask again"
                                             : "this controller has not seen the cluster yet; ask again"});
  const Pod* pod = world->pod(question.pod_uid);
  // Its watch may be behind.
  if (pod == nullptr || pod->node.empty())
    return responder.respond(
        json(to_json(api::GangAnswer{false, "the controller has not seen the pod yet"})));
  if (pod->node != caller.node)
    return refuse(responder, 403,
                  {Errc::denied, "the pod " + pod->name_space + "/" + pod->name + " is on node " + pod->node +
                                     ", the token of node " + caller.node});
  responder.respond(json(to_json(gangs_.ask(*world, *pod, question, clock_.now().mono))));
}

}  // namespace autopilot::controller
