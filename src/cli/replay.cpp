// SPDX-License-Identifier: Apache-2.0
#include "controller/replay.hpp"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "cli/cli.hpp"
#include "cli/output/print.hpp"
#include "cli/output/table.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"

namespace autopilot::cli {
namespace {

using controller::ActionKind;
using controller::Decision;
using controller::PlannedAction;

struct ReplayOptions {
  std::string events;
  std::string policy;
  OutputFormat format = OutputFormat::table;
};

constexpr std::size_t kLongestLine = std::size_t{1} << 20;

std::string target_text(const controller::Target& target) {
  std::string text = target.kind;
  if (!target.name_space.empty()) text += ' ' + target.name_space + '/' + target.name;
  if (target.name_space.empty() && !target.name.empty()) text += ' ' + target.name;
  return text;
}

std::string action_text(const PlannedAction& action) {
  std::string text(to_string(action.kind));
  if (action.kind == ActionKind::request) text += ' ' + std::string(to_string(action.request));
  if (action.kind == ActionKind::event) text += ' ' + action.reason;
  if (action.kind == ActionKind::mark_report) text += ' ' + std::string(to_string(action.report_phase));
  return text + (action.is_recorded_only ? " (recorded only)" : "");
}

void print_line(WallTime time, const PlannedAction& action) {
  // The other actions imply the state of the report.
  if (action.kind == ActionKind::mark_report) return;
  std::cout << printable(format_time(time) + "  " + action_text(action) + "  " + target_text(action.target) +
                         ": " + action.why)
            << '\n';
}

void add_json(api::JsonWriter& json, WallTime time, const Decision& decision, const PlannedAction& action) {
  json.begin_object();
  json.time("time", time);
  json.word("action", to_string(action.kind));
  json.begin_object("target");
  json.word("kind", action.target.kind);
  json.word_if_any("namespace", action.target.name_space);
  json.word_if_any("name", action.target.name);
  json.word_if_any("uid", action.target.uid);
  json.end_object();
  json.flag("recordedOnly", action.is_recorded_only);
  json.word("why", action.why);
  json.words("evidence", action.evidence);
  if (decision.entry) {
    json.word("plan", decision.entry->name);
    json.word("phase", to_string(decision.entry->phase));
    json.word_if_any("waitsFor", decision.entry->brake);
    json.word_if_any("spare", decision.entry->spare);
  }
  json.word_if_any("budget", action.budget);
  json.word_if_any("undo", action.undo);
  if (action.kind == ActionKind::event) {
    json.word("reason", action.reason);
    json.word("type", action.is_warning ? "Warning" : "Normal");
  }
  if (action.kind == ActionKind::request) json.word("request", to_string(action.request));
  if (action.kind == ActionKind::mark_report) json.word("reportPhase", to_string(action.report_phase));
  json.end_object();
}

// Prints the actions of each plan as it is made.
class ReplayPrinter {
 public:
  explicit ReplayPrinter(OutputFormat format) : format_(format) {
    json_.begin_object();
    json_.begin_list("actions");
  }

  void add(WallTime time, const controller::Plan& plan) {
    for (const Decision& decision : plan.decisions)
      for (const PlannedAction& action : decision.actions) {
        ++actions_;
        if (format_ == OutputFormat::table)
          print_line(time, action);
        else
          add_json(json_, time, decision, action);
      }
  }

  void finish(const controller::Replay& replay) {
    std::vector<std::string> held;
    for (const std::string& name : replay.world().of_concern())
      if (const auto* node = replay.world().node(name); node != nullptr && node->held) held.push_back(name);
    if (format_ == OutputFormat::table) {
      std::cout << actions_ << " actions by " << replay.plans() << " plans; held at the end: " << held.size()
                << '\n';
      return;
    }
    json_.end_list();
    json_.words("held", held);
    json_.count("plans", replay.plans());
    json_.end_object();
    print_json(json_.take(), format_);
  }

 private:
  OutputFormat format_;
  api::JsonWriter json_;
  std::size_t actions_ = 0;
};

Result<controller::Policy> read_policy(const std::string& path) {
  const auto text = TRY(read_settings_text(path, "policy"));
  return controller::parse_policy(text, path);
}

Status take_line(controller::Replay& replay, std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return {};
  const auto event = TRY(controller::parse_history_event(line));
  return replay.take(event);
}

Status replay_file(const std::string& path, controller::Replay& replay) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> line(kLongestLine + 1);
  for (std::size_t number = 1;
       file.getline(line.data(), static_cast<std::streamsize>(line.size())) || file.gcount() > 0; ++number) {
    const std::string place = path + ":" + std::to_string(number) + ": ";
    if (!file && !file.eof()) return fail(Errc::malformed, place + "longer than 1 MiB");
    if (const auto taken = take_line(replay, line.data()); !taken)
      return fail(taken.error().code, place + taken.error().what);
  }
  if (!file.eof()) return fail(Errc::malformed, "cannot read events " + path);
  return replay.finish();
}

int replay(const ReplayOptions& options) {
  auto policy = read_policy(options.policy);
  if (!policy) return report(policy.error());
  ReplayPrinter printer(options.format);
  controller::Replay replay(std::move(*policy),
                            [&](WallTime time, const controller::Plan& plan) { printer.add(time, plan); });
  if (const auto done = replay_file(options.events, replay); !done) return report(done.error());
  printer.finish(replay);
  return kExitHealthy;
}

}  // namespace

void add_replay(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<ReplayOptions>();
  auto* verb =
      app.add_subcommand("replay", "Show the actions of a remediation policy for a recorded history");
  verb->add_option("--events", options->events, "History: one JSON object per line (docs/remediation.md)")
      ->type_name("FILE")
      ->required();
  verb->add_option("--policy", options->policy, "Policy, a YAML document")->type_name("FILE")->required();
  add_format_option(*verb, options->format);
  verb->footer("Example:\n  autopilot replay --events history.jsonl --policy policy.yaml");
  verb->callback([options, &exit_code] { exit_code = replay(*options); });
}

}  // namespace autopilot::cli
