// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cluster_link.hpp"
#include "agent/jobs/job_spans.hpp"
#include "api/validations.hpp"
#include "config/config.hpp"
#include "diagnostics/operations/operations.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "fleet/peers.hpp"
#include "jobs/brain.hpp"
#include "learning/records.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "nettest/run/way_back.hpp"
#include "postflight/validator.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// Parts of an agent that the validation of its node uses. They outlive it.
struct ValidationParts {
  net::EventLoop& loop;
  const Clock& clock;
  std::string node;
  runtime::Runtime& runtime;
  diagnostics::Operations& operations;
  const diagnostics::PassBook& passes;
  std::function<const ClusterLink*()> cluster;  // null: none
  std::function<const config::Config&()> config;
  std::function<bool()> is_gate_waiting;  // a pod waits at the pre-flight gate
  // JobsPart::ask, or JobUplink::ask where another program evaluates the jobs.
  std::function<void(const std::string& job, std::function<void(std::optional<jobs::JobReport>)> done)> ask;
  // All agents there are, this one among them; `done` is called on the loop, once or never.
  std::function<void(std::function<void(const Result<std::vector<fleet::Peer>>& peers)> done)> peers;
  std::function<void(learning::HistoryRecord)> sink;  // history; empty: none is kept
  // What a validation has found, for the program that evaluates the job.
  std::function<void(const learning::ValidationResult& result)> on_result;
  std::function<void()> note_changes;  // writes starts to the journal and the events
  std::function<void()> poll_soon;
};

// What `validation.on_job_end` allows.
[[nodiscard]] postflight::Allowed allowed_by(const config::Config& config);

// What in-flight monitoring knows about a job that has ended, for a validation of `node`.
[[nodiscard]] postflight::JobFacts facts_of(const jobs::JobReport& report, const std::string& node);

// The nodes of a job that have an agent, in ascending order, at most kMaxReserved: a test between nodes can
// name them.
[[nodiscard]] std::vector<std::string> pair_nodes_of(const jobs::JobReport& report,
                                                     const std::vector<fleet::Peer>& peers);

// Validates the node of this agent when a job on it ends. On the loop's thread, except job_listener.
class ValidationPart {
 public:
  explicit ValidationPart(ValidationParts parts);

  // `open`: value kOpenValidations of the journal.
  void start(std::string_view open);
  void stop();
  // Take the begin and the end of a job; can be called from any thread, also after this object's end.
  [[nodiscard]] std::function<void(const JobSpan&)> begin_listener();
  [[nodiscard]] std::function<void(const JobSpan&)> end_listener();
  // Takes an operation that began or ended.
  void note(const Operation& operation);

  // `job`: key or name; empty: all.
  [[nodiscard]] api::ValidationList list(std::string_view job) const;
  [[nodiscard]] std::string metrics() const;

 private:
  [[nodiscard]] postflight::ValidatorDoors doors();
  void state_facts(const jobs::JobReport& report,
                   const std::function<void(std::optional<postflight::JobFacts>)>& done) const;
  [[nodiscard]] postflight::ValidatorSettings settings() const;
  void poll();

  const ValidationParts parts_;
  postflight::Validator validator_;
  net::Subscription next_;
  nettest::WayBack way_back_;  // last: what others post ends before what it uses
};

// GET /v1/validations. `part` outlives the server.
void add_validation_routes(net::HttpServer& server, const ValidationPart& part);

}  // namespace autopilot::agent
