// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <thread>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::simulator {

// A kernel log in memory with the interface of /dev/kmsg: a ring of records that drops the oldest.
// Thread-safe; readers must not outlive it.
class KmsgFeeder {
 public:
  explicit KmsgFeeder(std::size_t capacity) : capacity_(capacity) {}

  // priority: facility * 8 + level; microseconds since boot.
  void write(int priority, std::uint64_t microseconds, std::string_view text);

  // One open descriptor. Not thread-safe itself.
  class Reader {
   public:
    // Starts at the oldest record.
    explicit Reader(const KmsgFeeder& feeder) : feeder_(feeder) {}
    // Each call returns one record as a line "prio,seq,usec,-;text" with control characters escaped: its
    // size, or -1 and errno. EAGAIN: no record. EPIPE: records were overwritten before they were read; the
    // next call returns the oldest remaining one. EINVAL: the buffer is too small; the record stays.
    ssize_t read(char* buffer, std::size_t size);

   private:
    const KmsgFeeder& feeder_;
    std::uint64_t position_ = 0;
    bool is_at_begin_ = true;
  };

  // Sends records of `reader` to a SOCK_SEQPACKET socket until none is left or `most` were sent (true), or
  // the peer has closed (false). Waits while the socket is full: records overwritten meanwhile appear as a
  // gap in the sequence, because a socket cannot return EPIPE.
  static bool pump(Reader& reader, int socket, std::size_t most = std::numeric_limits<std::size_t>::max());

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<std::string> records_;  // in the format of a read
  std::uint64_t first_ = 0;          // sequence number of records_.front()
};

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
