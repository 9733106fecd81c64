// SPDX-License-Identifier: Apache-2.0

#include "controller/live_configuration.hpp"

#include <utility>

#include "logging/log.hpp"

namespace autopilot::controller {

LiveConfiguration::LiveConfiguration(net::EventLoop& loop, config::ControllerConfig first, Reload reload,
                                     std::function<std::string()> version, std::function<void()> on_change,
                                     Duration look)
    : now_(std::move(first)),
      reload_(std::move(reload)),
      version_of_file_(std::move(version)),
      on_change_(std::move(on_change)) {
  if (!version_of_file_) return;
  version_ = version_of_file_();
  watch_ = loop.every(look, [this] {
    if (version_of_file_() != version_) this->reload();
  });
}

void LiveConfiguration::reload() {
  // Taken before the content, so that a change during the read is read again.
  if (version_of_file_) version_ = version_of_file_();
  const auto next = reload_();
  if (!next) return refuse(next.error());
  refused_version_.clear();
  logging::log_info("configuration loaded", {{"changes", config::describe(config::diff(now_, *next))}});
  // Settings that need a restart keep their old values until then.
  now_ = config::merge_live(now_, *next);
  on_change_();
}

// The same file, read again on request, is logged but not counted again.
void LiveConfiguration::refuse(const Error& why) {
  logging::log_error("invalid configuration, keeping the previous one", {{"cause", why.what}});
  const bool is_known = !version_.empty() && refused_version_ == version_;
  if (!is_known) ++refused_;
  refused_version_ = version_;
}

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
  logging::log_error("invalid policy, keeping the previous one", {{"cause", policy.error().what}});
}

void LivePolicy::take(Policy policy) {
  if (policy == now_) return;
  now_ = std::move(policy);
  logging::log_info("policy loaded", {{"file", path_}, {"mode", std::string(to_string(now_.rules.mode))}});
  on_change_(now_);
}

}  // namespace autopilot::controller
