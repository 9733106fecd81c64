// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/service/fresh_looks.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace autopilot::compat::ibm_autopilot {
namespace {

// Somebody who waits.
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
