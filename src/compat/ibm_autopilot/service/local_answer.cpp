// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/service/local_answer.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "compat/ibm_autopilot/check_answer.hpp"
#include "compat/ibm_autopilot/node_answer.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace {

namespace ibm = compat::ibm_autopilot;

// Tests that were asked for, until the last one is over.
struct Testing {
  std::size_t open = 1;  // itself: nothing is over before all have begun
  ibm::Effort effort{};
  std::function<void(ibm::Effort effort)> done;
};

void end_one(Testing& testing) {
  if (--testing.open == 0) testing.done(std::move(testing.effort));
}

void test(diagnostics::TestRuns& tests, const TestRights& rights,
          std::function<void(ibm::Effort effort)> done) {
  const auto testing = std::make_shared<Testing>();
  testing->done = std::move(done);
  for (const auto& [check, why] : rights.refused)
    testing->effort.tests[check].not_run = why;
  for (const std::string& check : rights.may) {
    if (!tests.can_run(check)) {
      testing->effort.tests[check].not_run = "this agent makes no such test";
      continue;
    }
    ++testing->open;
    tests.run(check, rights.user, [testing, check](const diagnostics::TestRuns::Run& run) {
      testing->effort.tests[check] = {run.began, run.not_run, run.is_in_use};
      end_one(*testing);
    });
  }
  end_one(*testing);
}

// By our ids.
std::vector<std::string> passive_checks(const std::vector<std::string>& names) {
  std::vector<std::string> checks;
  for (const std::string& name : names)
    if (const auto* known = ibm::find_check(name); known != nullptr && !known->is_active)
      checks.emplace_back(known->check);
  return checks;
}

}  // namespace

std::vector<std::string> active_checks(const diagnostics::TestRuns& tests,
                                       const std::vector<std::string>& names) {
  std::vector<std::string> checks;
  for (const std::string& name : names) {
    const auto* known = ibm::find_check(name);
    if (known == nullptr || !known->is_active) continue;
    const bool is_other = !tests.can_run(known->check) && tests.can_run(known->other);
    checks.emplace_back(is_other ? known->other : known->check);
  }
  return checks;
}

// Checks and tests run in parallel: in sequence they exceed the deadline of an answer.
void answer_locally(const LocalContext& context, const std::vector<std::string>& names,
                    const TestRights& rights, OnAnswers on_answers) {
  struct Answering {
    std::size_t open = 2;
    ibm::Effort effort{};
  };
  const auto answering = std::make_shared<Answering>();
  const WallTime looked_since = context.look.clock.now().wall - kFreshLook;
  const auto end = [&runtime = context.look.runtime, answering, looked_since, names,
                    on_answers = std::move(on_answers)] {
    if (--answering->open > 0) return;
    answering->effort.looked_since = looked_since;
    const auto snapshot = runtime.snapshot();
    on_answers(ibm::answers_of(names, *snapshot, answering->effort), *snapshot);
  };
  test(context.tests, rights, [&loop = context.look.loop, answering, end](ibm::Effort effort) {
    answering->effort = std::move(effort);
    // The judgement is reported before the snapshot holds it.
    loop.post(end);
  });
  look_freshly(context.look, passive_checks(names), end);
}

namespace {

// A waiting caller.
struct Looking {
  std::size_t open = 1;  // itself: nothing is over before all are asked
  std::function<void()> done;
  net::Subscription patience;
};

void end(net::EventLoop& loop, Looking& looking) {
  looking.patience.cancel();
  if (looking.done) loop.post(std::exchange(looking.done, nullptr));
}

void end_one(net::EventLoop& loop, Looking& looking) {
  if (--looking.open == 0) end(loop, looking);
}

bool is_fresh(const LookContext& context, const std::string& check) {
  const auto snapshot = context.runtime.snapshot();
  const auto result = std::ranges::find(snapshot->results, check, &CheckResult::check);
  if (result == snapshot->results.end()) return false;
  const Duration age = context.clock.now().wall - result->completed;
  return age >= Duration{0} && age <= kFreshLook;
}

}  // namespace

void look_freshly(const LookContext& context, const std::vector<std::string>& checks,
                  std::function<void()> done) {
  net::EventLoop& loop = context.loop;
  const auto looking = std::make_shared<Looking>();
  looking->done = std::move(done);
  for (const std::string& check : checks) {
    if (is_fresh(context, check)) continue;
    ++looking->open;
    const auto is_asked =
        context.runtime.run_now(check, [&loop, looking](const CheckResult&) { end_one(loop, *looking); });
    if (!is_asked) --looking->open;
  }
  looking->patience = loop.after(kLookPatience, [&loop, weak = std::weak_ptr(looking)] {
    if (const auto known = weak.lock()) end(loop, *known);
  });
  end_one(loop, *looking);
  context.poll_soon();
}

}  // namespace autopilot::compat::ibm_autopilot
