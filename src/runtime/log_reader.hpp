// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checks/check.hpp"
#include "core/clock.hpp"
#include "core/event.hpp"
#include "core/log_parts.hpp"
#include "core/observation.hpp"
#include "core/snapshot.hpp"

namespace autopilot::runtime {

// How many records the event stands for (attribute "count").
[[nodiscard]] std::uint64_t times_told(const Observation& record);

// How often each kind of kernel record was seen, known or not. Of further kinds beyond kMaxKinds only the sum
// is kept, under the name "other".
class RecordCounts {
 public:
  static constexpr std::size_t kMaxKinds = 256;

  // Records that no earlier round has seen; one may stand for several (attribute "count").
  void add(std::string_view check, const Observations& records);
  [[nodiscard]] std::vector<RecordCount> counts() const;

 private:
  std::map<RecordKind, std::uint64_t> counts_;
};

// How far one check has read the kernel log, and how many of its records were told as events.
class LogReader {
 public:
  static constexpr std::size_t kMaxToldPerMinute = 200;  // the rest is counted

  // What an earlier run of this boot journaled: records below the position, of which so many were not told.
  void restore(std::uint64_t journaled, std::size_t untold) {
    journaled_ = journaled;
    untold_ = untold;
  }

  // Records that no earlier round and no earlier run of this boot has seen.
  [[nodiscard]] Observations news_in(const Observations& round) const;
  // Takes over where the round ended and gives its news to `tell`.
  void take(const std::string& check, const checks::Observed& round, const Observations& news,
            const std::function<void(Event)>& tell);
  // A minute is over: what was counted and not told is told in one event.
  void end_minute(const std::string& check, const std::function<void(Event)>& tell);

  // Whether journaled() or untold() changed since the last call. Both belong in the journal, with what the
  // records led to, so that a restart neither forgets a record nor counts it twice.
  [[nodiscard]] bool take_moved() { return std::exchange(moved_, false); }
  // They must be written again.
  void set_moved() { moved_ = parts_ != LogParts::none; }
  [[nodiscard]] bool has_moved() const { return moved_; }

  // Where the next round begins.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] std::uint64_t journaled() const { return journaled_; }
  // Records below journaled() that are counted and will be told in one event.
  [[nodiscard]] std::size_t untold() const { return untold_; }
  // none until it has read the log.
  [[nodiscard]] LogParts parts() const { return parts_; }

 private:
  LogParts parts_ = LogParts::none;
  std::uint64_t next_ = 0;
  std::uint64_t journaled_ = 0;
  std::size_t told_ = 0;  // events of this minute
  std::size_t untold_ = 0;
  bool moved_ = false;
};

// The last reset of each GPU that looks proved and no driver's record told, for judges who otherwise know the
// records alone.
class SeenResets {
 public:
  // For one boot; what `journaled` says of another boot is forgotten.
  SeenResets(std::string boot_id, std::string_view journaled);

  void add(const Subject& gpu, MonoTime time) { times_[gpu.key] = time; }
  // For the journal.
  [[nodiscard]] std::string to_text() const;
  // An event for each, as checks::reset_in knows it. `now` places them on the wall clock.
  [[nodiscard]] Observations events(Instant now) const;

 private:
  std::string boot_id_;
  std::map<std::string, MonoTime, std::less<>> times_;  // by PCI address
};

}  // namespace autopilot::runtime
