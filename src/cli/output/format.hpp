// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "core/snapshot.hpp"

namespace autopilot::cli {

enum class OutputFormat : unsigned char { table, json, yaml };

// Name of the format for -o.
[[nodiscard]] std::string format_name(OutputFormat format);

// -o, --output table|json|yaml
void add_format_option(CLI::App& verb, OutputFormat& format);

// Prints a node on standard output.
void print_node(const NodeSnapshot& node, OutputFormat format);
// Prints valid JSON on standard output, as JSON or YAML.
void print_json(const std::string& json, OutputFormat format);

}  // namespace autopilot::cli
