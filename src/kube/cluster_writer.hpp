// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"
#include "kube/write_order.hpp"
#include "net/event_loop.hpp"

namespace autopilot::kube {

struct ClusterWriterStats {
  std::uint64_t writes = 0;    // answered with success
  std::uint64_t failures = 0;  // answered otherwise, or not at all
};

// Sends what an agent writes to its cluster of its own accord: one request at a time, and no more than
// WriteOrder allows. What fails goes again after a pause that grows; what the server refuses of one kind
// keeps no other waiting, what it cannot do at all keeps all of them. On the loop's thread.
class ClusterWriter {
 public:
  struct Source {
    std::string what;  // "the node object"
    // Begins the write of what is true now; nothing where there is nothing to write any more.
    std::function<std::optional<net::Exchange>(kube::OnObject on_answer)> send;
    // The object as the server has it now.
    std::function<void(const std::string& json)> on_written;
    // Before it goes again.
    std::function<void(const kube::ApiError& why)> on_failed = [](const kube::ApiError&) {};
  };

  // Pause before a refused write is repeated: an operator may add a permission or a resource meanwhile.
  static constexpr Duration kAfterRefusal = std::chrono::minutes{1};

  // random: in [0, 1), for the jitter of pauses.
  ClusterWriter(net::EventLoop& loop, const Clock& clock, std::function<double()> random);
  ClusterWriter(const ClusterWriter&) = delete;
  ClusterWriter& operator=(const ClusterWriter&) = delete;
  ~ClusterWriter() = default;

  // Before the first want() of this kind.
  void add(WriteKind kind, Source source);
  void want(WriteKind kind, WriteUrgency urgency = WriteUrgency::state);
  // Sends nothing until it is called with false; what is wanted meanwhile goes then.
  void hold(bool is_held);
  [[nodiscard]] bool is_held() const { return is_held_; }
  [[nodiscard]] const ClusterWriterStats& stats() const { return stats_; }
  // What is wrong with a kind whose last write failed; empty: nothing is.
  [[nodiscard]] std::string problem() const;

 private:
  [[nodiscard]] Source& source_of(WriteKind kind);
  void pump();
  void drop(WriteKind kind);
  void take_answer(WriteKind kind, const kube::ApiResult<std::string>& answer);
  void take_failure(WriteKind kind, const kube::ApiError& why);

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::function<double()> random_;
  std::array<Source, kWriteKinds> sources_;
  std::array<kube::BackOff, kWriteKinds> refusals_;
  std::array<std::string, kWriteKinds> problems_;
  kube::BackOff outage_;
  bool is_held_ = false;
  MonoTime quiet_until_{};  // no request before: the server is away, or busy
  ClusterWriterStats stats_;
  WriteOrder order_;
  net::Subscription next_;
  net::Exchange exchange_;  // the running write; last: it calls
};

}  // namespace autopilot::kube
