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

// How many pods the job of a pod is, where its pods begin together: 0 where nobody says it. Nothing: they
// begin one by one, as the replicas of a service do. The annotation `<prefix>/gang-size` says it; 1: one by
// one. Pure.
[[nodiscard]] std::optional<std::size_t> gang_size(const kube::Pod& pod, const std::string& prefix);

// Waits until the other pods of a job are proven as well, or, where the question is of one that is not
// proven, until all of them have a node; or until it has waited for long enough. On the loop's thread; none
// of the functions is called from within, nor after this has ended.
class GangWait {
 public:
  static constexpr Duration kPause = std::chrono::seconds{2};  // between two questions
  // After one without an answer, twice as long each time: mostly it was a controller that does not lead, and
  // the next one does.
  static constexpr Duration kRetry = std::chrono::milliseconds{20};
  using Ask = std::function<void(const api::GangQuestion& question,
                                 std::function<void(const Result<api::GangAnswer>& answer)> done)>;
  struct End {
    std::string given_up;            // empty: it may start. Else whom it waited for
    std::vector<std::string> nodes;  // that were told last
  };
  struct Listener {
    std::function<void(const std::string& message)> on_progress;
    std::function<void(const End& end)> on_end;  // once, the last
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
  std::shared_ptr<GangWait*> self_;  // null after the end; answers to come find nobody then
  net::Subscription next_;
  net::Subscription end_;
};

}  // namespace autopilot::preflight
