// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/job_backlog.hpp"
#include "api/job_batch.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"
#include "jobs/records.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"
#include "net/http_session.hpp"
#include "net/tls.hpp"
#include "net/url.hpp"

namespace autopilot::agent {

// Where the records of jobs go: the controller of the cluster, or the agent that is the coordinator.
struct JobReceiverDoor {
  net::ServerUrl url;  // https
  // With what this agent identifies itself, for a server of that name; null: it has no certificate yet.
  // Called on the loop's thread.
  std::function<std::shared_ptr<const net::TlsContext>()> tls;
};

// Sends what this node sees of jobs to its receiver, in batches (api/job_batch.hpp). A receiver that does not
// answer, or demands a pause, gets the batch again later; JobBacklog states what is dropped meanwhile.
class JobUplink {
 public:
  struct Pace {
    Duration every = std::chrono::seconds{10};     // between batches
    Duration deadline = std::chrono::seconds{15};  // of an answer
    kube::BackOffTimes after_failures{.first = std::chrono::seconds{1}, .last = std::chrono::seconds{30}};
  };
  struct Stats {
    std::uint64_t records = 0;  // that were given to send()
    std::uint64_t dropped = 0;
    std::uint64_t batches = 0;      // that the receiver took
    std::uint64_t failures = 0;     // requests that it did not take
    std::size_t waiting_bytes = 0;  // of records
    std::optional<MonoTime> taken;  // time of the last batch that it took
    std::string problem;            // why the last request failed, with the cure; empty: it did not
  };

  // instance: as in api::JobBatch. dice: in [0, 1).
  JobUplink(net::EventLoop& loop, const Clock& clock, JobReceiverDoor door, std::string node,
            std::string instance, std::function<double()> dice, Pace pace, JobBacklog::Limits limits = {});
  JobUplink(const JobUplink&) = delete;
  JobUplink& operator=(const JobUplink&) = delete;
  ~JobUplink() = default;

  // Gets the jobs of this node that are suspected to hang, with each batch that the receiver took. On the
  // loop's thread. Before start().
  void on_suspected(std::function<void(std::vector<api::SuspectedJob> suspected)> function) {
    on_suspected_ = std::move(function);
  }
  // On the loop's thread. The first batch follows within one pace: not all agents send at the same time.
  void start();
  // Asks the receiver about a job of this node. On the loop's thread. `done` gets the outcome of the job, as
  // in api::kJobOutcomePath; it is not called if the receiver does not answer or does not know the job. Not
  // asked: a question about the same job while one is open, and more than kMostQuestions.
  void ask(const std::string& job, std::function<void(const jobs::JobReport& outcome)> done);
  static constexpr std::size_t kMostQuestions = 4;
  // From any thread; does not block on the network.
  void send(const std::vector<jobs::Record>& records) { sender()(records); }
  // The same for a thread that may outlive this object: its records are lost then. The clock must outlive it.
  [[nodiscard]] std::function<void(const std::vector<jobs::Record>& records)> sender() const;
  // From any thread.
  [[nodiscard]] Stats stats() const;

 private:
  void wait(Duration delay);
  void post();
  [[nodiscard]] bool open_session();
  void take_outcome(const std::string& job, const Result<net::HttpResponse>& answer,
                    const std::function<void(const jobs::JobReport& outcome)>& done);
  void take(const Result<net::HttpResponse>& answer);
  void take_answer(const net::HttpResponse& answer);
  void refuse(const net::HttpResponse& answer);
  void retry(std::string why, std::optional<Duration> retry_after = {});
  void note(std::string problem);
  [[nodiscard]] bool is_due() const;

  net::EventLoop& loop_;
  const Clock& clock_;
  const JobReceiverDoor door_;
  const std::string node_;
  const std::function<double()> dice_;
  const Pace pace_;

  // Shared with senders.
  struct Waiting {
    explicit Waiting(JobBacklog empty) : backlog(std::move(empty)) {}
    std::mutex mutex;  // of the next two
    JobBacklog backlog;
    Stats stats;
  };
  const std::shared_ptr<Waiting> waiting_;

  std::function<void(std::vector<api::SuspectedJob> suspected)> on_suspected_;  // may be empty
  kube::BackOff failures_;
  std::shared_ptr<const net::TlsContext> tls_;  // of the session
  std::unique_ptr<net::HttpSession> session_;
  net::Exchange exchange_;
  std::map<std::string, net::Exchange> questions_;  // open ones, by job
  net::Subscription next_;
};

// A text for api::JobBatch::instance that no other agent has.
[[nodiscard]] std::string new_job_instance();

}  // namespace autopilot::agent
