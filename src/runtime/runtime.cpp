// SPDX-License-Identifier: Apache-2.0
#include "runtime/runtime.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "core/stable_hash.hpp"
#include "incidents/devices.hpp"
#include "incidents/verdict.hpp"
#include "runtime/conclude.hpp"
#include "runtime/event_log.hpp"

namespace autopilot::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// A backend that keeps its deadline reports what did not answer; the run is abandoned only after this.
constexpr Duration kGrace = milliseconds{500};
// A run gets its whole deadline once a worker starts it; before that it may wait for this many deadlines.
constexpr int kDeadlinesInQueue = 3;
// With a log that grows without end, runs take at most a quarter of the time, and new records wait at most a
// second.
constexpr int kRest = 3;
constexpr Duration kLongestRest = seconds{1};
constexpr Duration kIdle = seconds{60};
// Repeated counts are written at most this often.
constexpr Duration kCountsEvery = seconds{2};
constexpr Duration kLossesEvery = seconds{5};

incidents::ReasonLookup lookup_in(const catalog::Catalog& facts, bool has_hysteresis) {
  if (has_hysteresis) return [&facts](std::string_view id) { return facts.reason(id); };
  auto immediate = std::make_shared<std::map<std::string, catalog::Reason, std::less<>>>();
  for (catalog::Reason reason : facts.reasons()) {
    if (!reason.asks_again) reason.raise_rounds = 1;
    immediate->emplace(reason.id, std::move(reason));
  }
  return [immediate](std::string_view id) -> const catalog::Reason* {
    const auto found = immediate->find(id);
    return found == immediate->end() ? nullptr : &found->second;
  };
}

// Number of runs in which every fault that still exists is found again.
int rounds_to_raise(const catalog::Catalog& facts) {
  int rounds = 1;
  for (const catalog::Reason& reason : facts.reasons())
    rounds = std::max(rounds, static_cast<int>(reason.raise_rounds));
  return rounds;
}

std::vector<store::StoredFinding> to_store(std::vector<incidents::SavedFinding> saved) {
  std::vector<store::StoredFinding> stored;
  stored.reserve(saved.size());
  for (auto& one : saved)
    stored.push_back(
        {std::move(one.check), std::move(one.finding), std::move(one.boot_id), std::move(one.state)});
  return stored;
}

}  // namespace

std::optional<MonoTime> Runtime::Running::began() const {
  const auto at = beginning->at.load();
  return at == 0 ? std::nullopt : std::optional<MonoTime>(MonoTime{Duration{at}});
}

MonoTime Runtime::Running::give_up() const {
  if (const auto at = began()) return *at + deadline + kGrace;
  return submitted.mono + kDeadlinesInQueue * deadline;
}

MonoTime Runtime::Running::next_deadline_check(MonoTime now) const {
  return began() ? give_up() : std::min(give_up(), now + deadline + 2 * kGrace);
}

Runtime::Runtime(std::shared_ptr<const host::Host> host, const catalog::Catalog& facts,
                 std::span<const checks::Check> checks, RuntimeOptions options, RuntimeSettings settings,
                 Outlets outlets, Remembered remembered)
    : host_(std::move(host)),
      facts_(facts),
      options_(std::move(options)),
      outlets_(std::move(outlets)),
      schedule_(stable_hash(options_.node).value()),
      state_(lookup_in(facts, options_.has_hysteresis), facts.causes(), options_.boot_id),
      proven_resets_(options_.boot_id, remembered.facts.value(kGpuResets)),
      loss_(std::move(remembered.lost), rounds_to_raise(facts)),
      inbox_(std::make_shared<Inbox>(outlets_.wake)),
      ledger_({options_.boot_id, options_.simulated}, host_->clock, outlets_.commit, inbox_),
      workers_(options_.workers) {
  const Instant now = host_->clock.now();
  ledger_.restore(remembered.last_event_id, std::move(remembered.events), std::move(remembered.facts));
  for (const checks::Check& check : checks) {
    Entry entry;
    entry.check = &check;
    entry.result.check = check.info.id;
    entry.result.findings = {not_looked_yet()};
    if (const auto position = remembered.kernel_log_positions.find(check.info.id);
        position != remembered.kernel_log_positions.end())
      entry.log.restore(position->second, remembered.kernel_log_unreported[check.info.id]);
    entries_.push_back(std::move(entry));
    check_infos_.push_back(check.info);
  }
  for (const store::LastSample& sample : remembered.last_samples)
    for (Entry& entry : entries_)
      if (entry.check->info.id == sample.check) entry.history.restore(sample.observation);
  add_resets_to_histories();
  apply_changes(state_.restore(of_these_checks(std::move(remembered.state)), now), now);
  apply(std::move(settings));
  begin_memory_loss();
  ledger_.add(kRunIsOpen, "true");
  next_minute_ = now.mono + minutes{1};
  publish(now);
}

Runtime::~Runtime() {
  inbox_->close();
}

Duration Runtime::period_of(const Entry& entry) const {
  return entry.settings.period.value_or(entry.check->info.period);
}
Duration Runtime::window_of(const Entry& entry) const {
  return entry.settings.window.value_or(entry.check->info.window);
}
Duration Runtime::deadline_of(const Entry& entry) const {
  return entry.settings.deadline.value_or(entry.check->info.deadline);
}

void Runtime::apply(RuntimeSettings settings) {
  settings_ = std::move(settings);
  const Instant now = host_->clock.now();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    const auto found = settings_.checks.find(entry.check->info.id);
    entry.settings = found == settings_.checks.end() ? CheckSettings{} : found->second;
    const auto& required = settings_.expectation.required_checks;
    entry.result.required =
        std::find(required.begin(), required.end(), entry.check->info.id) != required.end();
    show(entry);
    schedule_.set(i, period_of(entry), entry.settings.enabled, now.mono);
  }
}

void Runtime::use_learned(LearnedThresholds thresholds) {
  learned_ = std::move(thresholds);
  shadow_differences_.clear();
}

MonoTime Runtime::poll() {
  const Instant now = host_->clock.now();
  take_inbox(now);
  give_up_overdue(now);
  if (!stopping_)
    for (const std::size_t index : schedule_.take_due(now.mono))
      start(index, now);
  note_periodic(now);
  flush(now);
  if (changed_) publish(now);
  return next_poll(now);
}

void Runtime::start(std::size_t index, Instant now) {
  Entry& entry = entries_[index];
  if (entry.stuck) {
    const Duration since = std::chrono::floor<seconds>(now.mono - entry.stuck->submitted.mono);
    complete(index, fail(Errc::timed_out, "an earlier run has not returned for " + format_duration(since)),
             now, now);
    return;
  }
  const Duration deadline = deadline_of(entry);
  const std::uint64_t run = next_run_++;
  const auto beginning = std::make_shared<Beginning>();
  ++self_.checks_run;
  const auto ticket = workers_.submit(
      [host = host_, inbox = inbox_, observe = entry.check->observe, beginning, deadline,
       from = entry.log.next(), counted = entry.log.journaled(), reader = entry.check->info.id, index, run] {
        const Instant began = host->clock.now();
        beginning->at = began.mono.time_since_epoch().count();
        Result<checks::Observed> observed = fail(Errc::internal, "");
        try {
          observed = observe(*host, {began, began.mono + deadline, from, counted, reader});
        } catch (const std::exception& error) {
          observed = fail(Errc::internal, std::string("observe failed: ") + error.what());
        }
        inbox->put(Inbox::Finished{index, run, std::move(observed)});
      });
  entry.running = Running{ticket, run, now, deadline, beginning};
  if (ticket == 0)
    complete(index, fail(Errc::exhausted, "no worker is free: too many runs are stuck"), now, now);
}

void Runtime::take_inbox(Instant now) {
  auto messages = inbox_->take();
  for (auto& finished : messages.finished) {
    Entry& entry = entries_[finished.index];
    if (!entry.running || entry.running->run != finished.run) {
      ++self_.results_dropped;
      if (entry.stuck && entry.stuck->run == finished.run) {
        entry.stuck.reset();
        if (!entry.running) schedule_.trigger(finished.index);
      }
      continue;
    }
    complete(finished.index, std::move(finished.observed), entry.running->submitted, now);
  }
  for (const auto& committed : messages.committed)
    ledger_.settle(committed);
}

void Runtime::give_up_overdue(Instant now) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!entry.running || entry.running->give_up() > now.mono) continue;
    const Running running = *entry.running;
    // The result may have arrived just now; then it is in the inbox and comes too late.
    if (!workers_.abandon(running.ticket)) continue;
    if (!running.began()) {
      complete(i,
               fail(Errc::exhausted,
                    "no worker was free for " + format_duration(kDeadlinesInQueue * running.deadline)),
               running.submitted, now);
      continue;
    }
    entry.stuck = running;
    complete(i, fail(Errc::timed_out, "no answer within " + format_duration(running.deadline)),
             running.submitted, now);
  }
}

void Runtime::complete(std::size_t index, Result<checks::Observed> observed, Instant started, Instant now) {
  Entry& entry = entries_[index];
  const std::string& id = entry.check->info.id;
  entry.running.reset();
  entry.completed = true;
  schedule_.finished(index, now.mono, std::min(kRest * (now.mono - started.mono), kLongestRest));

  CheckResult& result = entry.result;
  result.duration = now.mono - started.mono;
  result.completed = now.wall;
  result.witnesses = observed ? observed->witnesses : std::vector<std::string>{};
  Findings symptoms;
  if (observed) symptoms = take_records(entry, *observed, now);
  entry.has_observations = observed.has_value();
  const Findings found = conclude(*entry.check, std::move(observed), window_of(entry), now, facts_,
                                  settings_.expectation, entry.history, &learned_.in_use);
  if (entry.has_observations)
    judge_in_shadow(*entry.check, {now, entry.history, facts_, settings_.expectation, &learned_.in_use},
                    found, learned_.shadowed, shadow_differences_);
  const SharedObservations seen = entry.has_observations ? entry.history.latest() : SharedObservations{};
  const auto changes = state_.complete_round(id, now, found, seen.all(), symptoms);
  apply_changes(changes, now);
  if (!changes.resets.empty()) note_resets(changes.resets, now);
  result.findings = state_.findings(id);
  const bool was_asked_again = std::exchange(entry.is_asked_again, false);
  entry.is_asked_again = !was_asked_again && needs_confirmation(found, result.findings, facts_);
  if (entry.is_asked_again) schedule_.trigger(index);
  if (entry.has_observations && std::ranges::none_of(result.findings, [](const Finding& finding) {
        return finding.health == Health::unknown;
      }))
    loss_.note_run(id);
  take_findings(entry);
  show(entry);
  end_memory_loss_when_due();
  if (!entry.has_observations) run_follow_up(entry, started);
  if (entry.waiting.empty() || entry.is_asked_again) return;
  for (auto& done : std::exchange(entry.waiting, {}))
    done(*entry.shown);
}

// Applies the meaning of the new records of a run; returns their symptoms.
Findings Runtime::take_records(Entry& entry, const checks::Observed& observed, Instant now) {
  checks::Interpretation meaning;
  meaning.records = entry.log.news_in(observed.observations);
  if (entry.check->interpret != nullptr)
    meaning = entry.check->interpret({std::move(meaning.records), entry.history.events(), facts_});
  for (const Subject& gpu : meaning.resets) {
    resets_of_this_run_.insert(gpu);
    apply_changes(state_.gpu_was_reset(gpu, now), now);
  }
  for (const checks::Retraction& over : meaning.retractions)
    apply_changes(state_.taken_back(over.gpu, over.code, now), now);
  record_counts_.add(entry.check->info.id, meaning.records);
  read_kernel_log(entry, observed, meaning.records);
  return std::move(meaning.symptoms);
}

// For checks of driver records: records before a reset do not describe the present.
void Runtime::add_resets_to_histories() {
  const Observations resets = proven_resets_.events(host_->clock.now());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto& tags = entries_[i].check->info.tags;
    const auto has = [&tags](std::string_view tag) { return std::ranges::find(tags, tag) != tags.end(); };
    if (!has("gpu") || !has("kernel_log")) continue;
    for (const Observation& reset : resets)
      entries_[i].history.add_event(reset);
    if (entries_[i].completed && !entries_[i].running) schedule_.trigger(i);
  }
}

void Runtime::note_resets(const std::vector<Subject>& gpus, Instant now) {
  for (const Subject& gpu : gpus) {
    proven_resets_.add(gpu, now.mono);
    resets_of_this_run_.insert(gpu);
  }
  ledger_.add(kGpuResets, proven_resets_.to_text());
  add_resets_to_histories();
}

void Runtime::run_follow_up(const Entry& failed, Instant started) {
  for (const std::string& tag : failed.check->info.tags) {
    const auto wanted = options_.follow_up_check.find(tag);
    if (wanted == options_.follow_up_check.end()) continue;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      const bool is_older = entry.result.completed < started.wall;
      if (entry.check->info.id == wanted->second && &entry != &failed && !entry.running && is_older)
        schedule_.trigger(i);
    }
  }
}

void Runtime::show(Entry& entry) {
  const auto shown = std::make_shared<CheckResult>(entry.result);
  if (entry.has_observations) shown->observations = entry.history.latest();
  entry.shown = shown;
  changed_ = true;
}

void Runtime::read_kernel_log(Entry& entry, const checks::Observed& observed, const Observations& news) {
  const std::string& id = entry.check->info.id;
  entry.log.take(id, observed, news, [this](Event event) { (void)tell(std::move(event)); });
  records_dropped_ += observed.records_dropped;
}

host::RecordLosses Runtime::record_losses() const {
  host::RecordLosses losses = host_->kernel_log.losses();
  losses.missed += records_dropped_;
  return losses;
}

void Runtime::report_lost_records() {
  const std::uint64_t losses = record_losses().all();
  if (losses <= losses_reported_) return;
  (void)tell(records_lost_event(losses - std::exchange(losses_reported_, losses)));
}

void Runtime::apply_changes(const incidents::Changes& changes, Instant now) {
  if (changes.empty()) return;
  for (Event& event : incidents::to_events(changes, now.wall, options_.boot_id, options_.simulated))
    (void)tell(std::move(event));
  ledger_.add(changes.incidents);
  if (outlets_.on_incidents && !changes.incidents.empty()) outlets_.on_incidents(changes.incidents);
  findings_changed_ = true;
  changed_ = true;
  show_findings();
}

// An acknowledgement or a reset may affect findings of several checks.
void Runtime::show_findings() {
  for (Entry& entry : entries_) {
    if (!entry.completed) continue;
    take_findings(entry);
    show(entry);
  }
}

void Runtime::take_findings(Entry& entry) {
  entry.result.findings = state_.findings(entry.check->info.id);
  if (entry.is_asked_again) entry.result.findings.push_back(asked_again());
  if (waits_for_memory(entry)) entry.result.findings.push_back(loss_.finding());
  entry.result.health = health_of(entry.result.findings);
}

// Only required checks wait; if none is required, all checks do.
bool Runtime::waits_for_memory(const Entry& entry) const {
  if (!entry.settings.enabled || !loss_.holds(entry.check->info.id)) return false;
  const auto is_required = [](const Entry& one) { return one.result.required && one.settings.enabled; };
  return entry.result.required || std::ranges::none_of(entries_, is_required);
}

void Runtime::begin_memory_loss() {
  if (loss_.is_over()) return;
  ledger_.add(kMemoryLossFact, loss_.cause());
  (void)tell(memory_loss_event(EventKind::finding_raised, loss_.finding()));
}

void Runtime::end_memory_loss_when_due() {
  if (loss_.is_over() ||
      std::ranges::any_of(entries_, [this](const Entry& entry) { return waits_for_memory(entry); }))
    return;
  (void)tell(memory_loss_event(EventKind::finding_cleared, loss_.finding()));
  loss_.end();
  ledger_.add(kMemoryLossFact, "");
}

incidents::SavedState Runtime::of_these_checks(incidents::SavedState saved) const {
  std::erase_if(saved.findings, [this](const incidents::SavedFinding& finding) {
    return std::none_of(entries_.begin(), entries_.end(),
                        [&finding](const Entry& entry) { return entry.check->info.id == finding.check; });
  });
  return saved;
}

// A reset that this agent saw is newer than the finding: a log that still had the fault would have raised it
// again.
void Runtime::take_over(incidents::SavedState saved) {
  const Instant now = host_->clock.now();
  for (incidents::SavedFinding& finding : saved.findings)
    if (resets_of_this_run_.contains(host_subject()) ||
        resets_of_this_run_.contains(incidents::device_of(finding.finding.subject)))
      incidents::release(finding);
  apply_changes(state_.restore(of_these_checks(std::move(saved)), now), now);
  show_findings();
  changed_ = true;
  journal_all_again();
}

void Runtime::note_users(const Observations& observations) {
  apply_changes(state_.note_users(observations), host_->clock.now());
}

std::uint64_t Runtime::tell(Event event) {
  return ledger_.tell(std::move(event));
}

void Runtime::remember(const Operation& operation) {
  ledger_.batch().operations.push_back(operation);
}

void Runtime::remember(const std::vector<PassRecord>& records) {
  ledger_.add(records);
}

void Runtime::set_reserved_for_deep_test(bool is_reserved) {
  changed_ = std::exchange(is_reserved_for_deep_test_, is_reserved) != is_reserved || changed_;
}

void Runtime::remember(std::string_view name, std::string value) {
  ledger_.add(name, std::move(value));
}

void Runtime::use_journal(Ledger::Commit commit,
                          const std::map<std::string, std::string, std::less<>>& values) {
  ledger_.use(std::move(commit), values);
  journal_all_again();
}

void Runtime::journal_all_again() {
  findings_changed_ = true;
  ledger_.batch().is_whole = true;
  ledger_.add(state_.incidents());
  ledger_.add_lasting_facts();
  for (Entry& entry : entries_)
    entry.log.set_moved();
}

void Runtime::update_self(const std::function<void(SelfStatus&)>& change) {
  change(self_);
  changed_ = true;
}

Result<Incident> Runtime::acknowledge(std::string_view incident, const Acknowledgement& acknowledgement,
                                      std::int64_t pid) {
  const Instant now = host_->clock.now();
  const auto changes = TRY(state_.acknowledge(incident, acknowledgement, now));
  (void)tell(acknowledged_event(changes.incidents.front(), acknowledgement, pid));
  apply_changes(changes, now);
  for (const Incident& changed : changes.incidents)
    if (changed.id == incident) return changed;
  for (const Incident& open : state_.incidents())
    if (open.id == incident) return open;
  return fail(Errc::not_found, "incident " + std::string(incident) + " is neither open nor recovering");
}

bool Runtime::run_now(std::string_view check, std::function<void(const CheckResult&)> done) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (entry.check->info.id != check) continue;
    if (!entry.settings.enabled || stopping_) return false;
    entry.waiting.push_back(std::move(done));
    if (!entry.running) schedule_.trigger(i);
    return true;
  }
  return false;
}

void Runtime::kernel_log_grew(LogParts parts) {
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (overlap(entries_[i].log.parts(), parts)) schedule_.trigger_by_news(i);
}

void Runtime::add_last_samples() {
  for (const Entry& entry : entries_) {
    if (!entry.check->info.needs_window) continue;
    for (const Observation& observation : entry.history.latest())
      if (observation.value && as_number(*observation.value))
        ledger_.batch().last_samples.push_back({entry.check->info.id, observation, options_.boot_id});
  }
}

void Runtime::report_counted_records() {
  for (Entry& entry : entries_)
    entry.log.end_minute(entry.check->info.id, [this](Event event) { (void)tell(std::move(event)); });
}

void Runtime::note_periodic(Instant now) {
  if (now.mono >= next_loss_ && record_losses().all() > losses_reported_) {
    report_lost_records();
    changed_ = true;
    next_loss_ = now.mono + kLossesEvery;
  }
  if (now.mono < next_minute_) return;
  next_minute_ = now.mono + minutes{1};
  report_counted_records();
  add_last_samples();
  if (ledger_.take_missed()) journal_all_again();
}

bool Runtime::has_new_counts() const {
  return state_.has_recounted() ||
         std::any_of(entries_.begin(), entries_.end(), [](const Entry& one) { return one.log.has_moved(); });
}

// The log position, its reported events and its counts are written together or not at all.
void Runtime::journal_counts() {
  for (Entry& entry : entries_) {
    if (!entry.log.take_moved()) continue;
    const std::string& id = entry.check->info.id;
    const auto of_boot = [this](std::uint64_t number) {
      return options_.boot_id + "/" + std::to_string(number);
    };
    ledger_.batch().values.emplace_back("kernel_log.position/" + id, of_boot(entry.log.journaled()));
    ledger_.batch().values.emplace_back("kernel_log.untold/" + id, of_boot(entry.log.unreported()));
  }
  ledger_.add(state_.take_recounted());
}

void Runtime::flush(Instant now) {
  if (findings_changed_) {
    auto saved = state_.save();
    ledger_.batch().findings = to_store(std::move(saved.findings));
    ledger_.batch().values.emplace_back(kNextIncident, std::to_string(saved.next_incident));
    findings_changed_ = false;
  }
  if (has_new_counts() && (now.mono >= next_counts_ || !ledger_.batch().empty())) {
    journal_counts();
    next_counts_ = now.mono + kCountsEvery;
  }
  ledger_.flush();
}

void Runtime::when_durable(std::function<void(bool)> done) {
  ledger_.when_durable(std::move(done));
}

void Runtime::stop() {
  stopping_ = true;
  ledger_.add(kRunIsOpen, "false");
  report_lost_records();
  report_counted_records();
  add_last_samples();
  findings_changed_ = true;
  ledger_.add(state_.incidents());  // with the latest state of their members
  flush(host_->clock.now());
}

void Runtime::publish(Instant now) {
  changed_ = false;
  auto next = std::make_shared<NodeSnapshot>();
  next->node = options_.node;
  next->boot_id = options_.boot_id;
  next->time = now.wall;
  next->generation = ++generation_;
  next->simulated = options_.simulated;
  next->profile = options_.profile;
  for (const Entry& entry : entries_)
    if (entry.settings.enabled) next->results.add(entry.shown);
  next->incidents = state_.incidents();
  next->records = record_counts_.counts();
  next->health = incidents::node_health(next->results);
  next->coverage = incidents::coverage_of(next->results, check_infos_);
  next->verdict = incidents::verdict_of({next->results, next->incidents, options_.has_accelerator,
                                         is_reserved_for_deep_test_,
                                         [this](std::string_view id) { return facts_.reason(id); }});
  next->self = self_;
  next->self.checks_late = schedule_.late();
  const auto workers = workers_.counts();
  next->self.lanes = workers.threads;
  next->self.lanes_stuck = workers.stuck;
  const host::RecordLosses losses = record_losses();
  next->self.kernel_records_lost = losses.lost;
  next->self.kernel_records_missed = losses.missed;
  if (outlets_.complete_self) outlets_.complete_self(next->self);
  const std::lock_guard lock(snapshot_mutex_);
  snapshot_ = std::move(next);
}

MonoTime Runtime::next_poll(Instant now) {
  MonoTime next = now.mono + kIdle;
  if (const auto due = schedule_.next(); due && !stopping_) next = std::min(next, *due);
  for (const Entry& entry : entries_)
    if (entry.running)
      next = std::min(next, std::max(entry.running->next_deadline_check(now.mono), now.mono + kGrace));
  if (record_losses().all() > losses_reported_) next = std::min(next, next_loss_);
  if (has_new_counts()) next = std::min(next, next_counts_);
  if (const auto flush = ledger_.next_flush()) next = std::min(next, *flush);
  return std::min(next, next_minute_);
}

SnapshotPtr Runtime::snapshot() const {
  const std::lock_guard lock(snapshot_mutex_);
  return snapshot_;
}

bool Runtime::has_run_once() const {
  return std::all_of(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return (entry.completed && !entry.is_asked_again) || !entry.settings.enabled;
  });
}

}  // namespace autopilot::runtime
