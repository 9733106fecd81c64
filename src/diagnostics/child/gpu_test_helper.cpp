// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/gpu_test_helper.hpp"

#include <iostream>
#include <iterator>
#include <string>

#include "diagnostics/child/child_line.hpp"
#include "diagnostics/child/child_teller.hpp"

namespace autopilot::diagnostics {
namespace {

constexpr int kTestUsage = 64;

Result<GpuTestOptions> parse_gpu_test_options(const std::vector<std::string>& arguments,
                                              const GpuTestHelper& helper) {
  GpuTestOptions options;
  auto at = arguments.begin();
  for (; at != arguments.end() && at->starts_with("--"); at += 2) {
    if (std::next(at) == arguments.end()) return fail(Errc::malformed, *at + ": expected a value");
    const std::string& value = *std::next(at);
    if (*at == "--tree")
      options.simulated.tree = value;
    else if (*at == "--library")
      options.simulated.library = value;
    else
      TRY_STATUS(helper.take(*at, value));
  }
  for (; at != arguments.end(); ++at)
    options.wanted.push_back(TRY(parse_gpu_argument(*at)));
  return options;
}

int tell_in_use(const GpuTestHelper& helper, const std::string& by) {
  tell(ChildProgress{0, "GPU in use by " + by});
  tell(helper.in_use(by));
  return kChildInUse;
}

Result<int> tell_end(const GpuTestEnd& end) {
  if (!end.found) return fail(end.found.error());
  tell(ChildProgress{1, end.said});
  tell(*end.found);
  return 0;
}

Result<int> test_gpus(const GpuTestOptions& options, const GpuTestHelper& helper) {
  const host::OpenedHost opened = TRY(open_tested_machine(options.simulated));
  const auto gpus = TRY(look_at_gpus(opened, options.wanted));
  if (helper.nothing_to_test)
    if (const auto instead = helper.nothing_to_test(gpus.size())) return tell_end(*instead);
  if (const auto user = TRY(user_of(gpus))) return tell_in_use(helper, *user);
  const GpuTestEnd end = helper.run(options, gpus);
  if (!end.is_conclusive)
    if (const auto user = user_who_stays(opened, options.wanted)) return tell_in_use(helper, *user);
  return tell_end(end);
}

}  // namespace

int refuse_arguments(std::string_view helper, const std::string& why) {
  std::cerr << "autopilot helper " << helper << ": " << why << "\n";
  return kTestUsage;
}

int run_gpu_test(const std::vector<std::string>& arguments, const GpuTestHelper& helper) {
  const auto options = parse_gpu_test_options(arguments, helper);
  if (!options) return refuse_arguments(helper.name, options.error().what);
  lead_group_of_test();
  const auto code = test_gpus(*options, helper);
  if (code) return *code;
  std::cerr << code.error().what << "\n";
  return 1;
}

}  // namespace autopilot::diagnostics
