// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/child/deep_test_summary.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::diagnostics {

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

// Warnings and failures of one test stand side by side, each error with its GPUs; what was sound is told
// where nothing else is.
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

// Whether a test ran on it. Which one must have: where tests ran that use GPUs, no look at the software
// counts. Nothing: no result names a GPU, as of DCGM 2 at a level with tests of the machine alone.
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
    // Skips say the least.
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
