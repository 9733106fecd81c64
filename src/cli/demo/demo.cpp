// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <array>
#include <boost/json.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/demo/scenarios.hpp"
#include "cli/interrupt.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/print.hpp"
#include "cli/simulation.hpp"
#include "cli/verbs.hpp"
#include "host/clock/system_clock.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::cli {
namespace {

constexpr Duration kPatienceOfCommand = std::chrono::minutes{1};

struct DemoOptions {
  std::string scenario;
  bool list = false;
  bool no_wait = false;
  OutputFormat format = OutputFormat::table;
};

std::string_view first_scenario() {
  return demo_scenarios().front().name;
}

void print_scenarios(OutputFormat format) {
  namespace json = boost::json;
  if (format != OutputFormat::table) {
    json::array list;
    for (const DemoScenario& scenario : demo_scenarios())
      list.push_back(json::object{{"name", scenario.name},
                                  {"title", scenario.title},
                                  {"fault", scenario.fault},
                                  {"checks", json::array(scenario.checks.begin(), scenario.checks.end())}});
    print_json(json::serialize(list), format);
    return;
  }
  std::vector<Row> rows;
  for (const DemoScenario& scenario : demo_scenarios())
    rows.push_back({{std::string(scenario.name)}, {std::string(scenario.title)}});
  std::cout << render_columns({"SCENARIO", "WHAT HAPPENS"}, std::move(rows), terminal_style())
            << "\nStart one with: autopilot demo " << first_scenario() << "\n";
}

// The words as a user types them.
std::string command_line(const std::string& program, const std::vector<std::string>& arguments) {
  std::string text = program;
  for (const std::string& argument : arguments)
    text += " " + argument;
  return text;
}

// Shows the steps one after the other; a signal ends the demo before the next one.
class Demo {
 public:
  Demo(const DemoScenario& scenario, const Simulation& machine, const Interrupt& interrupt, bool waits)
      : scenario_(scenario), machine_(machine), interrupt_(interrupt), waits_(waits) {}

  Status run() {
    TRY_STATUS(step("A simulated node with eight GPUs. Every check is healthy.",
                    {"check", "--root", machine_.directory()}));
    if (is_over()) return {};
    TRY_STATUS(inject());
    TRY_STATUS(step("The checks that read this part of the machine report it:", check_words()));
    std::vector<std::string> explain{"explain"};
    explain.insert(explain.end(), scenario_.explain.begin(), scenario_.explain.end());
    TRY_STATUS(step("What it means, and what to do:", std::move(explain)));
    TRY_STATUS(step("What went wrong on this machine, as a summary of all sources:",
                    {"why", "--root", machine_.directory()}));
    if (is_over()) return {};
    std::cout << "This was a simulation. Next: autopilot demo --list; for this machine:\n"
                 "autopilot check, autopilot doctor\n";
    return {};
  }

 private:
  [[nodiscard]] bool is_over() const { return interrupt_.requested(); }

  [[nodiscard]] std::vector<std::string> check_words() const {
    std::vector<std::string> words{"check"};
    words.insert(words.end(), scenario_.checks.begin(), scenario_.checks.end());
    words.insert(words.end(), {"--root", machine_.directory()});
    return words;
  }

  // Whether the demo goes on.
  bool begin(const std::string& text, const std::string& command) {
    if (number_ > 0) wait_for_enter();
    if (is_over()) return false;
    ++number_;
    for (const std::string& line : wrapped("Step " + std::to_string(number_) + ": " + text, 80))
      std::cout << line << "\n";
    std::cout << "$ " << command << "\n" << std::flush;
    return true;
  }

  Status step(const std::string& text, std::vector<std::string> arguments) {
    if (is_over() || !begin(text, command_line("autopilot", arguments))) return {};
    host::ChildRunner runner;
    const host::Command command{TRY(host::own_executable()), std::move(arguments), host::own_environment()};
    const auto ended = TRY(runner.run(command, host::SystemClock{}.now().mono + kPatienceOfCommand));
    std::cout << ended.output << ended.errors << "\n" << std::flush;
    if (ended.end != host::ChildEnd::exited || ended.status.was_signalled)
      return fail(Errc::internal, command.program + ": " + host::to_string(ended.status));
    return {};
  }

  Status inject() {
    std::vector<std::string> arguments{"inject", machine_.directory(), std::string(scenario_.fault)};
    api::InjectRequest request;
    request.fault = scenario_.fault;
    if (!scenario_.subject.empty()) {
      request.subject = parse_subject(scenario_.subject).value_or(Subject{});
      arguments.insert(arguments.end(), {"--subject", std::string(scenario_.subject)});
    }
    if (!begin(std::string(scenario_.what_happens), command_line("autopilot-sim", arguments))) return {};
    TRY_STATUS(machine_.inject(request));
    std::cout << "\n";
    return {};
  }

  // Until Enter, the end of the input, or a signal.
  void wait_for_enter() {
    if (!waits_ || is_over()) return;
    std::cout << "-- Press Enter to go on, or Ctrl-C to end --" << std::flush;
    std::array<char, 256> line{};
    if (interrupt_.wait_readable(STDIN_FILENO) && ::read(STDIN_FILENO, line.data(), line.size()) <= 0)
      waits_ = false;
    std::cout << "\n" << std::flush;
  }

  const DemoScenario& scenario_;
  const Simulation& machine_;
  const Interrupt& interrupt_;
  bool waits_;
  int number_ = 0;
};

int run_demo(const DemoOptions& options) {
  if (options.list) {
    print_scenarios(options.format);
    return kExitHealthy;
  }
  const auto scenario =
      demo_scenario(options.scenario.empty() ? first_scenario() : std::string_view(options.scenario));
  if (!scenario) return report_usage(scenario.error().what);
  const Interrupt interrupt;
  const auto machine = Simulation::create(std::string(kDemoMachine), Timeline::at_end);
  if (!machine) return report(machine.error());
  std::cout << scenario->title << "\nA simulated machine in " << (*machine)->directory()
            << ", which is removed at the end.\n\n";
  const bool waits = !options.no_wait && ::isatty(STDIN_FILENO) != 0 && stdout_is_terminal();
  Demo demo(*scenario, **machine, interrupt, waits);
  if (const Status done = demo.run(); !done) return report(done.error());
  return interrupt.requested() ? kExitInterrupted : kExitHealthy;
}

}  // namespace

void add_demo(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<DemoOptions>();
  auto* verb = app.add_subcommand("demo", "Show a fault of a simulated machine, step by step");
  verb->add_option("SCENARIO", options->scenario, "The fault; default: " + std::string(first_scenario()));
  verb->add_flag("-l,--list", options->list, "List the scenarios; show none");
  verb->add_flag("--no-wait", options->no_wait, "Do not wait for Enter between the steps");
  add_format_option(*verb, options->format);
  verb->footer(
      "The machine is a temporary folder: nothing of this machine is read or changed. Each\n"
      "step shows its command, which you can also type while the demo waits. Ctrl-C ends\n"
      "it. Needs autopilot-sim beside autopilot. -o applies to --list.\n"
      "Examples:\n  autopilot demo\n  autopilot demo --list\n  autopilot demo infiniband --no-wait");
  verb->callback([options, &exit_code] { exit_code = run_demo(*options); });
}

}  // namespace autopilot::cli
