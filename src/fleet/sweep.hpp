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

// What is asked of one agent.
struct Question {
  net::ServerUrl url;
  net::HttpRequest request;
  std::shared_ptr<const net::TlsContext> tls = {};  // for an https URL
};

struct SweepLimits {
  std::size_t at_once = 64;
  Duration deadline = std::chrono::seconds{60};     // of each
  std::size_t answer_bytes = std::size_t{1} << 20;  // of each; exhausted beyond
};

// One question to many agents. Each has a deadline of its own, and the next is asked as soon as one has
// answered: one that is slow or dead costs nobody else anything. On the loop's thread.
class Sweep {
 public:
  struct Listener {
    // Of the question of that number, in the order in which they come. Any status is an answer.
    std::function<void(std::size_t question, Result<net::HttpResponse> answer)> on_answer;
    // Once, after the last; it may end the sweep.
    std::function<void()> on_end;
  };

  // Calls nobody before the loop goes on.
  Sweep(net::EventLoop& loop, std::vector<Question> questions, SweepLimits limits, Listener listener);
  // Those that are under way are not waited for.
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
  std::map<std::size_t, std::unique_ptr<Asked>> asked_;  // by number, those that have not answered
  net::Subscription start_;
};

}  // namespace autopilot::fleet
