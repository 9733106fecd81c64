// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/controller.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/objects.hpp"
#include "net/event_loop.hpp"

namespace autopilot::preflight {

// Number of pods in the job of a pod, if its pods start together; 0: number not known. Not set: the pods
// start one by one, as replicas of a service do. Read from the annotation `<prefix>/gang-size`; 1: one by
// one. Pure.
[[nodiscard]] std::optional<std::size_t> gang_size(const kube::Pod& pod, const std::string& prefix);

// Waits until the other pods of a job have passed or, if the pod of the question has not passed, until all of
// them have a node; at most for `patience`. On the event loop's thread. Callbacks are never called from
// within a call of this class, nor after its destruction.
class GangWait {
 public:
  static constexpr Duration kPause = std::chrono::seconds{2};  // between two questions
  // First pause after a question without an answer, doubled each time: most often the controller was not the
  // leader, and the next one is.
  static constexpr Duration kRetry = std::chrono::milliseconds{20};
  using Ask = std::function<void(const api::GangQuestion& question,
                                 std::function<void(const Result<api::GangAnswer>& answer)> done)>;
  struct End {
    std::string given_up;            // empty: the pod may start; else the pods that it waited for
    std::vector<std::string> nodes;  // nodes of the last answer
  };
  struct Listener {
    std::function<void(const std::string& message)> on_progress;
    std::function<void(const End& end)> on_end;  // once, as the last call
  };

  GangWait(net::EventLoop& loop, api::GangQuestion question, Duration patience, Ask ask, Listener listener);
  GangWait(const GangWait&) = delete;
  GangWait& operator=(const GangWait&) = delete;
  ~GangWait() = default;

 private:
  void ask();
  void take(const Result<api::GangAnswer>& answer);
  void end(std::string given_up);

  net::EventLoop& loop_;
  const api::GangQuestion question_;
  const Ask ask_;
  const Listener listener_;
  Duration retry_ = kRetry;
  std::string waits_for_ = "waiting for an answer of the controller";
  std::vector<std::string> nodes_;
  std::shared_ptr<GangWait*> self_;  // null after the end, so that late answers do nothing
  net::Subscription next_;
  net::Subscription end_;
};

}  // namespace autopilot::preflight
