// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
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
  // Kernel-log records with a sequence below this were seen in an earlier round (of this boot); see
  // host/kernel_log.
  std::uint64_t kernel_log_from = 0;
  // Records with a sequence below this were told and counted by an earlier run of this boot: they are read
  // again for what they say about now, and no event stands for some of them and some later ones.
  std::uint64_t kernel_log_counted = 0;
  std::string_view reader{};  // of the kernel log: the check's id
};

// A round of looking.
struct Observed {
  Observations observations;
  std::vector<std::string> witnesses;  // those that looked
  // Set by checks that read the kernel log: which lines of it, where the next round begins, and how many new
  // records were more than one round may tell. What the log itself lost it counts for all readers.
  LogParts kernel_log_parts = LogParts::none;
  std::optional<std::uint64_t> kernel_log_next;
  std::uint64_t records_dropped = 0;
};

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
};

// observe touches the machine and has no opinion; it is called on a lane and may block until the deadline. An
// error means nothing could be seen: unsupported only with positive evidence that nothing of the kind is
// here, anything else is unknown. judge is pure and is called with a history that has at least one round.
struct Check {
  CheckInfo info;
  std::function<Result<Observed>(const host::Host& host, const Request& request)> observe;
  Findings (*judge)(const JudgeInput& input) = nullptr;
};

// THE list, in display order.
[[nodiscard]] std::span<const Check> builtin_checks();
[[nodiscard]] const Check* find_check(std::string_view id);

}  // namespace autopilot::checks
