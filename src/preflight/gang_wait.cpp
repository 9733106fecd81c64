// SPDX-License-Identifier: Apache-2.0
#include "preflight/gang_wait.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::preflight {
namespace {

// Owners whose pods do the same work, each independently.
constexpr std::array<std::string_view, 4> kReplicas{"ReplicaSet", "StatefulSet", "DaemonSet",
                                                    "ReplicationController"};

}  // namespace

std::optional<std::size_t> gang_size(const kube::Pod& pod, const std::string& prefix) {
  if (pod.owner_uid.empty()) return std::nullopt;
  const auto said = pod.meta.annotations.find(prefix + "/gang-size");
  // A malformed number counts as not known.
  const std::size_t size =
      said == pod.meta.annotations.end() ? 0 : parse_number<std::uint32_t>(said->second).value_or(0);
  if (size == 1) return std::nullopt;
  if (size > 1 && size <= api::GangQuestion::kMostPods) return size;
  if (std::ranges::find(kReplicas, pod.owner_kind) != kReplicas.end()) return std::nullopt;
  return 0;
}

GangWait::GangWait(net::EventLoop& loop, api::GangQuestion question, Duration patience, Ask ask,
                   Listener listener)
    : loop_(loop),
      question_(std::move(question)),
      ask_(std::move(ask)),
      listener_(std::move(listener)),
      self_(std::make_shared<GangWait*>(this)) {
  loop_.post([weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->ask();
  });
  end_ = loop_.after(patience, [this] { end(waits_for_); });
}

void GangWait::ask() {
  ask_(question_, [weak = std::weak_ptr(self_)](const Result<api::GangAnswer>& answer) {
    if (const auto self = weak.lock()) (*self)->take(answer);
  });
}

// Does not wait for a controller without support for gangs; after no answer, another controller may lead
// soon.
void GangWait::take(const Result<api::GangAnswer>& answer) {
  if (answer) nodes_ = answer->nodes;
  const bool is_unknown = !answer && answer.error().code == Errc::unsupported;
  if (is_unknown || (answer && answer->may_start)) return end({});
  if (answer) {
    retry_ = kRetry;
    waits_for_ = answer->message;
    next_ = loop_.after(kPause, [this] { ask(); });
    return listener_.on_progress(waits_for_);
  }
  waits_for_ = "waiting for the controller, which knows of the other pods of the job: " + answer.error().what;
  next_ = loop_.after(retry_, [this] { ask(); });
  const bool is_lasting = retry_ == kPause;
  retry_ = std::min(2 * retry_, kPause);
  if (is_lasting) listener_.on_progress(waits_for_);
}

// The listener may destroy this object.
void GangWait::end(std::string given_up) {
  self_.reset();
  next_.cancel();
  end_.cancel();
  const auto on_end = listener_.on_end;
  on_end({std::move(given_up), std::move(nodes_)});
}

}  // namespace autopilot::preflight
