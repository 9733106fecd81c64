// SPDX-License-Identifier: Apache-2.0
#include "cli/output/format.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "api/v1.hpp"
#include "api/yaml.hpp"
#include "cli/output/terminal.hpp"

namespace autopilot::cli {

std::string format_name(OutputFormat format) {
  if (format == OutputFormat::table) return "table";
  return format == OutputFormat::json ? "json" : "yaml";
}

void add_format_option(CLI::App& verb, OutputFormat& format) {
  static const std::map<std::string, OutputFormat> formats{
      {"table", OutputFormat::table}, {"json", OutputFormat::json}, {"yaml", OutputFormat::yaml}};
  verb.add_option_function<std::string>(
          "-o,--output",
          [&format](const std::string& word) {
            const auto found = formats.find(word);
            if (found == formats.end())
              throw CLI::ValidationError("--output", "expected table, json or yaml, not '" + word + "'");
            format = found->second;
          },
          "table, json or yaml")
      ->type_name("FORMAT");
}

void print_json(const std::string& json, OutputFormat format) {
  if (format != OutputFormat::yaml) return print_document(json);
  const auto yaml = api::json_to_yaml(json);
  AUTOPILOT_ASSERT(yaml.has_value());
  print_document(*yaml);
}

void print_node(const NodeSnapshot& node, OutputFormat format) {
  if (format == OutputFormat::table)
    std::cout << render_node(node, terminal_style());
  else
    print_json(api::to_json(node), format);
}

}  // namespace autopilot::cli
