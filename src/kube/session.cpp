// SPDX-License-Identifier: Apache-2.0
#include "kube/session.hpp"

#include <chrono>
#include <mutex>
#include <optional>
#include <utility>

#include "logging/build_info.hpp"
#include "logging/log.hpp"
#include "net/tls.hpp"

namespace autopilot::kube {
namespace {

constexpr Duration kLook = std::chrono::milliseconds{500};
// Short, because no request is possible before the first credentials.
constexpr Duration kFirstLook = std::chrono::milliseconds{10};

ClientOptions options_of(const std::string& name, std::function<void()> on_unauthorized) {
  ClientOptions options;
  options.user_agent = name + "/" + std::string(logging::build_info().version);
  options.field_manager = name;
  options.on_unauthorized = std::move(on_unauthorized);
  return options;
}

}  // namespace

struct Session::Refreshed {
  void give(Status status) {
    const std::lock_guard lock(mutex);
    last = std::move(status);
  }
  std::optional<Status> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(last, std::nullopt);
  }

  std::mutex mutex;
  std::optional<Status> last;
};

Session::Session(net::EventLoop& loop, const Clock& clock, const ClusterDoor& door, const std::string& name,
                 RunBlocking run_blocking)
    : loop_(loop),
      clock_(clock),
      run_blocking_(std::move(run_blocking)),
      credentials_(std::make_shared<Credentials>(door.access, door.read_file, door.run_plugin)),
      refreshed_(std::make_shared<Refreshed>()),
      client_(loop, door.access.server,
              options_of(name, [this] { credentials_->reject(credentials_->token()); })) {}

void Session::start(std::function<void()> on_ready) {
  on_ready_ = std::move(on_ready);
  watch_ = loop_.every(kFirstLook, [this] { look(); });
  look();
}

// The worker thread can outlast this object, so it leaves its result in shared state.
void Session::look() {
  if (const auto refreshed = refreshed_->take()) use(*refreshed);
  const Instant now = clock_.now();
  if (std::exchange(has_asked_, true) && !credentials_->needs_refresh(now)) return;
  run_blocking_([credentials = credentials_, refreshed = refreshed_, now] {
    refreshed->give(credentials->refresh(now));
  });
}

void Session::use(const Status& refreshed) {
  std::string problem = refreshed ? "" : refreshed.error().what;
  if (const auto identity = credentials_->take_changed_identity()) {
    const auto context = net::TlsContext::make(*identity);
    if (context)
      client_.use(*context);
    else
      problem = context.error().what;
  }
  client_.use_token(credentials_->token());
  if (!problem.empty()) problem.insert(0, "cannot refresh the credentials for the cluster: ");
  if (problem != problem_ && !problem.empty()) logging::log_warning(problem);
  problem_ = std::move(problem);
  if (!on_ready_) return;
  watch_ = loop_.every(kLook, [this] { look(); });
  std::exchange(on_ready_, nullptr)();
}

}  // namespace autopilot::kube
