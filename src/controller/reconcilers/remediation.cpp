// SPDX-License-Identifier: Apache-2.0

#include "controller/reconcilers/remediation.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <functional>
#include <iterator>
#include <utility>

#include "controller/reconcilers/world_view.hpp"
#include "logging/log.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

Write deletion_of(const Kept& object) {
  const json::object preconditions{{"uid", object.meta.uid}, {"resourceVersion", object.meta.version}};
  return {Write::Method::remove, object.path,
          json::serialize(json::object{{"preconditions", preconditions}})};
}

Kept kept(const kube::RemediationPlan& plan, const std::string& name_space) {
  const LedgerEntry entry = entry_fact(plan);
  return {.path = kube::remediation_plans_path(name_space) + '/' + plan.meta.name,
          .meta = plan.meta,
          .changed = entry.updated,
          .has_ended = !is_open(entry.phase)};
}

// A report without a plan ends with its age.
Kept kept(const kube::HealthCheckReport& report, const std::string& name_space) {
  return {.path = kube::health_check_reports_path(name_space) + '/' + report.meta.name,
          .meta = report.meta,
          .changed = report.time.value_or(WallTime{}),
          .has_ended = report.phase != kube::ReportPhase::pending};
}

}  // namespace

std::vector<Write> too_old(std::vector<Kept> objects, const RetentionLimits& limits, WallTime now) {
  std::ranges::sort(objects, {}, &Kept::changed);
  std::size_t left = objects.size();
  std::vector<Write> deletions;
  for (const Kept& object : objects) {
    const bool is_old = now - object.changed > limits.longest;
    if (!object.has_ended || (!is_old && left <= limits.most)) continue;
    deletions.push_back(deletion_of(object));
    --left;
  }
  return deletions;
}

Retention::Retention(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                     const ClusterSnapshot& snapshot, std::string name_space, std::function<bool()> is_leader,
                     RetentionLimits limits)
    : loop_(loop),
      client_(client),
      clock_(clock),
      snapshot_(snapshot),
      space_(std::move(name_space)),
      is_leader_(std::move(is_leader)),
      limits_(limits) {}

void Retention::start() {
  next_ = loop_.every(kEvery, [this] { look(); });
}

void Retention::look() {
  if (!waiting_.empty()) return;
  std::vector<Kept> plans;
  for (const auto& [key, plan] : snapshot_.plans())
    plans.push_back(kept(plan, space_));
  std::vector<Kept> reports;
  for (const auto& [key, report] : snapshot_.reports())
    reports.push_back(kept(report, space_));
  const WallTime now = clock_.now().wall;
  for (auto* objects : {&plans, &reports})
    for (Write& deletion : too_old(std::move(*objects), limits_, now))
      if (waiting_.size() < kMostAtOnce) waiting_.push_back(std::move(deletion));
  go_on();
}

void Retention::go_on() {
  if (waiting_.empty()) return;
  // The snapshot can be out of date; remaining objects are deleted at the next interval.
  if (!is_leader_()) return waiting_.clear();
  exchange_ = send(client_, waiting_.front(), [this](const kube::ApiResult<std::string>& answer) {
    if (!answer && answer.error().verdict.outcome != kube::ApiOutcome::not_found)
      logging::log_warning("cannot delete an old plan or report", {{"cause", answer.error().error.what}});
    waiting_.pop_front();
    go_on();
  });
}

namespace {

using kube::ApiOutcome;

// Not a valid node name.
constexpr const char* kMore = "_more";

std::string line_of(const World& world, const Hold& hold) {
  std::string line = "since " + format_time(hold.since) + " by plan " + hold.plan;
  if (const LedgerEntry* plan = world.entry(hold.plan)) line += ": " + plan->cause;
  return line;
}

}  // namespace

kube::Texts held_nodes(const World& world, std::size_t most) {
  kube::Texts held;
  for (const auto& one : world.nodes()) {
    const Node& node = one.second;
    if (node.held && node.is_unschedulable) held.emplace(one.first, line_of(world, *node.held));
  }
  if (held.size() <= most) return held;
  const std::string others = std::to_string(held.size() - most) + " others";
  while (held.size() > most)
    held.erase(std::prev(held.end()));
  held.emplace(kMore, others);
  return held;
}

HeldNodes::HeldNodes(net::EventLoop& loop, kube::Client& client, const std::string& name_space,
                     std::function<bool()> is_leader, Duration after_failure)
    : loop_(loop),
      client_(client),
      path_(kube::config_maps_path(name_space) + "/" + kHeldNodesName),
      is_leader_(std::move(is_leader)),
      after_failure_(after_failure) {}

void HeldNodes::show(kube::Texts held) {
  wanted_ = std::move(held);
  if (is_leader_() && shown_ != wanted_ && !exchange_.is_active() && !again_.is_active()) look();
}

void HeldNodes::look() {
  exchange_ = client_.get({path_, {}}, [this](const kube::ApiResult<std::string>& answer) { take(answer); });
}

void HeldNodes::take(const kube::ApiResult<std::string>& answer) {
  if (!is_leader_()) return;
  if (!answer) {
    if (answer.error().verdict.outcome != ApiOutcome::not_found) return look_later(answer.error().error);
    again_ = loop_.after(after_failure_, [this] { look(); });
    return;
  }
  const auto map = kube::parse_config_map(*answer);
  if (!map) return look_later(map.error());
  shown_ = map->texts;
  if (shown_ == wanted_) return problem_.clear();
  exchange_ = client_.patch({path_, {}}, kube::Patch::merge, kube::config_map_patch_json(*map, wanted_),
                            [this](const kube::ApiResult<std::string>& written) { take_written(written); });
}

void HeldNodes::take_written(const kube::ApiResult<std::string>& answer) {
  if (!answer) {
    shown_.reset();
    if (answer.error().verdict.outcome != ApiOutcome::conflict) look_later(answer.error().error);
    return;
  }
  problem_.clear();
  const auto map = kube::parse_config_map(*answer);
  shown_ = map ? std::optional(map->texts) : std::nullopt;
}

void HeldNodes::look_later(const Error& why) {
  if (std::exchange(problem_, why.what) != why.what)
    logging::log_warning("cannot write the list of held nodes", {{"cause", why.what}});
  again_ = loop_.after(after_failure_, [this] { look(); });
}

Remediation::Remediation(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                         const RemediationOptions& options, Policy policy, std::function<bool()> is_leader,
                         const std::function<double()>& random)
    : loop_(loop),
      clock_(clock),
      is_leader_(std::move(is_leader)),
      snapshot_(loop, client, clock, {.name_space = options.name_space, .view = options.view},
                std::move(policy), random, [this] { look_soon(); }),
      executor_(loop, client, clock, snapshot_,
                {.name_space = options.name_space, .prefix = options.view.prefix, .host = options.host},
                is_leader_, random, [this](bool has_asked) { rest(has_asked); }),
      retention_(loop, client, clock, snapshot_, options.name_space, is_leader_),
      held_nodes_(loop, client, options.name_space, is_leader_) {}

void Remediation::start() {
  started_ = clock_.now().mono;
  snapshot_.start();
  retention_.start();
}

// Also waits before the first plan, because changes mostly come in groups.
void Remediation::look_soon() {
  if (std::exchange(is_soon_, true)) return;
  look_at(std::max(clock_.now().mono, last_) + kPause);
}

void Remediation::look_at(MonoTime when) {
  next_ = loop_.at(when, [this] { look(); });
}

void Remediation::look() {
  is_soon_ = false;
  // The executor calls back when it is idle.
  if (executor_.is_busy()) return;
  const Instant now = clock_.now();
  last_ = now.mono;
  due_ = now.mono + kEvery;
  Plan made;
  if (is_leader_()) {
    made = plan(snapshot_.world(), snapshot_.policy(), now.wall);
    ++plans_made_;
    breakers_ = made.breakers;
    if (made.next) due_ = std::min(due_, now.mono + (*made.next - now.wall));
    tell(made.brake);
  }
  executor_.carry_out(std::move(made));
}

// A request has changed the snapshot or failed; without one, nothing is due before the next interval.
void Remediation::rest(bool has_asked) {
  if (has_asked) return look_soon();
  if (snapshot_.world().is_complete) held_nodes_.show(held_nodes(snapshot_.world()));
  if (is_soon_) return;
  if (const auto retry = executor_.next_try()) due_ = std::min(due_, *retry);
  look_at(std::max(due_, last_ + kPause));
}

// Logged once, not at every plan, and not before the first lists are complete.
void Remediation::tell(const std::string& brake) {
  const std::string why = snapshot_.problem();
  problem_ = brake.empty() || why.empty() ? brake : brake + " (" + why + ')';
  if (problem_ == told_ || last_ - started_ < kEvery) return;
  told_ = problem_;
  if (!problem_.empty()) logging::log_warning("no decisions about nodes", {{"cause", problem_}});
}

RemediationFigures Remediation::figures() const {
  RemediationFigures figures{.plans_made = plans_made_,
                             .problem = problem_,
                             .breakers = breakers_,
                             .executor = executor_.stats(),
                             .entries = {}};
  for (const auto& [key, plan] : snapshot_.plans())
    ++figures.entries[entry_fact(plan).phase];
  return figures;
}

std::string Remediation::plans_json() const {
  std::vector<kube::RemediationPlan> plans;
  for (const auto& [key, plan] : snapshot_.plans())
    plans.push_back(plan);
  std::ranges::sort(plans, std::greater(),
                    [](const kube::RemediationPlan& plan) { return plan.spec.created; });
  return kube::plans_json(plans) + "\n";
}

}  // namespace autopilot::controller
