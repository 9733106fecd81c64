// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "controller/reconcilers/picture.hpp"
#include "controller/steps/write.hpp"
#include "core/clock.hpp"
#include "kube/client.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

struct RetentionLimits {
  std::size_t most = 2000;  // plans, and reports; those that have not ended stay beyond it
  Duration longest = std::chrono::hours{24 * 30};
};

// A plan or report, as far as its end is concerned.
struct Kept {
  std::string path;
  kube::Meta meta;
  WallTime changed{};
  bool has_ended = false;
};
// Deletions of those that are too many or too old, the oldest first. Pure.
[[nodiscard]] std::vector<Write> too_old(std::vector<Kept> objects, const RetentionLimits& limits,
                                         WallTime now);

// Deletes old plans and reports, one after the other. On the loop's thread.
class Retention {
 public:
  static constexpr Duration kEvery = std::chrono::minutes{10};
  static constexpr std::size_t kMostAtOnce = 500;

  Retention(net::EventLoop& loop, kube::Client& client, const Clock& clock, const Picture& picture,
            std::string name_space, std::function<bool()> is_leader, RetentionLimits limits = {});
  Retention(const Retention&) = delete;
  Retention& operator=(const Retention&) = delete;
  ~Retention() = default;

  void start();
  // Now, and not only at its time.
  void look();

 private:
  void go_on();

  net::EventLoop& loop_;
  kube::Client& client_;
  const Clock& clock_;
  const Picture& picture_;
  const std::string space_;
  const std::function<bool()> is_leader_;
  const RetentionLimits limits_;
  std::deque<Write> waiting_;
  net::Exchange exchange_;
  net::Subscription next_;
};

}  // namespace autopilot::controller
