// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/client.hpp"
#include "kube/objects.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

// By which digest the image of this pod runs, which is that of the agents as well: one chart installs both.
// Pods get it by that, for a tag may be given to something else meanwhile. On the loop's thread.
class OwnImage {
 public:
  static constexpr Duration kPause = std::chrono::seconds{10};
  static constexpr int kMostLooks = 30;  // then it came from no registry, or nobody tells

  // Outside of a cluster there is no pod: empty.
  OwnImage(net::EventLoop& loop, kube::Client& client, std::string name_space, std::string pod,
           std::function<void()> on_known, Duration pause = kPause);
  OwnImage(const OwnImage&) = delete;
  OwnImage& operator=(const OwnImage&) = delete;
  ~OwnImage() = default;

  void start();
  // The image by its digest, where it is one of this pod and that is known; else as it is.
  [[nodiscard]] const std::string& pinned(const std::string& image) const;

 private:
  void take(const kube::ApiResult<std::string>& answer);

  net::EventLoop& loop_;
  kube::Client& client_;
  const std::string name_space_;
  const std::string pod_;
  const std::function<void()> on_known_;
  const Duration pause_;
  std::vector<kube::ContainerImage> images_;
  int looks_ = 0;
  net::Exchange exchange_;
  net::Subscription next_;
};

}  // namespace autopilot::controller
