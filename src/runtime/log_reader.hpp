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

// Number of kernel records of each kind. Kinds beyond kMaxKinds are summed under the name "other".
class RecordCounts {
 public:
  static constexpr std::size_t kMaxKinds = 256;

  // New records; one may represent several (attribute "count").
  void add(std::string_view check, const Observations& records);
  [[nodiscard]] std::vector<RecordCount> counts() const;

 private:
  std::map<RecordKind, std::uint64_t> counts_;
};

// Position of one check in the kernel log, and the number of its records reported as events.
class LogReader {
 public:
  static constexpr std::size_t kMaxReportedPerMinute = 200;  // further records are only counted

  // Restores what an earlier run of this boot journaled: the position, and the number of records below it
  // that were not reported.
  void restore(std::uint64_t journaled, std::size_t unreported) {
    journaled_ = journaled;
    unreported_ = unreported;
  }

  // Records that neither an earlier run of the check nor an earlier agent of this boot has read.
  [[nodiscard]] Observations news_in(const Observations& observations) const;
  // Moves the position to the end of the run and passes the new records to `report`.
  void take(const std::string& check, const checks::Observed& observed, const Observations& news,
            const std::function<void(Event)>& report);
  // Ends a minute: reports the records that were only counted in one event.
  void end_minute(const std::string& check, const std::function<void(Event)>& report);

  // True if journaled() or unreported() changed since the last call. Both are journaled together with the
  // effects of the records, so that a restart neither forgets a record nor counts it twice.
  [[nodiscard]] bool take_moved() { return std::exchange(moved_, false); }
  // Marks both to be written again.
  void set_moved() { moved_ = parts_ != LogParts::none; }
  [[nodiscard]] bool has_moved() const { return moved_; }

  // Start of the next run.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] std::uint64_t journaled() const { return journaled_; }
  // Number of records below journaled() that will be reported in one event.
  [[nodiscard]] std::size_t unreported() const { return unreported_; }
  // none until the check has read the log.
  [[nodiscard]] LogParts parts() const { return parts_; }

 private:
  LogParts parts_ = LogParts::none;
  std::uint64_t next_ = 0;
  std::uint64_t journaled_ = 0;
  std::size_t reported_ = 0;  // events of this minute
  std::size_t unreported_ = 0;
  bool moved_ = false;
};

// The last reset of each GPU that observations proved and no driver record reported, for judges that only
// know records.
class ProvenResets {
 public:
  // For one boot; ignores `journaled` of another boot.
  ProvenResets(std::string boot_id, std::string_view journaled);

  void add(const Subject& gpu, MonoTime time) { times_[gpu.key] = time; }
  // For the journal.
  [[nodiscard]] std::string to_text() const;
  // An event for each reset, for checks::reset_in. `now` converts their times to the wall clock.
  [[nodiscard]] Observations events(Instant now) const;

 private:
  std::string boot_id_;
  std::map<std::string, MonoTime, std::less<>> times_;  // by PCI address
};

}  // namespace autopilot::runtime
