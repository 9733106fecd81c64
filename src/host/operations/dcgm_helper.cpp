// SPDX-License-Identifier: Apache-2.0
#include "host/operations/dcgm_helper.hpp"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <optional>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/gpu/dcgm/diagnosis.hpp"
#include "host/operations/child_line.hpp"
#include "host/operations/child_teller.hpp"
#include "host/operations/dcgm_words.hpp"
#include "host/operations/deep_test_helper.hpp"
#include "host/operations/tested_gpus.hpp"
#include "host/process/child_runner.hpp"
#include "host/process/find_program.hpp"
#include "host/process/poll.hpp"

namespace autopilot::host {
namespace {

constexpr int kUsage = 64;
// Beyond every deadline that an operation may have.
constexpr Duration kForEver = std::chrono::hours{48};

struct Options {
  DcgmTest test;  // without the GPUs
  std::vector<std::string> program;
  SimulatedMachine simulated;
  std::vector<Subject> wanted;
};

Status take(const std::string& name, const std::string& value, Options& options) {
  const auto level = parse_number<int>(value);
  if (name == "--level" && level && *level >= 1 && *level <= 4)
    options.test.level = *level;
  else if (name == "--fatal")
    options.test.fatal.push_back(value);
  else if (name == "--run")
    options.program.push_back(value);
  else if (name == "--tree")
    options.simulated.tree = value;
  else if (name == "--library")
    options.simulated.library = value;
  else
    return fail(Errc::malformed, name + ": cannot be " + value);
  return {};
}

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  auto at = arguments.begin();
  for (; at != arguments.end() && at->starts_with("--"); at += 2) {
    if (std::next(at) == arguments.end()) return fail(Errc::malformed, *at + ": expected a value");
    TRY_STATUS(take(*at, *std::next(at), options));
  }
  for (; at != arguments.end(); ++at)
    options.wanted.push_back(TRY(parse_gpu_argument(*at)));
  return options;
}

Result<std::string> find_dcgmi() {
  for (const char* place : kDcgmiPlaces)
    if (::access(place, X_OK) == 0) return place;
  return fail(Errc::not_found, without_dcgmi());
}

// By DCGM's numbers, which are the driver's.
std::string numbers_of(const std::vector<Subject>& gpus) {
  std::string numbers;
  for (const Subject& gpu : gpus)
    numbers += (numbers.empty() ? "" : ",") + std::to_string(gpu.index.value_or(-1));
  return numbers;
}

Result<Command> command_of(const Options& options) {
  Command command;
  command.environment = own_environment();
  command.joins_group = true;
  if (options.program.empty()) {
    command.program = TRY(find_dcgmi());
    command.arguments = {"diag", "-j", "-r", std::to_string(options.test.level)};
  } else {
    auto program = find_program(options.program.front(), command.environment);
    if (!program)
      return fail(program.error().code, "no folder of PATH has the program " + options.program.front() +
                                            " that `dcgm.command` names");
    command.program = std::move(*program);
    command.arguments.assign(std::next(options.program.begin()), options.program.end());
  }
  if (options.wanted.empty()) return command;
  command.arguments.emplace_back("-i");
  command.arguments.push_back(numbers_of(options.test.gpus));
  return command;
}

Result<DeepTestSummary> run_program(const Options& options) {
  const Command command = TRY(command_of(options));
  std::string what = command.program;
  for (const std::string& argument : command.arguments)
    what += " " + argument;
  const std::jthread telling = begin_telling(to_printable(what, kMaxChildMessage));
  ChildRunner runner;
  const auto report = runner.run(command, mono_now() + kForEver, {.output_bytes = kMaxDcgmBytes});
  if (!report)
    return fail(report.error().code, report.error().what +
                                         ": is it a program of this machine that the agent may run? "
                                         "`dcgm.command` can name another one");
  auto summary = read_deep_test(*report, 0);
  if (!summary.problem.empty())
    summary.problem +=
        "; " + to_printable(what, kMaxChildMessage) + " by hand tells more, and needs the DCGM host engine";
  return summary;
}

// Exit code. in_use: kChildInUse, and who uses it is the last message.
int tell_in_use(const DcgmTest& test, const std::string& by) {
  tell(ChildProgress{0, "GPU in use by " + by});
  tell(dcgm_in_use(test, by));
  return kChildInUse;
}

bool has_passed(const DeepTestSummary& summary) {
  return exit_code_of(summary) == 0;
}

Result<int> test_gpus(Options options) {
  const OpenedHost opened = TRY(open_tested_machine(options.simulated));
  const auto before = TRY(look_at_gpus(opened, options.wanted));
  std::ranges::transform(before, std::back_inserter(options.test.gpus), &GpuDevice::subject);
  if (const auto user = TRY(user_of(before))) return tell_in_use(options.test, *user);
  const DeepTestSummary summary = TRY(run_program(options));
  // Somebody's work that began meanwhile makes tests fail on sound GPUs.
  if (!has_passed(summary))
    if (const auto after = look_at_gpus(opened, options.wanted)) {
      const auto user = user_of(*after).value_or(std::nullopt);
      if (user) return tell_in_use(options.test, *user);
    }
  const Observations found = TRY(dcgm_observations(summary, options.test));
  tell(ChildProgress{
      1, "level " + std::to_string(options.test.level) + " on " + count_text(options.test.gpus.size())});
  tell(found);
  return 0;
}

}  // namespace

bool has_dcgmi() {
  return std::ranges::any_of(kDcgmiPlaces, [](const char* place) { return ::access(place, F_OK) == 0; });
}

std::string without_dcgmi() {
  std::string places;
  for (const char* place : kDcgmiPlaces)
    places += (places.empty() ? "" : ", ") + std::string(place);
  return "dcgmi is not there or may not be run (" + places +
         "): install NVIDIA's datacenter-gpu-manager, or name a program in `dcgm.command`";
}

int run_dcgm(const std::vector<std::string>& arguments) {
  auto options = parse_options(arguments);
  if (!options) {
    std::cerr << "autopilot helper dcgm: " << options.error().what << "\n";
    return kUsage;
  }
  lead_group_of_test();
  const auto code = test_gpus(*std::move(options));
  if (code) return *code;
  std::cerr << code.error().what << "\n";
  return 1;
}

}  // namespace autopilot::host
