// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "api/job_records.hpp"
#include "api/job_words.hpp"

// The members of each line, described once for the reader, the writer and the schema. A visitor has a
// function for each kind of member: name, text, integer, number, seconds, time, word, flag, loss, integers,
// counts, list, object, table and host.
namespace autopilot::api::job_format {

enum class Need : std::uint8_t { optional, required };

inline constexpr std::size_t kMaxGpus = 64;
inline constexpr std::size_t kMaxNics = 64;
inline constexpr std::size_t kMaxRanks = 65536;
inline constexpr std::size_t kMaxCommunicators = 65536;
inline constexpr std::size_t kMaxProcesses = 256;  // rows of the process table of one node
inline constexpr std::size_t kLongestName = 253;   // characters
inline constexpr std::size_t kLongestText = 1024;  // bytes
inline constexpr double kMostWatts = 1e4;
inline constexpr double kMostSeconds = 1e9;
inline constexpr double kMostOfAnything = 1e15;
inline constexpr std::int64_t kMostInteger = 9'007'199'254'740'991;  // 2^53 - 1: exact in every JSON reader
inline constexpr int kHighestIndex = static_cast<int>(kMaxGpus) - 1;
inline constexpr int kHighestRank = static_cast<int>(kMaxRanks) - 1;

template <class V, class R>
void rank_member(V& v, R& rank, Need need = Need::required) {
  v.integer("rank", rank, 0, kHighestRank, need);
}

template <class V>
void members(V& v, JobFormat& r) {
  v.time("t", r.time, Need::required);
  v.text("format", r.format, kLongestText, Need::required);
  v.integer("version", r.version, 1, kMostInteger, Need::required);
  v.flag("simulated", r.is_simulated);
  v.text("source", r.source, kLongestText, Need::optional);
  v.integer("seed", r.seed, 0, kMostInteger, Need::optional);
}

template <class V>
void members(V& v, jobs::NicOfNode& r) {
  v.name("nic", r.name, Need::required);
  v.number("bytes_s", r.bytes_s, 0, 1e13, Need::optional);
  v.integers("gpus", r.gpus, kMaxGpus, kHighestIndex, Need::optional);
}

template <class V>
void members(V& v, jobs::NodeRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("node", r.node, Need::required);
  v.name("leaf", r.leaf, Need::optional);
  v.object("gpu", r.gpus > 0 || !r.gpu_model.empty() || r.idle_w || r.spin_w || r.busy_w, [&](auto& gpu) {
    gpu.text("model", r.gpu_model, kLongestText, Need::optional);
    gpu.integer_if_positive("count", r.gpus, static_cast<int>(kMaxGpus));
    gpu.number("idle_w", r.idle_w, 0, kMostWatts, Need::optional);
    gpu.number("spin_w", r.spin_w, 0, kMostWatts, Need::optional);
    gpu.number("busy_w", r.busy_w, 0, kMostWatts, Need::optional);
  });
  v.list("nics", r.nics, kMaxNics, Need::optional);
}

template <class V>
void members(V& v, jobs::RankRecord& r) {
  rank_member(v, r.rank);
  v.name("node", r.node, Need::required);
  v.integer("gpu", r.gpu, 0, kHighestIndex, Need::optional);
  v.name("role", r.role, Need::optional);
  v.name("replica", r.replica, Need::optional);
  v.name("pod", r.pod, Need::optional);
  v.integer_if_positive("pid", r.pid, kMostInteger);
}

template <class V>
void members(V& v, jobs::JobRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  v.text("name", r.name, kLongestText, Need::optional);
  v.text("owner", r.owner, kLongestText, Need::optional);
  v.word("kind", r.kind, kJobKinds, Need::optional);
  v.integer("attempt", r.attempt, 1, 1'000'000, Need::optional);
  v.list("ranks", r.ranks, kMaxRanks, Need::optional);
  v.seconds("restart_s", r.restart, 0, kMostSeconds, Need::optional);
  v.seconds("checkpoint_interval_s", r.checkpoint_interval, 0, kMostSeconds, Need::optional);
  v.seconds("checkpoint_cost_s", r.checkpoint_cost, 0, kMostSeconds, Need::optional);
  v.seconds("watchdog_s", r.watchdog, 0, kMostSeconds, Need::optional);
  v.seconds("remaining_s", r.remaining, 0, kMostSeconds, Need::optional);
  v.integer("spares", r.spares, 0, 1'000'000, Need::optional);
  v.flag("local_ranks", r.has_local_ranks);
}

template <class V>
void members(V& v, jobs::JobEndRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  v.word("outcome", r.outcome, kOutcomes, Need::required);
}

template <class V>
void members(V& v, jobs::FastPower& r) {
  v.integers("gpus", r.gpus, kMaxGpus, kHighestIndex, Need::required);
  v.powers("power_w", r.power_w);
}

template <class V>
void members(V& v, jobs::WindowRecord& r) {
  v.time("t", r.time, Need::required);
  v.seconds("window", r.length, 1, 60, Need::required);
  v.name("node", r.node, Need::required);
  v.table("gpu", jobs::Table::gpu, r);
  v.table("process", jobs::Table::process, r);
  v.table("nic", jobs::Table::nic, r);
  v.host("host", r);
  v.list("fast", r.fast, kMaxGpus, Need::optional);
}

template <class V>
void members(V& v, jobs::StepRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  rank_member(v, r.rank, Need::optional);
  v.integer("step", r.step, 0, kMostInteger, Need::required);
  v.number("step_s", r.step_s, 0, kMostSeconds, Need::optional);
  v.number("tokens", r.tokens, 0, kMostOfAnything, Need::optional);
  v.loss("loss", r.loss);
}

template <class V>
void members(V& v, jobs::PhaseRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  rank_member(v, r.rank, Need::optional);
  v.word("phase", r.phase, kPhases, Need::required);
  v.word("edge", r.edge, kEdges, Need::required);
}

template <class V>
void members(V& v, jobs::HeartbeatRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  rank_member(v, r.rank);
}

template <class V>
void members(V& v, jobs::Communicator& r) {
  v.name("id", r.id, Need::required);
  v.integer("size", r.size, 1, static_cast<int>(kMaxRanks), Need::required);
  v.integers("ranks", r.ranks, kMaxRanks, kHighestRank, Need::required);
  v.counts("started", r.started, kMaxRanks, Need::required);
  v.counts("completed", r.completed, kMaxRanks, Need::optional);
  v.integers("missing", r.missing, kMaxRanks, kHighestRank, Need::optional);
  v.integers("dead", r.dead, kMaxRanks, kHighestRank, Need::optional);
}

template <class V>
void members(V& v, jobs::CollectivesRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  v.word("source", r.source, kCountSources, Need::required);
  v.list("communicators", r.communicators, kMaxCommunicators, Need::required);
}

template <class V>
void members(V& v, jobs::ServingRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  v.name("replica", r.replica, Need::required);
  v.number("running", r.running, 0, kMostOfAnything, Need::required);
  v.number("waiting", r.waiting, 0, kMostOfAnything, Need::required);
  v.number("tokens_s", r.tokens_s, 0, kMostOfAnything, Need::optional);
  v.number("requests_s", r.requests_s, 0, kMostOfAnything, Need::optional);
  v.number("first_token_s", r.first_token_s, 0, kMostSeconds, Need::optional);
  v.number("per_token_s", r.per_token_s, 0, kMostSeconds, Need::optional);
}

template <class V>
void members(V& v, jobs::AnswerRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  v.word("source", r.source, kCountSources, Need::required);
  v.word("status", r.status, kAnswerStatuses, Need::required);
}

template <class V>
void members(V& v, jobs::XidRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("node", r.node, Need::required);
  v.integer("gpu", r.gpu, 0, kHighestIndex, Need::optional);
  v.integer("xid", r.xid, 0, 1'000'000, Need::required);
  v.text("text", r.text, jobs::LogRecord::kMaxText, Need::optional);
}

template <class V>
void members(V& v, jobs::LinkRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("node", r.node, Need::required);
  v.name("nic", r.nic, Need::required);
  v.word("edge", r.is_up, kLinkEdges, Need::required);
}

template <class V>
void members(V& v, jobs::NodeFindingRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("node", r.node, Need::required);
  v.subject("subject", r.subject);
  v.text("check", r.check, kLongestText, Need::required);
  v.text("reason", r.reason, kLongestText, Need::required);
  v.word("health", r.health, kHealths, Need::required);
  v.time("since", r.since, Need::optional);
}

template <class V>
void members(V& v, jobs::NodeStateRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("node", r.node, Need::required);
  v.word("state", r.is_lost, kNodeStates, Need::required);
}

template <class V>
void members(V& v, jobs::ExitRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  rank_member(v, r.rank);
  v.integer("code", r.code, -2'147'483'647, 2'147'483'647, Need::optional);
  v.integer("signal", r.signal, 0, 1024, Need::optional);
  v.flag("oom", r.oom);
}

template <class V>
void members(V& v, jobs::LogRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  rank_member(v, r.rank);
  v.text("text", r.text, jobs::LogRecord::kMaxText, Need::required);
}

template <class V>
void members(V& v, jobs::PodRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("job", r.job, Need::required);
  rank_member(v, r.rank);
  v.word("reason", r.reason, kPodReasons, Need::required);
}

template <class V>
void members(V& v, jobs::FailedCheck& r) {
  v.name("check", r.check, Need::required);
  v.name("reason", r.reason, Need::optional);
  v.name("gpu", r.gpu, Need::optional);
  v.text("text", r.text, kLongestText, Need::optional);
}

template <class V>
void members(V& v, jobs::ValidationRecord& r) {
  v.time("t", r.time, Need::required);
  v.name("node", r.node, Need::required);
  v.name("job", r.job, Need::required);
  v.name("id", r.id, Need::optional);
  v.word("depth", r.depth, kValidationDepths, Need::optional);
  v.word("verdict", r.verdict, kValidationVerdicts, Need::required);
  v.text("text", r.text, kLongestText, Need::optional);
  v.list("failed", r.failed, jobs::ValidationRecord::kMostFailed, Need::optional);
}

template <class V>
void members(V& v, jobs::FaultLabel& r) {
  v.time("t", r.onset, Need::required);
  v.time("end", r.end, Need::required);
  v.text("id", r.id, kLongestText, Need::required);
  v.text("class", r.fault_class, kLongestText, Need::required);
  v.word("effect", r.effect, kFaultEffects, Need::required);
  v.name("job", r.job, Need::optional);
  v.name("node", r.node, Need::optional);
  v.integer("gpu", r.gpu, 0, kHighestIndex, Need::optional);
  v.name("nic", r.nic, Need::optional);
  v.name("leaf", r.leaf, Need::optional);
  rank_member(v, r.rank, Need::optional);
  v.number("magnitude", r.magnitude, 0, 1e6, Need::optional);
  v.flag("localisable", r.is_localisable, true);
}

template <class V>
void members(V& v, jobs::ConfounderLabel& r) {
  v.time("t", r.begin, Need::required);
  v.time("end", r.end, Need::required);
  v.text("class", r.confounder_class, kLongestText, Need::required);
  v.name("job", r.job, Need::optional);
  v.name("node", r.node, Need::optional);
}

template <class V>
void members(V& v, LabelledTime& r) {
  v.time("t", r.begin, Need::required);
  v.time("end", r.end, Need::required);
}

// Calls f.template operator()<T>(type, file) for each type of line.
template <class F>
void for_each_line_type(F&& f) {
  f.template operator()<JobFormat>("format", JobFile::jobs);
  f.template operator()<jobs::NodeRecord>("node", JobFile::jobs);
  f.template operator()<jobs::JobRecord>("job", JobFile::jobs);
  f.template operator()<jobs::JobEndRecord>("job_end", JobFile::jobs);
  f.template operator()<jobs::WindowRecord>("window", JobFile::telemetry);
  f.template operator()<jobs::StepRecord>("step", JobFile::progress);
  f.template operator()<jobs::PhaseRecord>("phase", JobFile::progress);
  f.template operator()<jobs::HeartbeatRecord>("heartbeat", JobFile::progress);
  f.template operator()<jobs::CollectivesRecord>("collectives", JobFile::progress);
  f.template operator()<jobs::ServingRecord>("serving", JobFile::progress);
  f.template operator()<jobs::AnswerRecord>("answer", JobFile::progress);
  f.template operator()<jobs::XidRecord>("xid", JobFile::events);
  f.template operator()<jobs::LinkRecord>("link", JobFile::events);
  f.template operator()<jobs::NodeFindingRecord>("finding", JobFile::events);
  f.template operator()<jobs::NodeStateRecord>("node_state", JobFile::events);
  f.template operator()<jobs::ExitRecord>("exit", JobFile::events);
  f.template operator()<jobs::LogRecord>("log", JobFile::events);
  f.template operator()<jobs::PodRecord>("pod", JobFile::events);
  f.template operator()<jobs::ValidationRecord>("validation", JobFile::events);
  f.template operator()<jobs::FaultLabel>("fault", JobFile::labels);
  f.template operator()<jobs::ConfounderLabel>("confounder", JobFile::labels);
  f.template operator()<LabelledTime>("healthy", JobFile::labels);
}

}  // namespace autopilot::api::job_format
