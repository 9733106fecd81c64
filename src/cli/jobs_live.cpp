// SPDX-License-Identifier: Apache-2.0
#include "cli/jobs_live.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/job_evidence.hpp"
#include "api/jobs_v1.hpp"
#include "api/validations.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/job_evidence.hpp"
#include "cli/output/job_pages.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/print.hpp"
#include "cli/output/validation_tables.hpp"
#include "cli/settings.hpp"
#include "host/clock/system_clock.hpp"

namespace autopilot::cli {
namespace {

struct LiveOptions {
  std::string name;  // of a job, or a finding
  std::string socket;
  std::string verdict;
  std::string note;
  std::optional<Duration> duration;
  OutputFormat format = OutputFormat::table;
};

constexpr Duration kDefaultMute = std::chrono::hours(8);

int worse_code(int a, int b) {
  // A job in trouble counts more than an unknown one.
  const auto rank = [](int code) { return code == kExitUnknown ? 1 : code == kExitHealthy ? 0 : code + 1; };
  return rank(a) >= rank(b) ? a : b;
}

int code_of(const jobs::JobReport& report) {
  return exit_code_of(health_of(report));
}

int show_list(const AgentClient& agent, OutputFormat format) {
  const auto body = agent.get("/v1/jobs");
  if (!body) return report(body.error());
  const auto list = api::parse_jobs(*body);
  if (!list) return report(list.error());
  if (format != OutputFormat::table)
    print_json(*body, format);
  else
    std::cout << render_job_list(*list, host::SystemClock{}.now().wall, terminal_style());
  int code = kExitHealthy;
  for (const jobs::JobReport& job : list->jobs)
    if (!job.ended) code = worse_code(code, code_of(job));
  return code;
}

// Empty also for a caller without the permission to read evidence.
std::vector<std::string> evidence_of(const AgentClient& agent, const std::string& job) {
  constexpr std::size_t shown = 8;
  std::vector<std::string> folders;
  const auto body = agent.get("/v1/jobs/evidence");
  const auto list = body ? api::parse_evidence_list(*body) : fail(body.error());
  if (!list) return folders;
  for (const api::CapturedEvidence& captured : list->evidence)
    if (captured.job == job && folders.size() < shown) folders.push_back(list->folder + "/" + captured.id);
  return folders;
}

// After the job ended, of all its nodes where this program knows them; empty before that, and if this agent
// has not validated its node.
std::vector<std::string> validation_of(const AgentClient& agent, const jobs::JobReport& job) {
  if (!job.ended) return {};
  if (job.nodes.size() > 1 && job.afterwards) return {jobs::sentence_of(*job.afterwards)};
  const auto body = agent.get(api::kValidationsPath, {{"job", job.state.job}});
  const auto list = body ? api::parse_validations(*body) : fail(body.error());
  if (!list || list->validations.empty()) return {};
  return sentences_of(list->validations.front());
}

using RenderJob = std::string (*)(const jobs::JobReport&, const JobPageContext&, const TableStyle&);

int show_job(const AgentClient& agent, const LiveOptions& options, RenderJob render) {
  const auto body = agent.get("/v1/jobs", {{"job", options.name}});
  if (!body) return report(body.error());
  const auto job = api::parse_job(*body);
  if (!job) return report(job.error());
  if (options.format != OutputFormat::table) {
    print_json(*body, options.format);
    return code_of(*job);
  }
  JobPageContext context{.now = host::SystemClock{}.now().wall};
  bool is_simulated = false;
  if (const auto listed = agent.get("/v1/jobs"))
    if (const auto list = api::parse_jobs(*listed)) {
      context.sources = list->sources;
      context.not_seen = list->not_seen;
      is_simulated = list->is_simulated;
    }
  context.validation = validation_of(agent, *job);
  if (render == &render_job_page) context.evidence = evidence_of(agent, job->state.job);
  const TableStyle style = terminal_style();
  std::cout << simulated_line(is_simulated, style) << render(*job, context, style);
  return code_of(*job);
}

// Prints what the answer of an action shows.
int print_action(const Result<std::string>& answer, OutputFormat format, const std::string& sentence) {
  if (!answer) return report(answer.error());
  if (format != OutputFormat::table)
    print_json(*answer, format);
  else
    std::cout << printable(sentence) << "\n";
  return kExitHealthy;
}

// A finding by its id, or the worst open one of a job.
Result<std::string> finding_of(const AgentClient& agent, const std::string& name) {
  const bool is_id = name.size() == 16 && std::ranges::all_of(name, [](char sign) {
                       return (sign >= '0' && sign <= '9') || (sign >= 'a' && sign <= 'f');
                     });
  if (is_id) return name;
  const auto body = TRY(agent.get("/v1/jobs", {{"job", name}}));
  const auto job = TRY(api::parse_job(body));
  if (const jobs::JobFinding* finding = worst_finding(job)) return finding->id;
  return fail(Errc::not_found, name + " has no open finding above info; autopilot jobs show " + name +
                                   " lists all with their ids");
}

int acknowledge(const AgentClient& agent, const LiveOptions& options) {
  const auto finding = finding_of(agent, options.name);
  if (!finding) return report(finding.error());
  return print_action(agent.send("POST", "/v1/jobs/ack", api::to_json(api::JobAckRequest{*finding})),
                      options.format, *finding + " acknowledged: no more messages about it, except its end");
}

int state_feedback(const AgentClient& agent, const LiveOptions& options) {
  const auto finding = finding_of(agent, options.name);
  if (!finding) return report(finding.error());
  const auto verdict = api::parse_job_verdict(options.verdict);
  const api::JobFeedbackRequest request{
      .finding = *finding, .verdict = verdict.value_or(jobs::Verdict::unclear), .note = options.note};
  if (const auto checked = api::parse_job_feedback(api::to_json(request)); !checked)
    return report_usage("--" + checked.error().what);
  return print_action(agent.send("POST", "/v1/jobs/feedback", api::to_json(request)), options.format,
                      *finding + " is stated as " + options.verdict);
}

int mute(const AgentClient& agent, const LiveOptions& options) {
  const Duration duration = options.duration.value_or(kDefaultMute);
  const api::JobMuteRequest request{.job = options.name, .duration = duration};
  if (const auto checked = api::parse_job_mute(api::to_json(request)); !checked)
    return report_usage("--for: " + checked.error().what);
  return print_action(agent.send("POST", "/v1/jobs/mute", api::to_json(request)), options.format,
                      duration == Duration{0}
                          ? options.name + ": messages are sent again"
                          : options.name + ": no messages for " + format_duration(duration));
}

// Runs `act` with the agent that --socket names.
template <class Act>
int with_agent(const LiveOptions& options, Act act) {
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  return act(AgentClient(*target));
}

constexpr const char* kJobHelp = "Key or name of the job, from: autopilot jobs";
constexpr const char* kFindingHelp = "Finding, from: autopilot jobs show JOB; or a job, for its worst one";

CLI::App* add_verb(CLI::App& jobs, const std::string& name, const std::string& help,
                   const std::shared_ptr<LiveOptions>& options) {
  auto* verb = jobs.add_subcommand(name, help);
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  return verb;
}

void add_list(CLI::App& jobs, int& exit_code) {
  auto options = std::make_shared<LiveOptions>();
  auto* verb = add_verb(jobs, "list", "List the jobs of this machine (default)", options);
  verb->footer(
      "Examples:\n  autopilot jobs\n  autopilot jobs list -o json | jq -r '.jobs[] | [.job, "
      ".health] | @tsv'");
  const auto run = [options, &exit_code] {
    exit_code =
        with_agent(*options, [&](const AgentClient& agent) { return show_list(agent, options->format); });
  };
  verb->callback(run);
  // `autopilot jobs` alone.
  add_format_option(jobs, options->format);
  add_socket_option(jobs, options->socket);
  jobs.callback([&jobs, run] {
    if (jobs.get_subcommands().empty()) run();
  });
}

void add_page(CLI::App& jobs, const std::string& name, const std::string& help, const std::string& footer,
              RenderJob render, int& exit_code) {
  auto options = std::make_shared<LiveOptions>();
  auto* verb = add_verb(jobs, name, help, options);
  verb->add_option("JOB", options->name, kJobHelp)->required();
  verb->footer(footer);
  verb->callback([options, render, &exit_code] {
    exit_code =
        with_agent(*options, [&](const AgentClient& agent) { return show_job(agent, *options, render); });
  });
}

void add_job_ack(CLI::App& jobs, int& exit_code) {
  auto options = std::make_shared<LiveOptions>();
  auto* verb = add_verb(jobs, "ack", "Stop the messages about a finding until it ends", options);
  verb->add_option("FINDING", options->name, kFindingHelp)->required();
  verb->footer(
      "Works only over the agent's Unix socket.\n\nExamples:\n  autopilot jobs ack 00c0ffee00c0ffee\n"
      "  autopilot jobs ack ml/llama-7f3a");
  verb->callback([options, &exit_code] {
    exit_code = with_agent(*options, [&](const AgentClient& agent) { return acknowledge(agent, *options); });
  });
}

void add_job_feedback(CLI::App& jobs, int& exit_code) {
  auto options = std::make_shared<LiveOptions>();
  auto* verb = add_verb(jobs, "feedback", "State whether a finding was right", options);
  verb->add_option("FINDING", options->name, kFindingHelp)->required();
  verb->add_option("VERDICT", options->verdict, "confirmed, refuted or unclear")
      ->required()
      ->check(CLI::IsMember({"confirmed", "refuted", "unclear"}));
  verb->add_option("-n,--note", options->note, "What was found; at most 1 KiB")->type_name("TEXT");
  verb->footer(
      "Works only over the agent's Unix socket.\n\nExamples:\n"
      "  autopilot jobs feedback 00c0ffee00c0ffee confirmed --note 'cable replaced'\n"
      "  autopilot jobs feedback ml/llama-7f3a refuted -n 'a debugger had stopped it'");
  verb->callback([options, &exit_code] {
    exit_code =
        with_agent(*options, [&](const AgentClient& agent) { return state_feedback(agent, *options); });
  });
}

void add_job_mute(CLI::App& jobs, int& exit_code) {
  auto options = std::make_shared<LiveOptions>();
  auto* verb = add_verb(jobs, "mute", "Send no messages about a job for a time", options);
  verb->add_option("JOB", options->name, kJobHelp)->required();
  add_duration_option(*verb, "--for", options->duration,
                      "How long (default 8h, at most 30d); 0s ends it now");
  verb->footer(
      "What is open when that time ends is sent then. Works only over the agent's\n"
      "Unix socket.\n\nExamples:\n  autopilot jobs mute ml/llama-7f3a --for 2h\n"
      "  autopilot jobs mute ml/llama-7f3a --for 0s");
  verb->callback([options, &exit_code] {
    exit_code = with_agent(*options, [&](const AgentClient& agent) { return mute(agent, *options); });
  });
}

}  // namespace

void add_live_jobs(CLI::App& jobs, int& exit_code) {
  add_list(jobs, exit_code);
  add_page(jobs, "show", "Show everything about a job",
           "Examples:\n  autopilot jobs show ml/llama-7f3a\n  autopilot jobs show llama -o json | jq "
           ".findings",
           &render_job_page, exit_code);
  add_page(jobs, "why", "Answer in one screen what stops or slows a job, and what to do",
           std::string("Also for a job that ended, and for one in which nothing is wrong.\n\n") +
               "Examples:\n  autopilot jobs why ml/llama-7f3a\n  autopilot jobs why llama -o json | jq -r "
               "'.findings[0].summary'",
           &render_job_why, exit_code);
  add_job_evidence(jobs, exit_code);
  add_job_ack(jobs, exit_code);
  add_job_feedback(jobs, exit_code);
  add_job_mute(jobs, exit_code);
}

}  // namespace autopilot::cli
