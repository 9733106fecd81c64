// SPDX-License-Identifier: Apache-2.0

#include "controller/gangs.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

#include "controller/agent_node.hpp"
#include "kube/reviews.hpp"
#include "net/http.hpp"

namespace autopilot::controller {

namespace {

// Pods that are on a node and not being deleted.
std::vector<const Pod*> placed_pods(const World& world, const World::Names& uids,
                                    const std::string& name_space) {
  std::vector<const Pod*> pods;
  for (const std::string& uid : uids)
    if (const Pod* pod = world.pod(uid);
        pod != nullptr && pod->name_space == name_space && !pod->node.empty() && !pod->is_deleting)
      pods.push_back(pod);
  return pods;
}

std::string line_of(const World& world, const Pod& pod) {
  return pod.name + " on node " + pod.node +
         (world.has_failed(pod) ? " was found not fit to start there" : " is being tested");
}

// "waiting for 2 of 8 pods of Job train: train-3 on node gpu-7 is being tested, 1 is on no node"
std::string message_of(const World& world, const Owner& owner, std::vector<const Pod*> open,
                       std::size_t missing, std::size_t all) {
  std::ranges::sort(open, {}, &Pod::name);
  std::ranges::stable_partition(open, [&world](const Pod* pod) { return world.has_failed(*pod); });
  std::string text = "waiting for " + std::to_string(open.size() + missing) + " of " + std::to_string(all) +
                     " pods of " + owner.kind + " " + owner.name;
  const char* before = ": ";
  const auto add = [&](const std::string& what) { text += std::exchange(before, ", ") + what; };
  for (const Pod* pod : open | std::views::take(Gangs::kMostNamed))
    add(line_of(world, *pod));
  if (open.size() > Gangs::kMostNamed)
    add("and " + std::to_string(open.size() - Gangs::kMostNamed) + " more");
  if (missing > 0) add(std::to_string(missing) + (missing == 1 ? " is on no node" : " are on no node"));
  return text;
}

// Includes pods without a node.
std::size_t pods_to_come(const World& world, const World::Names& uids, const std::string& name_space) {
  return static_cast<std::size_t>(std::ranges::count_if(uids, [&](const std::string& uid) {
    const Pod* pod = world.pod(uid);
    return pod != nullptr && pod->name_space == name_space && !pod->is_deleting;
  }));
}

// The locations of the other pods that have GPUs or are being tested, starting after the own node.
std::vector<std::string> nodes_of_others(const std::vector<const Pod*>& placed, const std::string& own) {
  std::set<std::string> names;
  for (const Pod* pod : placed)
    if (pod->gpus > 0 || pod->is_gated) names.insert(pod->node);
  std::vector<std::string> nodes(names.upper_bound(own), names.end());
  nodes.insert(nodes.end(), names.begin(), names.lower_bound(own));
  if (nodes.size() > api::GangAnswer::kMostNodes) nodes.resize(api::GangAnswer::kMostNodes);
  return nodes;
}

api::GangAnswer where(const World& world, const Owner& owner, const std::vector<const Pod*>& placed,
                      const Pod& pod, std::size_t all) {
  const std::size_t missing = all - placed.size();
  return {.may_start = missing == 0,
          .message = missing == 0 ? "" : message_of(world, owner, {}, missing, all),
          .nodes = nodes_of_others(placed, pod.node)};
}

}  // namespace

// A pod that has passed its gate has its own proof, or its wait has ended.
bool Gangs::is_ready(const Gang& gang, const Pod& pod, MonoTime now) {
  if (!pod.is_gated || gang.let_in.contains(pod.uid)) return true;
  const auto proven = gang.proven.find(pod.uid);
  return proven != gang.proven.end() && now - proven->second <= kProven;
}

void Gangs::forget_the_gone(Gang& gang, const World& world) {
  const auto is_gone = [&world](const std::string& uid) { return world.pod(uid) == nullptr; };
  std::erase_if(gang.proven, [&](const auto& one) { return is_gone(one.first); });
  std::erase_if(gang.let_in, is_gone);
}

api::GangAnswer Gangs::ask(const World& world, const Pod& pod, const api::GangQuestion& question,
                           MonoTime now) {
  if (!pod.owner) return {.may_start = true};
  const Owner& owner = pod.set ? *pod.set : *pod.owner;
  const std::string name = gang_of(pod);
  Gang& gang = gangs_.get(name, Gang{});
  if (question.is_proven)
    gang.proven.insert_or_assign(pod.uid, now);
  else
    gang.proven.erase(pod.uid);
  forget_the_gone(gang, world);
  if (question.is_proven && gang.let_in.contains(pod.uid)) return {.may_start = true};
  const auto& uids = world.pods_of_gang(pod);
  const auto placed = placed_pods(world, uids, pod.name_space);
  const std::size_t all = std::max(placed.size() + world.vacancies().of(name), question.size);
  if (!question.is_proven)
    return where(world, owner, placed, pod, std::max(all, pods_to_come(world, uids, pod.name_space)));
  std::vector<const Pod*> open;
  std::ranges::copy_if(placed, std::back_inserter(open),
                       [&](const Pod* one) { return !is_ready(gang, *one, now); });
  const std::size_t missing = all - placed.size();
  if (!open.empty() || missing > 0)
    return {.may_start = false, .message = message_of(world, owner, std::move(open), missing, all)};
  for (const auto& [uid, asked] : gang.proven)
    if (now - asked <= kProven) gang.let_in.insert(uid);
  return {.may_start = true};
}

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
               Caller{{}, 429, {Errc::exhausted, "too many concurrent requests; try again"}}) {}

void GangService::add_routes(net::HttpServer& server) {
  server.route("POST", api::kGangsPath, [this](const net::HttpRequest& request, net::Responder responder) {
    answer(request, std::move(responder));
  });
}

void GangService::answer(const net::HttpRequest& request, net::Responder responder) {
  // Half of the requests reach a controller that is not the leader: it forwards them before the TokenReview.
  if (world_() == nullptr)
    return refuse(responder, 503, {Errc::unavailable, "this controller is not the leader; try again"});
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
  // A missing response is not cached.
  callers_.settle(token, Caller{{}, node.error().status, node.error().why}, node.error().status != 503);
}

void GangService::decide(const Caller& caller, const api::GangQuestion& question, net::Responder& responder) {
  if (caller.refused != 0) return refuse(responder, caller.refused, caller.why);
  const World* world = world_();
  if (world == nullptr || !world->is_complete)
    return refuse(
        responder, 503,
        {Errc::unavailable, world == nullptr ? "this controller is not the leader; try again"
                                             : "this controller has not read the cluster yet; try again"});
  const Pod* pod = world->pod(question.pod_uid);
  // The watch can be late.
  if (pod == nullptr || pod->node.empty())
    return responder.respond(
        json(to_json(api::GangAnswer{false, "the controller has not read the pod yet"})));
  if (pod->node != caller.node)
    return refuse(responder, 403,
                  {Errc::denied, "the pod " + pod->name_space + "/" + pod->name + " is on node " + pod->node +
                                     ", the token of node " + caller.node});
  responder.respond(json(to_json(gangs_.ask(*world, *pod, question, clock_.now().mono))));
}

}  // namespace autopilot::controller
