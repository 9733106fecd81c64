// SPDX-License-Identifier: Apache-2.0
#include "agent/jobs/jobs_part.hpp"

#include <utility>

#include "agent/jobs/action_ledger.hpp"
#include "agent/jobs/jobs_metrics.hpp"
#include "agent/jobs/validation_records.hpp"
#include "logging/log.hpp"

namespace autopilot::agent {
namespace {

// As the controller listens by default: ControllerJobs::listen.
constexpr std::uint16_t kControllerJobsPort = 9444;

jobs::Mode mode_of(std::string_view word) {
  if (word == "act") return jobs::Mode::act;
  return word == "recommend" ? jobs::Mode::recommend : jobs::Mode::observe;
}

}  // namespace

api::JobBrain job_brain_of(const config::Config& config, bool has_controller) {
  const std::string& brain = config.jobs.brain;
  if (brain == "coordinator") return api::JobBrain::coordinator;
  if (brain == "local") return api::JobBrain::agent;
  if (brain == "controller") return api::JobBrain::controller;
  return has_controller || !config.jobs.coordinator.empty() ? api::JobBrain::controller
                                                            : api::JobBrain::agent;
}

std::optional<net::ServerUrl> job_receiver_url(const config::Config& config, bool has_controller) {
  if (job_brain_of(config, has_controller) != api::JobBrain::controller) return std::nullopt;
  const auto url_in = [](const std::string& text) -> std::optional<net::ServerUrl> {
    const auto url = net::parse_server_url(text);
    return url ? std::optional(*url) : std::nullopt;
  };
  if (!config.jobs.coordinator.empty()) return url_in(config.jobs.coordinator);
  if (!config.jobs.controller.empty()) return url_in(config.jobs.controller);
  auto url = url_in(config.tls.controller);
  if (url) url->port = kControllerJobsPort;
  return url;
}

JobsPart::JobsPart(const config::Config& config, JobsPartContext context)
    : context_(std::move(context)),
      brain_at_(job_brain_of(config, context_.has_controller)),
      node_records_(context_.machine.node),
      feed_(std::make_shared<RecordFeed>()),
      way_back_(context_.loop) {
  if (!config.jobs.enabled) return;
  NodeJobsOptions options;
  options.node = context_.machine.node;
  options.brain_at = brain_at_;
  options.brain.policy.mode = mode_of(config.jobs.mode);
  options.search_every = config.jobs.search_every;
  evidence_ = std::make_shared<JobEvidence>(config.jobs_dir(), open_evidence_sources(context_.machine));
  options.send = [evidence = evidence_, send = context_.send,
                  on_own = context_.on_own_records](const std::vector<jobs::Record>& records) {
    evidence->note(records);
    if (on_own) on_own(records);
    if (send) send(records);
  };
  options.on_changed = context_.on_reports;
  options.on_suspected = [evidence = evidence_](const std::vector<api::SuspectedJob>& suspected,
                                                const collect::SeenJobs& seen,
                                                Instant now) { evidence->look(suspected, seen, now); };
  options.on_records = [feed = feed_](const std::vector<jobs::Record>& records) { feed->add(records); };
  options.on_begin = context_.on_begin;
  options.on_end = context_.on_end;
  options.brain.cluster_nodes = context_.nodes;
  if (brain_at_ != api::JobBrain::controller) {
    open_outlets(config);
    options.on_news = outlets_->publisher();
  }
  runner_ = std::make_unique<JobsRunner>(
      context_.machine.host->clock, [options, machine = context_.machine, config] {
        auto made = std::make_unique<NodeJobs>(options, machine.host->clock, open_job_search(machine),
                                               open_job_sources(machine, config));
        if (options.brain.policy.mode != jobs::Mode::act) return made;
        // Without a readable file nothing acts, so that nothing has to be counted.
        if (const auto ledger = ActionLedger::open(config.job_actions_path()))
          count_actions(ledger->entries(), machine.host->clock.now().wall, made->brain());
        return made;
      });
  if (brain_at_ != api::JobBrain::coordinator) return;
  receiver_.emplace(
      context_.machine.host->clock,
      job_hub::JobReceiver::Sink{
          .leads = [] { return true; },
          .offer =
              [this](job_hub::NodeBatch batch) { return runner_->receive(std::move(batch)).has_value(); },
          .is_agent = context_.is_agent,
          .suspected = [this](const std::string& node) { return runner_->snapshot()->suspects.of(node); },
          .ask =
              [this](auto question) {
                return runner_->post([question = std::move(question), &clock = context_.machine.host->clock](
                                         NodeJobs& jobs) { question(jobs.brain(), clock.now().wall); });
              }});
}

void JobsPart::open_outlets(const config::Config& config) {
  const auto& host = context_.machine.host;
  const std::shared_ptr<const Clock> clock(host, &host->clock);
  const bool acts = mode_of(config.jobs.mode) == jobs::Mode::act;
  outlets_.emplace(JobOutletsContext{
      .loop = context_.loop,
      .clock = clock,
      .read_file = context_.read_file,
      .receivers = config.alerts,
      .actor = acts ? std::make_shared<SlurmActor>(clock, config.job_actions_path(), config.jobs.scontrol)
                    : nullptr,
      .may_act = context_.may_act,
      .on_acted = [this](const jobs::WantedAction& action) { note_acted(action); }});
}

// Without it, the engine offers the action again, and its record is counted then.
void JobsPart::note_acted(const jobs::WantedAction& action) {
  const WallTime now = context_.machine.host->clock.now().wall;
  const Status posted = runner_->post([action, now](NodeJobs& jobs) { jobs.brain().acted(action, now); });
  if (!posted)
    logging::log_warning("the guard rails do not count an action on a job yet",
                         {{"job", action.request.job}, {"cause", posted.error().what}});
}

void JobsPart::add_to(net::HttpServer& server) {
  add_jobs_routes(server, {.runner = runner_.get(),
                           .feed = feed_,
                           .evidence = evidence_,
                           .clock = context_.machine.host->clock,
                           .brain_at = brain_at_,
                           .is_simulated = context_.is_simulated,
                           .rights = context_.rights});
  if (receiver_) receiver_->add_routes(server);
}

void JobsPart::start() {
  if (runner_) runner_->start();
}

void JobsPart::stop() {
  if (runner_) runner_->stop();
}

void JobsPart::note(const NodeSnapshot& snapshot) {
  if (!runner_ || std::exchange(noted_, snapshot.generation) == snapshot.generation) return;
  if (auto records = node_records_.take(snapshot); !records.empty()) runner_->add(std::move(records));
}

void JobsPart::note(const std::vector<Event>& events) {
  if (!runner_) return;
  if (auto records = node_records_.take(events); !records.empty()) runner_->add(std::move(records));
}

void JobsPart::note(const learning::ValidationResult& validation) {
  if (runner_) runner_->add({validation_record_of(validation)});
}

bool JobsPart::use_weights(jobs::SignalWeightsPtr weights) {
  if (!runner_) return true;
  return runner_->post([weights = std::move(weights)](NodeJobs& jobs) { jobs.brain().set_weights(weights); })
      .has_value();
}

void JobsPart::suspect(std::vector<api::SuspectedJob> suspected) {
  if (!runner_ || (suspected.empty() && !has_suspects_)) return;
  const bool has_some = !suspected.empty();
  // If too many wait, the next batch states it again.
  if (runner_->post([suspected = std::move(suspected)](NodeJobs& jobs) { jobs.suspect(suspected); }))
    has_suspects_ = has_some;
}

void JobsPart::ask(const std::string& job, std::function<void(std::optional<jobs::JobReport>)> done) {
  const auto answer = [post = way_back_.post(),
                       done = std::move(done)](std::optional<jobs::JobReport> report) {
    post([done, report = std::move(report)] { done(report); });
  };
  if (!runner_ || brain_at_ == api::JobBrain::controller) return answer(std::nullopt);
  const Status posted = runner_->post([job, answer](NodeJobs& jobs) {
    auto report = jobs.brain().report(job);
    answer(report ? std::optional(*std::move(report)) : std::nullopt);
  });
  if (!posted) answer(std::nullopt);
}

std::string JobsPart::metrics() const {
  if (!runner_) return {};
  return render_jobs_metrics(*runner_->snapshot()) +
         (outlets_ ? render_outlet_metrics(outlets_->figures()) : std::string());
}

}  // namespace autopilot::agent
