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

// Of the tokens that pods show at the gate. They are good for nothing else, and those for people are no good
// there.
inline constexpr const char* kGateAudience = "autopilot";
// Of the pods that have a gate, and the init container that is it.
inline constexpr const char* kGateLabel = "autopilot";
inline constexpr std::string_view kGateContainer = "autopilot-preflight";

// A pod of this node, by the word of the API server alone.
struct PodCaller {
  GpuClaim claim;
  std::optional<kube::ReportedJob> job = std::nullopt;  // its controlling owner
  std::optional<std::size_t> gang = std::nullopt;       // see gang_size()
};

// Whose pod a token is: the API server is asked whose it is, then for that pod. Both must say that the pod is
// on this node; it must have the label of those that have a gate, and be in it: what a pod does with its GPUs
// once it has begun would be taken for a fault of the node. A token that is none is remembered for
// kRemembered, nothing else is. On the loop's thread.
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

  // `on_answer` may ask again, but not end this.
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
