// SPDX-License-Identifier: Apache-2.0
#include "cli/job_evidence.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/job_evidence.hpp"
#include "api/jobs_v1.hpp"
#include "cli/agent_client.hpp"
#include "cli/cli.hpp"
#include "cli/output/evidence_tables.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/print.hpp"
#include "cli/settings.hpp"
#include "host/clock/system_clock.hpp"
#include "host/files/own_folder.hpp"

namespace autopilot::cli {
namespace {

constexpr const char* kRoute = "/v1/jobs/evidence";
// More than an agent keeps of one capture.
constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;

struct EvidenceOptions {
  std::string name;  // of a job or a capture; empty: all
  std::string file;  // to print
  std::string folder;
  std::string socket;
  OutputFormat format = OutputFormat::table;
};

using Captures = std::vector<api::CapturedEvidence>;

// The whole file: an answer holds a part of it.
Result<std::string> read_file(const AgentClient& agent, const std::string& id, const std::string& file) {
  std::string text;
  while (text.size() < kMostFileBytes) {
    const std::string part =
        TRY(agent.get(kRoute, {{"id", id}, {"item", file}, {"offset", std::to_string(text.size())}}));
    text += part;
    if (part.size() < api::kMostEvidenceBytes) return text;
  }
  return fail(Errc::exhausted, file + ": longer than " + std::to_string(kMostFileBytes) + " bytes");
}

Captures of_job(const Captures& all, const std::string& job) {
  Captures found;
  std::ranges::copy_if(all, std::back_inserter(found),
                       [&](const api::CapturedEvidence& one) { return one.job == job; });
  return found;
}

// By id, by the key of a job, or by another name of a job that the agent knows. Never empty.
Result<Captures> captures_of(const AgentClient& agent, Captures all, const std::string& name) {
  if (name.empty()) return all;
  const auto with_id = std::ranges::find(all, name, &api::CapturedEvidence::id);
  if (with_id != all.end()) return Captures{*with_id};
  Captures found = of_job(all, name);
  if (found.empty())
    if (const auto body = agent.get("/v1/jobs", {{"job", name}}))
      if (const auto job = api::parse_job(*body)) found = of_job(all, job->state.job);
  if (found.empty())
    return fail(Errc::not_found,
                "no evidence about " + name + " on this machine; list all with: autopilot jobs evidence");
  return found;
}

bool has_file(const api::CapturedEvidence& captured, const std::string& file) {
  return !file.empty() &&
         std::ranges::find(captured.items, file, &api::EvidenceItem::file) != captured.items.end();
}

// Of the newest capture that has it.
int print_file(const AgentClient& agent, const Captures& captures, const std::string& file) {
  const auto captured =
      std::ranges::find_if(captures, [&](const api::CapturedEvidence& one) { return has_file(one, file); });
  if (captured == captures.end())
    return report({Errc::not_found, "the evidence has no file " + file +
                                        "; list its files with: autopilot jobs evidence " +
                                        captures.front().id});
  const auto text = read_file(agent, captured->id, file);
  if (!text) return report(text.error());
  if (stdout_is_terminal())
    print_document(*text);
  else
    std::cout << *text;
  return kExitHealthy;
}

// <folder>/<id>/<file>; the agent names both, so that the folder refuses names that lead out of it.
Result<std::size_t> copy_all(const AgentClient& agent, const Captures& captures, const std::string& folder) {
  auto made = TRY(host::OwnFolder::create(folder));
  std::size_t files = 0;
  for (const api::CapturedEvidence& captured : captures)
    for (const api::EvidenceItem& item : captured.items) {
      if (item.file.empty()) continue;
      const std::string text = TRY(read_file(agent, captured.id, item.file));
      TRY_STATUS(made.write("/" + captured.id + "/" + item.file, text));
      ++files;
    }
  return files;
}

int save_all(const AgentClient& agent, const Captures& captures, const EvidenceOptions& options) {
  const auto files = copy_all(agent, captures, options.folder);
  if (!files) return report(files.error());
  std::cout << *files << " files of " << captures.size() << " captures are in " << printable(options.folder)
            << "\n";
  return kExitHealthy;
}

int show_captures(const api::EvidenceList& list, const Captures& captures, const EvidenceOptions& options) {
  if (options.format != OutputFormat::table) {
    print_json(api::to_json(api::EvidenceList{.folder = list.folder, .evidence = captures}), options.format);
    return kExitHealthy;
  }
  const WallTime now = host::SystemClock{}.now().wall;
  const TableStyle style = terminal_style();
  if (captures.empty())
    std::cout << "Nothing was captured: no job of this machine was suspected to hang.\n";
  else if (options.name.empty())
    std::cout << render_evidence_list(captures, now, style);
  else
    for (const api::CapturedEvidence& captured : captures)
      std::cout << (&captured == captures.data() ? "" : "\n") << render_evidence(captured, now, style);
  return kExitHealthy;
}

int run_evidence(const EvidenceOptions& options) {
  if (!options.file.empty() && options.name.empty())
    return report_usage("--get: name the job or the evidence as well");
  const auto target = agent_target(options.socket);
  if (!target) return report(target.error());
  const AgentClient agent(*target);
  const auto body = agent.get(kRoute);
  if (!body) return report(body.error());
  const auto list = api::parse_evidence_list(*body);
  if (!list) return report(list.error());
  const auto captures = captures_of(agent, list->evidence, options.name);
  if (!captures) return report(captures.error());
  if (!options.file.empty()) return print_file(agent, *captures, options.file);
  if (!options.folder.empty()) return save_all(agent, *captures, options);
  return show_captures(*list, *captures, options);
}

}  // namespace

void add_job_evidence(CLI::App& jobs, int& exit_code) {
  auto options = std::make_shared<EvidenceOptions>();
  auto* verb =
      jobs.add_subcommand("evidence", "List or copy what was captured when a job was suspected to hang");
  verb->add_option("NAME", options->name,
                   "Job, from: autopilot jobs; or a capture, from: autopilot jobs evidence");
  auto* get = verb->add_option("--get", options->file, "Print this file of the newest capture that has it")
                  ->type_name("FILE");
  verb->add_option("--all", options->folder, "Copy all files into this folder, which is new or empty")
      ->type_name("DIR")
      ->excludes(get);
  add_format_option(*verb, options->format);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "Each agent captures what its own machine sees; ask on each node of the job.\n\n"
      "Examples:\n  autopilot jobs evidence\n  autopilot jobs evidence ml/llama-7f3a\n"
      "  autopilot jobs evidence ml/llama-7f3a --get counters.json | jq .gpus\n"
      "  autopilot jobs evidence 00c0ffee00c0ffee --all evidence/");
  verb->callback([options, &exit_code] { exit_code = run_evidence(*options); });
}

}  // namespace autopilot::cli
