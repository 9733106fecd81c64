// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/dcgm_helper.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "diagnostics/child/child_line.hpp"
#include "diagnostics/child/deep_test_helper.hpp"
#include "diagnostics/child/tested_gpus.hpp"
#include "host/files/fd.hpp"
#include "host/gpu/dcgm.hpp"
#include "host/process/child.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::diagnostics {

namespace {

struct DcgmOptions {
  DcgmTest test;  // the GPUs are there once it runs
  std::vector<std::string> program;
};

Status take_dcgm_option(const std::string& name, const std::string& value, DcgmOptions& options) {
  const auto level = parse_number<int>(value);
  auto excuses = host::parse_excuses(value);
  if (name == "--level" && level && *level >= 1 && *level <= 4)
    options.test.level = *level;
  else if (name == "--fatal")
    options.test.fatal.push_back(value);
  else if (name == "--excused" && excuses)
    options.test.excuses = *std::move(excuses);
  else if (name == "--run")
    options.program.push_back(value);
  else
    return fail(Errc::malformed, name + ": cannot be " + value);
  return {};
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

Result<host::Command> dcgm_command(const DcgmOptions& options, bool are_all) {
  host::Command command;
  command.environment = host::environment_of_tests();
  command.joins_group = true;
  if (options.program.empty()) {
    command.program = TRY(find_dcgmi());
    command.arguments = {"diag", "-j", "-r", std::to_string(options.test.level)};
  } else {
    auto program = host::find_program(options.program.front(), command.environment);
    if (!program)
      return fail(program.error().code, "no folder of PATH has the program " + options.program.front() +
                                            " that `dcgm.command` names");
    command.program = std::move(*program);
    command.arguments.assign(std::next(options.program.begin()), options.program.end());
  }
  if (are_all) return command;
  command.arguments.emplace_back("-i");
  command.arguments.push_back(numbers_of(options.test.gpus));
  return command;
}

Result<DeepTestSummary> run_dcgm_program(const DcgmOptions& options, bool are_all) {
  const host::Command command = TRY(dcgm_command(options, are_all));
  std::string what = command.program;
  for (const std::string& argument : command.arguments)
    what += " " + argument;
  const std::jthread telling = begin_telling(to_printable(what, kMaxChildMessage));
  host::ChildRunner runner;
  const auto report =
      runner.run(command, host::mono_now() + kNoDeadlineOfTest, {.output_bytes = host::kMaxDcgmBytes});
  if (!report)
    return fail(report.error().code,
                report.error().what +
                    ": check that the program is on this machine and executable for the agent; "
                    "`dcgm.command` can name another one");
  auto summary = read_deep_test(*report, 0);
  if (!summary.problem.empty())
    summary.problem +=
        "; " + to_printable(what, kMaxChildMessage) + " by hand prints more, and needs the DCGM host engine";
  return summary;
}

bool has_passed(const DeepTestSummary& summary) {
  return exit_code_of(summary) == 0;
}

// Not conclusive after a failure: a workload that began during the diagnostic can make healthy GPUs fail.
GpuTestEnd test_with_dcgm(DcgmOptions& options, bool are_all, std::span<const host::GpuDevice> gpus) {
  std::ranges::transform(gpus, std::back_inserter(options.test.gpus), &host::GpuDevice::subject);
  const auto summary = run_dcgm_program(options, are_all);
  if (!summary) return {fail(summary.error()), "", true};
  return {dcgm_observations(*summary, options.test),
          "level " + std::to_string(options.test.level) + " on " + count_text(gpus.size()),
          has_passed(*summary)};
}

}  // namespace

bool has_dcgmi() {
  return std::ranges::any_of(kDcgmiPlaces, [](const char* place) { return ::access(place, F_OK) == 0; });
}

std::string without_dcgmi() {
  std::string places;
  for (const char* place : kDcgmiPlaces)
    places += (places.empty() ? "" : ", ") + std::string(place);
  return "dcgmi is missing or not executable (" + places +
         "): install NVIDIA's datacenter-gpu-manager, or name a program in `dcgm.command`";
}

int run_dcgm(const std::vector<std::string>& arguments) {
  DcgmOptions options;
  GpuTestHelper helper;
  helper.name = "dcgm";
  helper.take = [&options](const std::string& name, const std::string& value) {
    return take_dcgm_option(name, value, options);
  };
  helper.run = [&options](const GpuTestOptions& common, std::span<const host::GpuDevice> gpus) {
    return test_with_dcgm(options, common.wanted.empty(), gpus);
  };
  helper.in_use = [&options](const std::string& by) { return dcgm_in_use(options.test, by); };
  return run_gpu_test(arguments, helper);
}

namespace {

using Test = DeepTestSummary::Test;

// Result of all tests together for one subject.
struct Verdict {
  host::DcgmStatus worst = host::DcgmStatus::pass;
  bool is_fatal = false;
  std::string tests;  // the tests with that status: "pcie,memory"
  std::string message;

  void add(const Test& test, const DcgmTest& how) {
    if (test.status < worst || test.status <= host::DcgmStatus::pass) return;
    if (test.status > worst) *this = {.worst = test.status, .is_fatal = false, .tests = {}, .message = {}};
    const std::string word = host::test_word(test.name);
    const bool makes_fatal = worst == host::DcgmStatus::fail && host::is_fatal_test(word, how.fatal) &&
                             !host::is_excused(test.error, test.message, how.excuses);
    if (message.empty() || (makes_fatal && !is_fatal)) message = test.message;
    is_fatal = is_fatal || makes_fatal;
    if (!has_told(word)) tests += (tests.empty() ? "" : ",") + word;
  }

  // Of another error.
  [[nodiscard]] bool has_told(const std::string& word) const {
    const auto words = split(tests, ',');
    return std::ranges::find(words, std::string_view(word)) != words.end();
  }

  [[nodiscard]] std::string_view word() const {
    if (worst == host::DcgmStatus::fail) return is_fatal ? "fatal" : "failed";
    return worst == host::DcgmStatus::warn ? "warned" : "passed";
  }
};

Observation dcgm_observation(const Subject& subject, std::string_view name) {
  Observation observation;
  observation.name = name;
  observation.subject = subject;
  return observation;
}

Observation dcgm_outcome(const DcgmTest& test, std::string word) {
  Observation observation = dcgm_observation(host_subject(), "dcgm.outcome");
  observation.value = std::move(word);
  observation.attributes = {{"level", static_cast<std::int64_t>(test.level)}};
  return observation;
}

Observation result_of(const Subject& subject, const Verdict& verdict) {
  Observation observation = dcgm_observation(subject, "dcgm.result");
  observation.value = std::string(verdict.word());
  if (!verdict.tests.empty())
    observation.attributes.emplace_back("tests", to_printable(verdict.tests, kMaxChildMessage));
  if (!verdict.message.empty()) observation.attributes.emplace_back("message", verdict.message);
  return observation;
}

Observation untested(const Subject& gpu, const std::string& why) {
  Observation observation = dcgm_observation(gpu, "dcgm.result");
  observation.missing = to_string(Errc::unavailable);
  observation.attributes = {{"error", to_printable(why, kMaxChildMessage)}};
  return observation;
}

const Subject* subject_of(std::uint32_t number, const DeepTestSummary& summary, const DcgmTest& test) {
  const auto named = std::ranges::find(summary.gpus, number, &host::DcgmGpu::id);
  return host::gpu_of(named == summary.gpus.end() ? host::DcgmGpu{number, ""} : *named, test.gpus);
}

// A result without a GPU of the diagnostic is about the host.
std::map<Subject, Verdict> verdicts_of(const DeepTestSummary& summary, const DcgmTest& test) {
  std::map<Subject, Verdict> verdicts{{host_subject(), {}}};
  for (const Test& one : summary.tests) {
    bool is_of_host = one.gpus.empty();
    for (const std::uint32_t number : one.gpus) {
      const Subject* gpu = subject_of(number, summary, test);
      if (gpu == nullptr)
        is_of_host = true;
      else
        verdicts[*gpu].add(one, test);
    }
    if (is_of_host) verdicts[host_subject()].add(one, test);
  }
  return verdicts;
}

// DCGM 2 names no GPUs where a level has tests of the machine alone.
bool was_tested(const Subject& gpu, const DeepTestSummary& summary, const DcgmTest& test) {
  return summary.gpus.empty() || std::ranges::any_of(summary.gpus, [&](const host::DcgmGpu& named) {
           return host::gpu_of(named, test.gpus) == &gpu;
         });
}

bool has(const DeepTestSummary& summary, host::DcgmStatus least) {
  return std::ranges::any_of(summary.tests, [least](const Test& test) { return test.status >= least; });
}

}  // namespace

Result<Observations> dcgm_observations(const DeepTestSummary& summary, const DcgmTest& test) {
  if (!has(summary, host::DcgmStatus::fail)) {
    if (!summary.problem.empty()) return fail(Errc::unavailable, summary.problem);
    if (!has(summary, host::DcgmStatus::pass)) return fail(Errc::unavailable, "every test was skipped");
  }
  Observations all{dcgm_outcome(test, "tested")};
  const auto verdicts = verdicts_of(summary, test);
  all.push_back(result_of(host_subject(), verdicts.at(host_subject())));
  for (const Subject& gpu : test.gpus) {
    const auto verdict = verdicts.find(gpu);
    if (verdict != verdicts.end() && verdict->second.worst > host::DcgmStatus::pass)
      all.push_back(result_of(gpu, verdict->second));
    else if (!was_tested(gpu, summary, test))
      all.push_back(untested(gpu, "DCGM did not test it"));
    else if (!summary.problem.empty())
      all.push_back(untested(gpu, summary.problem));
    else
      all.push_back(result_of(gpu, {}));
  }
  return all;
}

Observations dcgm_in_use(const DcgmTest& test, const std::string& by) {
  Observations all{dcgm_outcome(test, "in_use")};
  all.front().attributes.emplace_back("by", by);
  return all;
}

}  // namespace autopilot::diagnostics
