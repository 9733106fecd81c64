// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/progress/heartbeat.hpp"
#include "collect/progress/step_guard.hpp"
#include "collect/source.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/sockets/datagram_inbox.hpp"

namespace autopilot::collect {

// The folder of heartbeats has the socket "socket", and the folder "cmd" with commands for jobs.
struct HeartbeatOptions {
  std::string folder = "/run/autopilot/heartbeat";
};

struct HeartbeatCounts {
  std::size_t accepted = 0;
  std::size_t unknown_sender = 0;  // of a process that is not a rank
  std::size_t too_many = 0;        // beyond the rate of a process
  std::size_t malformed = 0;
  std::size_t dropped = 0;  // beyond the rate of all processes
};

// Heartbeats that ranks send to a Unix datagram socket: parse_heartbeat states their text. The kernel names
// the sender, and SeenJobs its job and rank; what the text states about them is ignored. `request_checkpoint`
// and `acknowledged` may be called on any thread.
class HeartbeatSource final : public Source {
 public:
  static constexpr int kMaxPerSecond = 20;                      // of a process
  static constexpr Duration kRetry = std::chrono::seconds{60};  // of a socket that could not be opened

  explicit HeartbeatSource(HeartbeatOptions options) : options_(std::move(options)) {}

  void poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) override;
  [[nodiscard]] std::vector<std::string> not_seen() const override;
  [[nodiscard]] HeartbeatCounts counts() const;

  // Writes the command for the ranks of the job, which poll their file: {"seq":1,"cmd":"checkpoint_now"}.
  // Returns its number. not_found: the job sends no heartbeats.
  [[nodiscard]] Result<std::int64_t> request_checkpoint(std::string_view job);
  // The highest number of a command that a rank of the job obeyed; nullopt: none.
  [[nodiscard]] std::optional<std::int64_t> acknowledged(std::string_view job) const;

 private:
  struct Sender {
    std::string job;
    int rank = 0;
    bool is_seen = false;  // in the last SeenJobs
    StepGuard guard;
    double allowed = kMaxPerSecond;    // datagrams now
    bool is_heard = false;             // since the last poll
    std::optional<jobs::Phase> phase;  // open
    std::optional<std::int64_t> checkpoint;
    bool states_saving = false;
  };
  struct Channel {
    std::string file;  // of commands
    std::int64_t sequence = 0;
    std::optional<std::int64_t> acknowledged;
  };

  [[nodiscard]] Status open(WallTime now);
  void update_senders(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records);
  void take(const host::Datagram& datagram, WallTime now, std::vector<jobs::Record>& records);
  void accept(Sender& sender, const Heartbeat& heartbeat, WallTime now, std::vector<jobs::Record>& records);
  void change_phase(Sender& sender, std::optional<jobs::Phase> phase, WallTime time,
                    std::vector<jobs::Record>& records) const;
  void note_channel(const Sender& sender, const Heartbeat& heartbeat);

  HeartbeatOptions options_;
  std::unique_ptr<host::DatagramInbox> inbox_;
  std::optional<WallTime> tried_;  // to open it
  std::string problem_;
  std::optional<WallTime> polled_;
  std::map<std::int64_t, std::pair<std::string, int>> ranks_;  // by pid, with the pids of their children
  std::map<std::pair<std::string, int>, Sender> senders_;      // by job and rank
  HeartbeatCounts counts_;
  mutable std::mutex mutex_;
  std::map<std::string, Channel, std::less<>> channels_;  // guarded; by job
};

}  // namespace autopilot::collect
