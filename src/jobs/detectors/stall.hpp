// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "jobs/records.hpp"

// Whether a job still makes progress.
namespace autopilot::jobs {

// Median of a job's own values of the last hour. At most kMaxValues values are held.
class OwnHistory {
 public:
  static constexpr std::size_t kMaxValues = 360;

  // A value that is not finite is ignored.
  void add(float value);
  // nullopt until kEnough values are known.
  [[nodiscard]] std::optional<double> median() const;
  static constexpr std::size_t kEnough = 12;

 private:
  std::vector<float> values_;  // ring
  std::size_t next_ = 0;
};

// What is known about a job at one time. A member that is not set, or NaN, is unknown.
struct StallSigns {
  WallTime now{};
  bool has_first_step = false;            // of this attempt
  std::optional<double> since_start_s;    // of this attempt
  std::optional<double> progress_age_s;   // since the last progress of any source; heartbeats are none
  double soft_timeout_s = 300;            // GapModel::soft_timeout_s of the training phase
  std::optional<double> phase_timeout_s;  // the same of the present phase, if its gaps are learned
  std::optional<Phase> phase;             // the present phase, of the job or of most ranks

  std::optional<double> quiet_share;  // of GPUs that wait or are idle: quiet_share()
  int gpus = 0;                       // whose activity is known; of 4 or more, one may compute during a stall
  int ranks = 0;                      // whose processes are known; likewise, one may be awake
  std::optional<double> asleep_share;      // of these ranks: no processor time and no bytes
  std::optional<double> working_share;     // of these ranks: awake, and their GPU is idle or absent
  std::optional<double> process_bytes_s;   // read and written by the processes of the ranks
  std::optional<double> fabric_bytes_s;    // NIC and NVLink traffic of the job
  std::optional<double> storage_bytes_s;   // traffic of its nodes' file systems
  std::optional<int> ranks_stopped;        // process stopped
  std::optional<int> ranks_in_disk_sleep;  // process waits for a disk
  std::optional<bool> collectives_frozen;  // CollectiveTracker: counts do not grow although they should
  std::optional<int> ranks_unresponsive;   // dead or missing in the newest answer of RAS
};

enum class StallSign : std::uint8_t {
  gpus_quiet,
  processes_asleep,
  fabric_silent,
  collectives_frozen,
  ranks_unresponsive,
  ranks_stopped,
  ranks_in_disk_sleep,
};
// "the fabric is silent": part of a sentence.
[[nodiscard]] std::string_view to_string(StallSign sign);

enum class StallState : std::uint8_t {
  unknown,   // no source of progress
  starting,  // no step has ended yet
  running,
  suspected,  // no progress for longer than a healthy gap
  confirmed,
};

// Why a job without progress is not suspected.
enum class StallGuard : std::uint8_t { none, start, phase, storage, host };

struct StallStatus {
  StallState state = StallState::unknown;
  StallGuard guard = StallGuard::none;
  std::vector<StallSign> signs;           // that hold, ordered as in the enumeration
  std::optional<WallTime> last_progress;  // of a suspected or confirmed stall
  std::optional<WallTime> suspected;
  std::optional<WallTime> confirmed;
  // Since the last progress the GPUs computed, traffic was as usual, storage traffic was heavy, or processes
  // worked beside idle GPUs, at an age at which that matters: an evaluation, a checkpoint, a compilation. The
  // gap is not to be learned.
  bool is_gap_explained = false;
  std::optional<double> limit_s;  // age of progress from which the job is suspected
};

struct StallOptions {
  // Signs hold that long: with RAS or a stopped process, or with storage traffic that is known to be low and
  // either GPUs and fabric, or processes that sleep.
  double confirm_s = 60;
  double confirm_weak_s = 120;  // with less: GPUs, processes or fabric alone
  double tolerance_s = 30;      // signs may be unknown that long in between
  double start_s = 2400;        // until the first step: model load and compilation take up to 30 min
  double checkpoint_s = 900;
  double phase_s = 1200;  // evaluation, compilation, load; also if only the work of processes shows it
  double stopped_s = 60;  // with a stopped process, if it is below the soft time-out
  // The same before the first step, and for ever where no source states steps: since the process is stopped.
  double stopped_at_start_s = 120;
  double storage_s = 600;  // storage traffic far above the job's own median: a checkpoint without a record
};

// State machine of one job. Feed it every 10 s, in order of time; signs before the last ones are ignored.
//
// A job is suspected if the age of its progress is above the limit and no sign contradicts (GPUs that
// compute, traffic as usual). It is confirmed if it has been suspected for confirm_s with at least one sign
// of GPUs, fabric, RAS or processes that sleep or are stopped all the time; the age alone never confirms.
// Progress ends both. Limits: the soft time-out; in a guarded phase, before the first step, during heavy
// storage traffic and while processes work beside idle GPUs the longer guard above. An unresponsive or
// stopped rank ends the guards, except that an unresponsive one does not end that of the start.
class StallDetector {
 public:
  explicit StallDetector(StallOptions options = {}) : options_(options) {}

  const StallStatus& add(const StallSigns& signs);
  [[nodiscard]] const StallStatus& status() const { return status_; }
  // A restart: the state is unknown again. The history of traffic is kept.
  void restart();

 private:
  struct Judged;
  [[nodiscard]] Judged judge(const StallSigns& signs) const;
  [[nodiscard]] double limit_of(const StallSigns& signs, StallGuard& guard) const;
  [[nodiscard]] double limit_of_work(const StallSigns& signs, double soft, StallGuard& guard) const;
  void advance(const StallSigns& signs, const Judged& judged);
  void explain(const Judged& judged);
  [[nodiscard]] double quiet_seconds(const StallSigns& signs, const Judged& judged);
  void learn(const StallSigns& signs);

  StallOptions options_;
  StallStatus status_;
  OwnHistory fabric_, storage_, process_bytes_;
  std::optional<WallTime> last_;
  // Since when what the job does in the present gap is the same: an evaluation may precede a checkpoint.
  struct Stretch {
    std::optional<WallTime> since;
    StallGuard guard = StallGuard::none;
    Phase phase = Phase::train;
    int changes = 0;
  };
  static constexpr int kMaxChanges = 8;  // in one gap; later ones do not restart the time
  Stretch stretch_;
  double last_age_s_ = 0;
  // Since when a sign that can confirm holds, and when it held last.
  struct Hold {
    std::optional<WallTime> since, last;
    void update(WallTime now, bool holds, Duration tolerance);
    [[nodiscard]] Duration length() const { return since && last ? *last - *since : Duration{}; }
  };
  Hold weak_, strong_;
};

}  // namespace autopilot::jobs
