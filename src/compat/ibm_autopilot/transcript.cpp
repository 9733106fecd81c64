// SPDX-License-Identifier: Apache-2.0

#include "compat/ibm_autopilot/transcript.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compat/ibm_autopilot/reading.hpp"
#include "compat/ibm_autopilot/status_request.hpp"
#include "core/observation.hpp"
#include "core/parse.hpp"

namespace autopilot::compat::ibm_autopilot {

namespace {

constexpr std::size_t kHyphens = 37;
constexpr std::size_t kWidth = 80;  // of the summary

std::string joined(const std::vector<std::string>& words, std::string_view separator) {
  std::string text;
  for (const std::string& word : words)
    text.append(text.empty() ? "" : separator).append(word);
  return text;
}

// "'node-a'"; names and phrases have neither quotes nor backslashes.
std::string in_quotes(const std::string& text) {
  return "'" + text + "'";
}

// "GPU POWER Failed" -> "GPU ", "POWER ", "Failed"
std::vector<std::string> split_words(const std::string& words) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t space = words.find(' ', at);
    const std::size_t end = space == std::string::npos ? words.size() : space + 1;
    parts.push_back(words.substr(at, end - at));
    at = end;
  }
  return parts;
}

// A text that starts in that column and is followed by that many brackets and commas. It is wrapped at spaces
// if it does not fit, and can exceed the width if it has none.
std::string text_at(const std::string& words, std::size_t column, std::size_t followed_by) {
  const auto fits = [column](const std::string& text, std::size_t behind) {
    return column + in_quotes(text).size() + behind <= kWidth;
  };
  if (fits(words, followed_by)) return in_quotes(words);
  std::vector<std::string> lines;
  std::string line;
  const auto parts = split_words(words);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    if (!line.empty() && !fits(line + parts[i], is_last ? followed_by : 0))
      lines.push_back(in_quotes(std::exchange(line, "")));
    line += parts[i];
  }
  lines.push_back(in_quotes(line));
  return joined(lines, "\n" + std::string(column, ' '));
}

// A list that starts in that column: on one line if it fits, else at least one line for each status.
std::string list_of(const std::vector<std::string>& statuses, std::size_t column) {
  std::vector<std::string> words;
  for (const std::string& status : statuses)
    words.push_back(in_quotes(status));
  std::string line = "[" + joined(words, ", ") + "]";
  if (column + line.size() < kWidth) return line;  // a comma or a bracket follows
  for (std::size_t i = 0; i < statuses.size(); ++i)
    words[i] = text_at(statuses[i], column + 1, i + 1 == statuses.size() ? 2 : 1);
  return "[" + joined(words, ",\n" + std::string(column + 1, ' ')) + "]";
}

// Formatted as Python's pprint prints a dictionary: on one line if it fits, else a line for each node.
std::string summary(const std::map<std::string, std::vector<std::string>>& statuses) {
  std::string line = "{";
  std::string lines = "{";
  for (const auto& [node, words] : statuses) {
    const std::string key = in_quotes(node) + ": ";
    line += (line.size() == 1 ? "" : ", ") + key + list_of(words, 0);
    lines += (lines.size() == 1 ? "" : ",\n ") + key + list_of(words, 1 + key.size());
  }
  return line.size() < kWidth && line.find('\n') == std::string::npos ? line + "}" : lines + "}";
}

}  // namespace

std::string transcript(const std::vector<AskedNode>& nodes, Duration took) {
  std::string text;
  std::map<std::string, std::vector<std::string>> statuses;
  for (const AskedNode& one : nodes)
    text += "Initiated connection to ['" + one.url + "'].\n";
  for (const AskedNode& one : nodes) {
    const auto words = status_words(one.reply);
    text += "\nAutopilot Endpoint: " + one.address + "\nNode: " + one.node + "\nurl(s): " + one.url +
            "\nResponse:\n" + one.reply + "\nNode Status: " + joined(words, ", ") + "\n" +
            std::string(kHyphens, '-') + "\n\n";
    auto& all = statuses[one.node];
    all.insert(all.end(), words.begin(), words.end());
  }
  return text + "Node Summary:\n\n" + summary(statuses) + "\n\nruntime: " + std::to_string(to_seconds(took)) +
         " sec\n";
}

std::string no_reply(const std::string& why) {
  return "Server Disconnected. ABORT" + (why.empty() ? "" : "\n" + without_tags(why));
}

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
