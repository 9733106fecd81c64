// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/deep_test_helper.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <iterator>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/process/child.hpp"

namespace autopilot::diagnostics {
namespace {

constexpr int kSomethingFailed = 1;
constexpr int kCannotSay = 2;

struct DeepTestOptions {
  std::string output;
  Duration deadline = std::chrono::hours{1};
  std::size_t gpus = 0;
  bool is_own = false;
  std::vector<std::string> command;  // or the options of our own test
};

Result<DeepTestOptions> parse_deep_test_options(const std::vector<std::string>& arguments) {
  DeepTestOptions options;
  auto at = arguments.begin();
  for (; at != arguments.end() && at->starts_with("--") && *at != "--"; at += 2) {
    if (std::next(at) == arguments.end()) return fail(Errc::malformed, *at + ": expected a value");
    const std::string& value = *std::next(at);
    const auto deadline = parse_duration(value);
    const auto gpus = parse_number<std::uint16_t>(value);
    if (*at == "--output")
      options.output = value;
    else if (*at == "--deadline" && deadline && *deadline > Duration{0})
      options.deadline = *deadline;
    else if (*at == "--gpus" && gpus)
      options.gpus = *gpus;
    else if (*at == "--tests" && (value == "own" || value == "dcgm"))
      options.is_own = value == "own";
    else
      return fail(Errc::malformed, *at + ": cannot be " + value);
  }
  if (at != arguments.end() && *at == "--") ++at;
  options.command.assign(at, arguments.end());
  if (options.output.empty()) return fail(Errc::malformed, "--output: expected a file");
  if (options.command.empty() && !options.is_own)
    return fail(Errc::malformed, "expected the program that tests");
  return options;
}

// Into what is there: the kubelet has mounted this very file.
Status write_file(const std::string& path, std::string_view text) {
  const host::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (file.get() < 0) return fail_errno(errno, path);
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

DeepTestSummary problem(std::string what) {
  DeepTestSummary summary;
  summary.problem = std::move(what);
  return summary;
}

bool has_failure(const DeepTestSummary& summary) {
  return std::ranges::any_of(summary.tests,
                             [](const auto& test) { return test.status == host::DcgmStatus::fail; });
}

// The last words of a program that left no document.
std::string last_words_instead_of_document(const host::ChildReport& report) {
  const std::string& text = trim(report.errors).empty() ? report.output : report.errors;
  const std::string_view words = trim(text);
  return words.empty() ? "" : ": " + to_printable(words.substr(words.rfind('\n') + 1), 200);
}

void expect_gpus(std::size_t gpus, DeepTestSummary& summary) {
  if (summary.problem.empty() && summary.gpus.size() < gpus)
    summary.problem =
        std::to_string(summary.gpus.size()) + " of " + std::to_string(gpus) + " GPUs were tested";
}

DeepTestSummary run_own(const DeepTestOptions& options, const OwnDeepTest& own) {
  DeepTestSummary summary = own(options.command, host::mono_now() + options.deadline);
  expect_gpus(options.gpus, summary);
  return summary;
}

DeepTestSummary run_deep_test_program(const DeepTestOptions& options) {
  host::Command command;
  command.environment = host::own_environment();
  auto program = host::find_program(options.command.front(), command.environment);
  if (!program) return problem(options.command.front() + ": " + program.error().what);
  command.program = std::move(*program);
  command.arguments.assign(std::next(options.command.begin()), options.command.end());
  host::ChildRunner runner;
  const host::RunLimits limits{.output_bytes = host::kMaxDcgmBytes};
  const auto report = runner.run(command, host::mono_now() + options.deadline, limits);
  if (!report) return problem(options.command.front() + ": " + report.error().what);
  std::cout << report->output << std::flush;
  std::cerr << report->errors << std::flush;
  return read_deep_test(*report, options.gpus);
}

}  // namespace

DeepTestSummary read_deep_test(const host::ChildReport& report, std::size_t gpus) {
  if (report.end == host::ChildEnd::timed_out) return problem("the test did not end in time");
  if (report.end != host::ChildEnd::exited) return problem("the test ended by " + to_string(report.status));
  // dcgmi ends with other codes than 0 when a test fails; what failed stands in the document.
  const auto diagnosis = host::parse_dcgm_diagnosis(report.output);
  if (!diagnosis)
    return problem(to_string(report.status) + ", " + diagnosis.error().what +
                   last_words_instead_of_document(report));
  DeepTestSummary summary = summary_of(*diagnosis);
  expect_gpus(gpus, summary);
  if (!summary.problem.empty()) return summary;
  if (report.status.code != 0 && !has_failure(summary))
    summary.problem =
        to_string(report.status) + ", but no test failed" + last_words_instead_of_document(report);
  return summary;
}

int exit_code_of(const DeepTestSummary& summary) {
  if (has_failure(summary)) return kSomethingFailed;
  const bool has_pass = std::ranges::any_of(
      summary.tests, [](const auto& test) { return test.status >= host::DcgmStatus::pass; });
  return summary.problem.empty() && has_pass ? 0 : kCannotSay;
}

int run_deep_test(const std::vector<std::string>& arguments, const OwnDeepTest& own) {
  const auto options = parse_deep_test_options(arguments);
  if (!options) {
    std::cerr << "autopilot helper deep-test: " << options.error().what << "\n";
    return kCannotSay;
  }
  const DeepTestSummary summary = options->is_own ? run_own(*options, own) : run_deep_test_program(*options);
  const std::string text = format_deep_test_summary(summary);
  if (const Status written = write_file(options->output, text); !written) {
    std::cerr << "autopilot helper deep-test: " << written.error().what << "\n";
    return kCannotSay;
  }
  return exit_code_of(summary);
}

}  // namespace autopilot::diagnostics
