// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "kube/caches.hpp"
#include "kube/callers/guard.hpp"
#include "kube/client.hpp"
#include "kube/health_reports.hpp"
#include "kube/reviews.hpp"
#include "preflight/held_gpus.hpp"

namespace autopilot::preflight {

// Audience of the tokens that pods send to the gate. These tokens are valid only there, and tokens for people
// are not valid there.
inline constexpr const char* kGateAudience = "autopilot";
// Label of pods with a gate, and name of the gate's init container.
inline constexpr const char* kGateLabel = "autopilot";
inline constexpr std::string_view kGateContainer = "autopilot-preflight";

// A pod of this node, as the API server describes it.
struct PodCaller {
  GpuClaim claim;
  std::optional<kube::ReportedJob> job = std::nullopt;  // its controlling owner
  std::optional<std::size_t> gang = std::nullopt;       // see gang_size()
  std::optional<Duration> run_time = std::nullopt;      // its activeDeadlineSeconds
};

// Finds the pod of a token: asks the API server for the owner of the token, then for that pod. Both answers
// must name this node, and the pod must have the gate's label and still be in its gate: the work of a started
// pod on its GPUs would be mistaken for a fault of the node. Remembers invalid tokens for kRemembered, and no
// other answer. On the event loop's thread.
class PodCallers {
 public:
  struct Answer {
    std::optional<PodCaller> pod;
    kube::Refusal refusal{};  // without a pod
  };
  using OnAnswer = std::function<void(const Answer& answer)>;

  static constexpr Duration kRemembered = std::chrono::seconds{10};
  static constexpr std::size_t kMostRemembered = 64;
  static constexpr std::size_t kMostAtOnce = 4;  // beyond: exhausted

  // prefix: of our annotations.
  PodCallers(kube::Client& client, const Clock& clock, std::string node, std::string prefix);

  // `on_answer` may call ask() again, but must not destroy this object.
  void ask(const std::string& token, OnAnswer on_answer);

 private:
  void take_token_review(const std::string& token, const kube::ApiResult<std::string>& answer);
  void take_pod(const std::string& token, const kube::BoundPod& bound,
                const kube::ApiResult<std::string>& answer);
  void settle(const std::string& token, const Answer& answer);

  kube::Client& client_;
  const std::string node_;
  const std::string prefix_;
  kube::SharedAnswers<std::string, Answer> answers_;
};

}  // namespace autopilot::preflight
