// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/check_info.hpp"
#include "core/expectation.hpp"
#include "core/finding.hpp"
#include "core/history.hpp"
#include "core/learned_limits.hpp"
#include "core/log_parts.hpp"
#include "core/observation.hpp"
#include "core/result.hpp"

namespace autopilot::host {
class Host;
}

namespace autopilot::checks {

struct Request {
  Instant now;
  MonoTime deadline;
  // Kernel log records with a smaller sequence were read in an earlier run (of this boot); see
  // host/kernel_log.
  std::uint64_t kernel_log_from = 0;
  // Records with a smaller sequence were reported and counted by an earlier run of this boot. They are read
  // again because they may still describe the present. No event stands for both such records and later ones.
  std::uint64_t kernel_log_counted = 0;
  std::string_view reader{};  // id of the check that reads the kernel log
};

// Result of one run.
struct Observed {
  Observations observations;
  std::vector<std::string> witnesses;  // data sources that answered
  // Set by checks that read the kernel log: the lines that they read, the start of the next run, and the
  // number of new records beyond the limit of one run. The log itself counts, for all readers, the records
  // that it lost.
  LogParts kernel_log_parts = LogParts::none;
  std::optional<std::uint64_t> kernel_log_next;
  std::uint64_t records_dropped = 0;
};

[[nodiscard]] Subject make_subject(SubjectKind kind, std::string key);

// Collects the observations of one run, in order; each has the time of the run.
class ObservationBuilder {
 public:
  explicit ObservationBuilder(Instant now) : now_(now) {}

  // The reference is valid until the next call.
  Observation& add(const Subject& subject, std::string_view name, std::string_view source, Value value,
                   std::string_view unit = "");
  // A counter. Values beyond 63 bits become the largest one.
  Observation& add_count(const Subject& subject, std::string_view name, std::string_view source,
                         std::uint64_t count);
  // A value that was requested and not returned: `why` is an error code or a word of the check, `what` is the
  // text for people.
  Observation& add_missing(const Subject& subject, std::string_view name, std::string_view source,
                           std::string_view why, const std::string& what);
  [[nodiscard]] Observations take() { return std::move(observations_); }

 private:
  Observation& add_empty(const Subject& subject, std::string_view name, std::string_view source);

  Instant now_;
  Observations observations_;
};

struct JudgeInput {
  Instant now;
  const History& history;
  const catalog::Catalog& facts;
  const Expectation& expectation;
  const LearnedLimits* learned = nullptr;  // null: none
};

// Number of records that an event represents.
[[nodiscard]] std::int64_t event_count(const Observation& event);

// Name of an event for a proven reset. No log line becomes an event with this name.
inline constexpr std::string_view kSeenReset = "reset_seen";
// An event for a reset without a record.
[[nodiscard]] Observation seen_reset(const Subject& gpu, Instant time);

// Withdrawal of earlier records of one code of a GPU, by a later record.
struct Retraction {
  Subject gpu;
  std::uint32_t code = 0;
  MonoTime by{};  // time of the retracting record
  bool injected = false;
};

struct InterpretInput {
  Observations news;                       // new records of this run
  const std::deque<Observation>& earlier;  // events of earlier runs
  const catalog::Catalog& facts;
};

// Meaning of the new records of a run.
struct Interpretation {
  Observations records;                 // the new records, each error once
  Findings symptoms;                    // for incidents
  std::vector<Subject> resets;          // GPUs that were reset; host: all of them
  std::vector<Retraction> retractions;  // what no longer holds
};

// observe reads the machine and does not judge; it runs on a worker and may block until the deadline. An
// error means that nothing could be read: `unsupported` only with evidence that the machine has no such
// hardware, otherwise the result is unknown. judge is pure, and gets a history with at least one run.
// interpret is pure, and set by checks that read records; without it records are only counted and reported
// as events.
struct Check {
  CheckInfo info;
  std::function<Result<Observed>(const host::Host& host, const Request& request)> observe;
  Findings (*judge)(const JudgeInput& input) = nullptr;
  Interpretation (*interpret)(InterpretInput input) = nullptr;
};

// All checks, in display order.
[[nodiscard]] std::span<const Check> builtin_checks();
[[nodiscard]] const Check* find_check(std::string_view id);

}  // namespace autopilot::checks
