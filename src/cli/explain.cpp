// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/v1.hpp"
#include "catalog/catalog.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/explain/catalog_pages.hpp"
#include "cli/explain/node_pages.hpp"
#include "cli/explain/topics.hpp"
#include "cli/explain_learned.hpp"
#include "cli/machine.hpp"
#include "cli/one_run.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/print.hpp"
#include "cli/output/table.hpp"
#include "cli/settings.hpp"
#include "cli/state_files.hpp"
#include "cli/verbs.hpp"
#include "core/parse.hpp"
#include "store/journal.hpp"

namespace autopilot::cli {
namespace {

struct ExplainOptions {
  std::string words;
  std::string socket;
  MachineChoice machine;
  OutputFormat format = OutputFormat::table;
  bool is_of_this_machine = true;
};

constexpr const char* kMeaningsNote =
    "A word with several meanings is listed with each of them; its kind before it\n"
    "selects one: 'health failed'.\n";
constexpr const char* kMachineNote =
    "An incident comes from the agent, or from its journal. Without WHAT, the agent is\n"
    "asked; if none answers, the checks run once. 'GPU 2' or a PCI address: the same for\n"
    "one GPU. Without WHAT, the exit code is that of autopilot check.\n";
constexpr const char* kExamplesOfWords =
    "Examples:\n  autopilot explain 79\n  autopilot explain row_remap_pending\n"
    "  autopilot explain sxid 20034\n  autopilot explain EVICT\n"
    "  autopilot explain -o json could_not_look\n"
    "  autopilot explain \"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus\"";
constexpr const char* kMachineExamples = "\n  autopilot explain\n  autopilot explain 0123abcd-12";

constexpr std::size_t kPageColumns = 80;
constexpr std::size_t kMostIncidents = 10'000;

void print_pages(const ExplainOptions& options, const std::vector<Explained>& pages) {
  if (options.format == OutputFormat::table)
    std::cout << pages_text(pages);
  else
    print_json(explained_json(options.words, pages), options.format);
}

// The words that select this meaning: "reason could_not_look".
std::string selection_of(const Explained& page) {
  const std::string kind = to_lower(page.kind);
  return page.id.starts_with(kind + " ") ? page.id : kind + " " + page.id;
}

// Several meanings: each with its kind and the first sentence, and how to name one.
void print_meanings(const ExplainOptions& options, const std::vector<Explained>& pages) {
  if (options.format != OutputFormat::table) return print_pages(options, pages);
  std::cout << printable(options.words) << " can mean:\n";
  for (const Explained& page : pages) {
    std::cout << "\n" << printable(page.title) << "\n";
    for (const std::string& line : wrapped(printable(page.text_of("What")), kPageColumns - 2))
      std::cout << "  " << line << "\n";
    std::cout << "  autopilot explain " << printable(selection_of(page)) << "\n";
  }
}

void add_learned(std::vector<Explained>& pages) {
  for (Explained& page : pages)
    if (page.kind == "threshold")
      for (const std::string& paragraph : explain_learned_here(page.id))
        page.add("Learned", paragraph);
}

// The agent of this machine, if one answers; of --socket, it must answer.
Result<std::optional<AgentClient>> agent_that_answers(const ExplainOptions& options) {
  const AgentClient agent(TRY(agent_target(options.socket)));
  if (agent.answers()) return std::optional<AgentClient>(agent);
  if (!options.socket.empty())
    return fail(Errc::unavailable, "no agent answers at " + net::to_string(agent.target()) +
                                       "; leave --socket out to run the checks without an agent");
  return std::optional<AgentClient>();
}

Result<Incident> incident_of(const ExplainOptions& options, const std::string& id) {
  const auto is_wanted = [&id](const Incident& one) { return one.id == id; };
  const auto agent = TRY(agent_that_answers(options));
  if (agent) {
    const NodeSnapshot node = TRY(agent->node());
    if (const auto found = std::ranges::find_if(node.incidents, is_wanted); found != node.incidents.end())
      return *found;
  }
  // Closed incidents are in the journal only.
  const auto settings = TRY(load_settings(""));
  const StateFile file = journal_to_read(settings);
  if (!file.note.empty()) tell(file.note);
  const auto journal = store::Journal::open_read_only(file.path);
  if (journal) {
    const auto all = TRY((*journal)->incidents(true, kMostIncidents));
    if (const auto found = std::ranges::find_if(all, is_wanted); found != all.end()) return *found;
  }
  return fail(Errc::not_found,
              "no incident " + id + (agent ? "" : ": no agent answers") +
                  (journal ? "" : "; the journal could not be read: " + journal.error().what) +
                  ". List the open ones with: autopilot status");
}

int explain_incident(const ExplainOptions& options) {
  const auto incident = incident_of(options, options.words);
  if (!incident) return report(incident.error());
  print_pages(options, {explain(*incident, catalog::builtin())});
  return kExitHealthy;
}

struct NodeNow {
  NodeSnapshot node;
  std::string source;  // the agent, or checks that ran now
};

Result<NodeNow> node_now(const ExplainOptions& options) {
  if (options.machine.is_this_machine())
    if (const auto agent = TRY(agent_that_answers(options)))
      return NodeNow{TRY(agent->node()), "the agent at " + net::to_string(agent->target())};
  const auto settings = TRY(load_settings(""));
  const auto all = TRY(checks_of(options.machine, settings));
  const RunRequest request{.machine = options.machine};
  return NodeNow{TRY(run_checks(request, settings, all.checks, *all.facts)), "checks that ran now"};
}

int explain_now(const ExplainOptions& options) {
  const auto now = node_now(options);
  if (!now) return report(now.error());
  const auto pages = what_is_wrong(now->node, catalog::builtin());
  if (options.format != OutputFormat::table) {
    const ExplainedNode about{now->node.node, std::string(to_string(now->node.health)),
                              std::string(to_string(now->node.verdict)), now->source, now->node.simulated};
    print_json(explained_json(options.words, pages, about), options.format);
    return exit_code_of(now->node, false);
  }
  std::cout << recorded_line(options.machine) << simulated_line(now->node.simulated, terminal_style());
  for (const std::string& line : wrapped(printable(verdict_line(now->node)), kPageColumns))
    std::cout << line << "\n";
  std::cout << printable("Source: " + now->source + ".") << "\n";
  if (pages.empty()) {
    std::cout << "Nothing is wrong. Checks that could not run: autopilot check\n";
    return exit_code_of(now->node, false);
  }
  std::cout << "\n" << pages_text(pages);
  return exit_code_of(now->node, false);
}

int explain_gpu(const ExplainOptions& options) {
  const auto now = node_now(options);
  if (!now) return report(now.error());
  const auto gpu = named_gpu(options.words, now->node);
  if (!gpu)
    return report_usage("this machine has no '" + options.words + "' (source: " + now->source +
                        "); list its GPUs with: autopilot check --all");
  const auto pages = about_gpu(*gpu, now->node, catalog::builtin());
  if (options.format == OutputFormat::table)
    std::cout << recorded_line(options.machine) << simulated_line(now->node.simulated, terminal_style());
  print_pages(options, pages);
  return kExitHealthy;
}

// A finding that was printed: its reason, or the nearest one.
int explain_sentence(const ExplainOptions& options, const catalog::Reason& reason) {
  if (options.format == OutputFormat::table)
    std::cout << "The nearest reason to this text is " << reason.id << ".\n\n";
  print_pages(options, {explain(reason)});
  return kExitHealthy;
}

// "sxid many"
std::string number_problem(const std::string& words) {
  for (const auto& [kind, example] : {std::pair("xid", "79"), std::pair("sxid", "20034")})
    if (const std::string prefix = std::string(kind) + " "; to_lower(words).starts_with(prefix))
      return std::string(kind) + ": expected a number such as " + example + ", not '" +
             words.substr(prefix.size()) + "'";
  return {};
}

int nothing_known(const std::string& words) {
  if (const std::string problem = number_problem(words); !problem.empty()) return report_usage(problem);
  const auto near = nearest_topics(words, catalog::builtin());
  std::string what = "nothing is known about '" + words + "'";
  if (near.size() == 1) what += "; did you mean " + near.front() + "?";
  if (near.size() > 1) what += "; the nearest names are: " + joined(near);
  return report_usage(
      what +
      "\nTry an Xid (autopilot explain 79), a check (autopilot explain gpu.xid), or a whole log "
      "line in quotes.");
}

int explain_words(const ExplainOptions& options) {
  auto pages = find_topics(options.words, catalog::builtin());
  add_learned(pages);
  if (!pages.empty()) {
    if (pages.size() == 1)
      print_pages(options, pages);
    else
      print_meanings(options, pages);
    return kExitHealthy;
  }
  if (options.is_of_this_machine && is_incident_form(options.words)) return explain_incident(options);
  if (options.is_of_this_machine && is_gpu_form(options.words)) return explain_gpu(options);
  if (const auto* reason = reason_like(options.words, catalog::builtin()))
    return explain_sentence(options, *reason);
  return nothing_known(options.words);
}

std::string joined_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code, bool of_this_machine) {
  auto options = std::make_shared<ExplainOptions>();
  options->is_of_this_machine = of_this_machine;
  auto first = std::make_shared<std::string>();
  auto* verb = app.add_subcommand("explain", "Explain anything that Autopilot prints, and what to do");
  auto* what =
      verb->add_option("WHAT", *first,
                       "A check, reason, action, verdict, incident, Xid, alert or any other word; or a\n"
                       "line of the kernel log");
  // A multi-word option would not work: CLI11 parses "[ 1.5] usb 1-1: [x]" as a list in brackets.
  verb->allow_extras();
  add_format_option(*verb, options->format);
  if (of_this_machine) {
    what->description(what->get_description() + ". Default: what is wrong on this machine now");
    add_machine_options(*verb, options->machine);
    add_socket_option(*verb, options->socket);
  } else {
    what->required();
  }
  verb->footer(std::string(kMeaningsNote) + (of_this_machine ? kMachineNote : "") +
               std::string(kExamplesOfWords) + (of_this_machine ? kMachineExamples : ""));
  verb->callback([options, first, verb, &exit_code] {
    auto words = verb->remaining();
    if (std::ranges::any_of(words, [](const std::string& word) { return word.starts_with("--"); }))
      throw CLI::ExtrasError(words);
    if (!first->empty()) words.insert(words.begin(), *first);
    options->words = joined_words(words);
    exit_code = options->words.empty() ? explain_now(*options) : explain_words(*options);
  });
}

}  // namespace autopilot::cli
