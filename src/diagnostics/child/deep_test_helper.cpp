// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/child/deep_test_helper.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <fcntl.h>
#include <iostream>
#include <iterator>
#include <optional>
#include <set>
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
  if (options.command.empty() && !options.is_own) return fail(Errc::malformed, "expected the program to run");
  return options;
}

// Writes into the existing file, because the kubelet has mounted it.
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
  // dcgmi ends with other codes than 0 when a test fails; the document lists the failures.
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

namespace json = boost::json;

namespace {

constexpr std::size_t kLongestMessage = 160;  // bytes, of each test
constexpr std::size_t kLongestName = 64;
constexpr std::size_t kLongestProblem = 512;
constexpr std::size_t kLongestSerial = 32;

// At most `longest` bytes, and no part of a character.
std::string cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return to_utf8(text);
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0U) == 0x80U)
    --longest;
  return to_utf8(text.substr(0, longest));
}

void add(const host::DcgmResult& result, const std::string& name, const host::DcgmMessage& message,
         DeepTestSummary& summary) {
  auto test = std::ranges::find_if(summary.tests, [&](const DeepTestSummary::Test& one) {
    return one.name == name && one.status == result.status && one.error == message.error;
  });
  if (test == summary.tests.end()) {
    summary.tests.push_back(
        {.name = name, .status = result.status, .gpus = {}, .message = {}, .error = message.error});
    test = std::prev(summary.tests.end());
  }
  for (const std::uint32_t gpu : result.gpus)
    if (std::ranges::find(test->gpus, gpu) == test->gpus.end()) test->gpus.push_back(gpu);
  if (test->message.empty() && !message.text.empty())
    test->message = cut((result.entity.empty() ? "" : result.entity + ": ") + message.text, kLongestMessage);
}

// Warnings and failures of one test are listed side by side, each error with its GPUs. Passed results are
// listed only for tests without them.
void add(const host::DcgmResult& result, DeepTestSummary& summary) {
  const std::string name = cut(result.test, kLongestName);
  const auto has_name = [&name](const DeepTestSummary::Test& test) { return test.name == name; };
  if (result.status <= host::DcgmStatus::pass && std::ranges::any_of(summary.tests, [&](const auto& test) {
        return has_name(test) && test.status > result.status;
      }))
    return;
  std::erase_if(summary.tests, [&](const DeepTestSummary::Test& test) {
    return has_name(test) && test.status <= host::DcgmStatus::pass && test.status < result.status;
  });
  if (result.messages.empty()) add(result, name, {}, summary);
  for (const host::DcgmMessage& message : result.messages)
    add(result, name, message, summary);
}

// True if a test ran on the GPU. If tests ran that use GPUs, software checks do not count. Not set: no result
// names a GPU, as with DCGM 2 at a level with tests of the machine only.
std::optional<std::set<std::uint32_t>> tested_gpus(const host::DcgmDiagnosis& diagnosis) {
  const bool uses_gpus = std::ranges::any_of(diagnosis.results, [](const host::DcgmResult& result) {
    return result.category != host::kDcgmSoftware;
  });
  std::set<std::uint32_t> tested;
  bool names_any = false;
  for (const host::DcgmResult& result : diagnosis.results) {
    names_any = names_any || !result.gpus.empty();
    if (result.status < host::DcgmStatus::pass || (uses_gpus && result.category == host::kDcgmSoftware))
      continue;
    tested.insert(result.gpus.begin(), result.gpus.end());
  }
  return names_any ? std::optional(std::move(tested)) : std::nullopt;
}

std::string render(const DeepTestSummary& summary) {
  json::object text{{"deep_test", 1}};
  if (!summary.problem.empty()) text["problem"] = summary.problem;
  json::array tests;
  for (const DeepTestSummary::Test& test : summary.tests) {
    json::object one{{"name", test.name}, {"status", to_string(test.status)}};
    if (!test.gpus.empty()) one["gpus"] = json::array(test.gpus.begin(), test.gpus.end());
    if (test.error) one["error"] = *test.error;
    if (!test.message.empty()) one["message"] = test.message;
    tests.emplace_back(std::move(one));
  }
  text["tests"] = std::move(tests);
  if (summary.left_out > 0) text["left_out"] = summary.left_out;
  json::object gpus;
  for (const host::DcgmGpu& gpu : summary.gpus)
    gpus[std::to_string(gpu.id)] = gpu.serial;
  text["gpus"] = std::move(gpus);
  return json::serialize(text);
}

std::string_view summary_text(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

Result<DeepTestSummary::Test> parse_test(const json::value& value) {
  const json::object* members = value.if_object();
  if (members == nullptr) return fail(Errc::malformed, "`tests`: expected objects");
  DeepTestSummary::Test test{.name = cut(summary_text(*members, "name"), kLongestName),
                             .gpus = {},
                             .message = cut(summary_text(*members, "message"), kLongestMessage)};
  const auto status = host::parse_dcgm_status(summary_text(*members, "status"));
  if (test.name.empty() || !status) return fail(Errc::malformed, "`tests`: expected `name` and `status`");
  test.status = *status;
  if (const json::value* number = members->if_contains("error")) {
    json::error_code error;
    test.error = number->is_number() ? number->to_number<std::int64_t>(error) : 0;
    if (!number->is_number() || error) return fail(Errc::malformed, "`error` of a test: expected a number");
  }
  const json::value* gpus = members->if_contains("gpus");
  if (gpus == nullptr) return test;
  if (!gpus->is_array()) return fail(Errc::malformed, "`gpus` of a test: expected a list");
  for (const json::value& gpu : gpus->get_array()) {
    json::error_code error;
    const auto id = gpu.is_number() ? gpu.to_number<std::uint32_t>(error) : 0;
    if (!gpu.is_number() || error) return fail(Errc::malformed, "`gpus` of a test: expected numbers");
    test.gpus.push_back(id);
  }
  return test;
}

}  // namespace

DeepTestSummary summary_of(const host::DcgmDiagnosis& diagnosis) {
  DeepTestSummary summary;
  summary.problem =
      cut(diagnosis.runtime_error.empty() ? diagnosis.unreadable : diagnosis.runtime_error, kLongestProblem);
  for (const host::DcgmResult& result : diagnosis.results)
    add(result, summary);
  std::ranges::stable_sort(summary.tests, [](const auto& one, const auto& other) {
    // Skips contain the least information.
    return one.status > other.status;
  });
  const auto tested = tested_gpus(diagnosis);
  const bool has_pass = std::ranges::any_of(
      summary.tests, [](const auto& test) { return test.status >= host::DcgmStatus::pass; });
  if (summary.problem.empty() && has_pass && tested && tested->empty())
    summary.problem = "no GPU was tested, only software";
  for (const host::DcgmGpu& gpu : diagnosis.gpus)
    if (!tested || tested->contains(gpu.id))
      summary.gpus.push_back({gpu.id, cut(gpu.serial, kLongestSerial)});
  return summary;
}

std::string format_deep_test_summary(DeepTestSummary summary) {
  summary.problem = cut(summary.problem, kLongestProblem);
  std::string text = render(summary);
  for (auto test = summary.tests.rbegin(); test != summary.tests.rend() && text.size() > kMaxDeepTestSummary;
       ++test) {
    test->message.clear();
    text = render(summary);
  }
  while (text.size() > kMaxDeepTestSummary && !summary.tests.empty()) {
    // The last failure stays as long as a serial could go instead.
    const bool is_only_one = summary.tests.size() == 1;
    if (is_only_one &&
        std::ranges::any_of(summary.gpus, [](const host::DcgmGpu& gpu) { return !gpu.serial.empty(); }))
      for (host::DcgmGpu& gpu : summary.gpus)
        gpu.serial.clear();
    else if (is_only_one && !summary.gpus.empty())
      summary.gpus.clear();
    else {
      summary.tests.pop_back();
      ++summary.left_out;
    }
    text = render(summary);
  }
  return text;
}

Result<DeepTestSummary> parse_deep_test_summary(std::string_view text) {
  if (text.size() > kMaxDeepTestSummary) return fail(Errc::malformed, "too long for a termination message");
  json::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  const json::object* members = error ? nullptr : value.if_object();
  if (members == nullptr || !members->contains("deep_test"))
    return fail(Errc::malformed, "no summary of a deep test");
  DeepTestSummary summary;
  summary.problem = cut(summary_text(*members, "problem"), kLongestProblem);
  const json::value* tests = members->if_contains("tests");
  if (tests == nullptr || !tests->is_array()) return fail(Errc::malformed, "expected a list `tests`");
  for (const json::value& test : tests->get_array())
    summary.tests.push_back(TRY(parse_test(test)));
  if (const json::value* left_out = members->if_contains("left_out")) {
    const auto count = left_out->is_number() ? left_out->to_number<std::uint32_t>(error) : 0;
    summary.left_out = error ? 0 : count;
  }
  const json::value* gpus = members->if_contains("gpus");
  if (gpus == nullptr || !gpus->is_object()) return fail(Errc::malformed, "expected a map `gpus`");
  for (const auto& [number, ignored] : gpus->get_object()) {
    const auto id = parse_number<std::uint32_t>(std::string_view(number.data(), number.size()));
    if (!id) return fail(Errc::malformed, "`gpus`: expected numbers");
    summary.gpus.push_back({*id, cut(summary_text(gpus->get_object(), number), kLongestSerial)});
  }
  return summary;
}

}  // namespace autopilot::diagnostics
