// SPDX-License-Identifier: Apache-2.0
#include "controller/controller.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <signal.h>
#include <utility>
#include <vector>

#include "controller/certificates/own_certificates.hpp"
#include "controller/figures.hpp"
#include "controller/gangs.hpp"
#include "controller/history/cluster_history.hpp"
#include "controller/jobs/jobs_service.hpp"
#include "controller/jobs/outlets.hpp"
#include "controller/live_configuration.hpp"
#include "controller/own_image.hpp"
#include "controller/reconcilers/remediation.hpp"
#include "controller/webhook/webhook_service.hpp"
#include "kube/leader.hpp"
#include "kube/pacing.hpp"
#include "logging/build_info.hpp"
#include "logging/log.hpp"
#include "logging/metrics_text.hpp"
#include "net/certificates.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "net/key_files.hpp"
#include "net/tls.hpp"

namespace autopilot::controller {
namespace {

using logging::log_info;
using logging::log_warning;
using std::chrono::seconds;

constexpr unsigned kSocketMode = 0600;  // probes run as the same user
constexpr Duration kStopGrace = seconds{5};
// All agents of a large cluster can start at the same time.
constexpr std::size_t kConnections = 1024;
constexpr Duration kCountNodes = seconds{30};
// A review of an ordinary pod has less than 100 kB.
constexpr std::size_t kBufferedBytes = std::size_t{64} << 20;

// Unique, also after a restart in the same pod.
std::string new_identity(const std::string& pod) {
  std::random_device random;
  std::array<char, 20> number{};
  std::snprintf(number.data(), number.size(), "_%08x%08x", random(), random());
  return (pod.empty() ? std::string(kControllerName) : pod) + number.data();
}

// The DNS names of its Service, which requests can use.
std::vector<std::string> service_names(const std::string& name_space) {
  const std::string name = kControllerName;
  return {name, name + "." + name_space, name + "." + name_space + ".svc",
          name + "." + name_space + ".svc.cluster.local"};
}

net::HttpResponse text(std::string body, int status = 200) {
  return {status, "text/plain; charset=utf-8", std::move(body), {}};
}

class Controller {
 public:
  explicit Controller(ControllerOptions options);
  Status listen();
  Status run();

 private:
  [[nodiscard]] kube::Leader::Listener election_listener();
  [[nodiscard]] ControllerFigures figures() const;
  [[nodiscard]] std::string render_metrics() const;
  [[nodiscard]] std::string why_not_ready() const;
  void lead();
  void count_nodes();
  void lead_history();
  void look_for_history();
  void open_jobs_outlets(const std::string& host);
  void take_configuration();
  void show_plans(net::Responder responder) const;
  void make_own_certificates();
  Status watch_key_files();
  Status use(const net::KeyTexts& keys);
  void believe(const std::string& pem);
  void use_webhook();
  void add_open_routes();
  Status listen_to_agents();
  Status read_client_authorities();
  void begin_stop(int signal);
  void stop_listening();
  void note_stopped();

  const ControllerOptions options_;
  net::EventLoop loop_;
  LiveConfiguration configuration_;
  kube::Session session_;
  kube::Leader leader_;
  LivePolicy policy_;
  std::optional<Remediation> remediation_;   // set on the leader
  std::optional<JobsOutlets> jobs_outlets_;  // set on the leader
  OwnImage own_image_;
  WebhookService webhook_;
  GangService gangs_;
  std::optional<JobsService> jobs_;        // nothing: jobs.enabled is false
  std::optional<ClusterHistory> history_;  // nothing: history.path is empty, or it never led
  net::HttpServer encrypted_;              // for the API server and the agents
  net::HttpServer open_;                   // without TLS
  std::optional<OwnCertificates> own_certificates_;
  std::optional<net::KeyFiles> key_files_;  // set if another program issues the certificates
  std::optional<WallTime> serving_until_;   // end of that certificate
  std::string believed_;                    // PEM: authorities of the agents' certificates
  std::string
      client_authorities_;  // PEM: authorities of the API server's client certificate; empty: any client
  std::uint16_t tls_port_ = 0;
  std::uint16_t metrics_port_ = 0;
  std::uint16_t jobs_port_ = 0;  // 0: none
  net::Subscription signals_;
  net::Subscription node_count_;
  net::Subscription history_look_;
  net::Subscription drain_;
  net::Subscription patience_;  // limits the wait for the end
  bool is_stopping_ = false;
  int stops_awaited_ = 0;
};

Controller::Controller(ControllerOptions options)
    : options_(std::move(options)),
      configuration_(loop_, options_.config, options_.reload, options_.configuration_version,
                     [this] { take_configuration(); }),
      session_(loop_, options_.clock, options_.cluster, kControllerName, options_.run_blocking),
      leader_(loop_, session_.client(), options_.clock,
              {.name_space = options_.cluster.name_space,
               .lease = kControllerName,
               .identity = new_identity(options_.cluster.pod)},
              election_listener(), kube::dice()),
      policy_(loop_, options_.policy_file,
              [this](const Policy& policy) {
                if (remediation_) remediation_->use(policy);
              }),
      own_image_(loop_, session_.client(), options_.cluster.name_space, options_.cluster.pod,
                 [this] { use_webhook(); }),
      webhook_(options_.clock),
      gangs_(session_.client(), options_.clock, options_.cluster.name_space,
             [this] { return remediation_ ? &remediation_->world() : nullptr; }),
      encrypted_(loop_, {.connections = kConnections, .buffered_bytes = kBufferedBytes}),
      open_(loop_, {}) {}

kube::Leader::Listener Controller::election_listener() {
  return {.on_lead = [this] { lead(); },
          .on_step_down =
              [this] {
                log_info("this controller is no longer the leader");
                jobs_outlets_.reset();
                remediation_.reset();
                if (jobs_) jobs_->step_down();
              },
          .on_problem =
              [](const Error& why) {
                log_warning("the leader is unknown; retrying", {{"cause", why.what}});
              }};
}

// The snapshot must contain the writes of the previous leader: it starts with consistent lists.
void Controller::lead() {
  log_info("this controller is the leader now");
  if (own_certificates_) own_certificates_->lead();
  const config::ControllerConfig& config = configuration_.now();
  RemediationOptions options;
  options.name_space = options_.cluster.name_space;
  options.view.prefix = config.kubernetes.label_prefix;
  options.view.accelerators = config.webhook.resources;
  options.view.has_claims = config.webhook.resource_claims;
  options.host = options_.cluster.pod.empty() ? kControllerName : options_.cluster.pod;
  remediation_.emplace(
      loop_, session_.client(), options_.clock, options, policy_.now(),
      [this] { return leader_.is_leader(); }, kube::dice());
  remediation_->start();
  open_jobs_outlets(options.host);
  lead_history();
  if (!jobs_) return;
  // Until then, agents get 503 and keep their records.
  jobs_outlets_->recall([this](std::vector<jobs::JobReport> stored) {
    jobs_->lead(configuration_.now().jobs, std::move(stored));
    node_count_ = loop_.every(kCountNodes, [this] { count_nodes(); });
  });
}

void Controller::lead_history() {
  const config::ControllerHistory& settings = options_.config.history;
  if (settings.path.empty()) return;
  if (!history_)
    history_.emplace(std::shared_ptr<const Clock>(std::shared_ptr<void>(), &options_.clock),
                     ClusterHistoryOptions{settings.path, {.age = settings.age, .bytes = settings.bytes}});
  history_->lead();
  history_look_ = loop_.every(ClusterHistory::kLook, [this] { look_for_history(); });
}

void Controller::look_for_history() {
  if (!remediation_) return;
  history_->look(remediation_->world());
  if (auto search = history_->take_lemons()) remediation_->use_lemons(*std::move(search));
}

void Controller::count_nodes() {
  if (jobs_ && remediation_ && remediation_->world().is_complete)
    jobs_->set_nodes(remediation_->world().nodes().size());
}

void Controller::open_jobs_outlets(const std::string& host) {
  const config::ControllerConfig& config = configuration_.now();
  jobs_outlets_.emplace(
      loop_, session_.client(), options_.clock,
      JobsOutletsOptions{.name_space = options_.cluster.name_space,
                         .prefix = config.kubernetes.label_prefix,
                         .host = host,
                         .receivers = config.alerts},
      JobsOutletsDoors{.is_leader = [this] { return leader_.is_leader(); },
                       .world = [this] { return remediation_ ? &remediation_->world() : nullptr; },
                       .on_acted =
                           [this](const jobs::WantedAction& action) {
                             if (jobs_) jobs_->acted(action);
                           },
                       .read_file = options_.cluster.read_file,
                       .run_blocking = options_.run_blocking,
                       .dice = kube::dice()});
}

void Controller::take_configuration() {
  use_webhook();
  policy_.use(configuration_.now().policy);
  if (jobs_) jobs_->use(configuration_.now().jobs);
}

// Only the leader knows the plans.
void Controller::show_plans(net::Responder responder) const {
  if (remediation_) return responder.respond({200, "application/json", remediation_->plans_json(), {}});
  const std::string holder = leader_.holder();
  responder.respond(Error{Errc::unavailable, "this controller is not the leader" +
                                                 (holder.empty() ? std::string() : "; " + holder + " does")});
}

ControllerFigures Controller::figures() const {
  ControllerFigures figures;
  figures.leads = leader_.is_leader();
  figures.lease_transitions = leader_.transitions();
  figures.lease_failures = leader_.failures();
  figures.configuration_refused = configuration_.refused();
  figures.policy_refused = policy_.refused();
  figures.mode = policy_.now().rules.mode;
  if (remediation_) figures.remediation = remediation_->figures();
  if (jobs_outlets_) figures.jobs = jobs_outlets_->figures();
  figures.preflight = webhook_.preflight();
  figures.observation = webhook_.observation();
  figures.serving_until = serving_until_;
  if (own_certificates_) {
    figures.serving_until = own_certificates_->serving_until();
    figures.authority_until = own_certificates_->authority_until();
    figures.has_certificate_problem = !own_certificates_->problem().empty();
    figures.issued = own_certificates_->issued();
  }
  figures.api_requests = session_.client().counts();
  figures.server = encrypted_.stats();
  return figures;
}

std::string Controller::render_metrics() const {
  logging::MetricsText metrics;
  add_metrics(metrics, figures());
  if (jobs_) jobs_->add_metrics(metrics);
  if (history_) history_->add_metrics(metrics);
  return std::move(metrics).take();
}

// Why it is not ready; empty: it is.
std::string Controller::why_not_ready() const {
  if (is_stopping_) return "stopping";
  return own_certificates_ ? own_certificates_->why_not_ready() : "";
}

void Controller::make_own_certificates() {
  const std::string& name_space = options_.cluster.name_space;
  own_certificates_.emplace(
      loop_, session_.client(), options_.clock,
      OwnCertificates::Place{name_space, kControllerName, service_names(name_space), client_authorities_},
      [this] { return leader_.is_leader(); },
      [this](const std::shared_ptr<const net::TlsContext>& tls, const net::CertifiedKey& keys) {
        encrypted_.use(tls);
        if (jobs_) jobs_->use(keys);
        log_info("new TLS keys are in use");
      },
      [this](const std::string& pem) { believe(pem); }, kube::dice());
  own_certificates_->add_routes(encrypted_);
}

Status Controller::watch_key_files() {
  const auto& files = options_.config.certificates;
  const net::KeyPaths paths{files.certificate, files.key, files.authorities};
  const net::KeyTexts keys = TRY(net::read_keys(paths, options_.cluster.read_file));
  TRY_STATUS(use(keys));
  key_files_.emplace(loop_, paths, options_.cluster.read_file, options_.run_blocking, keys,
                     net::KeyFiles::Listener{[this](const net::KeyTexts& renewed) { return use(renewed); },
                                             [](const Error& why) {
                                               log_warning("TLS keys refused", {{"cause", why.what}});
                                             }});
  return {};
}

// Clients of the controller have another authority than agents.
Status Controller::use(const net::KeyTexts& keys) {
  const auto tls =
      TRY(net::TlsContext::make(net::TlsServerIdentity{keys.certificate, keys.key, client_authorities_}));
  serving_until_ = TRY(net::validity_of(keys.certificate)).until;
  believe(keys.authorities);
  encrypted_.use(tls);
  if (jobs_) jobs_->use(net::CertifiedKey{keys.certificate, keys.key});
  log_info("new TLS keys are in use");
  return {};
}

void Controller::believe(const std::string& pem) {
  believed_ = pem;
  if (jobs_) jobs_->believe(pem);
  use_webhook();
}

void Controller::use_webhook() {
  const config::ControllerConfig& config = configuration_.now();
  webhook_.use(config, own_image_.pinned(config.webhook.image), believed_);
}

void Controller::add_open_routes() {
  open_.route("GET", "/healthz",
              [](const net::HttpRequest&, net::Responder responder) { responder.respond(text("ok\n")); });
  open_.route("GET", "/readyz", [this](const net::HttpRequest&, net::Responder responder) {
    const std::string why = why_not_ready();
    responder.respond(why.empty() ? text("ok\n") : text(why + "\n", 503));
  });
  open_.route("GET", "/metrics", [this](const net::HttpRequest&, net::Responder responder) {
    responder.respond({200, std::string(logging::MetricsText::kContentType), render_metrics(), {}});
  });
  open_.route("GET", "/v1/plans", [this](const net::HttpRequest&, net::Responder responder) {
    show_plans(std::move(responder));
  });
}

// Authorities of the certificate that an API server sends to webhooks.
Status Controller::read_client_authorities() {
  const std::string& path = options_.config.webhook.client_authorities;
  if (path.empty()) return {};
  client_authorities_ = TRY(options_.cluster.read_file(path));
  const auto tried = net::TlsContext::make(net::TlsIdentity{.authorities = client_authorities_});
  if (!tried)
    return fail(Errc::malformed, "`webhook.client_authorities`: " + path + ": " + tried.error().what);
  return {};
}

Status Controller::listen_to_agents() {
  const std::string& name_space = options_.cluster.name_space;
  jobs_.emplace(loop_, options_.clock, session_.client(),
                JobsService::Place{name_space, service_names(name_space)},
                [this](job_hub::HubResults results) {
                  if (history_) history_->note(results);
                  if (jobs_outlets_) jobs_outlets_->publish(results.changed, results.alerts, results.actions);
                });
  jobs_->add_routes(open_);
  jobs_->add_routes(encrypted_);
  jobs_port_ = TRY(jobs_->listen(options_.config.jobs.listen));
  return {};
}

Status Controller::listen() {
  add_open_routes();
  TRY_STATUS(read_client_authorities());
  webhook_.add_routes(encrypted_,
                      client_authorities_.empty() ? net::Access::everyone : net::Access::verified_client);
  gangs_.add_routes(encrypted_);
  const net::TcpPolicy policy{service_names(options_.cluster.name_space)};
  const auto& config = options_.config;
  const auto encrypted = encrypted_.listen_tls(config.listen, nullptr, policy);
  if (!encrypted)
    return fail(encrypted.error().code,
                encrypted.error().what + "; `listen` or --listen names another address");
  const auto open = open_.listen_tcp(config.metrics, policy);
  if (!open)
    return fail(open.error().code, open.error().what + "; `metrics` or --metrics names another address");
  if (!config.socket.empty()) TRY_STATUS(open_.listen_unix(config.socket, kSocketMode));
  if (config.jobs.enabled) TRY_STATUS(listen_to_agents());
  tls_port_ = *encrypted;
  metrics_port_ = *open;
  if (!config.certificates.is_own()) return watch_key_files();
  make_own_certificates();
  return {};
}

Status Controller::run() {
  auto signals = loop_.on_signal({SIGTERM, SIGINT, SIGHUP}, [this](int signal) {
    if (signal == SIGHUP)
      configuration_.reload();
    else
      begin_stop(signal);
  });
  if (!signals) return fail(signals.error());
  signals_ = std::move(*signals);
  take_configuration();
  loop_.post([this] {
    session_.start([this] {
      leader_.start();
      if (own_certificates_) own_certificates_->start();
      own_image_.start();
    });
  });
  log_info("controller ready", {{"version", std::string(logging::build_info().version)},
                                {"namespace", options_.cluster.name_space},
                                {"tls_port", std::to_string(tls_port_)},
                                {"metrics_port", std::to_string(metrics_port_)},
                                {"jobs_port", jobs_ ? std::to_string(jobs_port_) : "none"}});
  loop_.run();
  return {};
}

// Another controller leads from now on. Requests are still answered, because the Service still routes to this
// one. A second signal ends the wait.
void Controller::begin_stop(int signal) {
  if (std::exchange(is_stopping_, true)) return stop_listening();
  log_info("stopping", {{"signal", std::to_string(signal)}});
  stops_awaited_ = jobs_ ? 4 : 3;
  jobs_outlets_.reset();
  remediation_.reset();
  if (jobs_) jobs_->step_down();
  leader_.release([this] { note_stopped(); });
  drain_ = loop_.after(options_.config.drain, [this] { stop_listening(); });
}

void Controller::stop_listening() {
  if (patience_.is_active()) return;
  drain_.cancel();
  // Does not wait for an API server that does not answer: the lease expires on its own.
  patience_ = loop_.after(kStopGrace + seconds{1}, [this] {
    log_warning("some requests did not end in time");
    loop_.stop();
  });
  encrypted_.stop(kStopGrace, [this] { note_stopped(); });
  open_.stop(kStopGrace, [this] { note_stopped(); });
  if (jobs_) jobs_->stop(kStopGrace, [this] { note_stopped(); });
}

void Controller::note_stopped() {
  if (--stops_awaited_ == 0) loop_.stop();
}

}  // namespace

Status run_controller(ControllerOptions options) {
  Controller running(std::move(options));
  TRY_STATUS(running.listen());
  return running.run();
}

}  // namespace autopilot::controller
