// SPDX-License-Identifier: Apache-2.0
#include "controller/live_policy.hpp"

#include <utility>

#include "telemetry/log.hpp"

namespace autopilot::controller {

LivePolicy::LivePolicy(net::EventLoop& loop, PolicyFile file, std::function<void(const Policy&)> on_change,
                       Duration look)
    : loop_(loop), file_(std::move(file)), on_change_(std::move(on_change)), pause_(look) {}

void LivePolicy::use(const std::string& path) {
  if (path == path_) return;
  path_ = path;
  version_.clear();
  if (path.empty()) {
    watch_.cancel();
    return take({});
  }
  look();
  watch_ = loop_.every(pause_, [this] { look(); });
}

void LivePolicy::look() {
  std::string version = file_.version(path_);
  if (!version_.empty() && version == version_) return;
  version_ = std::move(version);
  auto text = file_.read(path_);
  auto policy = text ? parse_policy(*text, path_) : Result<Policy>(fail(std::move(text).error()));
  if (policy) return take(std::move(*policy));
  ++refused_;
  telemetry::log_error("the policy makes no sense; the one before stays", {{"cause", policy.error().what}});
}

void LivePolicy::take(Policy policy) {
  if (policy == now_) return;
  now_ = std::move(policy);
  telemetry::log_info("the policy counts from now on",
                      {{"file", path_}, {"mode", std::string(to_string(now_.rules.mode))}});
  on_change_(now_);
}

}  // namespace autopilot::controller
