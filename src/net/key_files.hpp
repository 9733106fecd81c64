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

// Where keys of TLS are; all PEM.
struct KeyPaths {
  std::string certificate;
  std::string key;
  std::string authorities;  // empty: none
};
// What stands there.
struct KeyTexts {
  std::string certificate;
  std::string key;
  std::string authorities;
  friend bool operator==(const KeyTexts&, const KeyTexts&) = default;
};

// How it goes to have keys renewed.
struct Renewals {
  std::uint64_t failed = 0;  // how often it was tried in vain
  bool is_failing = false;   // the last time it was
};

using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// May block. Errors name the path.
[[nodiscard]] Result<KeyTexts> read_keys(const KeyPaths& paths, const ReadFile& read_file);

// Looks at the files of keys now and then, on a thread that may block, and tells when they were renewed. On
// the loop's thread.
class KeyFiles {
 public:
  static constexpr Duration kEvery = std::chrono::seconds{5};

  struct Listener {
    // They are different. What it does not take is refused.
    std::function<Status(const KeyTexts& keys)> use;
    // Once for each state of the files that makes no sense: the old keys stay. Files that are being replaced
    // have some time for it.
    std::function<void(const Error& why)> on_refused;
  };

  // run_blocking: has a task done on a thread that may block; it may drop some. used: what the files said at
  // the start.
  KeyFiles(EventLoop& loop, KeyPaths paths, ReadFile read_file,
           std::function<void(std::function<void()> task)> run_blocking, KeyTexts used, Listener listener,
           Duration every = kEvery);
  KeyFiles(const KeyFiles&) = delete;
  KeyFiles& operator=(const KeyFiles&) = delete;
  ~KeyFiles() = default;

  // A look at files that make no sense is one that failed, but for those at which they may just be replaced.
  [[nodiscard]] const Renewals& renewals() const { return renewals_; }

 private:
  struct Seen;  // what comes back from the other thread

  void look();
  void take(const Result<KeyTexts>& keys);
  void object(const Error& why);

  const KeyPaths paths_;
  const ReadFile read_file_;
  const std::function<void(std::function<void()> task)> run_blocking_;
  const Listener listener_;
  KeyTexts used_;
  std::string objection_;     // to what was seen last; empty: none
  std::size_t objected_ = 0;  // how many times in a row
  Renewals renewals_;
  const std::shared_ptr<Seen> seen_;
  Subscription watch_;
};

}  // namespace autopilot::net
