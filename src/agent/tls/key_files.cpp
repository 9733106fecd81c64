// SPDX-License-Identifier: Apache-2.0
#include "agent/tls/key_files.hpp"

#include <mutex>
#include <optional>
#include <utility>

namespace autopilot::agent {
namespace {

// The files are not replaced all at once: what makes no sense at one look may at the next.
constexpr std::size_t kPatience = 2;

}  // namespace

Result<NodeKeys> read_keys(const config::Tls& files, const kube::ReadFile& read_file) {
  NodeKeys keys;
  keys.certificate = TRY(read_file(files.certificate));
  keys.key = TRY(read_file(files.key));
  if (!files.authorities.empty()) keys.authorities = TRY(read_file(files.authorities));
  return keys;
}

struct KeyFiles::Seen {
  void give(Result<NodeKeys> keys) {
    const std::lock_guard lock(mutex);
    last = std::move(keys);
  }
  std::optional<Result<NodeKeys>> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(last, std::nullopt);
  }

  std::mutex mutex;
  std::optional<Result<NodeKeys>> last;
};

KeyFiles::KeyFiles(net::EventLoop& loop, config::Tls files, kube::ReadFile read_file, NodeKeys used,
                   Listener listener, Duration every)
    : files_(std::move(files)),
      read_file_(std::move(read_file)),
      listener_(std::move(listener)),
      used_(std::move(used)),
      seen_(std::make_shared<Seen>()),
      lanes_({.lanes = 1, .max_stuck = 1, .max_queued = 1}),
      watch_(loop.every(every, [this] { look(); })) {}

KeyFiles::~KeyFiles() = default;

// A look is used at the next one. While a file does not answer the lane takes no further look.
void KeyFiles::look() {
  if (const auto keys = seen_->take()) take(*keys);
  (void)lanes_.submit(
      [seen = seen_, files = files_, read = read_file_] { seen->give(read_keys(files, read)); });
}

void KeyFiles::take(const Result<NodeKeys>& keys) {
  if (!keys) return object(keys.error());
  const bool is_news = *keys != used_;
  const auto ready = is_news ? make_ready(*keys) : ReadyKeys{};
  if (!ready) return object(ready.error());
  objection_.clear();
  renewals_.is_failing = false;
  if (!is_news) return;
  used_ = *keys;
  listener_.on_keys(*ready);
}

void KeyFiles::object(const Error& why) {
  if (std::exchange(objection_, why.what) != why.what) objected_ = 0;
  if (++objected_ < kPatience) return;
  ++renewals_.failed;
  renewals_.is_failing = true;
  if (objected_ == kPatience) listener_.on_refused(why);
}

}  // namespace autopilot::agent
