// SPDX-License-Identifier: Apache-2.0
#include "controller/own_image.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::controller {

OwnImage::OwnImage(net::EventLoop& loop, kube::Client& client, std::string name_space, std::string pod,
                   std::function<void()> on_known, Duration pause)
    : loop_(loop),
      client_(client),
      name_space_(std::move(name_space)),
      pod_(std::move(pod)),
      on_known_(std::move(on_known)),
      pause_(pause) {}

void OwnImage::start() {
  if (pod_.empty()) return;
  exchange_ = client_.get({"/api/v1/namespaces/" + name_space_ + "/pods/" + pod_, {}},
                          [this](const kube::ApiResult<std::string>& answer) { take(answer); });
}

// The kubelet reports the digest some seconds after the start of the container.
void OwnImage::take(const kube::ApiResult<std::string>& answer) {
  if (answer)
    if (auto images = kube::parse_container_images(*answer)) images_ = *std::move(images);
  if (std::ranges::any_of(images_, [](const auto& one) { return !one.pinned.empty(); })) return on_known_();
  if (++node_reports_ < kMostLooks) next_ = loop_.after(pause_, [this] { start(); });
}

const std::string& OwnImage::pinned(const std::string& image) const {
  const auto own = std::ranges::find(images_, image, &kube::ContainerImage::image);
  return own == images_.end() || own->pinned.empty() ? image : own->pinned;
}

}  // namespace autopilot::controller
