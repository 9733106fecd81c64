// SPDX-License-Identifier: Apache-2.0
// Replaces `dcgmi diag -j` on a node: a deep test runs it if there is no GPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/clock.hpp"
#include "machine/description.hpp"
#include "program/program.hpp"

namespace autopilot::simulator {

namespace json = boost::json;

namespace {

struct DiagnoseOptions {
  std::string machine = "hgx-h100-8";
  std::string result = "pass";
  std::string lasting = "0s";
};

constexpr std::array<std::pair<const char*, const char*>, 6> kTests{{{"Deployment", "software"},
                                                                     {"Hardware", "memory"},
                                                                     {"Hardware", "diagnostic"},
                                                                     {"Integration", "pcie"},
                                                                     {"Stress", "memory_bandwidth"},
                                                                     {"Stress", "targeted_power"}}};

bool is_test(std::string_view name) {
  return std::ranges::any_of(kTests, [&](const auto& test) { return name == test.second; });
}

// A test that fails does so on the last GPU.
json::object run_test(std::string_view name, std::size_t gpus, std::string_view failing) {
  json::array results;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const bool is_bad = name == failing && gpu + 1 == gpus;
    json::object result{{"entity_group", "GPU"},
                        {"entity_group_id", 1},
                        {"entity_id", gpu},
                        {"status", is_bad ? "Fail" : "Pass"}};
    if (is_bad)
      result["warnings"] = json::array{json::object{{"warning", "SIMULATED: this GPU does not pass"},
                                                    {"error_id", 1},
                                                    {"error_category", 1},
                                                    {"error_severity", 1}}};
    results.emplace_back(std::move(result));
  }
  return {{"name", name},
          {"results", std::move(results)},
          {"test_summary", json::object{{"status", name == failing ? "Fail" : "Pass"}}}};
}

json::object document(std::size_t gpus, std::string_view failing) {
  json::array categories;
  for (const auto& [category, test] : kTests)
    categories.emplace_back(
        json::object{{"category", category}, {"tests", json::array{run_test(test, gpus, failing)}}});
  json::array entities;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu)
    entities.emplace_back(json::object{{"entity_id", gpu}, {"device_id", "2330"}});
  return {{"DCGM Diagnostic", json::object{{"test_categories", std::move(categories)}}},
          {"entity_groups",
           json::array{json::object{
               {"entity_group", "GPU"}, {"entity_group_id", 1}, {"entities", std::move(entities)}}}},
          {"metadata", json::object{{"version", "simulated"}, {"Driver Version Detected", "simulated"}}}};
}

Status diagnose(const DiagnoseOptions& options) {
  const Machine machine = TRY(builtin_machine(options.machine));
  const auto lasting = parse_duration(options.lasting);
  if (!lasting) return fail(Errc::malformed, "--for: expected a duration such as 30s");
  const std::string_view result = options.result;
  const std::string_view failing = result.starts_with("fail:") ? result.substr(5) : std::string_view();
  if (result == "crash") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn the signal into an exit code
    static_cast<void>(std::raise(SIGSEGV));
  } else if (result == "hang") {
    while (true)
      std::this_thread::sleep_for(std::chrono::hours{1});
  } else if (result != "pass" && !is_test(failing)) {
    return fail(Errc::malformed, "--result: expected pass, hang, crash or fail:TEST with one of the tests");
  }
  std::this_thread::sleep_for(*lasting);
  std::cout << json::serialize(document(machine.gpus().size(), failing)) << std::endl;
  if (!failing.empty()) return fail(Errc::unavailable, "a test failed");  // dcgmi exits with an error as well
  return {};
}

}  // namespace

void add_deep_test(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<DiagnoseOptions>();
  auto* verb = app.add_subcommand("deep-test", "Print the output of `dcgmi diag -j` of DCGM 4 for a machine");
  verb->add_option("--machine", options->machine, "a built-in machine")->capture_default_str();
  verb->add_option("--result", options->result, "pass, fail:TEST, hang or crash")->capture_default_str();
  verb->add_option("--for", options->lasting, "duration of the run")->capture_default_str();
  std::string tests;
  for (const auto& [category, test] : kTests)
    tests += std::string(" ") + test;
  verb->footer("Tests:" + tests +
               "\nConfiguration of the agent with this command instead of dcgmi:\n"
               "  deep_test: {every: 1h, image: ..., command: [autopilot-sim, deep-test]}");
  verb->callback([options, &outcome] { outcome = diagnose(*options); });
}

}  // namespace autopilot::simulator
