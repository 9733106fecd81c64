// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "core/snapshot.hpp"

namespace autopilot::cli {

enum class OutputFormat : unsigned char { table, json, yaml };

// As -o takes it.
[[nodiscard]] std::string format_name(OutputFormat format);

// -o, --output table|json|yaml
void add_format_option(CLI::App& verb, OutputFormat& format);

// A node on standard output.
void print_node(const NodeSnapshot& node, OutputFormat format);
// Any JSON text of ours on standard output, as JSON or YAML.
void print_json(const std::string& json, OutputFormat format);

}  // namespace autopilot::cli
