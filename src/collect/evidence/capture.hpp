// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collect/evidence/counters.hpp"
#include "collect/evidence/deadline_runner.hpp"
#include "collect/evidence/evidence_store.hpp"
#include "collect/rank_environment.hpp"
#include "collect/ras/ras_source.hpp"
#include "collect/seen_jobs.hpp"
#include "collect/task_thread.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/host.hpp"

namespace autopilot::collect {

// What is captured, of which job.
struct EvidenceRequest {
  std::string finding;  // id
  std::string job;
  WallTime time{};
  std::vector<RankProcess> processes;  // of the job on this node
  bool has_local_ranks = false;        // JobRecord::has_local_ranks: files of ranks have other numbers
};

// Called on a thread that is abandoned at the deadline.
using EvidenceText = std::function<Result<std::string>(MonoTime deadline)>;

// Whatever is not set is stated as missing.
struct EvidenceSources {
  AskRas ask_ras;
  EnvironmentOf environment_of;
  std::shared_ptr<const host::Host> host;  // with the counters
  EvidenceText telemetry;                  // the last windows, as lines of docs/reference/job-telemetry.md
  EvidenceText kernel_log;                 // its last lines
};

struct EvidenceDeadlines {
  Duration ras = std::chrono::seconds{10};
  Duration trigger = std::chrono::seconds{2};
  Duration process_thread = std::chrono::seconds{1};  // of each
  Duration processes = std::chrono::seconds{8};       // of all
  CounterTimes counters = {};
  Duration telemetry = std::chrono::seconds{1};
  Duration kernel_log = std::chrono::seconds{3};
  Duration dumps = std::chrono::seconds{15};  // for all to be written
};

inline constexpr std::size_t kMaxEvidenceThreads = 64;
inline constexpr std::size_t kMaxEvidenceNamespaces = 4;

// Captures, in this order: the answer of RAS in each network namespace of the job; a request to the flight
// recorder of each rank for a dump; state, wait channel, kernel stack and system call of the threads of each
// rank, main threads first; counters; the last telemetry windows; the end of the kernel log; the dumps, which
// had the time since the request. Blocks for the sum of the deadlines at most, whatever hangs. Errors of
// EvidenceStore::begin and EvidenceFolder::finish; what cannot be captured is stated in the index.
[[nodiscard]] Result<EvidenceIndex> capture_evidence(EvidenceStore& store, const EvidenceSources& sources,
                                                     const EvidenceRequest& request, DeadlineRunner& runner,
                                                     const EvidenceDeadlines& deadlines = {});

// The same on a thread of its own, one request after the other. Thread-safe. The destructor does not wait: a
// capture in progress ends by itself.
class EvidenceCapture {
 public:
  static constexpr std::size_t kMaxWaiting = 8;

  struct Outcome {
    std::string finding;
    Result<EvidenceIndex> index;
  };

  EvidenceCapture(std::shared_ptr<EvidenceStore> store, EvidenceSources sources,
                  EvidenceDeadlines deadlines = {});
  // False: kMaxWaiting requests wait already; this one is dropped.
  [[nodiscard]] bool start(EvidenceRequest request);
  // Since the last call, in the order of the requests.
  [[nodiscard]] std::vector<Outcome> take_finished();

 private:
  TaskThread<EvidenceRequest, Outcome> thread_;
};

}  // namespace autopilot::collect
