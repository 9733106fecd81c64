// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"
#include "net/tls.hpp"

namespace autopilot::fleet {

// The request to one agent.
struct Question {
  net::ServerUrl url;
  net::HttpRequest request;
  std::shared_ptr<const net::TlsContext> tls = {};  // for an https URL
};

struct SweepLimits {
  std::size_t at_once = 64;
  Duration deadline = std::chrono::seconds{60};     // of each request
  std::size_t answer_bytes = std::size_t{1} << 20;  // of each response; beyond: exhausted
};

// Sends one request to each of many agents. Each has a deadline of its own, and the next request starts as
// soon as one is answered: a slow or dead agent does not delay others. On the loop's thread.
class Sweep {
 public:
  struct Listener {
    // Response to the request with that number, in the order of arrival. Any status is a response.
    std::function<void(std::size_t question, Result<net::HttpResponse> answer)> on_answer;
    // Called once, after the last response; it can destroy the sweep.
    std::function<void()> on_end;
  };

  // Calls no callback before the loop continues.
  Sweep(net::EventLoop& loop, std::vector<Question> questions, SweepLimits limits, Listener listener);
  // Drops requests in progress.
  ~Sweep();
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

 private:
  struct Asked;

  void ask_more();
  void take(std::size_t question, Result<net::HttpResponse> answer);

  net::EventLoop& loop_;
  std::vector<Question> questions_;
  const SweepLimits limits_;
  const Listener listener_;
  std::size_t next_ = 0;
  std::map<std::size_t, std::unique_ptr<Asked>> asked_;  // unanswered requests, by number
  net::Subscription start_;
};

}  // namespace autopilot::fleet
