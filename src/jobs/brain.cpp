// SPDX-License-Identifier: Apache-2.0
#include "jobs/brain.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/text.hpp"
#include "jobs/decision/swap.hpp"
#include "jobs/held_job.hpp"
#include "jobs/node_troubles.hpp"

namespace autopilot::jobs {
namespace {

constexpr std::size_t kLongestBy = 253;
constexpr std::size_t kLongestNote = 1024;
// An action that was not done is offered again after this time.
constexpr Duration kOfferAgain = std::chrono::minutes(10);
// The engine evaluates in steps of this length.
constexpr Duration kBrainStep = std::chrono::seconds(10);

// Evidence that states a stall or the absence of data names no culprit.
bool names_culprit(const Evidence& evidence) {
  return evidence.signal != "stall" && evidence.signal != "node_lost";
}

Request request_for(const JobFinding& finding) {
  return {.job = finding.job,
          .choice = finding.decision.choice,
          .culprit = finding.culprit,
          .cause = finding.cause,
          .is_known = std::ranges::any_of(finding.evidence, names_culprit)};
}

bool wants_action(const JobFinding& finding) {
  return !finding.resolved && !finding.decision.is_recommendation &&
         finding.decision.choice != Choice::keep_running;
}

bool is_worse(const JobFinding& a, const JobFinding& b) {
  return std::tuple(b.severity, b.probability, a.onset) < std::tuple(a.severity, a.probability, b.onset);
}

bool has_changed(const JobState& before, const JobState& after) {
  const auto facts = [](const JobState& state) {
    return std::tie(state.name, state.health, state.attempt, state.ranks, state.nodes, state.progress_source,
                    state.not_seen);
  };
  return facts(before) != facts(after);
}

}  // namespace

class Brain::State {
 public:
  explicit State(BrainOptions options)
      : options_(options),
        engine_(options.engine),
        rails_(options.guard_limits),
        alerts_(options.alert_limits) {
    rails_.set_nodes(options.cluster_nodes);
    set_policy(options.policy);
  }

  void restore(std::vector<JobReport> reports, WallTime now) {
    now_ = std::max(now_, now);
    restored_ = now_;
    restore_rails(reports);
    for (JobReport& report : reports) {
      for (const auto& [finding, sent] : report.sent)
        alerts_.restore(finding, sent);
      std::string job = report.state.job;
      if (!report.ended && earlier_.size() < options_.engine.max_jobs)
        earlier_.insert_or_assign(std::move(job), std::move(report));
    }
  }

  void add(const Record& record) {
    if (const auto* validation = std::get_if<ValidationRecord>(&record)) return take_validation(*validation);
    engine_.add(record);
    if (const auto* start = std::get_if<JobRecord>(&record))
      take_start(*start);
    else if (const auto* end = std::get_if<JobEndRecord>(&record))
      take_end(*end);
    else if (const auto* phase = std::get_if<PhaseRecord>(&record))
      take_phase(*phase);
    else if (const auto trouble = troubles_.add(record))
      rails_.became_unhealthy(trouble->node, trouble->begin);
  }

  void advance(WallTime now) {
    engine_.advance(now);
    now_ = now;
    std::vector<JobFinding> changes = engine_.take();
    const WallTime step = WallTime(now.time_since_epoch() / kBrainStep * kBrainStep);
    if (changes.empty() && !is_stale_ && step == refreshed_) return;
    is_stale_ = false;
    refreshed_ = step;
    for (auto& [name, job] : jobs_)
      refresh(name, job);
    for (JobFinding& change : changes)
      take_change(std::move(change));
    end_absent();
    forget_ended();
  }

  void set_nodes(std::size_t nodes) { rails_.set_nodes(nodes); }

  void set_weights(SignalWeightsPtr weights) { engine_.set_weights(std::move(weights)); }

  void set_policy(const Policy& policy) {
    options_.policy = policy;
    engine_.set_policy(policy);
  }

  std::vector<Alert> take_alerts() { return std::exchange(new_alerts_, {}); }
  std::vector<WantedAction> take_actions() { return std::exchange(new_actions_, {}); }
  std::vector<ValidationRecord> take_validations() { return std::exchange(new_validations_, {}); }
  std::vector<std::string> take_changed() {
    std::vector<std::string> changed;
    for (auto& [name, job] : jobs_)
      if (std::exchange(job.is_changed, false)) changed.push_back(name);
    return changed;
  }

  void acted(const WantedAction& action, WallTime now) {
    const bool is_second_half = action.part == ActionPart::after_checkpoint;
    if (is_second_half)
      rails_.finished(action.request, now);
    else
      rails_.acted(action.request, now);
    const auto found = jobs_.find(action.request.job);
    if (found == jobs_.end()) return;
    HeldJob& job = found->second;
    const bool waits =
        options_.finishes_swaps && action.request.choice == Choice::swap_at_checkpoint && !is_second_half;
    job.add_done(action, waits, now);
    if (is_second_half) end_swap(job, action.finding.id);
    job.offered.erase(action.finding.id);
    job.acted.insert(action.finding.id);
    job.is_changed = true;
  }

  [[nodiscard]] std::vector<JobReport> reports() const {
    std::vector<JobReport> reports;
    reports.reserve(jobs_.size());
    for (const auto& [name, job] : jobs_)
      reports.push_back(report_of(job));
    return reports;
  }

  [[nodiscard]] Result<JobReport> report(std::string_view name) const {
    const HeldJob* job = find(name);
    if (job == nullptr) return fail(no_such_job(name));
    return report_of(*job);
  }

  [[nodiscard]] Result<JobReport> report_with(std::string_view finding) const {
    for (const auto& [name, job] : jobs_)
      if (job.has(finding)) return report_of(job);
    return fail(no_such_finding(finding));
  }

  Status state_feedback(Feedback feedback) {
    if (feedback.by.size() > kLongestBy || feedback.note.size() > kLongestNote)
      return fail(Errc::malformed, "feedback: at most 253 bytes for the name and 1024 for the note");
    HeldJob* job = find_by_finding(feedback.finding);
    if (job == nullptr) return fail(no_such_finding(feedback.finding));
    auto& held = job->report.feedback;
    if (held.size() >= JobReport::kMaxFeedback) held.erase(held.begin());
    held.push_back(std::move(feedback));
    job->is_changed = true;
    return {};
  }

  Status acknowledge(Acknowledgement acknowledgement) {
    if (acknowledgement.by.size() > kLongestBy)
      return fail(Errc::malformed, "acknowledgement: at most 253 bytes for the name");
    HeldJob* job = find_by_finding(acknowledgement.finding);
    if (job == nullptr) return fail(no_such_finding(acknowledgement.finding));
    if (job->open(acknowledgement.finding) == nullptr || job->is_acknowledged(acknowledgement.finding))
      return {};
    job->report.acknowledged.push_back(std::move(acknowledgement));
    job->is_changed = true;
    return {};
  }

  Status mute(std::string_view name, WallTime until) {
    const HeldJob* found = find(name);
    if (found == nullptr) return fail(no_such_job(name));
    HeldJob& job = jobs_.find(found->report.state.job)->second;
    const bool was_muted = job.report.is_muted;
    job.report.muted_until = until;
    job.report.is_muted = until > now_;
    job.is_changed = true;
    if (was_muted && !job.report.is_muted) end_mute(job);
    return {};
  }

  [[nodiscard]] EngineCounts counts() const { return engine_.counts(); }

 private:
  void take_start(const JobRecord& record) {
    is_stale_ = true;
    const auto state = engine_.job(record.job);
    if (!state) return;  // beyond the limit of the engine
    auto [found, is_new] = jobs_.try_emplace(record.job);
    HeldJob& job = found->second;
    JobReport& report = job.report;
    if (is_new || report.ended) report.started = record.time;
    if (is_new) take_over(job, record.job);
    job.note_nodes(record);
    report.state = *state;
    report.owner = record.owner;
    report.kind = record.kind;
    report.nodes = nodes_of(record);
    report.ended.reset();
    report.outcome.reset();
    job.is_in_engine = true;
    job.is_changed = true;
  }

  void take_end(const JobEndRecord& record) {
    is_stale_ = true;
    rails_.ended(record.job);
    const auto found = jobs_.find(record.job);
    if (found == jobs_.end() || found->second.report.ended) return;
    found->second.settle_actions(now_);
    found->second.report.ended = record.time;
    found->second.report.outcome = record.outcome;
    found->second.is_changed = true;
  }

  void take_validation(const ValidationRecord& record) {
    const auto found = jobs_.find(record.job);
    if (found == jobs_.end() || !found->second.take_validation(record)) return;
    found->second.is_changed = true;
    if (new_validations_.size() < kMostValidations) new_validations_.push_back(record);
  }

  void take_phase(const PhaseRecord& record) {
    const auto found = jobs_.find(record.job);
    if (record.phase != Phase::checkpoint || record.edge != Edge::end || found == jobs_.end()) return;
    rails_.made_progress(record.job, record.time);
    found->second.settle_actions(record.time);
  }

  void take_over(HeldJob& job, const std::string& name) {
    auto earlier = earlier_.extract(name);
    if (earlier.empty()) return;
    JobReport& known = earlier.mapped();
    if (known.started != WallTime{}) job.report.started = known.started;
    const int attempt = known.state.attempt;
    engine_.restore(name, attempt, job.take_over(std::move(known), now_), now_);
  }

  // In the order of their times, as they were counted before.
  void restore_rails(const std::vector<JobReport>& reports) {
    std::vector<std::pair<const DoneAction*, std::string>> actions;
    for (const JobReport& report : reports)
      for (const DoneAction& action : report.done)
        if (now_ - action.time <= HeldJob::kDay) actions.emplace_back(&action, report.state.job);
    std::ranges::stable_sort(actions, {}, [](const auto& each) { return each.first->time; });
    for (const auto& [action, job] : actions) {
      const WallTime time = std::min(action->time, now_);
      if (action->part == ActionPart::after_checkpoint)
        rails_.finished(request_of(job, *action), time);
      else
        rails_.acted(request_of(job, *action), time);
      if (action->is_settled) rails_.made_progress(job, time);
    }
  }

  // Jobs of an earlier brain that no record names.
  void end_absent() {
    if (earlier_.empty() || now_ - restored_ < kAbsent) return;
    for (auto& [name, earlier] : std::exchange(earlier_, {})) {
      rails_.ended(name);
      HeldJob& job = jobs_[name];
      for (JobFinding& finding : job.end_absent(std::move(earlier), now_)) {
        finding.resolved = now_;
        finding.summary += "; the job was not seen again";
        take_change(std::move(finding));
      }
    }
  }

  void refresh(const std::string& name, HeldJob& job) {
    JobReport& report = job.report;
    const auto state = engine_.job(name);
    job.is_in_engine = state.has_value();
    if (state) {
      job.is_changed |= has_changed(report.state, *state);
      report.state = *state;
      report.failure = engine_.failure(name);
    }
    report.findings = engine_.open_findings(name);
    std::ranges::sort(report.findings, is_worse);
    bool has_action = false;
    for (JobFinding& finding : report.findings) {
      limit(job, finding);
      if (!has_action && wants_action(finding) && !job.acted.contains(finding.id)) {
        has_action = true;
        offer(job, {finding, request_for(finding), job.report.owner});
      }
    }
    if (options_.finishes_swaps) finish_swaps(job);
    if (report.is_muted && now_ >= *report.muted_until) end_mute(job);
  }

  // The second halves of swaps, when a checkpoint has ended.
  void finish_swaps(HeldJob& job) {
    for (DoneAction& swap : job.report.done) {
      if (!swap.waits) continue;
      const JobFinding* finding = job.open(swap.finding);
      const SwapState state = state_of_swap(swap.time, job.report.state, now_);
      if (finding == nullptr || state.turn == SwapTurn::give_up) {
        swap.waits = false;
        job.is_changed = true;
        give_up(job, swap, finding == nullptr ? "the finding is over" : state.why);
      } else if (state.turn == SwapTurn::move && still_wants(swap, *finding) &&
                 rails_.ask_to_finish(request_of(finding->job, swap), now_).is_allowed) {
        WantedAction action{*finding, request_of(finding->job, swap), job.report.owner,
                            ActionPart::after_checkpoint, state.why};
        offer(job, std::move(action));
      }
    }
  }

  // Right after a checkpoint the losses speak against waiting for the next one: the choice was made before.
  [[nodiscard]] bool still_wants(const DoneAction& swap, const JobFinding& finding) const {
    return options_.policy.mode == Mode::act && finding.is_confirmed && finding.culprit == swap.culprit &&
           finding.probability >= options_.policy.p_checkpoint;
  }

  void give_up(const HeldJob& job, const DoneAction& swap, std::string why) {
    WantedAction action{
        {}, request_of(job.report.state.job, swap), job.report.owner, ActionPart::given_up, std::move(why)};
    action.finding.id = swap.finding;
    action.finding.job = job.report.state.job;
    action.finding.culprit = swap.culprit;
    new_actions_.push_back(std::move(action));
  }

  static void end_swap(HeldJob& job, const std::string& finding) {
    for (DoneAction& action : job.report.done)
      if (action.finding == finding) action.waits = false;
  }

  // What the guard rails refuse becomes a recommendation.
  void limit(const HeldJob& job, JobFinding& finding) {
    if (!wants_action(finding) || job.acted.contains(finding.id)) return;
    const Permission permission = rails_.ask(request_for(finding), now_);
    if (permission.is_allowed) return;
    finding.decision.is_recommendation = true;
    finding.decision.because += ". " + permission.sentence;
    if (permission.pages) page_rail(finding, permission);
  }

  // A rail that needs a person: one message until it opened and closed again.
  void page_rail(const JobFinding& finding, const Permission& permission) {
    if (paged_rail_ && now_ - *paged_rail_ < options_.alert_limits.cool_down) return;
    paged_rail_ = now_;
    new_alerts_.push_back({.id = finding_id("", Effect::none, {}, now_),
                           .job = finding.job,
                           .kind = AlertKind::raised,
                           .severity = Severity::page,
                           .time = now_,
                           .title = "Autopilot does not act on jobs: a guard rail needs a person",
                           .body = permission.sentence});
  }

  void offer(HeldJob& job, WantedAction action) {
    const std::string& finding = action.finding.id;
    const auto offered = job.offered.find(finding);
    if (offered != job.offered.end() && now_ - offered->second < kOfferAgain) return;
    job.offered[finding] = now_;
    new_actions_.push_back(std::move(action));
  }

  void take_change(JobFinding change) {
    const auto found = jobs_.find(change.job);
    if (found == jobs_.end()) return;
    HeldJob& job = found->second;
    job.is_changed = true;
    limit(job, change);
    // A crash is not over because the job ended.
    const bool is_over = change.effect != Effect::crash || !change.resolved || !job.report.ended;
    if (is_over) offer_alert(job, change);
    if (!change.resolved) return;
    std::erase_if(job.report.acknowledged,
                  [&](const Acknowledgement& held) { return held.finding == change.id; });
    job.acted.erase(change.id);
    job.offered.erase(change.id);
    job.ended_findings.push_front(std::move(change));
    if (job.ended_findings.size() > options_.ended_findings) job.ended_findings.pop_back();
  }

  void offer_alert(const HeldJob& job, const JobFinding& finding) {
    if (job.report.is_muted) return;
    if (!finding.resolved && (finding.severity == Severity::info || job.is_acknowledged(finding.id) ||
                              job.has_worse_about(finding)))
      return;
    JobFinding shown = finding;
    if (options_.policy.mode == Mode::observe && shown.decision.choice != Choice::keep_running) {
      shown.decision.choice = Choice::keep_running;
      shown.decision.because = "Autopilot only observes: the losses of stopping and of going on follow";
    }
    if (auto alert = alerts_.offer(shown, job.report.state, now_)) new_alerts_.push_back(std::move(*alert));
  }

  // What happened meanwhile and is of interest still.
  void end_mute(HeldJob& job) {
    job.report.muted_until.reset();
    job.report.is_muted = false;
    job.is_changed = true;
    for (const JobFinding& finding : job.ended_findings)
      offer_alert(job, finding);
    for (const JobFinding& finding : job.report.findings)
      offer_alert(job, finding);
  }

  void forget_ended() {
    std::vector<std::pair<WallTime, std::string>> ended;
    for (const auto& [name, job] : jobs_)
      if (!job.is_in_engine) ended.emplace_back(job.report.ended.value_or(WallTime{}), name);
    std::ranges::sort(ended, std::greater<>{});
    for (std::size_t at = 0; at < ended.size(); ++at)
      if (at >= options_.ended_jobs || now_ - ended[at].first > options_.ended_for)
        jobs_.erase(ended[at].second);
  }

  [[nodiscard]] JobReport report_of(const HeldJob& job) const {
    JobReport report = job.report;
    report.findings.insert(report.findings.end(), job.ended_findings.begin(), job.ended_findings.end());
    for (const JobFinding& finding : report.findings)
      if (const auto sent = alerts_.sent(finding.id)) report.sent.emplace(finding.id, *sent);
    report.afterwards = job.afterwards();
    return report;
  }

  [[nodiscard]] const HeldJob* find(std::string_view name) const {
    if (const auto found = jobs_.find(name); found != jobs_.end()) return &found->second;
    const HeldJob* named = nullptr;
    for (const auto& [key, job] : jobs_) {
      if (job.report.state.name != name) continue;
      if (named != nullptr) return nullptr;
      named = &job;
    }
    return named;
  }

  [[nodiscard]] HeldJob* find_by_finding(std::string_view finding) {
    const auto found =
        std::ranges::find_if(jobs_, [&](const auto& each) { return each.second.has(finding); });
    return found == jobs_.end() ? nullptr : &found->second;
  }

  [[nodiscard]] Error no_such_job(std::string_view name) const {
    std::vector<std::string> known;
    for (const auto& [key, job] : jobs_) {
      known.push_back(key);
      if (!job.report.state.name.empty()) known.push_back(job.report.state.name);
    }
    std::string text = "no job '" + one_line(name, kLongestBy) + "'";
    if (const auto nearest = nearest_word(name, known)) text += "; did you mean '" + *nearest + "'?";
    if (known.empty()) text += "; no job was seen yet";
    return {Errc::not_found, std::move(text)};
  }

  [[nodiscard]] static Error no_such_finding(std::string_view finding) {
    return {Errc::not_found,
            "no finding '" + one_line(finding, 64) + "'; `autopilot jobs show NAME` lists ids"};
  }

  BrainOptions options_;
  Engine engine_;
  GuardRails rails_;
  Alerts alerts_;
  NodeTroubles troubles_;
  std::map<std::string, HeldJob, std::less<>> jobs_;
  std::map<std::string, JobReport, std::less<>> earlier_;  // of an earlier brain, without a record yet
  WallTime restored_{};
  std::vector<Alert> new_alerts_;
  std::vector<WantedAction> new_actions_;
  std::vector<ValidationRecord> new_validations_;
  std::optional<WallTime> paged_rail_;
  WallTime now_{};
  WallTime refreshed_{};
  bool is_stale_ = false;  // a job started or ended since the last refresh
};

Brain::Brain(BrainOptions options) : state_(std::make_unique<State>(options)) {}
Brain::Brain(Brain&&) noexcept = default;
Brain& Brain::operator=(Brain&&) noexcept = default;
Brain::~Brain() = default;

void Brain::restore(std::vector<JobReport> reports, WallTime now) {
  state_->restore(std::move(reports), now);
}

void Brain::add(const Record& record) {
  state_->add(record);
}

void Brain::advance(WallTime now) {
  state_->advance(now);
}

void Brain::set_nodes(std::size_t cluster_nodes) {
  state_->set_nodes(cluster_nodes);
}

void Brain::set_policy(const Policy& policy) {
  state_->set_policy(policy);
}

void Brain::set_weights(SignalWeightsPtr weights) {
  state_->set_weights(std::move(weights));
}

std::vector<Alert> Brain::take_alerts() {
  return state_->take_alerts();
}

std::vector<WantedAction> Brain::take_actions() {
  return state_->take_actions();
}

std::vector<ValidationRecord> Brain::take_validations() {
  return state_->take_validations();
}

std::vector<std::string> Brain::take_changed() {
  return state_->take_changed();
}

void Brain::acted(const WantedAction& action, WallTime now) {
  state_->acted(action, now);
}

std::vector<JobReport> Brain::reports() const {
  return state_->reports();
}

Result<JobReport> Brain::report(std::string_view job) const {
  return state_->report(job);
}

Result<JobReport> Brain::report_with(std::string_view finding) const {
  return state_->report_with(finding);
}

Status Brain::state_feedback(Feedback feedback) {
  return state_->state_feedback(std::move(feedback));
}

Status Brain::acknowledge(Acknowledgement acknowledgement) {
  return state_->acknowledge(std::move(acknowledgement));
}

Status Brain::mute(std::string_view job, WallTime until) {
  return state_->mute(job, until);
}

EngineCounts Brain::counts() const {
  return state_->counts();
}

}  // namespace autopilot::jobs
