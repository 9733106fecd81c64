// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kube/client.hpp"
#include "kube/objects.hpp"
#include "net/event_loop.hpp"

namespace autopilot::controller {

// The digest of this pod's image, which agents use as well: one chart installs both. Pods get the image by
// digest, because a tag can be moved to another image. On the loop's thread.
class OwnImage {
 public:
  static constexpr Duration kPause = std::chrono::seconds{10};
  static constexpr int kMostLooks = 30;  // after these, the image is assumed to have no digest

  // pod: empty outside a cluster.
  OwnImage(net::EventLoop& loop, kube::Client& client, std::string name_space, std::string pod,
           std::function<void()> on_known, Duration pause = kPause);
  OwnImage(const OwnImage&) = delete;
  OwnImage& operator=(const OwnImage&) = delete;
  ~OwnImage() = default;

  void start();
  // The image by digest if this pod runs it and the digest is known; otherwise unchanged.
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
  int node_reports_ = 0;
  net::Exchange exchange_;
  net::Subscription next_;
};

}  // namespace autopilot::controller
