// SPDX-License-Identifier: Apache-2.0
#include "docs/markdown.hpp"

#include "core/value.hpp"

namespace autopilot::docs {

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string code(std::string_view text) {
  return "`" + std::string(text) + "`";
}

std::string join(const std::vector<std::string>& words, bool as_code) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ", ") + (as_code ? code(word) : word);
  return text;
}

std::string number(double value) {
  return to_string(Value(value));
}

std::string origin(const catalog::Provenance& provenance) {
  return provenance.source + " (" + std::string(to_string(provenance.evidence)) + ", " + provenance.date +
         ")";
}

std::string short_origin(const catalog::Provenance& provenance) {
  if (provenance.evidence != catalog::EvidenceKind::own || !provenance.source.starts_with("own "))
    return origin(provenance);
  return provenance.source + " (" + provenance.date + ")";
}

std::string action_text(Action action) {
  return action == Action::none ? "none" : code(to_string(action));
}

}  // namespace autopilot::docs
