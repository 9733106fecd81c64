// SPDX-License-Identifier: Apache-2.0
// The verbs that Slurm runs on a node: slurm prolog, epilog and health-check.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/json.hpp"
#include "cli/cli.hpp"
#include "cli/open_machine.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "cli/slurm/fitness_source.hpp"
#include "cli/slurm/node_fitness.hpp"
#include "cli/slurm/slurm_node.hpp"
#include "cli/verbs.hpp"
#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/process/child_runner.hpp"
#include "host/slurm/scontrol.hpp"

namespace autopilot::cli {
namespace {

enum class SlurmVerb : std::uint8_t { prolog, epilog, health_check };

struct SlurmOptions {
  std::string socket;
  std::string node;
  std::string scontrol;
  std::string config_file;
  MachineChoice machine;
  std::optional<Duration> timeout;
  bool is_strict = false;
  bool is_dry_run = false;
  bool allows_simulated = false;
  OutputFormat format = OutputFormat::table;
};

// Slurm kills a health check after 60 s; a prolog and an epilog by PrologEpilogTimeout.
constexpr Duration kPrologTime = std::chrono::seconds{60};
constexpr Duration kHealthCheckTime = std::chrono::seconds{45};
constexpr Duration kShortestTime = std::chrono::seconds{1};
constexpr Duration kLongestTime = std::chrono::hours{1};
constexpr Duration kScontrolTime = std::chrono::seconds{30};

std::string_view name_of(SlurmVerb verb) {
  switch (verb) {
    case SlurmVerb::prolog:
      return "prolog";
    case SlurmVerb::epilog:
      return "epilog";
    case SlurmVerb::health_check:
      break;
  }
  return "health-check";
}

// What Slurm states about the job in the environment of a prolog or an epilog.
struct SlurmJob {
  std::string id;
  std::string gpus;
  std::string exit_code;
};

SlurmJob job_of(const std::map<std::string, std::string>& variables) {
  const auto word = [&](const char* name) { return to_printable(variable(variables, name), 200); };
  return {
      .id = word("SLURM_JOB_ID"), .gpus = word("SLURM_JOB_GPUS"), .exit_code = word("SLURM_JOB_EXIT_CODE2")};
}

// What was done in Slurm, or was not.
struct SlurmOutcome {
  SlurmStep step = SlurmStep::none;
  bool is_done = false;
  std::string note;     // why nothing was done, or what would be done
  std::string problem;  // why the step failed
};

// One run of a verb.
class SlurmRun {
 public:
  SlurmRun(SlurmVerb verb, const SlurmOptions& options, std::string scontrol)
      : verb_(verb),
        options_(options),
        scontrol_(std::move(scontrol)),
        variables_(environment()),
        job_(job_of(variables_)),
        time_(options.timeout.value_or(verb == SlurmVerb::health_check ? kHealthCheckTime : kPrologTime)) {}

  int run() {
    const MonoTime begin = host::mono_now();
    // The last third is for scontrol.
    fitness_ = ask_fitness({.socket = options_.socket,
                            .config_file = options_.config_file,
                            .machine = options_.machine,
                            .runs_checks = verb_ == SlurmVerb::epilog},
                           begin + time_ * 2 / 3);
    until_ = begin + time_;
    node_ = node_name();
    outcome_ = act();
    print();
    return exit_code();
  }

 private:
  [[nodiscard]] bool is_held_back() const { return fitness_.is_simulated && !options_.allows_simulated; }

  [[nodiscard]] std::string node_name() const {
    if (!options_.node.empty()) return options_.node;
    const std::string named = variable(variables_, "SLURMD_NODENAME");
    return named.empty() ? fitness_.node : named;
  }

  // Slurm is asked only if its answer can matter.
  [[nodiscard]] bool needs_slurm() const {
    return fitness_.fitness == Fitness::unfit ||
           (fitness_.fitness == Fitness::fit && verb_ == SlurmVerb::health_check);
  }

  [[nodiscard]] SlurmOutcome act() {
    if (!needs_slurm()) return {};
    if (is_held_back())
      return {
          .note =
              "nothing is changed in Slurm, because the machine is simulated; --allow-simulated permits it"};
    if (!host::is_slurm_node(node_))
      return {.problem =
                  "'" + to_printable(node_, 100) + "' is not a name of one node of Slurm; pass --node"};
    const auto shown = scontrol({"show", "node", node_});
    const auto state = shown ? parse_slurm_node(*shown, node_) : fail(shown.error());
    if (!state) return {.problem = state.error().what};
    SlurmDecision decision = decide(fitness_, *state, verb_ == SlurmVerb::health_check);
    if (decision.step == SlurmStep::none) return {.note = std::move(decision.why)};
    return take(decision.step);
  }

  [[nodiscard]] SlurmOutcome take(SlurmStep step) {
    std::vector<std::string> arguments{"update", "NodeName=" + node_, "State=RESUME"};
    if (step == SlurmStep::drain) {
      arguments.back() = "State=DRAIN";
      arguments.push_back("Reason=" + drain_reason(fitness_));
    }
    if (options_.is_dry_run)
      return {.step = step, .note = "dry run, not done: " + host::scontrol_text(arguments)};
    const auto done = scontrol(arguments);
    if (!done) return {.step = step, .problem = done.error().what};
    return {.step = step, .is_done = true};
  }

  [[nodiscard]] Result<std::string> scontrol(const std::vector<std::string>& arguments) {
    const MonoTime now = host::mono_now();
    return host::run_scontrol(runner_, scontrol_, arguments,
                              std::clamp(until_, now + kShortestTime, now + kScontrolTime));
  }

  [[nodiscard]] int exit_code() const {
    if (options_.is_dry_run || is_held_back()) return kExitHealthy;
    if (verb_ == SlurmVerb::health_check && !outcome_.problem.empty()) return kExitInternal;
    const bool is_refused =
        fitness_.fitness == Fitness::unfit || (fitness_.fitness == Fitness::unknown && options_.is_strict);
    return is_refused ? kExitDegraded : kExitHealthy;
  }

  void print() const {
    if (options_.format == OutputFormat::table)
      std::cout << printable(line()) << "\n";
    else
      print_json(json(), options_.format);
  }

  [[nodiscard]] std::string judgement() const {
    switch (fitness_.fitness) {
      case Fitness::fit:
        return " may run jobs: " + fitness_.why;
      case Fitness::unfit:
        return " must not run jobs: " + fitness_.why + " (" + fitness_.reason + ", " + fitness_.id + ")";
      case Fitness::unknown:
        break;
    }
    return " could not be judged: " + fitness_.why;
  }

  [[nodiscard]] std::string what_now() const {
    std::string text;
    if (outcome_.is_done && outcome_.step == SlurmStep::drain)
      text += "; drained in Slurm with the reason '" + drain_reason(fitness_) + "'";
    if (outcome_.is_done && outcome_.step == SlurmStep::resume) text += "; resumed in Slurm";
    if (!outcome_.note.empty()) text += "; " + outcome_.note;
    if (!outcome_.problem.empty()) text += "; Slurm was not changed: " + outcome_.problem;
    if (verb_ == SlurmVerb::prolog && !job_.id.empty())
      text += "; job " + job_.id + (exit_code() == kExitHealthy ? " starts" : " does not start here");
    if (fitness_.fitness != Fitness::fit) text += "; for details run: autopilot status";
    return text;
  }

  [[nodiscard]] std::string line() const {
    return "autopilot slurm " + std::string(name_of(verb_)) + ": " +
           (fitness_.is_simulated ? "SIMULATED " : "") + "node " + (node_.empty() ? "(this)" : node_) +
           judgement() + what_now();
  }

  [[nodiscard]] std::string json() const {
    api::JsonWriter json;
    json.begin_object();
    json.word("verb", name_of(verb_));
    json.word_if_any("node", node_);
    json.flag("simulated", fitness_.is_simulated);
    json.word("fitness", to_string(fitness_.fitness));
    json.word_if_any("verdict", fitness_.verdict);
    json.word_if_any("reason", fitness_.reason);
    json.word_if_any("id", fitness_.id);
    json.word("why", fitness_.why);
    json.word_if_any("job", job_.id);
    json.word_if_any("gpus", job_.gpus);
    json.word_if_any("jobExitCode", job_.exit_code);
    json.word("step", to_string(outcome_.step));
    json.flag("done", outcome_.is_done);
    json.word_if_any("note", outcome_.note);
    json.word_if_any("problem", outcome_.problem);
    json.integer("exitCode", exit_code());
    json.end_object();
    return json.take();
  }

  const SlurmVerb verb_;
  const SlurmOptions& options_;
  const std::string scontrol_;
  const std::map<std::string, std::string> variables_;
  const SlurmJob job_;
  const Duration time_;
  host::ChildRunner runner_;
  MonoTime until_{};
  NodeFitness fitness_;
  std::string node_;
  SlurmOutcome outcome_;
};

int run_slurm(SlurmVerb verb, const SlurmOptions& options) {
  if (options.timeout && (*options.timeout < kShortestTime || *options.timeout > kLongestTime))
    return report_usage("--timeout: expected 1s to 1h");
  std::string scontrol = options.scontrol;
  if (scontrol.empty()) {
    const auto settings = load_settings(options.config_file);
    // A file with a mistake must not drain the nodes that read it.
    if (!settings) tell(settings.error().what + "; using the default of jobs.scontrol");
    scontrol = settings ? settings->jobs.scontrol : config::Config{}.jobs.scontrol;
  }
  return SlurmRun(verb, options, std::move(scontrol)).run();
}

constexpr std::string_view kScriptText =
    "Run it in a script that returns 1 only for exit status 1, so that a mistake in\n"
    "the script drains no node: deploy/examples/slurm. The setup: docs/slurm.md.\n";

void add_slurm_verb(CLI::App& slurm, SlurmVerb kind, const std::string& description, const std::string& text,
                    int& exit_code) {
  auto options = std::make_shared<SlurmOptions>();
  auto* verb = slurm.add_subcommand(std::string(name_of(kind)), description);
  add_duration_option(*verb, "--timeout", options->timeout,
                      kind == SlurmVerb::health_check ? "Time for everything (default: 45s)"
                                                      : "Time for everything (default: 60s)");
  verb->add_flag("--strict", options->is_strict, "Exit with 1 also if the node could not be judged");
  verb->add_flag("--dry-run", options->is_dry_run,
                 "Print what would be done; change nothing, and exit with 0");
  verb->add_flag("--allow-simulated", options->allows_simulated, "Act also because of a simulated machine");
  verb->add_option("--node", options->node,
                   "Name of this node in Slurm (default: SLURMD_NODENAME, else the node of the agent)")
      ->type_name("NAME");
  verb->add_option("--scontrol", options->scontrol, "Path of scontrol (default: jobs.scontrol)")
      ->type_name("PATH");
  verb->add_option("--config", options->config_file, "Configuration file: agent, checks and scontrol")
      ->type_name("FILE");
  add_machine_options(*verb, options->machine);
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(text + std::string(kScriptText) + "Examples:\n  autopilot slurm " +
               std::string(name_of(kind)) + "\n  autopilot slurm " + std::string(name_of(kind)) +
               " --dry-run -o json");
  verb->callback([kind, options, &exit_code] { exit_code = run_slurm(kind, *options); });
}

}  // namespace

void add_slurm(CLI::App& app, int& exit_code) {
  auto* slurm =
      app.add_subcommand("slurm", "Answer Slurm's Prolog, Epilog and HealthCheckProgram on this node");
  slurm->require_subcommand(1);
  add_slurm_verb(*slurm, SlurmVerb::prolog, "Judge this node before a job starts",
                 "Asks the agent for the verdict of this node, or runs the passive checks if no\n"
                 "agent runs. A node with the verdict EVICT is drained, and Slurm requeues the\n"
                 "job.\n",
                 exit_code);
  add_slurm_verb(*slurm, SlurmVerb::epilog, "Check this node after a job",
                 "The agent runs its passive checks again; then the node is judged as in prolog.\n",
                 exit_code);
  add_slurm_verb(*slurm, SlurmVerb::health_check, "Drain this node in Slurm while it is unfit",
                 "Drains a node with the verdict EVICT, with a reason that begins with\n"
                 "'autopilot:', and resumes it when its verdict is PASS or WARN again and the\n"
                 "reason is still that one. A node that a person drained stays drained.\n",
                 exit_code);
}

}  // namespace autopilot::cli
