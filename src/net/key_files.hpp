// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"

namespace autopilot::net {

// Paths of TLS certificates and keys, all PEM.
struct KeyPaths {
  std::string certificate;
  std::string key;
  std::string authorities;  // empty: not set
};
// Contents of these files.
struct KeyTexts {
  std::string certificate;
  std::string key;
  std::string authorities;
  friend bool operator==(const KeyTexts&, const KeyTexts&) = default;
};

// State of the renewal of keys.
struct Renewals {
  std::uint64_t failed = 0;  // number of failed renewals
  bool is_failing = false;   // the last renewal failed
};

using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// Can block. Errors name the path.
[[nodiscard]] Result<KeyTexts> read_keys(const KeyPaths& paths, const ReadFile& read_file);

// Reads the key files at intervals, on a worker thread, and reports renewed keys. Use it on the loop's
// thread.
class KeyFiles {
 public:
  static constexpr Duration kEvery = std::chrono::seconds{5};

  struct Listener {
    // Called with new keys; returns an error to reject them.
    std::function<Status(const KeyTexts& keys)> use;
    // Called once for each invalid state of the files: the old keys stay in use. Files that are being
    // replaced have some time to become valid.
    std::function<void(const Error& why)> on_refused;
  };

  // run_blocking: runs a task on a worker thread; it can drop tasks. used: contents of the files at the
  // start.
  KeyFiles(EventLoop& loop, KeyPaths paths, ReadFile read_file,
           std::function<void(std::function<void()> task)> run_blocking, KeyTexts used, Listener listener,
           Duration every = kEvery);
  KeyFiles(const KeyFiles&) = delete;
  KeyFiles& operator=(const KeyFiles&) = delete;
  ~KeyFiles() = default;

  // A read of invalid files counts as failed, except while the files could be in the middle of a replacement.
  [[nodiscard]] const Renewals& renewals() const { return renewals_; }

 private:
  struct Seen;  // result of the other thread

  void look();
  void take(const Result<KeyTexts>& keys);
  void object(const Error& why);

  const KeyPaths paths_;
  const ReadFile read_file_;
  const std::function<void(std::function<void()> task)> run_blocking_;
  const Listener listener_;
  KeyTexts used_;
  std::string objection_;     // last rejection; empty: none
  std::size_t objected_ = 0;  // consecutive rejections
  Renewals renewals_;
  const std::shared_ptr<Seen> seen_;
  Subscription watch_;
};

}  // namespace autopilot::net
