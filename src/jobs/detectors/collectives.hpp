// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "jobs/records.hpp"

// Counts of collectives: whether a job still starts them, and which rank the others wait for.
namespace autopilot::jobs {

struct CollectiveLimits {
  std::size_t communicators = 65536;
  std::size_t members = 524288;  // of all communicators together: about 12 bytes each
};

// Why ranks are named.
enum class BlameReason : std::uint8_t {
  none,          // counts name no rank
  dead,          // the source calls them dead
  unresponsive,  // they do not answer the source
  behind,        // they have not started the collective that the others wait in
  deadlock,      // ranks wait for each other in a circle: the program orders its collectives differently
  all_started,   // every rank started the collective, and it does not complete
};

// The ranks that a stalled job waits for, as far as counts show them.
struct CollectiveBlame {
  BlameReason reason = BlameReason::none;
  std::vector<int> ranks;                 // ascending; empty for none and all_started
  std::string communicator;               // id, if one is concerned
  int size = 0;                           // of it
  std::optional<std::int64_t> behind_by;  // collectives, of the last rank
  std::optional<WallTime> blocked_since;  // when its counts grew last
};

struct CollectiveStatus {
  // True: a communicator's counts do not grow although 20 increments are due at its own pace, and no other
  // communicator grows. False: counts grow. nullopt: too little is known.
  std::optional<bool> frozen;
  std::optional<WallTime> last_advance;  // newest growth of any count: a sign of progress
  std::optional<double> rate_per_s;      // collectives a second of the busiest communicator, while it ran
  std::vector<int> dead, unresponsive;   // in the newest record, ascending
  std::size_t communicators = 0;         // held
};

// How the counts of a communicator changed from one record to the next.
struct CollectiveChange {
  bool has_fallen = false;
  bool has_grown = false;
  std::int64_t growth = 0;  // of the highest count
};

// Communicators of one job. Records come in order of time; an older record is ignored. A communicator is
// forgotten ten minutes of records after it was last named, and the one not seen for longest goes if a limit
// is reached.
class CollectiveTracker {
 public:
  explicit CollectiveTracker(CollectiveLimits limits = {}) : limits_(limits) {}

  void add(const CollectivesRecord& record);
  // `now` is not before the newest record.
  [[nodiscard]] CollectiveStatus status(WallTime now) const;
  // Meaningful for a job that stalls: counts of a running job differ all the time.
  [[nodiscard]] CollectiveBlame blame(WallTime now) const;
  // A new attempt: all communicators are new.
  void restart();

  // Communicators left out since the start: their lists contradict each other, or a limit is reached.
  [[nodiscard]] std::uint64_t contradictions() const { return contradictions_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  [[nodiscard]] std::size_t members() const { return members_; }

 private:
  struct Tracked {
    std::vector<int> ranks;
    std::vector<std::int64_t> started;  // -1: unknown
    int size = 0;
    WallTime seen{};
    WallTime advanced{};    // first record with the present counts
    double rate_per_s = 0;  // smoothed pace while counts grow
    int advances = 0;
    int unchanged = 0;  // records with the present counts, after the first
    double longest_quiet_s = 0, second_quiet_s = 0;
  };
  using Key = std::pair<CountSource, std::string>;
  using Entry = std::pair<const Key, Tracked>;
  struct Absent {
    std::vector<int> dead, unresponsive;
  };

  void update(const Communicator& communicator, const CollectivesRecord& record, std::vector<int>& grown);
  static void note_change(Tracked& held, const CollectiveChange& change, WallTime time);
  void note_absent(const CollectivesRecord& record, std::vector<int>& grown);
  void forget_old(CountSource source);
  [[nodiscard]] bool make_room(std::size_t members, WallTime now);
  [[nodiscard]] static bool is_consistent(const Communicator& communicator);
  [[nodiscard]] static bool is_frozen(const Tracked& tracked);
  [[nodiscard]] CollectiveBlame blame_counts(const std::vector<const Entry*>& entries) const;
  [[nodiscard]] static CollectiveBlame blame_behind(const std::vector<const Entry*>& mismatched);

  CollectiveLimits limits_;
  std::map<Key, Tracked> tracked_;
  std::size_t members_ = 0;
  std::optional<WallTime> newest_;
  std::map<CountSource, Absent> absent_;  // of the newest record
  std::uint64_t contradictions_ = 0, dropped_ = 0;
};

}  // namespace autopilot::jobs
