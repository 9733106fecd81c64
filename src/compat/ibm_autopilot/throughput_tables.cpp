// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/throughput_tables.hpp"

#include <map>
#include <optional>
#include <set>

#include "compat/ibm_autopilot/said.hpp"
#include "core/attribute_text.hpp"

namespace autopilot::compat::ibm_autopilot {
namespace {

constexpr double kBitsPerGigabit = 1e9;
constexpr std::size_t kColumn = 40;

// Gbit/s; nullopt if the measurement failed.
using Received = std::optional<double>;

// Table of one network.
struct Table {
  std::set<std::string> ends;
  std::map<std::string, std::map<std::string, Received>> by_source;
};

std::string end_of(const Observation& pair, std::string_view pod, std::string_view node) {
  const std::string name = attribute_text(pair, pod);
  return on_one_line((name.empty() ? "" : name + "_on_") + attribute_text(pair, node));
}

// By interface.
std::map<std::string, Table> tables_of(const CheckResult& result, bool& has_any) {
  std::map<std::string, Table> tables;
  for (const Observation& pair : result.observations) {
    if (pair.name != "bandwidth.received") continue;
    Table& table = tables[on_one_line(attribute_text(pair, "interface"))];
    const std::string source = end_of(pair, "source_pod", "source");
    const std::string destination = end_of(pair, "destination_pod", "destination");
    const auto bits = pair.value ? as_number(*pair.value) : std::nullopt;
    table.ends.insert({source, destination});
    table.by_source[source][destination] = bits ? Received(*bits / kBitsPerGigabit) : std::nullopt;
    has_any = has_any || bits.has_value();
  }
  return tables;
}

// As Python prints a number with two decimals: "0.99", "94.2", "0.0".
std::string cell_of(const Received& received) {
  if (!received) return "nan";
  std::string text = two_digits(*received);
  if (text.ends_with('0')) text.pop_back();
  return text;
}

// Followed by at least one space: names can be longer than a column.
std::string in_column(const std::string& text) {
  return text + std::string(text.size() < kColumn ? kColumn - text.size() : 1, ' ');
}

std::string text_of(const Table& table) {
  std::string text = in_column("src/dst");
  for (const std::string& end : table.ends)
    text += in_column(end);
  text += "\n";
  for (const auto& [source, sent] : table.by_source) {
    text += in_column(source);
    for (const std::string& end : table.ends) {
      const auto found = sent.find(end);
      text += in_column(found == sent.end() ? "N/A" : cell_of(found->second));
    }
    text += "\n";
  }
  return text;
}

std::string mean_of(const Table& table) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto& [source, sent] : table.by_source)
    for (const auto& [destination, received] : sent)
      if (received) {
        sum += *received;
        ++count;
      }
  return count == 0 ? "nan" : two_digits(sum / static_cast<double>(count));
}

}  // namespace

std::string throughput_tables(const CheckResult& result) {
  bool has_any = false;
  const auto tables = tables_of(result, has_any);
  if (!has_any) return {};
  std::string text;
  for (const auto& [interface, table] : tables)
    text.append(kNetworkTag).append(" Running Interface ").append(interface).append("\n");
  for (const auto& [interface, table] : tables)
    text.append("Network Throughput ").append(interface).append(":\n").append(text_of(table)).append("\n");
  text += "Overall Network Interface Average Bandwidth:\n";
  for (const auto& [interface, table] : tables)
    text.append(interface).append(" Average Bandwidth Gb/s: ").append(mean_of(table)).append("\n");
  return text;
}

}  // namespace autopilot::compat::ibm_autopilot
