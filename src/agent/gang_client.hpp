// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>

#include "agent/tls/controller_call.hpp"
#include "api/controller.hpp"
#include "core/result.hpp"

namespace autopilot::agent {

// Asks the controller whether pods of this node may begin, as far as the others of their jobs are concerned;
// one question after the other. On the loop's thread.
class GangClient {
 public:
  static constexpr std::size_t kMostQueued = 64;  // beyond: exhausted
  static constexpr ControllerCall::Pace kPace{.look = std::chrono::milliseconds{5},
                                              .patience = std::chrono::seconds{5},
                                              .deadline = std::chrono::seconds{5}};
  // unsupported: this controller knows no such question, for it is older. Else it may be asked again.
  using OnAnswer = std::function<void(const Result<api::GangAnswer>& answer)>;

  GangClient(net::EventLoop& loop, const Clock& clock, ControllerDoor door, kube::ReadFile read_file);

  // Calls back once, not from within.
  void ask(api::GangQuestion question, OnAnswer on_answer);

 private:
  struct Queued {
    api::GangQuestion question;
    OnAnswer on_answer;
  };
  void begin();
  void end(const Result<net::HttpResponse>& answer);

  net::EventLoop& loop_;
  std::deque<Queued> queue_;  // the first is in progress
  ControllerCall call_;
};

}  // namespace autopilot::agent
