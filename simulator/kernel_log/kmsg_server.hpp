// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kernel_log/kmsg_feeder.hpp"

namespace autopilot::simulator {

// A growing kernel log on a SOCK_SEQPACKET socket instead of /dev/kmsg: one record for each read, starting
// with the oldest. Serves one reader after another on its own thread. Thread-safe.
class KmsgServer {
 public:
  struct Options {
    std::size_t records = 8192;  // capacity of the ring
    // Records that a reader gets at most in each kStep; 0: unlimited.
    std::size_t records_per_step = 0;
  };
  static constexpr Duration kStep = std::chrono::milliseconds{10};

  // conflict: the path exists and is not a socket.
  [[nodiscard]] static Result<std::unique_ptr<KmsgServer>> listen(const std::string& path, Options options);
  KmsgServer(const KmsgServer&) = delete;
  KmsgServer& operator=(const KmsgServer&) = delete;
  // Closes the connection and removes the socket.
  ~KmsgServer();

  // priority: facility * 8 + level; microseconds since boot.
  void write(int priority, std::uint64_t microseconds, std::string_view text);

 private:
  KmsgServer(std::string path, int listener, int news, Options options);
  void run();
  void serve(int reader);
  [[nodiscard]] bool is_stopping() const;

  const std::string path_;
  const Options options_;
  const int listener_;
  const int news_;
  KmsgFeeder feeder_;
  mutable std::mutex mutex_;
  int reader_ = -1;  // guarded by mutex_, as are the members below
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace autopilot::simulator
