// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "jobs/findings.hpp"
#include "jobs/metrics.hpp"

// Comparison of the members of a peer group: GPUs, processes, NICs or hosts that do equal work.
namespace autopilot::jobs {

enum class Worse : std::uint8_t { low, high };

// robust: distance from the median, in units of the spread. exact: a nominal value that differs at all.
enum class Comparison : std::uint8_t { robust, exact };

// What a persistent outlier means in a synchronous job, where all ranks wait for the slowest.
enum class Sign : std::uint8_t {
  fault,    // names its subject by itself
  hint,     // counts only beside another sign
  delayed,  // a hint that accuses the host by itself while the job is slow
  late,     // busier than its peers: they wait for it
  idle,     // does less than its peers: its host holds it up, or it waits for others
  waiting,  // does less than its peers because it waits for others
  work,     // has more work than its peers: no fault
};

// An entity deviates persistently after k hits in the last m known minutes, and again not after m known
// minutes with `clear` hits or fewer. 1 <= k <= m <= 32, 0 <= clear < k.
struct HistoryRule {
  int k = 8, m = 10, clear = 2;
};
inline constexpr HistoryRule kPersistent{8, 10, 2};
inline constexpr HistoryRule kQuick{4, 5, 1};     // nominal values and states, which noise does not reach
inline constexpr HistoryRule kRepeated{2, 5, 0};  // events: one alone is tolerated
inline constexpr HistoryRule kOnce{1, 10, 0};     // events that are never tolerated
inline constexpr HistoryRule kWithoutHistory{1, 1, 0};  // each minute by itself, for an ablation

// How one metric is compared. Counts are compared as rates: see per_minute().
struct PeerRule {
  Metric metric{};
  Worse worse = Worse::low;
  std::string_view signal;  // key of the likelihood table, such as "sm_clock_low"
  Family family = Family::progress;
  Sign sign = Sign::hint;
  Comparison comparison = Comparison::robust;
  // A hit is more than `z` spreads and more than the fraction `shortfall` of the median worse than the
  // median.
  float z = 3.5F;
  float shortfall = 0.08F;
  // The spread is at least floor_relative * |median| and floor_absolute (unit of the metric, above 0); the
  // median counts as at least floor_absolute. For an exact comparison: differences up to here are equal.
  float floor_relative = 0.01F;
  float floor_absolute = 1;
  HistoryRule history = kPersistent;
};

// All rules. NICs are compared with the same rail of other nodes, hosts with the other hosts of the job.
[[nodiscard]] std::span<const PeerRule> peer_rules();
// nullptr: unknown.
[[nodiscard]] const PeerRule* find_peer_rule(std::string_view signal);

// The growth of a counter as a rate. NaN if `seconds` is not above 0.
[[nodiscard]] float per_minute(float count, float seconds);

struct Outlier {
  std::uint32_t member = 0;  // position in the group
  float value = 0;
  float z = 0;         // spreads by which it is worse than the median, above 0; exact: the rule's z
  float relative = 0;  // fraction by which it is worse, above 0
};

// Buffers that find_outliers reuses from call to call; contents without meaning.
struct PeerScratch {
  std::vector<float> values;
  std::vector<std::uint32_t> hosts;
};

struct PeerComparison {
  std::uint32_t known = 0;  // members with a value
  float median = 0;         // of the known members; NaN if there is none
  float threshold = 0;      // values beyond it are hits; NaN if there is no hit
  // Too many members deviate together for a fault of one part: something about the job: no part is accused.
  bool is_group_event = false;
  std::vector<Outlier> hits;  // by position
};

// Compares the members of one group in one minute. A value that is not finite is unknown: its member is
// neither a peer nor a hit. Fewer than 4 known members give no hits, unless the rule is exact (then 2).
// `hosts`: the host of each member, so that all GPUs of one host may deviate without being a group event;
// empty: each member is a host. A group event: more than max(1, 20 %) of the members deviate, and (if there
// are at least 3 hosts) on more than max(1, 20 %) of the hosts. O(members).
void find_outliers(std::span<const float> values, std::span<const std::uint32_t> hosts, const PeerRule& rule,
                   PeerScratch& scratch, PeerComparison& result);
[[nodiscard]] PeerComparison find_outliers(std::span<const float> values, const PeerRule& rule);

enum class Minute : std::uint8_t { unknown, clear, hit };

// The last minutes of one rule of one entity. An unknown minute is neither hit nor clear; after `m` of them
// in a row older minutes are forgotten, and an entity that deviates does so until `m` known minutes clear it.
class HitHistory {
 public:
  // The state after this minute.
  bool add(Minute minute, const HistoryRule& rule = kPersistent);
  [[nodiscard]] bool deviates() const { return deviates_; }

 private:
  std::uint32_t hits_ = 0;    // bit 0: the last known minute
  std::uint8_t known_ = 0;    // known minutes, at most 32
  std::uint8_t unknown_ = 0;  // unknown minutes in a row, at most 32
  bool deviates_ = false;
};

}  // namespace autopilot::jobs
