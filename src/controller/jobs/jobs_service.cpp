// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/jobs_service.hpp"

#include <utility>

#include "controller/jobs/jobs_metrics.hpp"
#include "job_hub/brain_routes.hpp"
#include "kube/callers/guard.hpp"
#include "logging/log.hpp"
#include "net/tls.hpp"

namespace autopilot::controller {
namespace {

using logging::log_warning;

jobs::Policy policy_of(const config::ControllerJobs& settings) {
  jobs::Policy policy;
  policy.mode = settings.mode == "act"         ? jobs::Mode::act
                : settings.mode == "recommend" ? jobs::Mode::recommend
                                               : jobs::Mode::observe;
  return policy;
}

}  // namespace

JobsService::JobsService(net::EventLoop& loop, const Clock& clock, kube::Client& client, Place place,
                         OnResults on_results)
    : loop_(loop),
      clock_(clock),
      place_(std::move(place)),
      on_results_(std::move(on_results)),
      reviews_(client, clock),
      receiver_(clock, {.leads = [this] { return hub_ != nullptr; },
                        .offer = [this](job_hub::NodeBatch batch) { return hub_->offer(std::move(batch)); },
                        .is_agent = {},
                        .suspected = [this](const std::string& node) { return suspects_.of(node); },
                        .ask = [this](auto question) { return ask(std::move(question)); }}),
      server_(loop, {.connections = kConnections, .buffered_bytes = kBufferedBytes}) {
  receiver_.add_routes(server_);
}

JobsService::~JobsService() = default;

Result<std::uint16_t> JobsService::listen(const std::string& address) {
  auto port = server_.listen_tls(address, nullptr, {place_.dns_names});
  if (!port) return fail(port.error().code, port.error().what + "; `jobs.listen` names another address");
  return port;
}

void JobsService::use(const net::CertifiedKey& keys) {
  keys_ = keys;
  renew();
}

void JobsService::believe(const std::string& authorities) {
  authorities_ = authorities;
  renew();
}

// Without authorities every client would be accepted.
void JobsService::renew() {
  if (!keys_ || authorities_.empty()) return;
  const auto tls =
      net::TlsContext::make(net::TlsServerIdentity{keys_->certificate, keys_->key, authorities_});
  if (!tls)
    return log_warning("TLS keys for records of jobs refused; the old ones stay in use",
                       {{"cause", tls.error().what}});
  server_.use(*tls);
}

Status JobsService::ask(std::function<void(jobs::Brain& brain, WallTime now)> question) {
  if (!hub_) return fail(Errc::unavailable, "this controller is not the leader; ask another replica");
  if (!hub_->ask(std::move(question)))
    return fail(Errc::exhausted, "too many questions about jobs wait; ask again");
  return {};
}

void JobsService::add_routes(net::HttpServer& server) {
  kube::CallerRights rights;
  rights.name_space = place_.name_space;
  rights.ask = [this](const kube::Credential& credential, const kube::AccessQuestion& question,
                      kube::CallerReviews::OnDecision on_decision) {
    reviews_.ask(credential, question, std::move(on_decision));
  };
  const job_hub::BrainRouteContext context{.ask = [this](auto question) { return ask(std::move(question)); },
                                           .brain_at = api::JobBrain::controller,
                                           .rights = std::move(rights)};
  job_hub::add_brain_list(server, context);
  job_hub::add_brain_actions(server, context);
}

void JobsService::lead(const config::ControllerJobs& settings, std::vector<jobs::JobReport> stored) {
  jobs::BrainOptions options;
  options.policy = policy_of(settings);
  options.finishes_swaps = true;
  const std::uint64_t term = ++term_;
  hub_ = std::make_unique<job_hub::JobHub>(
      clock_, options,
      [this, term](job_hub::HubResults results) {
        loop_.post([this, term, shared = std::make_shared<job_hub::HubResults>(std::move(results))] {
          if (hub_ && term == term_) take(std::move(*shared));
        });
      },
      job_hub::JobHub::Limits{});
  // The first that the hub does: no agent has sent a batch yet.
  const auto shared = std::make_shared<std::vector<jobs::JobReport>>(std::move(stored));
  (void)hub_->ask([shared](jobs::Brain& brain, WallTime now) { brain.restore(std::move(*shared), now); });
  suspects_.clear();
  receiver_.forget();
}

void JobsService::take(job_hub::HubResults results) {
  suspects_.note(results.changed);
  if (on_results_) on_results_(std::move(results));
}

void JobsService::step_down() {
  hub_.reset();
  suspects_.clear();
  receiver_.forget();
}

void JobsService::use(const config::ControllerJobs& settings) {
  if (hub_) hub_->set_policy(policy_of(settings));
}

void JobsService::set_nodes(std::size_t nodes) {
  if (hub_) hub_->set_nodes(nodes);
}

void JobsService::acted(const jobs::WantedAction& action) {
  if (!ask([action](jobs::Brain& brain, WallTime now) { brain.acted(action, now); }))
    log_warning("the guard rails do not count an action on a job: the evaluation is busy",
                {{"job", action.request.job}});
}

void JobsService::stop(Duration grace, std::function<void()> done) {
  server_.stop(grace, std::move(done));
}

void JobsService::add_metrics(logging::MetricsText& metrics) const {
  add_job_metrics(metrics, {.receiver = receiver_.stats(),
                            .hub = hub_ ? std::optional(hub_->stats()) : std::nullopt,
                            .server = server_.stats()});
}

}  // namespace autopilot::controller
