// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/controller_config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "job_hub/hub.hpp"
#include "job_hub/receiver.hpp"
#include "job_hub/suspects.hpp"
#include "jobs/brain.hpp"
#include "kube/callers/caller_reviews.hpp"
#include "kube/client.hpp"
#include "logging/metrics_text.hpp"
#include "net/certificates.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"

namespace autopilot::controller {

// Running jobs in the controller: a TLS listener of its own for the agents, which identify themselves with
// their certificates, so that they cannot use up the connections of the webhooks; the receiver; and on the
// leader the brain. On the loop's thread.
class JobsService {
 public:
  // Agents keep a connection each.
  static constexpr std::size_t kConnections = 16'384;
  static constexpr std::size_t kBufferedBytes = std::size_t{128} << 20;

  struct Place {
    std::string name_space;
    std::vector<std::string> dns_names;  // of the Service
  };
  // What the brain has found, on the loop's thread.
  using OnResults = std::function<void(job_hub::HubResults results)>;

  JobsService(net::EventLoop& loop, const Clock& clock, kube::Client& client, Place place,
              OnResults on_results);
  JobsService(const JobsService&) = delete;
  JobsService& operator=(const JobsService&) = delete;
  ~JobsService();

  // Returns the port. Handshakes are refused until there are keys and authorities.
  [[nodiscard]] Result<std::uint16_t> listen(const std::string& address);
  // The controller's keys; the same that it uses elsewhere.
  void use(const net::CertifiedKey& keys);
  // PEM: the authorities of the agents' certificates.
  void believe(const std::string& authorities);
  // GET /v1/jobs and the actions below it. server outlives this.
  void add_routes(net::HttpServer& server);

  // This replica is the leader now, with a brain that knows what earlier leaders stored; agents send their
  // jobs again.
  void lead(const config::ControllerJobs& settings, std::vector<jobs::JobReport> stored);
  void step_down();
  void use(const config::ControllerJobs& settings);
  // An action was carried out: counts for the guard rails.
  void acted(const jobs::WantedAction& action);
  // Nodes of the cluster, for the guard rails.
  void set_nodes(std::size_t nodes);

  void stop(Duration grace, std::function<void()> done);
  void add_metrics(logging::MetricsText& metrics) const;

 private:
  void renew();
  void take(job_hub::HubResults results);
  [[nodiscard]] Status ask(std::function<void(jobs::Brain& brain, WallTime now)> question);

  net::EventLoop& loop_;
  const Clock& clock_;
  const Place place_;
  const OnResults on_results_;
  kube::CallerReviews reviews_;
  std::unique_ptr<job_hub::JobHub> hub_;  // set on the leader
  std::uint64_t term_ = 0;                // results of an earlier hub are out of date
  job_hub::Suspects suspects_;            // of the hub
  job_hub::JobReceiver receiver_;
  net::HttpServer server_;
  std::optional<net::CertifiedKey> keys_;
  std::string authorities_;
};

}  // namespace autopilot::controller
