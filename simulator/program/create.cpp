// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "machine/builtin.hpp"
#include "program/program.hpp"
#include "tree/tree_store.hpp"

namespace autopilot::simulator {
namespace {

struct Options {
  std::string source;
  std::string out;
};

Status create(const Options& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(options.out, error) && !fs::is_empty(options.out, error))
    return fail(Errc::conflict, options.out + ": exists and is not empty");
  TreeSource source;
  if (fs::is_directory(options.source, error))
    source = TRY(read_tree(options.source));
  else
    source.machine = TRY(builtin_machine(options.source));
  TRY_STATUS(TreeWriter(options.out).write(source.machine));
  std::cout << options.out << "\n";
  return {};
}

}  // namespace

void add_create(CLI::App& app, Status& outcome) {
  auto options = std::make_shared<Options>();
  auto* verb = app.add_subcommand("create", "Write a machine tree");
  verb->add_option("SOURCE", options->source, "a built-in machine or a tree")->required();
  verb->add_option("--out", options->out, "the new directory")->required();
  verb->callback([options, &outcome] { outcome = create(*options); });
}

}  // namespace autopilot::simulator
