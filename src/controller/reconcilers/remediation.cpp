// SPDX-License-Identifier: Apache-2.0
#include "controller/reconcilers/remediation.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "controller/reconcilers/ledger_objects.hpp"
#include "telemetry/log.hpp"

namespace autopilot::controller {

Remediation::Remediation(net::EventLoop& loop, kube::Client& client, const Clock& clock,
                         const RemediationOptions& options, Policy policy, std::function<bool()> is_leader,
                         const std::function<double()>& random)
    : loop_(loop),
      clock_(clock),
      is_leader_(std::move(is_leader)),
      picture_(loop, client, clock, {.name_space = options.name_space, .view = options.view},
               std::move(policy), random, [this] { look_soon(); }),
      executor_(loop, client, clock, picture_,
                {.name_space = options.name_space, .prefix = options.view.prefix, .host = options.host},
                is_leader_, random, [this](bool has_asked) { rest(has_asked); }),
      retention_(loop, client, clock, picture_, options.name_space, is_leader_),
      held_nodes_(loop, client, options.name_space, is_leader_) {}

void Remediation::start() {
  started_ = clock_.now().mono;
  picture_.start();
  retention_.start();
}

// The first change is looked at after a pause as well: mostly others come with it.
void Remediation::look_soon() {
  if (std::exchange(is_soon_, true)) return;
  look_at(std::max(clock_.now().mono, last_) + kPause);
}

void Remediation::look_at(MonoTime when) {
  next_ = loop_.at(when, [this] { look(); });
}

void Remediation::look() {
  is_soon_ = false;
  // It calls when it has done what it has.
  if (executor_.is_busy()) return;
  const Instant now = clock_.now();
  last_ = now.mono;
  due_ = now.mono + kEvery;
  Plan made;
  if (is_leader_()) {
    made = plan(picture_.world(), picture_.policy(), now.wall);
    ++plans_made_;
    breakers_ = made.breakers;
    if (made.next) due_ = std::min(due_, now.mono + (*made.next - now.wall));
    tell(made.brake);
  }
  executor_.carry_out(std::move(made));
}

// Whatever was asked of the API server has changed the picture, or failed; else nothing is to be done before
// its time.
void Remediation::rest(bool has_asked) {
  if (has_asked) return look_soon();
  if (picture_.world().is_complete) held_nodes_.show(held_nodes(picture_.world()));
  if (is_soon_) return;
  if (const auto retry = executor_.next_try()) due_ = std::min(due_, *retry);
  look_at(std::max(due_, last_ + kPause));
}

// Once, not at every plan, and not while the first lists come in.
void Remediation::tell(const std::string& brake) {
  const std::string why = picture_.problem();
  problem_ = brake.empty() || why.empty() ? brake : brake + " (" + why + ')';
  if (problem_ == told_ || last_ - started_ < kEvery) return;
  told_ = problem_;
  if (!problem_.empty()) telemetry::log_warning("nothing is decided about nodes", {{"cause", problem_}});
}

RemediationFigures Remediation::figures() const {
  RemediationFigures figures{.plans_made = plans_made_,
                             .problem = problem_,
                             .breakers = breakers_,
                             .executor = executor_.stats(),
                             .entries = {}};
  for (const auto& [key, plan] : picture_.plans())
    ++figures.entries[entry_fact(plan).phase];
  return figures;
}

std::string Remediation::plans_json() const {
  std::vector<kube::RemediationPlan> plans;
  for (const auto& [key, plan] : picture_.plans())
    plans.push_back(plan);
  std::ranges::sort(plans, std::greater(),
                    [](const kube::RemediationPlan& plan) { return plan.spec.created; });
  return kube::plans_json(plans) + "\n";
}

}  // namespace autopilot::controller
