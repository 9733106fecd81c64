// SPDX-License-Identifier: Apache-2.0
#include "cli/one_run.hpp"

#include <utility>

#include "runtime/one_shot.hpp"
#include "store/journal.hpp"

namespace autopilot::cli {
namespace {

std::vector<store::LastSample> samples_of_the_agent(const config::Config& settings,
                                                    const agent::Machine& machine) {
  const auto journal = store::Journal::open_read_only(settings.journal_path());
  if (!journal) return {};
  return (*journal)->last_samples(machine.boot_id).value_or(std::vector<store::LastSample>{});
}

}  // namespace

Result<NodeSnapshot> run_checks(const RunRequest& request, const config::Config& settings,
                                const std::vector<checks::Check>& checks, const catalog::Catalog& facts) {
  const auto machine = TRY(open_machine(request.machine, settings, Timeline::at_end, {}));
  runtime::OneShot one_shot;
  one_shot.options.node = machine.node;
  one_shot.options.boot_id = machine.boot_id;
  one_shot.options.profile = settings.profile;
  one_shot.options.simulated = machine.simulated && !is_recording(request.machine);
  one_shot.options.has_accelerator = machine.has_accelerator;
  // One worker per check: a driver that hangs delays only the checks that call it.
  one_shot.options.workers.threads = static_cast<int>(checks.size());
  one_shot.settings.expectation = settings.expectation;
  one_shot.settings.expectation.required_checks = machine.required_checks(settings);
  one_shot.window = request.window;
  one_shot.watches_growth = request.watches_growth;
  if (request.machine.is_this_machine()) one_shot.last_samples = samples_of_the_agent(settings, machine);
  NodeSnapshot node = *runtime::look_once(machine.host, facts, checks, std::move(one_shot));
  if (machine.complete_self) machine.complete_self(node.self);
  return node;
}

}  // namespace autopilot::cli
