// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "core/nearest.hpp"
#include "core/parse.hpp"
#include "probes/gpu/active_tests/tests.hpp"
#include "probes/gpu/driver/kernel_text.hpp"
#include "probes/gpu/nccl/commands.hpp"
#include "probes/gpu/run/exit_code.hpp"

namespace autopilot::probes::gpu {
namespace {

constexpr const char* kAll = "all";

std::string footer() {
  std::string text = "Tests:\n";
  for (const GpuTest& test : gpu_tests())
    text += "  " + std::string(test.name) + std::string(10 - test.name.size(), ' ') +
            std::string(test.title) + (test.is_default ? "" : " (only on request)") + "\n";
  return text +
         "\nExamples:\n"
         "  autopilot-gpu-probe                          the quick tests on all GPUs\n"
         "  autopilot-gpu-probe --tests all --seconds 5  everything, five seconds each\n"
         "  autopilot-gpu-probe --gpus 0,GPU-1a2b --tests memory --memory-share 0.9\n"
         "  autopilot-gpu-probe nccl-serve --help        with GPUs of other machines\n"
         "\nExit codes: 0 measured; 2 a wrong result; 3 not measured; 64 usage;\n"
         "128 and the number of a signal that ended it.\n"
         "A GPU in use is refused if NVML lists its processes.";
}

std::vector<std::string> names_of_tests() {
  std::vector<std::string> names;
  for (const GpuTest& test : gpu_tests())
    names.emplace_back(test.name);
  return names;
}

std::string check_test(const std::string& word) {
  const auto names = names_of_tests();
  if (word == kAll || std::find(names.begin(), names.end(), word) != names.end()) return {};
  const auto near = nearest_word(word, names);
  return "unknown test '" + word + "'" + (near ? "; did you mean " + *near + "?" : "");
}

// In the order of the table, regardless of the order of the names.
std::vector<std::string> chosen_tests(const std::vector<std::string>& said) {
  std::vector<std::string> chosen;
  for (const GpuTest& test : gpu_tests()) {
    const auto is = [&](const std::string& word) { return word == kAll || word == test.name; };
    if (said.empty() ? test.is_default : std::any_of(said.begin(), said.end(), is))
      chosen.emplace_back(test.name);
  }
  return chosen;
}

// The parser accepts "nan" as a number within every range.
std::string check_number(const std::string& text) {
  return parse_number<double>(text) ? "" : text + " is not a number";
}

void add_test_options(CLI::App& app, Options& options) {
  app.add_option("--tests", options.tests, "Names, or 'all'")
      ->delimiter(',')
      ->check(check_test)
      ->type_name("NAME,...");
  app.add_option("--gpus", options.gpus, "Index, UUID or PCI address")->delimiter(',')->type_name("GPU,...");
  app.add_option("--seconds", options.seconds, "Duration of each test")
      ->check(check_number)
      ->check(CLI::Range(0.0, 3600.0))
      ->capture_default_str();
  app.add_option("--memory-share", options.memory_share, "Share of a GPU's memory to use")
      ->check(check_number)
      ->check(CLI::Range(0.001, 0.95))
      ->capture_default_str();
  app.add_option("--kernels", options.kernels, "Highest feature level of kernels")
      ->check(CLI::IsMember(kernel_levels()))
      ->type_name("LEVEL");
  app.add_option("--patience", options.patience_seconds, "Seconds in one call before a GPU is abandoned")
      ->check(check_number)
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  app.add_flag("--beside-others", options.beside_others, "Also test GPUs in use");
  app.add_option("--nvml-library", options.sensor_library, "NVML: sensors, and users of a GPU")
      ->capture_default_str();
  app.add_option("--library", options.library, "The driver's library")->capture_default_str();
}

// The subcommand would ignore them.
void refuse_options_before_a_command(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0) throw CLI::ValidationError(option->get_name(), "must come after the subcommand");
}

}  // namespace

std::variant<Options, AllReduceOptions, int> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"Puts load on the GPUs of this machine, measures them, and compares their results.",
               "autopilot-gpu-probe"};
  app.footer(footer());
  app.require_subcommand(0, 1);
  add_test_options(app, options);
  const NcclCommands nccl(app);
  try {
    app.parse(argc, argv);
    if (auto asked = nccl.asked()) {
      refuse_options_before_a_command(app);
      return *std::move(asked);
    }
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    app.exit(error, std::cout, std::cerr);
    return exit_usage;
  }
  options.tests = chosen_tests(options.tests);
  return options;
}

}  // namespace autopilot::probes::gpu
