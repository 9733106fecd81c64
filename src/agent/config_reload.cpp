// SPDX-License-Identifier: Apache-2.0
#include "agent/config_reload.hpp"

#include <chrono>
#include <utility>

#include "logging/log.hpp"

namespace autopilot::agent {
namespace {

using logging::log_error;
using logging::log_info;

constexpr Duration kLookAtConfiguration = std::chrono::seconds{2};

}  // namespace

void tell_refused(runtime::Runtime& runtime, const std::string& what, const Error& why, bool has_old) {
  log_error(what + " refused", {{"cause", why.what}});
  Event event;
  event.kind = EventKind::configuration_refused;
  event.message = "new " + what +
                  (has_old ? " refused, the old stays in use: " : " refused, and there are none yet: ") +
                  why.what;
  runtime.update_self([](SelfStatus& self) { ++self.configuration_refused; });
  (void)runtime.tell(std::move(event));
}

ConfigReload::ConfigReload(Context context) : context_(std::move(context)) {
  if (context_.options.configuration_version) version_ = context_.options.configuration_version();
}

void ConfigReload::start() {
  if (!context_.options.configuration_version) return;
  watch_ = context_.loop.every(kLookAtConfiguration, [this] {
    if (context_.options.configuration_version() != version_) reload();
  });
}

void ConfigReload::reload() {
  AgentOptions& options = context_.options;
  // Before it is read: what changes meanwhile is read again.
  if (options.configuration_version) version_ = options.configuration_version();
  auto next = options.reload();
  if (!next) return refuse(next.error());
  const std::string changes = config::describe(config::diff(options.config, *next));
  log_info("configuration loaded", {{"changes", changes}});
  context_.apply(*next);
  // What needs a restart keeps its old value until then.
  options.config = config::merge_live(options.config, *next);
  Event event;
  event.kind = EventKind::configuration_loaded;
  event.message = "configuration loaded: " + changes;
  (void)context_.runtime.tell(std::move(event));
  context_.on_loaded();
  context_.poll_soon();
}

// The same file, read again at SIGHUP, is logged and not counted again.
void ConfigReload::refuse(const Error& why) {
  const bool is_known = !version_.empty() && refused_version_ == version_;
  refused_version_ = version_;
  if (is_known) {
    log_error("configuration refused", {{"cause", why.what}});
    return;
  }
  tell_refused(context_.runtime, "configuration", why);
  context_.poll_soon();
}

}  // namespace autopilot::agent
