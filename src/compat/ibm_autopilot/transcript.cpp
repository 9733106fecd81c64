// SPDX-License-Identifier: Apache-2.0
#include "compat/ibm_autopilot/transcript.hpp"

#include <cstddef>
#include <map>
#include <string_view>

#include "compat/ibm_autopilot/status_words.hpp"
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

// "'node-a'"; names and words have neither quotes nor backslashes.
std::string quoted(const std::string& text) {
  return "'" + text + "'";
}

// A list that begins in that column: on one line where it fits, else a line for each word.
std::string list_of(const std::vector<std::string>& statuses, std::size_t column) {
  std::vector<std::string> words;
  for (const std::string& status : statuses)
    words.push_back(quoted(status));
  const std::string line = "[" + joined(words, ", ") + "]";
  const bool fits = column + line.size() < kWidth;  // a comma or a bracket follows
  return fits ? line : "[" + joined(words, ",\n" + std::string(column + 1, ' ')) + "]";
}

// As Python prints a dictionary for people: on one line where it fits there, else a line for each node.
std::string summary(const std::map<std::string, std::vector<std::string>>& statuses) {
  std::string line = "{";
  std::string lines = "{";
  for (const auto& [node, words] : statuses) {
    const std::string key = quoted(node) + ": ";
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

}  // namespace autopilot::compat::ibm_autopilot
