// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/action.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"

// What post-flight remembers, and what learning reads. `store/history` stores these records, and
// docs/reference/history.md describes one line of JSON for each type. A text that is empty, or a member that
// is std::nullopt, is unknown. The identity of a record is its type and its `id`: a second record with the
// same identity replaces the first.
namespace autopilot::learning {

// What a record is about. A card keeps its serial when it moves to another slot or node; a node keeps its
// name.
struct Place {
  std::string cluster;  // two clusters can have nodes of one name
  std::string node;
  std::string gpu;  // serial number, else UUID; empty: the node

  bool operator==(const Place&) const = default;
};

// How a job that ended on a node ended.
enum class JobOutcome : std::uint8_t { completed, failed, stopped, preempted, unknown };

// A job on one node.
struct NodeJob {
  std::string id;  // job and node
  Place place;     // `gpu` is empty
  std::string job;
  std::string name;  // "namespace/name", or the name of the scheduler
  std::vector<std::string> gpus;
  int job_gpus = 0;  // of the whole job; 0: unknown
  WallTime start{};
  std::optional<WallTime> end;
  JobOutcome outcome = JobOutcome::unknown;
  std::string failure;  // key of the typed failure of a failed job: "hardware", "application" ...
};

enum class Reason : std::uint8_t { job_end, repair, schedule, request };
enum class Depth : std::uint8_t { passive, quick, deep, pair };
enum class Verdict : std::uint8_t { passed, failed, unknown };

// The answer of one check, or of one diagnostic, in a validation.
struct CheckOutcome {
  std::string check;
  std::string gpu;  // serial or UUID; empty: the node
  Health health = Health::unknown;
  std::string reason;  // key of the catalog; empty if healthy
  std::string text;    // one sentence
};

// One validation of a node.
struct Validation {
  std::string id;
  Place place;
  WallTime start{}, end{};
  Reason reason = Reason::job_end;
  Depth depth = Depth::passive;
  Verdict verdict = Verdict::unknown;
  std::string job;    // the job whose end caused it; empty: none
  std::string cause;  // one sentence: why this depth, or what stopped it
  std::vector<CheckOutcome> checks;
};

// Repeated values of one metric, from one run of a diagnostic.
struct Measurement {
  std::string id;
  Place place;
  WallTime time{};
  std::string kind;  // kind of machine: baseline.hpp
  std::string check;
  std::string metric;
  std::vector<double> values;
};

enum class FaultClass : std::uint8_t { hardware, network, software, application, unknown };

// A fault of a node or a card, from its begin to its end: an incident, or a finding about a job that names a
// culprit.
struct Fault {
  std::string id;
  Place place;
  WallTime begin{};
  std::optional<WallTime> detected;
  std::optional<WallTime> end;  // in service again; of a finding about a job: the job is no longer hit
  FaultClass kind = FaultClass::unknown;
  std::string check;  // empty: a finding about `job`
  std::string cause;  // key of the catalog
  std::string text;
  Health health = Health::unknown;
  double confidence = 0;         // 0..1, that `place` is the culprit
  std::string job;               // the job that it hit; empty: none
  std::string versions;          // of model, thresholds and baselines that the decision was made with
  std::optional<Action> action;  // suggested
  std::string signals;           // of a finding about a job: that counted for its probability, with spaces

  bool operator==(const Fault&) const = default;
};

// A finding about a job. Its end is not a return to service: the place can have the defect still, and hit the
// next job.
[[nodiscard]] inline bool is_of_job(const Fault& fault) {
  return fault.check.empty() && !fault.job.empty();
}

enum class LabelSource : std::uint8_t { rma, vendor_diagnosis, repeat_test, exclusion, user, agreement };
enum class LabelAnswer : std::uint8_t { faulty, healthy, unclear };

// What is known afterwards about a fault, or about a card or node.
struct Label {
  std::string id;
  Place place;
  WallTime time{};
  std::string fault;  // id of the fault; empty: the place in general
  LabelAnswer answer = LabelAnswer::unclear;
  LabelSource source = LabelSource::user;
  std::string cause;  // what it was
  std::string author;
  std::string note;
};

// Work on a node or card.
struct Repair {
  std::string id;
  Place place;
  WallTime begin{};
  std::optional<WallTime> end;  // back in service
  std::string action;           // key of an action, or the words of a ticket
  std::string part;             // replaced part; empty: none
  std::string ticket;
  std::string note;
};

// What ran on a node from a time on.
struct Versions {
  std::string id;
  Place place;
  WallTime time{};
  std::string driver, firmware, kernel, image, agent;
};

using HistoryRecord = std::variant<NodeJob, Validation, Measurement, Fault, Label, Repair, Versions>;

}  // namespace autopilot::learning
