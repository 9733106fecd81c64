// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/job_batch.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "job_hub/hub.hpp"
#include "jobs/brain.hpp"
#include "kube/caches.hpp"
#include "net/http_server.hpp"

namespace autopilot::job_hub {

// Counters since construction; `nodes` is a gauge.
struct ReceiverStats {
  std::uint64_t batches = 0;            // taken
  std::uint64_t bytes = 0;              // of them
  std::uint64_t repeated = 0;           // batches that had been taken before
  std::uint64_t whole_wanted = 0;       // batches of nodes that were not known, or with a gap before them
  std::uint64_t not_leading = 0;        // 503
  std::uint64_t denied = 0;             // 403: not a certificate of the node
  std::uint64_t malformed = 0;          // 400
  std::uint64_t limited = 0;            // 429: more than one node may send
  std::uint64_t full = 0;               // 429: the queue of the brain is full
  std::uint64_t dropped_by_agents = 0;  // records that agents had no room for
  std::uint64_t corrected = 0;          // batches of nodes whose clock is wrong
  std::uint64_t questions = 0;          // about the outcome of a job, that went to the brain
  std::size_t nodes = 0;                // that are remembered
};

// POST /v1/jobs/records: takes batches of agents (api/job_batch.hpp) for the hub. The sender is the node that
// its certificate names: another node in the batch is refused, and records about other nodes are dropped by
// the assembly. A batch is taken once, also if it is sent twice. On the loop's thread, which it never blocks.
//
// 200: JobBatchAnswer. 400: not a batch. 403: no certificate of that node. 413: too long. 429: more than a
// node may send, or no room; 503: this replica is not the leader. Both with Retry-After.
//
// GET /v1/jobs/outcome?node=NODE&job=KEY: what is known about a job that ran on the node of the agent
// (job_outcome.hpp). 200: the job. 400, 403, 429, 503 as above. 404: no such job, or it did not run on the
// node.
class JobReceiver {
 public:
  static constexpr std::size_t kLongestBody = std::size_t{4} << 20;
  static constexpr std::size_t kMostNodes = 32'768;
  // What one node may send: at once after a pause, and each second. A batch counts with at least kLeastBytes.
  static constexpr double kBurstBytes = 32.0 * (1 << 20);
  static constexpr double kBytesPerSecond = 128.0 * (1 << 10);
  static constexpr double kLeastBytes = 64.0 * (1 << 10);
  // A clock that differs by more is corrected, in whole seconds.
  static constexpr Duration kTolerance = std::chrono::seconds{5};

  // Where batches go. On the loop's thread.
  struct Sink {
    std::function<bool()> leads;                 // false: another replica takes batches
    std::function<bool(NodeBatch batch)> offer;  // false: there is no room now
    // Refuses nodes that have no agent; empty: the authority signs for agents only.
    std::function<Status(const std::string& node)> is_agent = {};
    // Jobs that are suspected to hang, for the answer; empty: none ever are.
    std::function<std::vector<api::SuspectedJob>(const std::string& node)> suspected = {};
    // Runs the function on the brain's thread, later. An error is the answer to the agent. Empty: no agent
    // gets the outcome of a job.
    std::function<Status(std::function<void(jobs::Brain& brain, WallTime now)>)> ask = {};
  };

  JobReceiver(const Clock& clock, Sink sink);
  JobReceiver(const JobReceiver&) = delete;
  JobReceiver& operator=(const JobReceiver&) = delete;
  ~JobReceiver() = default;

  void add_routes(net::HttpServer& server);
  // What the route answers.
  [[nodiscard]] net::HttpResponse answer(const net::HttpRequest& request);
  void answer_outcome(const net::HttpRequest& request, net::Responder responder);
  // Another replica leads: what this one remembers of nodes is out of date.
  void forget();
  [[nodiscard]] ReceiverStats stats() const;

 private:
  struct Session {
    std::string instance;        // empty: nothing was taken yet
    std::uint64_t sequence = 0;  // that was taken last
    std::uint64_t dropped = 0;   // as the agent stated it
    double bytes = kBurstBytes;  // that it may still send
    MonoTime refilled{};
    Duration clock_offset{0};
  };

  // The job that an agent may ask about, and its node; a response: why it may not.
  struct Question {
    std::string node, job;
  };
  [[nodiscard]] std::variant<Question, net::HttpResponse> question_of(const net::HttpRequest& request);
  [[nodiscard]] std::optional<net::HttpResponse> limit(Session& session, const std::string& node,
                                                       std::size_t bytes, MonoTime now);
  [[nodiscard]] net::HttpResponse not_leading();
  [[nodiscard]] Status check_sender(const net::Peer& peer, const std::string& node) const;
  [[nodiscard]] static double missing_bytes(Session& session, std::size_t bytes, MonoTime now);
  [[nodiscard]] net::HttpResponse taken(const std::string& node, std::uint64_t sequence) const;
  [[nodiscard]] net::HttpResponse take(Session& session, const api::JobBatchBody& body, Instant now);
  static void note_clock(Session& session, WallTime sent, WallTime now);

  const Clock& clock_;
  const Sink sink_;
  kube::RecentMap<Session> sessions_{kMostNodes};
  ReceiverStats stats_;
};

}  // namespace autopilot::job_hub
