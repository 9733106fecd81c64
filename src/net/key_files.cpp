// SPDX-License-Identifier: Apache-2.0
#include "net/key_files.hpp"

#include <mutex>
#include <optional>
#include <utility>

namespace autopilot::net {
namespace {

// The files are not replaced atomically as a group: a combination that is invalid now can be valid at the
// next read.
constexpr std::size_t kPatience = 2;

}  // namespace

Result<KeyTexts> read_keys(const KeyPaths& paths, const ReadFile& read_file) {
  KeyTexts keys;
  keys.certificate = TRY(read_file(paths.certificate));
  keys.key = TRY(read_file(paths.key));
  if (!paths.authorities.empty()) keys.authorities = TRY(read_file(paths.authorities));
  return keys;
}

struct KeyFiles::Seen {
  void give(Result<KeyTexts> keys) {
    const std::lock_guard lock(mutex);
    last = std::move(keys);
  }
  std::optional<Result<KeyTexts>> take() {
    const std::lock_guard lock(mutex);
    return std::exchange(last, std::nullopt);
  }

  std::mutex mutex;
  std::optional<Result<KeyTexts>> last;
};

KeyFiles::KeyFiles(EventLoop& loop, KeyPaths paths, ReadFile read_file,
                   std::function<void(std::function<void()> task)> run_blocking, KeyTexts used,
                   Listener listener, Duration every)
    : paths_(std::move(paths)),
      read_file_(std::move(read_file)),
      run_blocking_(std::move(run_blocking)),
      listener_(std::move(listener)),
      used_(std::move(used)),
      seen_(std::make_shared<Seen>()),
      watch_(loop.every(every, [this] { look(); })) {}

// The files that were read are applied at the next call. No new read starts while one is blocked.
void KeyFiles::look() {
  if (const auto keys = seen_->take()) take(*keys);
  run_blocking_([seen = seen_, paths = paths_, read = read_file_] { seen->give(read_keys(paths, read)); });
}

void KeyFiles::take(const Result<KeyTexts>& keys) {
  if (!keys) return object(keys.error());
  const bool is_news = *keys != used_;
  const Status taken = is_news ? listener_.use(*keys) : Status{};
  if (!taken) return object(taken.error());
  objection_.clear();
  renewals_.is_failing = false;
  if (is_news) used_ = *keys;
}

void KeyFiles::object(const Error& why) {
  if (std::exchange(objection_, why.what) != why.what) objected_ = 0;
  if (++objected_ < kPatience) return;
  ++renewals_.failed;
  renewals_.is_failing = true;
  if (objected_ == kPatience) listener_.on_refused(why);
}

}  // namespace autopilot::net
