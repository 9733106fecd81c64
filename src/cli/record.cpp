// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/cli.hpp"
#include "cli/job_recording.hpp"
#include "cli/machine.hpp"
#include "cli/open_machine.hpp"
#include "cli/output/print.hpp"
#include "cli/recording/recording.hpp"
#include "cli/recording/scrub_recording.hpp"
#include "cli/settings.hpp"
#include "cli/verbs.hpp"
#include "core/yaml_text.hpp"

namespace autopilot::cli {
namespace {

struct RecordOptions {
  std::string directory;
  bool scrub = false;
  std::string config_file;
  MachineChoice machine;
  std::string job;
  std::optional<Duration> length;
  std::string socket;
};

int record(const RecordOptions& options) {
  if (!options.job.empty())
    return record_job({options.directory, options.job, options.length, options.socket, options.scrub});
  const auto settings = load_settings(options.config_file);
  if (!settings) return report(settings.error());
  const auto machine = open_machine(options.machine, *settings, Timeline::at_end, {});
  if (!machine) return report(machine.error());
  auto recording = record_machine(*machine->host, machine->node, machine->boot_id);
  if (!recording) return report(recording.error());
  yaml_member(recording->machine, "simulated") =
      yaml_flag(machine->simulated && !is_recording(options.machine));
  std::optional<ScrubbedRecording> without_names;
  if (options.scrub) without_names = scrubbed(*recording);
  const auto written = without_names ? write_recording(without_names->recording, options.directory,
                                                       scrub_report(without_names->counts))
                                     : write_recording(*recording, options.directory);
  if (!written) return report(written.error());
  for (const std::string& gap : recording->gaps)
    tell(gap, "not recorded: ");
  std::cout << options.directory << ": " << recording->files.size() << " files; check them with: autopilot "
            << "check --root " << options.directory << "\n";
  if (without_names) std::cout << scrub_summary(without_names->counts) << "\n";
  return kExitHealthy;
}

}  // namespace

void add_record(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RecordOptions>();
  auto* verb =
      app.add_subcommand("record", "Record this machine as a machine tree, or what its agent sees of a job");
  verb->add_option("DIR", options->directory, "New directory, or your own empty directory")->required();
  verb->add_flag("--scrub", options->scrub,
                 "Replace names, serial numbers, UUIDs, addresses and credentials");
  verb->add_option("--config", options->config_file, "Configuration file")->type_name("FILE");
  add_machine_options(*verb, options->machine);
  auto* job = verb->add_option("--job", options->job, "Record the telemetry of this job, from the agent")
                  ->type_name("NAME");
  add_duration_option(*verb, "--for", options->length, "With --job: end the recording after this time");
  verb->get_option("--for")->needs(job);
  add_socket_option(*verb, options->socket);
  verb->footer(
      "You can check a recording again (autopilot check --root DIR), make it a test\n"
      "case, or send it for support (--scrub). The kernel log and disk health need\n"
      "permissions: sudo. Only the user that recorded can read the files.\n"
      "With --job: until Ctrl-C or the end of the job, for: autopilot jobs replay DIR\n"
      "Examples:\n  sudo autopilot record node-17 --scrub\n  sudo autopilot check --root node-17\n"
      "  autopilot record --job ml/llama-7f3a --for 10m recording");
  verb->callback([options, &exit_code] { exit_code = record(*options); });
}

}  // namespace autopilot::cli
