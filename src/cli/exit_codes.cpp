// SPDX-License-Identifier: Apache-2.0
#include "cli/exit_codes.hpp"

#include <array>

namespace autopilot::cli {
namespace {

constexpr std::array<ExitCode, 9> kExitCodes{
    {{kExitHealthy, "done, or healthy"},
     {kExitDegraded, "degraded (of jobs: slow, of the verbs for Slurm: the node must not run jobs)"},
     {kExitFailed, "failed"},
     {kExitUnknown, "unknown: it could not be checked"},
     {kExitNoCause, "no cause found"},
     {kExitUsage, "usage: a wrong option or value"},
     {kExitInternal,
      "the verb could not do it: no agent answers, a file cannot be read, or an error of the program"},
     {kExitConfiguration, "a configuration or an input file is not valid"},
     {kExitInterrupted, "ended by Ctrl-C"}}};

// A verb without a row of its own.
constexpr std::array<ExitCode, 4> kPlain{{{kExitHealthy, "done"},
                                          {kExitUsage, "usage"},
                                          {kExitInternal, "no agent answers, or another error"},
                                          {kExitConfiguration, "the configuration is not valid"}}};

// Most codes of one verb.
constexpr std::size_t kMostCodes = 7;

struct VerbRow {
  std::string_view verb;
  std::array<ExitCode, kMostCodes> codes;  // ends with an empty meaning

  [[nodiscard]] std::span<const ExitCode> used() const {
    std::size_t count = 0;
    while (count < codes.size() && !codes[count].meaning.empty())
      ++count;
    return {codes.data(), count};
  }
};

constexpr std::string_view kUsage = "usage";
constexpr std::string_view kNoAgent = "no agent answers, or another error";
constexpr std::string_view kConfiguration = "the configuration is not valid";
constexpr std::string_view kHistoryUnreadable = "a history cannot be read";
constexpr std::string_view kHistoryMalformed = "a history is not valid";

// clang-format off
constexpr std::array<VerbRow, 44> kVerbs{{
    {"check", {{{0, "healthy"}, {1, "degraded"}, {2, "failed"},
                {3, "a required check could not run, or no check applies to this machine"},
                {64, kUsage}, {70, kNoAgent}, {78, kConfiguration}}}},
    {"status", {{{0, "healthy, or --probe succeeds"}, {1, "degraded"}, {2, "failed"},
                 {3, "a required check could not run, or --probe fails"},
                 {64, kUsage}, {70, kNoAgent}, {78, kConfiguration}}}},
    {"why", {{{0, "a cause was found"}, {4, "no cause was found"}, {64, kUsage}, {70, "another error"}, {78, kConfiguration}}}},
    {"explain", {{{0, "explained; without a word: no problem"}, {1, "without a word: degraded"}, {2, "without a word: failed"}, {3, "without a word: a required check could not run"}, {64, "usage, or nothing of that name"}, {70, kNoAgent}, {78, kConfiguration}}}},
    {"doctor", {{{0, "nothing is missing"}, {1, "a row is limited"}, {2, "a row has a problem"}, {64, kUsage}, {70, "another error"}}}},
    {"config check", {{{0, "valid"}, {1, "a problem was found"}, {64, kUsage}, {70, "another error"}}}},
    {"demo", {{{0, "shown"}, {64, kUsage}, {70, "another error"}, {130, "ended by Ctrl-C"}}}},
    {"drift", {{{0, "no drift"}, {1, "drift"}, {3, "facts are missing"}, {64, kUsage}, {70, "another error"},
                {78, "the recipe or a snapshot is not valid"}}}},
    {"drift snapshot", {{{0, "printed"}, {64, kUsage}, {70, "another error"}}}},
    {"migrate", {{{0, "ready"}, {1, "a finding needs a decision"}, {64, kUsage}, {70, "the result cannot be written"},
                  {78, "the script, the submit command or a value cannot be read"}}}},
    {"compare", {{{0, "comparable"}, {1, "not comparable, or not proven so"}, {64, kUsage}, {70, "a file cannot be read or written"}}}},
    {"backfill", {{{0, "done"}, {1, "more GPUs are idle than --max-idle"}, {64, kUsage}, {70, "a file cannot be read or written"}}}},
    {"ack", {{{0, "acknowledged"}, {64, kUsage}, {70, "no such open incident, or no agent answers"}, {78, kConfiguration}}}},
    {"test", {{{0, "healthy (the worst result counts)"}, {1, "degraded"}, {2, "failed"}, {3, "not tested"},
               {64, "usage, or no such diagnostic or node"}, {70, "the agent refuses or does not answer"}, {78, kConfiguration}}}},
    {"network test", {{{0, "healthy"}, {1, "degraded"}, {2, "failed"},
                       {3, "not or not completely measured, even with a suspect"},
                       {64, kUsage}, {70, "the agent refuses or does not answer"}, {78, kConfiguration}}}},
    {"preflight", {{{0, "the pod may start"}, {2, "a diagnostic failed"},
                    {3, "nothing is proven about the GPUs, and the policy keeps the pod out"},
                    {64, kUsage}, {70, "another error"}, {78, kConfiguration}}}},
    {"decode", {{{0, "decoded, also if no record is known"}, {64, "usage, or a file that cannot be read"},
                 {78, "a rule file is not valid"}}}},
    {"jobs", {{{0, "healthy"}, {1, "slow or stalled"}, {2, "hung or failed"}, {3, "unknown"}, {64, kUsage}, {70, kNoAgent},
               {78, kConfiguration}}}},
    {"jobs list", {{{0, "healthy"}, {1, "slow or stalled"}, {2, "hung or failed"}, {3, "unknown"}, {64, kUsage}, {70, kNoAgent},
                    {78, kConfiguration}}}},
    {"jobs show", {{{0, "healthy"}, {1, "slow or stalled"}, {2, "hung or failed"}, {3, "unknown"}, {64, kUsage},
                    {70, "no such job, or no agent answers"}, {78, kConfiguration}}}},
    {"jobs why", {{{0, "healthy"}, {1, "slow or stalled"}, {2, "hung or failed"}, {3, "unknown"}, {64, kUsage},
                   {70, "no such job, or no agent answers"}, {78, kConfiguration}}}},
    {"jobs evidence", {{{0, "done"}, {64, kUsage}, {70, "no such evidence, or no agent answers"}, {78, kConfiguration}}}},
    {"jobs replay", {{{0, "no finding above info"}, {1, "findings"}, {64, kUsage}, {70, "the folder cannot be read"},
                      {78, "the folder is not valid"}}}},
    {"jobs score", {{{0, "scored, with any score"}, {64, kUsage}, {70, "the folder cannot be read"}, {78, "the folder is not valid"}}}},
    {"slurm prolog", {{{0, "the job may start, also if the node could not be judged"},
                       {1, "the node must not run jobs; with --strict also if it could not be judged"}, {64, kUsage}}}},
    {"slurm epilog", {{{0, "the node may run jobs, or could not be judged"},
                       {1, "the node must not run jobs; with --strict also if it could not be judged"}, {64, kUsage}}}},
    {"slurm health-check", {{{0, "the node may run jobs, or could not be judged"},
                             {1, "the node must not run jobs; with --strict also if it could not be judged"}, {64, kUsage},
                             {70, "scontrol failed"}}}},
    {"learn evaluate", {{{0, "evaluated, with any result"}, {64, kUsage}, {70, "a trace cannot be read"}, {78, "a trace is not valid"}}}},
    {"learn propose", {{{0, "done, also without a proposal"}, {64, kUsage},
                        {70, "a history cannot be read, or the proposals cannot be saved"}, {78, kHistoryMalformed}}}},
    {"learn show", {{{0, "shown"}, {64, kUsage}, {70, "the folder or a history cannot be read"}, {78, "the folder or a history is not valid"}}}},
    {"learn adopt", {{{0, "done"}, {64, kUsage}, {70, "too early, or in use already"}, {78, "the folder or a history is not valid"}}}},
    {"learn revert", {{{0, "done"}, {64, kUsage}, {70, "nothing to revert"}, {78, kConfiguration}}}},
    {"history export", {{{0, "written"}, {64, kUsage}, {70, kHistoryUnreadable}, {78, kHistoryMalformed}}}},
    {"history import", {{{0, "imported"}, {64, kUsage}, {70, "the history cannot be written"}, {78, "a line is malformed"}}}},
    {"history status", {{{0, "shown"}, {64, kUsage}, {70, kHistoryUnreadable}, {78, kHistoryMalformed}}}},
    {"nodes history", {{{0, "shown, also if there is no record"}, {64, kUsage}, {70, kHistoryUnreadable}, {78, kHistoryMalformed}}}},
    {"nodes lemons", {{{0, "shown, also if there is no lemon"}, {64, kUsage}, {70, kHistoryUnreadable}, {78, kHistoryMalformed}}}},
    {"report", {{{0, "any report"}, {64, kUsage}, {70, kHistoryUnreadable}, {78, kHistoryMalformed}}}},
    {"validations", {{{0, "all passed"}, {2, "one failed"}, {3, "one is unknown"}, {64, kUsage}, {70, kNoAgent}, {78, kConfiguration}}}},
    {"kubectl autopilot status", {{{0, "healthy (the worst node counts)"}, {1, "degraded"},
                                   {2, "failed, or an EVICT that remains"}, {3, "unknown, or no nodes"},
                                   {64, "usage, or no such node"}, {70, "the API server refuses or does not answer"},
                                   {78, "the kubeconfig is not valid"}}}},
    {"kubectl autopilot test", {{{0, "healthy (the worst result counts)"}, {1, "degraded"}, {2, "failed"}, {3, "not tested"},
                                 {64, "usage, or no such node or diagnostic"},
                                 {70, "the API server refuses or does not answer"}, {78, "the kubeconfig is not valid"}}}},
    {"kubectl autopilot jobs", {{{0, "no job is slow, hung or failed"}, {1, "a job is"}, {64, kUsage},
                                 {70, "the API server refuses or does not answer"}, {78, "the kubeconfig is not valid"}}}},
    {"kubectl autopilot jobs why", {{{0, "the job is not slow, hung or failed"}, {1, "it is"}, {64, kUsage},
                                     {70, "no such job, or the API server refuses or does not answer"},
                                     {78, "the kubeconfig is not valid"}}}},
    {"kubectl autopilot", {{{0, "done"}, {64, kUsage}, {70, "the API server refuses or does not answer"},
                            {78, "the kubeconfig is not valid"}}}},
}};
// clang-format on

constexpr std::string_view kPlugin = "kubectl autopilot";

const VerbRow* row_of(std::string_view verb) {
  for (const VerbRow& row : kVerbs)
    if (row.verb == verb) return &row;
  return nullptr;
}

// "0 healthy; 1 degraded"
std::string list_of_codes(std::span<const ExitCode> codes) {
  std::string text;
  for (const ExitCode& one : codes)
    text += (text.empty() ? "" : "; ") + std::to_string(one.code) + " " + std::string(one.meaning);
  return text;
}

}  // namespace

std::span<const ExitCode> exit_codes() {
  return kExitCodes;
}

std::span<const ExitCode> exit_codes_of(std::string_view verb) {
  if (const VerbRow* row = row_of(verb)) return row->used();
  if (verb.starts_with(kPlugin)) return row_of(kPlugin)->used();
  return kPlain;
}

std::string exit_status_text(std::string_view verb) {
  return "Exit status: " + list_of_codes(exit_codes_of(verb));
}

std::string exit_status_text() {
  return "Exit status: " + list_of_codes(kExitCodes);
}

std::string exit_codes_page() {
  std::string page =
      "# Exit codes\n\n"
      "The exit codes of `autopilot` and `kubectl autopilot`. A script can rely on them; `--help` of each "
      "verb "
      "lists its own.\n\n"
      "| exit code | meaning |\n|---|---|\n";
  for (const ExitCode& one : kExitCodes)
    page += "| " + std::to_string(one.code) + " | " + std::string(one.meaning) + " |\n";
  page += "\n## By verb\n\n| verb | exit codes |\n|---|---|\n";
  for (const VerbRow& row : kVerbs) {
    const bool is_plugin = row.verb.starts_with(kPlugin);
    const std::string name = (is_plugin ? "" : "autopilot ") + std::string(row.verb);
    page += "| `" + name + "`" + (row.verb == kPlugin ? ", all other verbs" : "") + " | " +
            list_of_codes(row.used()) + " |\n";
  }
  return page + "| all other verbs of `autopilot` | " + list_of_codes(kPlain) + " |\n";
}

}  // namespace autopilot::cli
