// SPDX-License-Identifier: Apache-2.0
// The command that changes readings of GPUs while an agent runs: readings.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "program/program.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::simulator {
namespace {

constexpr std::size_t kMaxReadingsBytes = std::size_t{1} << 20;

struct ReadingsOptions {
  std::string directory;
  std::string gpu = "*";
  std::vector<std::string> readings;
  bool clears = false;
};

using LiveReadings = std::map<std::pair<std::string, std::string>, std::string>;  // by GPU and reading

Result<LiveReadings> known_readings(const std::string& path) {
  LiveReadings known;
  const auto text = read_text(path, kMaxReadingsBytes);
  if (!text && text.error().code == Errc::not_found) return known;
  if (!text) return fail(text.error());
  for (const std::string_view row : split(*text, '\n'))
    if (const auto words = split_words(row); words.size() == 3)
      known[{std::string(words[0]), std::string(words[1])}] = words[2];
  return known;
}

Status change_readings(const ReadingsOptions& options) {
  const std::string path = options.directory + "/gpu_readings.txt";
  LiveReadings known;
  if (!options.clears) known = TRY(known_readings(path));
  for (const std::string& reading : options.readings) {
    const auto equals = reading.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == reading.size() ||
        split_words(reading).size() != 1)
      return fail(Errc::malformed, "expected READING=VALUE, found " + reading);
    known[{options.gpu, reading.substr(0, equals)}] = reading.substr(equals + 1);
  }
  std::string text;
  for (const auto& [key, value] : known)
    text += key.first + " " + key.second + " " + value + "\n";
  return write_text(path, text);
}

}  // namespace

void add_readings(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<ReadingsOptions>();
  auto* verb = app.add_subcommand("readings", "Set readings of GPUs of a machine tree, now");
  verb->add_option("DIR", options->directory, "a machine tree")->required();
  verb->add_option("READING=VALUE", options->readings, "such as power.usage=650");
  verb->add_option("--gpu", options->gpu, "index or PCI address; default: every GPU");
  verb->add_flag("--clear", options->clears, "forget what was set before");
  verb->footer(
      "A running agent gets the new values with its next call of the simulated driver:\n"
      "  autopilot-sim readings /tmp/machine --gpu 3 power.usage=650 clocks.sm=1410 utilization=1");
  verb->callback([options, &outcome] { outcome = change_readings(*options); });
}

}  // namespace autopilot::simulator
