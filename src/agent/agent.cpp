// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <optional>
#include <signal.h>
#include <utility>
#include <vector>

#include "agent/agent_journal.hpp"
#include "agent/config_reload.hpp"
#include "agent/deep_test_outlets.hpp"
#include "agent/event_streams.hpp"
#include "agent/gang_client.hpp"
#include "agent/gate_chooser.hpp"
#include "agent/gate_machine.hpp"
#include "agent/gpu_test_doors.hpp"
#include "agent/history_part.hpp"
#include "agent/job_uplink.hpp"
#include "agent/jobs/jobs_metrics.hpp"
#include "agent/jobs/jobs_part.hpp"
#include "agent/jobs/node_pods.hpp"
#include "agent/learned/learned_part.hpp"
#include "agent/metrics.hpp"
#include "agent/network_test_parts.hpp"
#include "agent/open_journal.hpp"
#include "agent/operation_routes.hpp"
#include "agent/routes.hpp"
#include "agent/runtime_setup.hpp"
#include "agent/tls/agent_keys.hpp"
#include "agent/validation_part.hpp"
#include "catalog/catalog.hpp"
#include "checks/check.hpp"
#include "compat/ibm_autopilot/service/ibm_routes.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "diagnostics/operations/test_runs.hpp"
#include "diagnostics/schedule/gpu_test_schedule.hpp"
#include "fleet/peers.hpp"
#include "host/cpu/processors.hpp"
#include "host/process/own_process.hpp"
#include "host/process_helper/process_helper.hpp"
#include "kube/pacing.hpp"
#include "logging/build_info.hpp"
#include "logging/log.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "net/url.hpp"
#include "nettest/run/network_tests.hpp"
#include "preflight/gate.hpp"
#include "preflight/gate_routes.hpp"
#include "preflight/gpu_tests.hpp"
#include "report/report_recall.hpp"

namespace autopilot::agent {
namespace {

using logging::log_info;
using logging::log_warning;
using std::chrono::seconds;

constexpr Duration kStopGrace = seconds{5};
constexpr Duration kReturnMemory = seconds{15};
constexpr Duration kStartIsOver = seconds{30};

class Agent {
 public:
  Agent(AgentOptions options, Machine machine, OpenedJournal journal);
  Status listen();
  Status run();
  void on_kernel_news(LogParts parts);
  net::EventLoop& loop() { return loop_; }

 private:
  runtime::Outlets outlets();
  compat::ibm_autopilot::IbmContext ibm_context();
  [[nodiscard]] kube::CallerRights caller_rights();
  [[nodiscard]] kube::CallerRights agent_rights();
  [[nodiscard]] compat::ibm_autopilot::NodeFinder node_finder();
  [[nodiscard]] double pcie_bandwidth_limit() const;
  void list_agents(const std::function<void(const Result<std::vector<fleet::Peer>>& peers)>& done);
  Result<std::uint16_t> listen_at(const std::string& address, const std::string& cure);
  Status listen_inside_tls();
  [[nodiscard]] std::shared_ptr<const net::TlsContext> peer_tls() const;
  [[nodiscard]] std::optional<net::TlsStatus> tls_status() const;
  void warn_of_readers(const std::string& address);
  void poll();
  void poll_soon();
  void note_operations();
  preflight::GangWait::Ask ask_for_gang();
  preflight::ChooseTests choose_tests();
  void tell_gate(const Operation& operation, const std::optional<preflight::JudgedTest>& verdict);
  void join_cluster();
  void open_gate();
  void begin_schedule();
  void begin_learned();
  [[nodiscard]] ValidationParts validation_parts();
  void ask_about_job(const std::string& job, std::function<void(std::optional<jobs::JobReport>)> done);
  Status offer_network_tests();
  Status watch_jobs();
  [[nodiscard]] bool lists_pods() const;
  [[nodiscard]] std::string further_metrics() const;
  [[nodiscard]] preflight::GateContext gate_context();
  void tell_start(const std::string& moved_aside);
  [[nodiscard]] AgentJournal::Context journal_context();
  void say_pod_resources_problem(const std::string& problem);
  [[nodiscard]] ConfigReload::Context reload_context();
  void begin_stop(int signal);
  void end_stop();

  AgentOptions options_;
  Machine machine_;
  const host::Files this_machine_;  // whatever machine_ is
  net::EventLoop loop_;
  AgentJournal journal_;
  std::string pod_resources_problem_;   // the problem that was logged last
  const std::string open_validations_;  // of an earlier agent
  std::optional<ClusterLink> cluster_;
  std::unique_ptr<HistoryPart> history_;  // null: history.enabled is false; before the runtime, which uses it
  runtime::Runtime runtime_;
  MetricsExporter metrics_;
  EventStreams streams_;
  std::optional<GangClient> gangs_;
  std::optional<GateChooser> chooser_;
  std::optional<preflight::PreflightGate> gate_;
  std::optional<diagnostics::GpuTestSchedule> schedule_;
  std::vector<fleet::Peer> configured_peers_;  // where no cluster lists them
  std::optional<nettest::NetworkTests> network_tests_;
  std::optional<compat::ibm_autopilot::IbmRoutes> ibm_routes_;
  std::optional<JobUplink> job_uplink_;  // where another program evaluates the jobs of this node
  std::shared_ptr<NodePods> node_pods_;  // null: nothing needs them, or no cluster is asked
  std::optional<JobsPart> jobs_;
  std::optional<ValidationPart> validation_;
  std::optional<LearnedPart> learned_;  // not set: history.enabled is false
  net::HttpServer server_;
  std::atomic<bool> poll_posted_{false};
  std::atomic<unsigned> news_{0};  // LogParts that the loop has to read
  net::Subscription next_poll_;
  net::Subscription signals_;
  net::Subscription watchdog_;
  net::Subscription memory_return_;
  net::Subscription code_return_;
  ConfigReload reload_;
  std::string listening_;
  std::uint16_t tls_port_ = 0;  // 0: none
  std::optional<AgentKeys> keys_;
  fleet::Peer self_;
  bool stopping_ = false;
  report::ClusterMemory cluster_memory_;  // until the cluster is joined
  diagnostics::PassBook passes_;
  preflight::GpuTests gpu_tests_;
  diagnostics::TestRuns tests_;
  diagnostics::Operations operations_;  // last: its threads end before what they wake
};

net::ServerLimits server_limits(const config::Config& config) {
  net::ServerLimits limits;
  limits.connections = config.limits.connections;
  limits.event_streams = config.limits.event_streams;
  // A test of bandwidth is answered when it is over, or given up by its caller.
  limits.answer_deadline = std::chrono::seconds{api::kMostServerSeconds};
  return limits;
}

std::string cpu_model_of(const Machine& machine) {
  return compat::ibm_autopilot::cpu_model(host::read_processor_model(machine.host->files).value_or(""));
}

std::unique_ptr<HistoryPart> make_history(const config::Config& config, const Machine& machine,
                                          net::EventLoop& loop) {
  if (!config.history.enabled) return nullptr;
  return std::make_unique<HistoryPart>(
      config.history, HistoryPartContext{.loop = loop,
                                         .host = machine.host,
                                         .node = machine.node,
                                         .is_simulated = machine.simulated,
                                         .path = history_path(config, machine.node, machine.simulated),
                                         .journal = journal_path(config, machine)});
}

Agent::Agent(AgentOptions options, Machine machine, OpenedJournal journal)
    : options_(std::move(options)),
      machine_(std::move(machine)),
      journal_(journal, journal_context()),
      open_validations_(journal.remembered.facts.value(postflight::kOpenValidations)),
      history_(make_history(options_.config, machine_, loop_)),
      runtime_(machine_.host, *machine_.facts, machine_.checks, runtime_options(options_.config, machine_),
               runtime_settings(options_.config, machine_), outlets(), std::move(journal.remembered)),
      metrics_(cpu_model_of(machine_)),
      server_(loop_, server_limits(options_.config)),
      reload_(reload_context()),
      cluster_memory_(std::move(journal.for_cluster)),
      passes_(std::move(cluster_memory_.pass_records),
              [this](const std::vector<PassRecord>& records) { runtime_.remember(records); }),
      gpu_tests_({machine_.checks, *machine_.facts, *machine_.tests, passes_,
                  [this] { return options_.config.expectation; }, [this] { return runtime_.snapshot(); }}),
      tests_(
          loop_, machine_.host->clock, operations_, runtime_, [this] { note_operations(); },
          [this] { poll_soon(); }),
      operations_(machine_.host->clock, machine_.boot_id, machine_.simulated,
                  diagnostics::builtin_operations(), std::move(journal.operations), [this] { poll_soon(); }) {
  runtime_.events().set_listener([this](const std::vector<Event>& events) {
    streams_.send(events);
    if (cluster_) cluster_->note(events);
    if (jobs_) jobs_->note(events);
  });
  for (const diagnostics::OperationKind& kind : machine_.operations)
    operations_.offer(kind);
  gpu_tests_.remember(operations_.list());
  if (journal.is_unwritten) runtime_.journal_all_again();
  tell_start(journal.moved_aside);
}

runtime::Outlets Agent::outlets() {
  runtime::Outlets outlets;
  outlets.wake = [this] { poll_soon(); };
  outlets.commit = journal_.commit();
  outlets.on_incidents = [this](const std::vector<Incident>& incidents) {
    if (history_) history_->note(incidents);
  };
  outlets.complete_self = [this](SelfStatus& self) {
    if (machine_.complete_self) machine_.complete_self(self);
    say_pod_resources_problem(self.pod_resources_problem);
    if (cluster_) self.cluster = cluster_->status();
    self.open_actions = options_.config.compat.open_actions;
    journal_.complete(self);
  };
  return outlets;
}

AgentJournal::Context Agent::journal_context() {
  return {.loop = loop_,
          .runtime = runtime_,
          .open_again = [this] { return JournalOpening(options_.config, machine_, std::nullopt); },
          .on_read_late =
              [this](OpenedJournal& older) {
                passes_.add_older(older.remembered.facts.pass_records);
                if (cluster_ && older.for_cluster.written) cluster_->add_older(*older.for_cluster.written);
                runtime_.take_over(std::move(older.remembered.state));
              },
          .poll_soon = [this] { poll_soon(); }};
}

ConfigReload::Context Agent::reload_context() {
  return {.loop = loop_,
          .runtime = runtime_,
          .options = options_,
          .apply = [this](const config::Config& next) { runtime_.apply(runtime_settings(next, machine_)); },
          .on_loaded =
              [this] {
                if (schedule_) schedule_->note_policy();
                if (network_tests_) network_tests_->note_settings();
              },
          .poll_soon = [this] { poll_soon(); }};
}

void Agent::tell_start(const std::string& moved_aside) {
  Event started;
  started.kind = EventKind::agent_started;
  started.message = "autopilot " + std::string(logging::build_info().version) + " started";
  (void)runtime_.tell(std::move(started));
  if (!moved_aside.empty()) journal_.tell_moved_aside(moved_aside);
  if (options_.config.compat.open_actions)
    log_warning(
        "any user who can reach the port of this agent may start tests that reserve its GPUs or load its "
        "links, and list the pods of any namespace: compat.open_actions is true");
  journal_.note();
}

// Once for each cause, not at every run.
void Agent::say_pod_resources_problem(const std::string& problem) {
  if (problem == pod_resources_problem_) return;
  pod_resources_problem_ = problem;
  if (problem.empty())
    log_info("the kubelet reports which pods hold a GPU");
  else
    log_warning("the kubelet does not report which pods hold a GPU", {{"cause", problem}});
}

// Wakes from any thread become one call of poll on the loop.
void Agent::poll_soon() {
  if (poll_posted_.exchange(true)) return;
  loop_.post([this] {
    poll_posted_ = false;
    poll();
  });
}

// Journal and events learn which operations began and which ended.
void Agent::note_operations() {
  for (Operation& operation : operations_.poll()) {
    gpu_tests_.complete(operation);
    runtime_.remember(operation);
    (void)runtime_.tell(diagnostics::operation_event(operation));
    const auto verdict = gpu_tests_.note(operation);
    tests_.note(operation);
    if (operation.is_over()) tell_gate(operation, verdict);
    if (schedule_) schedule_->note(operation);
    if (validation_) validation_->note(operation);
  }
}

// The journal holds the result of a test before the pod receives it, like every answer.
void Agent::tell_gate(const Operation& operation, const std::optional<preflight::JudgedTest>& verdict) {
  runtime_.when_durable([this, operation, verdict](bool is_durable) {
    if (gate_) gate_->note(operation, verdict, is_durable);
  });
  poll_soon();
}

void Agent::poll() {
  note_operations();
  journal_.note();
  MonoTime next = runtime_.poll();
  if (const auto deadline = operations_.next_deadline()) next = std::min(next, *deadline);
  metrics_.note(runtime_.snapshot());
  passes_.note(*runtime_.snapshot());
  if (cluster_) cluster_->note(runtime_.snapshot());
  if (network_tests_) network_tests_->note_job();
  if (gate_) gate_->note();
  if (jobs_) jobs_->note(*runtime_.snapshot());
  if (history_) history_->note(*runtime_.snapshot());
  next_poll_ = loop_.at(next, [this] { poll(); });
}

void Agent::join_cluster() {
  if (!options_.cluster) return;
  report::NodeWriterOptions options;
  options.node = machine_.node;
  options.prefix = options_.config.kubernetes.label_prefix;
  ClusterSources sources;
  sources.reasons = [facts = machine_.facts](std::string_view id) { return facts->reason(id); };
  sources.saved_state = [this] { return runtime_.saved_state(); };
  sources.keep = [this](const incidents::WrittenVerdict& written, std::function<void()> on_kept) {
    runtime_.remember(report::kWrittenVerdict, incidents::to_text(written));
    runtime_.when_durable([on_kept = std::move(on_kept)](bool) { on_kept(); });
    poll_soon();
  };
  sources.take_over = [this](std::optional<report::NodeReport> report) {
    if (report) {
      report::log_taken_over(*report);
      passes_.add_older(report->pass_records);
      runtime_.take_over(std::move(report->saved));
    }
    runtime_.remember(report::kReportUnread, "false");
    poll_soon();
  };
  sources.deep_test = deep_test_outlets(runtime_, passes_, machine_.tests, [this] { poll_soon(); });
  sources.passes = &passes_;
  machine_.tests->put(
      std::string(diagnostics::kDeepTestCheck),
      fail(Errc::unavailable, "the Node object, which holds the deep diagnostics, was not read yet"));
  if (lists_pods()) {
    sources.note_holders = [this](const Observations& holders) {
      runtime_.note_users(holders);
      poll_soon();
    };
    if (node_pods_) sources.pods = listener_of(node_pods_);
  }
  const bool is_report_unread = cluster_memory_.is_report_unread;
  cluster_.emplace(loop_, machine_.host->clock, *options_.cluster, std::move(options), options_.config,
                   std::move(sources), std::move(cluster_memory_));
  runtime_.remember(report::kLastInstance, cluster_->instance());
  if (is_report_unread) cluster_->recall_report(machine_.simulated);
  if (options_.config.pvc.is_on()) cluster_->test_storage(options_.config.pvc, machine_.tests);
  if (keys_ && options_.config.tls.mode == "cert_manager")
    cluster_->issue_keys(options_.config.tls.issuer, keys_->listener());
  for (diagnostics::OperationKind& kind : cluster_->tests())
    operations_.offer(std::move(kind));
  loop_.post([this] { cluster_->start(); });
}

// Which diagnostics a pod needs, if `preflight.choice` is learned.
preflight::ChooseTests Agent::choose_tests() {
  const auto& config = options_.config;
  chooser_.emplace(
      GateChooserParts{.loop = loop_,
                       .clock = machine_.host->clock,
                       .node = machine_.node,
                       .history = history_ ? history_path(config, machine_.node, machine_.simulated) : "",
                       .passes = passes_,
                       .operations = operations_,
                       .snapshot = [this] { return runtime_.snapshot(); },
                       .quick = [this] { return options_.config.gpu_tests.checks; }});
  return [this](const preflight::ChoiceQuestion& question, GateChooser::Done done) {
    chooser_->choose(question, std::move(done));
  };
}

void Agent::open_gate() {
  gate_.emplace(loop_, gate_machine({.node = machine_.node,
                                     .clock = machine_.host->clock,
                                     .passes = passes_,
                                     .facts = *machine_.facts,
                                     .runtime = runtime_,
                                     .operations = operations_,
                                     .cluster = cluster_ ? &*cluster_ : nullptr,
                                     .config = [this]() -> const config::Config& { return options_.config; },
                                     .note_changes = [this] { note_operations(); },
                                     .poll_soon = [this] { poll_soon(); },
                                     .gang = ask_for_gang(),
                                     .choose = choose_tests(),
                                     .with_agents =
                                         [this](std::vector<Subject> nodes) {
                                           return network_tests_
                                                      ? network_tests_->with_agents(std::move(nodes))
                                                      : nodes;
                                         }}));
}

// Each agent has turns of its own, so that nodes do not load what they share all at once.
void Agent::begin_schedule() {
  if (machine_.operations.empty()) return;
  const GpuTestParts parts{.clock = machine_.host->clock,
                           .passes = passes_,
                           .runtime = runtime_,
                           .operations = operations_,
                           .cluster = cluster_ ? &*cluster_ : nullptr,
                           .note_changes = [this] { note_operations(); },
                           .poll_soon = [this] { poll_soon(); }};
  operations_.heed(pods_with_gpus(parts));
  schedule_.emplace(
      loop_, machine_.host->clock,
      [this, share = kube::dice()()] {
        const config::GpuTests& tests = options_.config.gpu_tests;
        return diagnostics::GpuTestPolicy{.every = tests.every, .checks = tests.checks, .share = share};
      },
      gpu_test_doors(parts));
  schedule_->start();
}

ValidationParts Agent::validation_parts() {
  return {.loop = loop_,
          .clock = machine_.host->clock,
          .node = machine_.node,
          .runtime = runtime_,
          .operations = operations_,
          .passes = passes_,
          .cluster = [this] { return cluster_ ? &*cluster_ : nullptr; },
          .config = [this]() -> const config::Config& { return options_.config; },
          .is_gate_waiting = [this] { return gate_ && gate_->stats().waiting > 0; },
          .ask = [this](const std::string& job, auto done) { ask_about_job(job, std::move(done)); },
          .peers = [this](auto done) { list_agents(done); },
          .sink = history_ ? history_->sink() : nullptr,
          .on_result =
              [this](const learning::ValidationResult& result) {
                if (jobs_) jobs_->note(result);
              },
          .note_changes = [this] { note_operations(); },
          .poll_soon = [this] { poll_soon(); }};
}

// The program that evaluates the jobs answers: another one, or this agent.
void Agent::ask_about_job(const std::string& job, std::function<void(std::optional<jobs::JobReport>)> done) {
  if (job_uplink_) return job_uplink_->ask(job, std::move(done));
  jobs_->ask(job, std::move(done));
}

// A simulated machine is reachable only through interfaces of this machine that the configuration names.
Status Agent::offer_network_tests() {
  if (machine_.simulated && options_.config.network.interfaces.empty()) return {};
  configured_peers_ = TRY(fleet::parse_peers(options_.config.peers));
  network_tests_.emplace(network_test_context(
      {.loop = loop_,
       .clock = machine_.host->clock,
       .files = machine_.simulated ? this_machine_ : machine_.host->files,
       .is_simulated = machine_.simulated,
       .runtime = runtime_,
       .node = machine_.node,
       .pod = options_.cluster ? options_.cluster->pod : "",
       .board = machine_.tests,
       .config = [this]() -> const config::Config& { return options_.config; },
       .cluster = [this]() -> const ClusterLink* { return cluster_ ? &*cluster_ : nullptr; },
       .has_peers = [this] { return options_.cluster || !configured_peers_.empty(); },
       .peers = [this](const auto& done) { list_agents(done); },
       .tls = [this] { return peer_tls(); },
       .rights = agent_rights(),
       .poll_soon = [this] { poll_soon(); }}));
  network_tests_->add_to(server_);
  for (diagnostics::OperationKind& kind : network_tests_->operations())
    operations_.offer(std::move(kind));
  return {};
}

// The cluster is asked for the pods of this node.
// For the owners of jobs, and for the pods that hold GPUs where no kubelet is asked.
bool Agent::lists_pods() const {
  const bool is_kubelet_asked = !options_.config.kubelet.helper_socket.empty();
  return options_.cluster &&
         (options_.config.jobs.enabled || (machine_.has_accelerator && !is_kubelet_asked));
}

Status Agent::watch_jobs() {
  const auto peers = TRY(fleet::parse_peers(options_.config.peers));
  JobsPartContext context{.loop = loop_};
  context.machine.host = machine_.simulated ? with_processes_of_this_machine(machine_.host) : machine_.host;
  context.machine.node = machine_.node;
  // A recording has other processes and files than this machine.
  if (!context.machine.host->files.is_tree()) {
    context.machine.kubelet_socket = options_.config.kubelet.helper_socket;
    if (const std::string& socket = options_.config.jobs.helper_socket; !socket.empty()) {
      context.machine.helper_socket = socket;
      context.machine.processes = std::make_shared<host::HelperProcesses>(socket);
    }
  }
  if (options_.config.jobs.enabled && lists_pods()) node_pods_ = std::make_shared<NodePods>();
  context.machine.pods = node_pods_;
  context.is_simulated = machine_.simulated;
  if (history_) {
    context.on_own_records = history_->job_sink();
    context.on_reports = history_->report_sink();
  }
  context.has_controller = options_.cluster && (!options_.config.tls.controller.empty() ||
                                                !options_.config.jobs.controller.empty());
  context.rights = caller_rights();
  context.is_agent = [this, peers](const std::string& node) {
    return fleet::check_agent(fleet::with_self(peers, self_), {node});
  };
  if (job_brain_of(options_.config, context.has_controller) == api::JobBrain::coordinator)
    context.nodes = fleet::with_self(peers, {.node = machine_.node, .address = {}}).size();
  context.read_file = options_.read_file;
  if (machine_.simulated && !options_.allow_simulated)
    context.may_act = fail(Errc::denied, "this machine is simulated; actions on jobs need --allow-simulated");
  const auto receiver = job_receiver_url(options_.config, context.has_controller);
  if (receiver && options_.config.jobs.enabled) {
    job_uplink_.emplace(loop_, machine_.host->clock,
                        JobReceiverDoor{*receiver, [this] { return peer_tls(); }}, machine_.node,
                        new_job_instance(), kube::dice(), JobUplink::Pace{});
    context.send = job_uplink_->sender();
    job_uplink_->on_suspected(
        [this](std::vector<api::SuspectedJob> suspected) { jobs_->suspect(std::move(suspected)); });
  }
  validation_.emplace(validation_parts());
  context.on_begin = validation_->begin_listener();
  context.on_end = validation_->end_listener();
  jobs_.emplace(options_.config, std::move(context));
  jobs_->add_to(server_);
  add_validation_routes(server_, *validation_);
  return {};
}

std::string Agent::further_metrics() const {
  std::string metrics = history_ ? history_->metrics() : std::string();
  if (jobs_) metrics += jobs_->metrics();
  if (validation_) metrics += validation_->metrics();
  if (learned_) metrics += learned_->metrics();
  if (job_uplink_) metrics += render_uplink_metrics(job_uplink_->stats());
  return metrics;
}

// What was learned is beside history.
void Agent::begin_learned() {
  if (!history_) return;
  const std::string history = history_path(options_.config, machine_.node, machine_.simulated);
  learned_.emplace(
      LearnedPartContext{.loop = loop_,
                         .runtime = runtime_,
                         .node = machine_.node,
                         .folder = VersionStore::folder_beside(history, options_.config.state_dir),
                         .on_weights = [this](jobs::SignalWeightsPtr weights) {
                           return !jobs_ || jobs_->use_weights(std::move(weights));
                         }});
  learned_->start();
}

// The controller knows the other pods of a job. Without a controller no pod waits for them.
preflight::GangWait::Ask Agent::ask_for_gang() {
  const auto& tls = options_.config.tls;
  const auto url = net::parse_server_url(tls.controller);
  if (!options_.cluster || !url || tls.token.empty() || tls.authorities.empty()) return {};
  gangs_.emplace(loop_, machine_.host->clock, ControllerDoor{*url, tls.authorities, tls.token},
                 options_.read_file);
  return [this](const api::GangQuestion& question, GangClient::OnAnswer done) {
    gangs_->ask(question, std::move(done));
  };
}

preflight::GateContext Agent::gate_context() {
  preflight::GateContext context{.gate = [this] { return gate_ ? &*gate_ : nullptr; }, .ask = {}};
  if (options_.cluster)
    context.ask = [this](const std::string& token, preflight::PodCallers::OnAnswer on_answer) {
      cluster_->pod_callers().ask(token, std::move(on_answer));
    };
  return context;
}

// In a storm notices arrive faster than the loop handles them: one posted poll covers all of them.
void Agent::on_kernel_news(LogParts parts) {
  if (news_.fetch_or(static_cast<unsigned>(parts)) != 0) return;
  loop_.post([this] {
    runtime_.kernel_log_grew(static_cast<LogParts>(news_.exchange(0)));
    poll();
  });
}

// /run is empty after a boot; systemd makes the folder of a service, but not of an agent started by hand.
Status make_folder_of(const std::string& socket) {
  const auto folder = std::filesystem::path(socket).parent_path();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail_errno(error.value(), "folder of the socket " + socket);
  return {};
}

// Empty: every address.
bool is_local(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

compat::ibm_autopilot::IbmContext Agent::ibm_context() {
  const compat::ibm_autopilot::LookContext look{runtime_, machine_.host->clock, loop_,
                                                [this] { poll_soon(); }};
  return {{look, tests_},
          machine_.node,
          options_.config.periodic_checks,
          [this] { return pcie_bandwidth_limit(); },
          [this](const auto& done) { list_agents(done); },
          [this] { return peer_tls(); },
          node_finder(),
          options_.config.kubernetes.label_prefix,
          options_.config.deep_test.level,
          options_.config.compat.open_actions,
          network_tests_ ? std::optional(network_tests_->bandwidth_doors()) : std::nullopt};
}

kube::CallerRights Agent::caller_rights() {
  if (!options_.cluster) return {};
  kube::CallerRights rights = agent_rights();
  rights.name_space = options_.cluster->name_space;
  rights.ask = [this](const kube::Credential& credential, const kube::AccessQuestion& question,
                      kube::CallerReviews::OnDecision on_decision) {
    cluster_->caller_reviews().ask(credential, question, std::move(on_decision));
  };
  return rights;
}

// By which agents are known, also where there is no cluster.
kube::CallerRights Agent::agent_rights() {
  kube::CallerRights rights;
  rights.node = machine_.node;
  rights.find_agent = [this](const std::vector<std::string>& names,
                             const std::function<void(const Status&)>& done) {
    list_agents([names, done](const Result<std::vector<fleet::Peer>>& peers) {
      done(fleet::check_agent(peers, names));
    });
  };
  return rights;
}

compat::ibm_autopilot::NodeFinder Agent::node_finder() {
  if (!options_.cluster) return {};
  return {.rights = caller_rights(),
          .labeled =
              [this](const std::string& selector, compat::ibm_autopilot::SelectedNodes::OnNames on_names) {
                cluster_->selected_nodes().labeled(selector, std::move(on_names));
              },
          .of_pods =
              [this](const std::string& name_space, const std::string& selector,
                     compat::ibm_autopilot::SelectedNodes::OnNames on_names) {
                cluster_->selected_nodes().of_pods(name_space, selector, std::move(on_names));
              },
          .is_open = options_.config.compat.open_actions};
}

double Agent::pcie_bandwidth_limit() const {
  constexpr std::string_view id = "gpu.pcie_bandwidth.host_to_device";
  const auto& own = options_.config.expectation.thresholds;
  if (const auto found = own.find(id); found != own.end()) return found->second;
  if (learned_)
    if (const auto found = learned_->in_use().find(id); found != learned_->in_use().end())
      return found->second.value;
  return machine_.facts->threshold(id)->value;
}

// Those of the cluster that are known to serve, or this one and those of the configuration.
void Agent::list_agents(const std::function<void(const Result<std::vector<fleet::Peer>>& peers)>& done) {
  if (!cluster_) return done(fleet::with_self(configured_peers_, self_));
  cluster_->list_agents([this, done](const auto& endpoints) {
    if (!endpoints) return done(fail(endpoints.error()));
    done(fleet::peers_of(*endpoints, self_));
  });
}

Result<std::uint16_t> Agent::listen_at(const std::string& address, const std::string& cure) {
  const auto port = server_.listen_tcp(address, {options_.config.allowed_hosts});
  if (!port) return fail(port.error().code, port.error().what + cure);
  warn_of_readers(address);
  return *port;
}

void Agent::warn_of_readers(const std::string& address) {
  const auto where = net::parse_ip_port(address);
  if (where && !is_local(where->address))
    log_warning("any user who can reach this address can read the state of this node",
                {{"address", address}});
}

Status Agent::listen_inside_tls() {
  const auto& tls = options_.config.tls;
  if (tls.mode == "cert_manager" && !options_.cluster)
    return fail(Errc::malformed, "`tls.mode` is cert_manager, which needs `kubernetes.write_node`");
  std::vector<std::string> hosts = options_.config.allowed_hosts;
  if (options_.cluster) hosts.push_back("autopilot-node." + options_.cluster->name_space + ".svc");
  keys_.emplace(AgentKeys::Context{.loop = loop_,
                                   .clock = machine_.host->clock,
                                   .server = server_,
                                   .node = machine_.node,
                                   .settings = tls,
                                   .allowed_hosts = std::move(hosts),
                                   .read_file = options_.read_file,
                                   .on_refused = [this](const Error& why) {
                                     tell_refused(runtime_, "TLS keys", why, keys_->has_any());
                                     poll_soon();
                                   }});
  tls_port_ = TRY(keys_->listen());
  warn_of_readers(tls.listen);
  const std::string address = TRY(net::parse_ip_port(tls.listen)).address;
  if (keys_->is_for_agents())
    self_ = {machine_.node, address.empty() ? "127.0.0.1" : address, tls_port_, true};
  return {};
}

std::shared_ptr<const net::TlsContext> Agent::peer_tls() const {
  return keys_ ? keys_->client() : nullptr;
}

std::optional<net::TlsStatus> Agent::tls_status() const {
  if (!keys_) return std::nullopt;
  return keys_->status(cluster_ ? cluster_->renewals() : net::Renewals{});
}

Status Agent::listen() {
  const RouteContext context{.runtime = runtime_,
                             .clock = machine_.host->clock,
                             .metrics = metrics_,
                             .tls = [this] { return tls_status(); },
                             .gate_stats = [this] { return gate_ ? gate_->stats() : preflight::GateStats{}; },
                             .streams = streams_,
                             .poll_soon = [this] { poll_soon(); },
                             .inject = machine_.inject,
                             .rights = caller_rights(),
                             .further_metrics = [this] { return further_metrics(); }};
  add_node_routes(server_, context);
  add_operation_routes(server_, {operations_, runtime_, [this] { note_operations(); },
                                 [this] { poll_soon(); }, caller_rights()});
  preflight::add_gate_routes(server_, gate_context());
  TRY_STATUS(offer_network_tests());
  TRY_STATUS(watch_jobs());
  ibm_routes_.emplace(ibm_context());
  ibm_routes_->add_to(server_);
  const auto& config = options_.config;
  if (!config.listen.empty()) {
    const std::uint16_t port = TRY(listen_at(config.listen, "; `listen` or --listen names another address"));
    const std::string host = config.listen.substr(0, config.listen.rfind(':'));
    listening_ = host + ":" + std::to_string(port);
    const std::string address = TRY(net::parse_ip_port(config.listen)).address;
    self_ = {machine_.node, address.empty() ? "127.0.0.1" : address, port};
  }
  for (const std::string& address : config.also_listen)
    (void)TRY(listen_at(address, "; `also_listen` names it"));
  if (config.tls.is_on()) TRY_STATUS(listen_inside_tls());
  TRY_STATUS(make_folder_of(config.socket));
  return server_.listen_unix(config.socket, 0660);
}

Status Agent::run() {
  auto signals = loop_.on_signal({SIGTERM, SIGINT, SIGHUP}, [this](int signal) {
    if (signal == SIGHUP)
      reload_.reload();
    else
      begin_stop(signal);
  });
  if (!signals) return fail(signals.error());
  signals_ = std::move(*signals);
  const auto& manager = options_.service_manager;
  if (const auto period = manager.watchdog_period())
    watchdog_ = loop_.every(*period, [&manager] { (void)manager.notify("WATCHDOG=1"); });
  reload_.start();
  journal_.start();
  if (history_) history_->start();
  begin_learned();
  memory_return_ = loop_.every(kReturnMemory, host::return_unused_memory);
  code_return_ = loop_.after(kStartIsOver, host::unmap_own_code);
  join_cluster();
  open_gate();
  begin_schedule();
  validation_->start(open_validations_);
  if (network_tests_) network_tests_->start();
  if (job_uplink_) job_uplink_->start();
  if (jobs_) jobs_->start();
  loop_.post([this] { poll(); });
  if (const auto told = manager.notify("READY=1"); !told)
    log_warning("the service manager was not notified", {{"cause", told.error().what}});
  log_info("agent ready", {{"address", listening_},
                           {"socket", options_.config.socket},
                           {"tls_port", tls_port_ == 0 ? "none" : std::to_string(tls_port_)},
                           {"node", machine_.node},
                           {"simulated", machine_.simulated ? "true" : "false"}});
  loop_.run();
  return {};
}

void Agent::begin_stop(int signal) {
  if (stopping_) return;
  stopping_ = true;
  (void)options_.service_manager.notify("STOPPING=1");
  log_info("stopping", {{"signal", std::to_string(signal)}});
  if (gate_) gate_->stop();
  if (network_tests_) network_tests_->stop();
  validation_->stop();
  operations_.stop();
  note_operations();
  Event stopped;
  stopped.kind = EventKind::agent_stopped;
  stopped.message = "autopilot stopped";
  (void)runtime_.tell(std::move(stopped));
  runtime_.stop();
  tests_.stop();
  server_.stop(kStopGrace, [this] { end_stop(); });
}

void Agent::end_stop() {
  if (jobs_) jobs_->stop();
  journal_.stop(kStopGrace);
  if (history_) history_->stop(kStopGrace);
  loop_.stop();
}

}  // namespace

Status run_agent(AgentOptions options) {
  host::keep_allocator_small();
  // Kernel news may come from another thread before the agent exists and after it is gone.
  struct Receiver {
    std::mutex mutex;
    Agent* agent = nullptr;
  };
  const auto receiver = std::make_shared<Receiver>();
  Machine machine = TRY(options.open_machine([receiver](LogParts parts) {
    const std::lock_guard lock(receiver->mutex);
    if (receiver->agent != nullptr) receiver->agent->on_kernel_news(parts);
  }));
  const auto receive = [&receiver](Agent* agent) {
    const std::lock_guard lock(receiver->mutex);
    receiver->agent = agent;
  };
  if (options.cluster) TRY_STATUS(may_be_written(machine.simulated, options.allow_simulated));
  auto journal = open_journal(options.config, machine, options.cluster);
  Agent running(std::move(options), std::move(machine), std::move(journal));
  TRY_STATUS(running.listen());
  receive(&running);
  auto ended = running.run();
  receive(nullptr);
  return ended;
}

}  // namespace autopilot::agent
