// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/clock.hpp"
#include "core/health.hpp"
#include "jobs/metrics.hpp"

// What the in-flight engine reads. Each type is one type of line of docs/reference/job-telemetry.md, which
// states units, ranges and meaning. A member that is std::nullopt, an empty text or NaN is unknown.
namespace autopilot::jobs {

inline constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

struct NicOfNode {
  std::string name;
  std::optional<double> bytes_s;  // line rate
  std::vector<int> gpus;          // indexes of GPUs that use it
};

struct NodeRecord {
  WallTime time{};
  std::string node;
  std::string leaf;
  std::string gpu_model;
  int gpus = 0;
  std::optional<double> idle_w, spin_w, busy_w;
  std::vector<NicOfNode> nics;  // the position is the rail
};

enum class JobKind : std::uint8_t { training, inference };

struct RankRecord {
  int rank = 0;
  std::string node;
  std::optional<int> gpu;
  std::string role;
  std::string replica;
  std::string pod;
  std::int64_t pid = 0;  // 0: unknown
};

struct JobRecord {
  WallTime time{};
  std::string job;
  std::string name;
  std::string owner;
  JobKind kind = JobKind::training;
  int attempt = 1;
  std::vector<RankRecord> ranks;
  std::optional<Duration> restart, checkpoint_interval, checkpoint_cost, watchdog, remaining;
  int spares = 0;
  // The ranks are numbers of one node only: no launcher states the ranks of the job.
  bool has_local_ranks = false;
};

enum class Outcome : std::uint8_t { completed, failed, stopped, preempted, unknown };

struct JobEndRecord {
  WallTime time{};
  std::string job;
  Outcome outcome = Outcome::unknown;
};

// One column of a table; NaN: not measured. As long as the table's keys.
struct Column {
  Metric metric{};
  std::vector<float> values;
};

struct ProcessKey {
  std::string job;
  int rank = 0;
};

// Mean power of some GPUs, once a second, oldest first.
struct FastPower {
  std::vector<int> gpus;
  std::vector<float> power_w;
};

struct WindowRecord {
  WallTime time{};  // the end of the window
  Duration length{};
  std::string node;
  std::vector<int> gpus;  // keys of gpu columns
  std::vector<ProcessKey> processes;
  std::vector<std::string> nics;
  std::vector<Column> columns;  // of all tables; columns of the host have one value
  std::vector<FastPower> fast;
};

struct StepRecord {
  WallTime time{};
  std::string job;
  std::optional<int> rank;
  std::int64_t step = 0;
  std::optional<double> step_s;
  std::optional<double> tokens;
  std::optional<double> loss;  // NaN: the loss is not a number
};

enum class Phase : std::uint8_t { startup, compile, train, checkpoint, evaluate, load };
enum class Edge : std::uint8_t { begin, end };

struct PhaseRecord {
  WallTime time{};
  std::string job;
  std::optional<int> rank;
  Phase phase = Phase::train;
  Edge edge = Edge::begin;
};

struct HeartbeatRecord {
  WallTime time{};
  std::string job;
  int rank = 0;
};

enum class CountSource : std::uint8_t { ras, flight_recorder, inspector };

struct Communicator {
  std::string id;
  int size = 0;
  std::vector<int> ranks;                              // ranks of the job
  std::vector<std::optional<std::int64_t>> started;    // collectives that each rank started
  std::vector<std::optional<std::int64_t>> completed;  // empty, or as long as ranks
  std::vector<int> missing;                            // ranks that do not answer
  std::vector<int> dead;
};

struct CollectivesRecord {
  WallTime time{};
  std::string job;
  CountSource source = CountSource::ras;
  std::vector<Communicator> communicators;
};

struct ServingRecord {
  WallTime time{};
  std::string job;
  std::string replica;
  double running = 0;
  double waiting = 0;
  std::optional<double> tokens_s, requests_s, first_token_s, per_token_s;
};

enum class AnswerStatus : std::uint8_t { timeout, refused, malformed };

// A source of counts did not answer.
struct AnswerRecord {
  WallTime time{};
  std::string job;
  CountSource source = CountSource::ras;
  AnswerStatus status = AnswerStatus::timeout;
};

struct XidRecord {
  WallTime time{};
  std::string node;
  std::optional<int> gpu;
  int xid = 0;
  std::string text;
};

struct LinkRecord {
  WallTime time{};
  std::string node;
  std::string nic;
  bool is_up = false;
};

struct NodeFindingRecord {
  WallTime time{};
  std::string node;
  std::string subject;  // "gpu/3", "nic/mlx5_0", "host"
  std::string check;
  std::string reason;
  Health health = Health::unknown;
  std::optional<WallTime> since = std::nullopt;  // its begin, if that is earlier than `time`
};

// A time after the record, as of a clock that was set back, counts as the time of the record.
[[nodiscard]] inline WallTime begin_of(const NodeFindingRecord& finding) {
  return finding.since && *finding.since < finding.time ? *finding.since : finding.time;
}

struct NodeStateRecord {
  WallTime time{};
  std::string node;
  bool is_lost = false;  // otherwise it is back
};

struct ExitRecord {
  WallTime time{};
  std::string job;
  int rank = 0;
  std::optional<int> code, signal;
  bool oom = false;  // killed by the kernel for memory
};

struct LogRecord {
  WallTime time{};
  std::string job;
  int rank = 0;
  std::string text;  // at most kMaxText
  static constexpr std::size_t kMaxText = 4096;
};

enum class PodReason : std::uint8_t { evicted, preempted, deleted, node_shutdown };

struct PodRecord {
  WallTime time{};
  std::string job;
  int rank = 0;
  PodReason reason = PodReason::deleted;
};

enum class ValidationVerdict : std::uint8_t { passed, failed, unknown };
// What ran: checks without load; with quick, further or network diagnostics.
enum class ValidationDepth : std::uint8_t { passive, quick, deep, pair };

// What is wrong with a node after a job.
struct FailedCheck {
  std::string check;
  std::string reason;  // key of the catalog
  std::string gpu;     // serial number or UUID; empty: the node
  std::string text;    // one sentence that begins with the subject
};

// The agent of a node has validated it after a job. A later one of the same node and job replaces it. The
// engine does not read it.
struct ValidationRecord {
  WallTime time{};  // its end
  std::string node;
  std::string job;
  std::string id;  // equal for a repetition
  ValidationDepth depth = ValidationDepth::passive;
  ValidationVerdict verdict = ValidationVerdict::unknown;
  std::string text;                 // one sentence
  std::vector<FailedCheck> failed;  // the worst first
  static constexpr std::size_t kMostFailed = 8;
};

using Record =
    std::variant<NodeRecord, JobRecord, JobEndRecord, WindowRecord, StepRecord, PhaseRecord, HeartbeatRecord,
                 CollectivesRecord, ServingRecord, AnswerRecord, XidRecord, LinkRecord, NodeFindingRecord,
                 NodeStateRecord, ExitRecord, LogRecord, PodRecord, ValidationRecord>;

[[nodiscard]] inline WallTime time_of(const Record& record) {
  return std::visit([](const auto& held) { return held.time; }, record);
}

}  // namespace autopilot::jobs
