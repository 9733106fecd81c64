// SPDX-License-Identifier: Apache-2.0
#include "preflight/pod_callers.hpp"

#include <algorithm>
#include <utility>

#include "kube/objects.hpp"
#include "preflight/gang_wait.hpp"

namespace autopilot::preflight {
namespace {

using Answer = PodCallers::Answer;

Answer refused(int status, Errc code, std::string why) {
  return {std::nullopt, {status, code, std::move(why)}};
}

// Answer after a failed request of the agent: its missing permission is not an error of the caller.
Answer could_not_ask(const kube::ApiError& why) {
  return refused(503, Errc::unavailable, "the token cannot be verified: " + why.error.what);
}

bool holds_devices_already(const kube::InitContainer& container) {
  return container.stays && container.has_devices;
}

// Why the pod is not in its gate; empty: it is, and none of its other containers uses the GPUs yet.
std::string objection_of_gate(const kube::Pod& pod) {
  const auto& first = pod.init_containers;
  const auto gate = std::ranges::find(first, kGateContainer, &kube::InitContainer::name);
  if (gate == first.end() || gate->stays)
    return "has no init container '" + std::string(kGateContainer) + "' that ends before the others begin";
  if (gate->exit_code == 0 || pod.phase == "Running")
    return "has left its gate: GPUs are tested only before their pod begins";
  const auto early = std::find_if(first.begin(), gate, holds_devices_already);
  if (early != gate) return "has devices in the container '" + early->name + "', which runs beside its gate";
  return {};
}

// Why the pod is refused; empty: it is not.
std::string objection(const kube::Pod& pod, const kube::BoundPod& bound, const std::string& node) {
  const std::string name = "the pod " + bound.name_space + "/" + bound.name;
  if (pod.meta.uid != bound.uid) return name + " is another one than that of the token";
  if (pod.node != node) return name + " is not on this node";
  if (pod.account != bound.account) return name + " has another account than the token";
  if (!pod.meta.labels.contains(kGateLabel))
    return name + " has no label '" + std::string(kGateLabel) + "', so it has no gate";
  if (pod.meta.is_deleting || pod.is_over()) return name + " is ending";
  const std::string against = objection_of_gate(pod);
  return against.empty() ? against : name + ' ' + against;
}

// A pod ends at this limit at the latest.
std::optional<Duration> run_time_of(const kube::Pod& pod) {
  constexpr std::int64_t kMostSeconds = 366LL * 24 * 3600;
  if (!pod.active_deadline || *pod.active_deadline <= 0) return std::nullopt;
  return std::chrono::seconds{std::min(*pod.active_deadline, kMostSeconds)};
}

}  // namespace

PodCallers::PodCallers(kube::Client& client, const Clock& clock, std::string node, std::string prefix)
    : client_(client),
      node_(std::move(node)),
      prefix_(std::move(prefix)),
      answers_(clock, {kRemembered, kMostRemembered, kMostAtOnce},
               refused(503, Errc::exhausted, "too many pods ask at once; try again")) {}

void PodCallers::ask(const std::string& token, OnAnswer on_answer) {
  if (!answers_.ask(token, std::move(on_answer))) return;
  answers_.hold(token,
                client_.create({kube::kTokenReviews, {}}, kube::token_review_json(token, kGateAudience),
                               [this, token](const kube::ApiResult<std::string>& answer) {
                                 take_token_review(token, answer);
                               }));
}

void PodCallers::take_token_review(const std::string& token, const kube::ApiResult<std::string>& answer) {
  if (!answer) return settle(token, could_not_ask(answer.error()));
  const auto user = kube::parse_token_review(*answer, kGateAudience);
  if (!user) {
    const bool is_nobody = user.error().code == Errc::denied;
    return settle(token, refused(is_nobody ? 401 : 503, user.error().code, user.error().what));
  }
  const auto bound = kube::bound_pod(*user);
  if (!bound) return settle(token, refused(403, bound.error().code, bound.error().what));
  if (!bound->node.empty() && bound->node != node_)
    return settle(token,
                  refused(403, Errc::denied, "the token was made for a pod of another node, " + bound->node));
  answers_.hold(token, client_.get({"/api/v1/namespaces/" + bound->name_space + "/pods/" + bound->name, {}},
                                   [this, token, bound = *bound](const kube::ApiResult<std::string>& pod) {
                                     take_pod(token, bound, pod);
                                   }));
}

void PodCallers::take_pod(const std::string& token, const kube::BoundPod& bound,
                          const kube::ApiResult<std::string>& answer) {
  if (!answer && answer.error().error.code != Errc::not_found)
    return settle(token, could_not_ask(answer.error()));
  const auto pod = answer ? kube::parse_pod(*answer) : fail(answer.error().error);
  if (!pod) return settle(token, refused(403, Errc::denied, "the pod of the token: " + pod.error().what));
  if (std::string against = objection(*pod, bound, node_); !against.empty())
    return settle(token, refused(403, Errc::denied, std::move(against)));
  Answer known{
      PodCaller{.claim = claim_of(*pod), .gang = gang_size(*pod, prefix_), .run_time = run_time_of(*pod)}};
  if (!pod->owner_uid.empty())
    known.pod->job =
        kube::ReportedJob{pod->owner_api_version, pod->owner_kind, pod->owner_name, pod->owner_uid};
  settle(token, known);
}

// Remembers only permanent answers: a pod may appear, start or change before the next request.
void PodCallers::settle(const std::string& token, const Answer& answer) {
  answers_.settle(token, answer, answer.refusal.status == 401);
}

}  // namespace autopilot::preflight
