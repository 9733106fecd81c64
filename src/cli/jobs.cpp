// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/job_findings.hpp"
#include "api/json.hpp"
#include "cli/cli.hpp"
#include "cli/job_folder.hpp"
#include "cli/job_replay.hpp"
#include "cli/jobs_live.hpp"
#include "cli/output/job_tables.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/print.hpp"
#include "cli/verbs.hpp"
#include "host/clock/system_clock.hpp"
#include "jobs/scoring/score.hpp"

namespace autopilot::cli {
namespace {

struct JobsOptions {
  std::string folder;
  std::string format = "table";
  std::vector<std::string> without;
  bool shows_speed = false;

  [[nodiscard]] bool is_json() const { return format == "json"; }
};

jobs::EngineOptions engine_options(const std::vector<std::string>& without) {
  const auto uses = [&](const char* part) { return std::ranges::find(without, part) == without.end(); };
  jobs::EngineOptions options;
  options.uses_roles = uses("roles");
  options.uses_persistence = uses("persistence");
  options.uses_whitening = uses("whitening");
  options.uses_fusion = uses("fusion");
  return options;
}

// Prints findings as they come, and the jobs at the end.
class JobsPrinter {
 public:
  explicit JobsPrinter(const JobsOptions& options) : options_(options), style_(terminal_style()) {}

  void begin(const api::JobFormat& format) {
    if (!options_.is_json()) {
      std::cout << simulated_line(format.is_simulated, style_);
      return;
    }
    json_.begin_object();
    json_.word("type", "run");
    json_.flag("simulated", format.is_simulated);
    json_.word_if_any("source", format.source);
    if (format.seed) json_.integer("seed", *format.seed);
    print_object();
  }

  void add(const jobs::JobFinding& finding, WallTime now) {
    if (!finding.resolved) ++reports_[static_cast<std::size_t>(finding.severity)];
    if (!options_.is_json()) {
      std::cout << render_job_finding(finding, now, style_);
      return;
    }
    json_.begin_object();
    json_.word("type", "finding");
    json_.time("time", now);
    api::write_members(json_, finding);
    print_object();
  }

  void finish(const ReplaySummary& summary, std::optional<double> seconds) {
    if (options_.is_json())
      print_end_objects(summary, seconds);
    else
      print_end(summary, seconds);
  }

  // True if a person should look: a report above info.
  [[nodiscard]] bool has_findings() const { return reports_[1] + reports_[2] > 0; }

 private:
  void print_object() {
    json_.end_object();
    print_document(json_.take());
  }

  void print_end(const ReplaySummary& summary, std::optional<double> seconds) {
    const std::string table = render_jobs(summary.jobs, style_);
    if (!table.empty()) std::cout << "\n" << table;
    const Duration length = summary.begin ? *summary.end - *summary.begin : Duration{0};
    std::cout << "\n"
              << summary.counts.records << " records of " << format_duration(length)
              << "; reports: " << reports_[2] << " page, " << reports_[1] << " ticket, " << reports_[0]
              << " info\n";
    if (summary.counts.dropped + summary.counts.future + summary.malformed > 0)
      std::cout << "Not used: " << summary.counts.dropped << " late or unknown and " << summary.counts.future
                << " future records, " << summary.malformed << " malformed lines\n";
    if (!seconds) return;
    const double at_least_1_ns = std::max(*seconds, 1e-9);
    std::cout << std::fixed << std::setprecision(1) << "Replayed in " << *seconds
              << " s: " << static_cast<double>(summary.bytes) / 1e6 / at_least_1_ns << " MB/s, "
              << to_seconds(length) / at_least_1_ns << " times real time\n";
  }

  void print_end_objects(const ReplaySummary& summary, std::optional<double> seconds) {
    for (const jobs::JobState& job : summary.jobs) {
      json_.begin_object();
      json_.word("type", "job");
      api::write_members(json_, job);
      print_object();
    }
    json_.begin_object();
    json_.word("type", "end");
    if (summary.begin) json_.time("begin", *summary.begin);
    if (summary.end) json_.time("end", *summary.end);
    json_.count("records", summary.counts.records);
    json_.count("dropped", summary.counts.dropped);
    json_.count("future", summary.counts.future);
    json_.count("lines", summary.lines);
    json_.count("bytes", summary.bytes);
    json_.count("malformed", summary.malformed);
    if (seconds) json_.number("seconds", *seconds);
    print_object();
  }

  const JobsOptions& options_;
  TableStyle style_;
  api::JsonWriter json_;
  std::array<std::uint64_t, 3> reports_{};  // by severity
};

int replay_jobs(const JobsOptions& options) {
  JobsPrinter printer(options);
  ProblemList problems;
  JobReplay replay(engine_options(options.without));
  replay.on_format = [&](const api::JobFormat& format) { printer.begin(format); };
  replay.on_finding = [&](const jobs::JobFinding& finding, WallTime now) { printer.add(finding, now); };
  const host::SystemClock clock;
  const MonoTime begin = clock.now().mono;
  const auto summary = replay.run(options.folder, problems);
  problems.finish();
  if (!summary) return report(summary.error());
  const double seconds = to_seconds(clock.now().mono - begin);
  printer.finish(*summary, options.shows_speed ? std::optional(seconds) : std::nullopt);
  return printer.has_findings() ? kExitDegraded : kExitHealthy;
}

int score_jobs(const JobsOptions& options) {
  ProblemList problems;
  const auto labels = read_labels(options.folder, [&](const std::string& problem) { problems.add(problem); });
  if (!labels) return report(labels.error());
  jobs::RunLog log;
  bool is_simulated = false;
  JobReplay replay(engine_options(options.without));
  replay.on_format = [&](const api::JobFormat& format) { is_simulated = format.is_simulated; };
  replay.on_record = [&](const jobs::Record& record) { log.add(record); };
  replay.on_finding = [&](const jobs::JobFinding& finding, WallTime now) { log.add(finding, now); };
  const auto summary = replay.run(options.folder, problems);
  problems.finish();
  if (!summary) return report(summary.error());
  if (log.dropped() > 0)
    return report(
        {Errc::exhausted, options.folder + " has more nodes, jobs or findings than score can count"});
  const jobs::Score score = jobs::score(*labels, log);
  if (options.is_json()) {
    print_document(score_json(score, is_simulated));
    return kExitHealthy;
  }
  const TableStyle style = terminal_style();
  std::cout << simulated_line(is_simulated, style) << render_score(score, style);
  return kExitHealthy;
}

void add_shared_options(CLI::App& verb, JobsOptions& options) {
  verb.add_option("DIR", options.folder, "Folder with jobs.jsonl (docs/reference/job-telemetry.md)")
      ->required();
  verb.add_option("-o,--output", options.format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  // For the ablations of the benchmark.
  verb.add_option("--without", options.without, "Leave out a part of the engine; repeatable")
      ->check(CLI::IsMember({"roles", "persistence", "whitening", "fusion"}))
      ->allow_extra_args(false)
      ->type_name("PART")
      ->group("");
}

void add_jobs_replay(CLI::App& jobs, int& exit_code) {
  auto options = std::make_shared<JobsOptions>();
  auto* verb = jobs.add_subcommand("replay", "Run the in-flight engine on recorded job telemetry");
  add_shared_options(*verb, *options);
  verb->add_flag("--speed", options->shows_speed, "Print how fast the replay was");
  verb->footer(
      "Prints each finding when it is raised, changes or is resolved, in the time of\n"
      "the records; then the jobs. json: one object a line. A malformed line is\n"
      "reported on standard error and left out.\n\n"
      "Examples:\n"
      "  autopilot jobs replay recording/\n"
      "  autopilot jobs replay recording/ -o json | jq -c 'select(.type == \"finding\")'");
  verb->callback([options, &exit_code] { exit_code = replay_jobs(*options); });
}

void add_jobs_score(CLI::App& jobs, int& exit_code) {
  auto options = std::make_shared<JobsOptions>();
  auto* verb = jobs.add_subcommand("score", "Compare the findings of a replay with labels.jsonl");
  add_shared_options(*verb, *options);
  verb->footer(
      "The engine does not read the labels. Intervals are of 95 %.\n\n"
      "Examples:\n"
      "  autopilot jobs score recording/\n"
      "  autopilot jobs score recording/ -o json | jq .recall");
  verb->callback([options, &exit_code] { exit_code = score_jobs(*options); });
}

}  // namespace

void add_jobs(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("jobs", "Show what slows or stops the jobs of this machine");
  verb->require_subcommand(0, 1);
  add_live_jobs(*verb, exit_code);
  add_jobs_replay(*verb, exit_code);
  add_jobs_score(*verb, exit_code);
}

}  // namespace autopilot::cli
