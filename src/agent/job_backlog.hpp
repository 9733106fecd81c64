// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/job_batch.hpp"
#include "core/clock.hpp"
#include "jobs/records.hpp"

namespace autopilot::agent {

// Records of jobs that wait until the receiver has taken them, as batches of api/job_batch.hpp, and what a
// receiver needs that does not know this agent yet. When there is no room, the oldest windows are dropped
// first, then progress, then the rest: events, ends, jobs. Pure: time is passed in. Not thread-safe.
class JobBacklog {
 public:
  struct Limits {
    Duration age = std::chrono::minutes{5};  // of windows and progress
    std::size_t bytes = std::size_t{8} << 20;
    std::size_t batch_bytes = std::size_t{1} << 20;  // of one batch, without the jobs of a whole one
    // The jobs of the node that run, for whole batches; more are left out and counted.
    std::size_t jobs = 256;
    std::size_t job_bytes = std::size_t{2} << 20;
  };

  // instance: see api::JobBatch.
  JobBacklog(std::string node, std::string instance, Limits limits);

  // A record longer than api::kLongestRecord as a line is dropped and counted.
  void add(const jobs::Record& record, MonoTime now);
  // The body of the next request: the batch that was returned last until it is answered, without lines that
  // were dropped meanwhile; else a new one. nullopt: nothing waits.
  [[nodiscard]] std::optional<std::string> next(Instant now);
  // The receiver answered the last batch.
  void take(const api::JobBatchAnswer& answer);
  // The receiver cannot use the last batch, now or later: its lines are dropped and counted.
  void give_up();

  // A batch waits that need not grow any more: it is full, or has to be sent again.
  [[nodiscard]] bool is_due() const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  struct Line {
    std::uint64_t ordinal = 0;
    MonoTime added{};
    std::string text;
  };
  // In the order in which they are dropped.
  enum Kind : std::uint8_t { window, progress, other };
  static constexpr std::size_t kKinds = 3;
  using Lines = std::deque<Line>;

  [[nodiscard]] static Kind kind_of(const jobs::Record& record);
  void note_state(const jobs::Record& record, const std::string& text);
  void drop_oldest(Lines& lines);
  void drop_old(MonoTime now);
  void make_room();
  void choose();
  void end_batch();
  [[nodiscard]] std::string body(Instant now) const;

  const std::string node_;
  const std::string instance_;
  const Limits limits_;
  std::array<Lines, kKinds> lines_;
  std::size_t bytes_ = 0;
  std::uint64_t ordinal_ = 0;          // of the last line
  std::uint64_t sequence_ = 1;         // of the next batch
  std::optional<std::uint64_t> last_;  // ordinal up to which lines are in the batch that was sent
  bool is_whole_ = true;               // the next batch is
  std::string node_line_;
  std::map<std::string, std::string, std::less<>> job_lines_;  // by job
  std::size_t job_bytes_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace autopilot::agent
