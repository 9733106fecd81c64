// SPDX-License-Identifier: Apache-2.0
#include "cli/man/roff.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

void append_roff_letter(std::string& text, char letter) {
  switch (letter) {
    case '\\':
      text += "\\e";
      break;
    case '-':
      text += "\\-";
      break;
    case '\'':
      text += "\\(aq";
      break;
    case '`':
      text += "\\(ga";
      break;
    case '^':
      text += "\\(ha";
      break;
    case '~':
      text += "\\(ti";
      break;
    case '"':
      text += "\\(dq";
      break;
    default:
      text += letter;
  }
}

// A line that begins with a period would be a request.
void protect_line_begin(std::string& text) {
  if (text.starts_with('.')) text.insert(0, "\\&");
}

std::string upper(std::string_view text) {
  std::string letters(text);
  for (char& letter : letters)
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  return letters;
}

std::string roff_quoted(std::string_view text) {
  return "\"" + roff_text(text) + "\"";
}

// "text" of "[text](address)" at the begin; empty: no link begins there. `size`: of the whole link.
std::string_view link_text(std::string_view text, std::size_t& size) {
  const std::size_t middle = text.find("](");
  const std::size_t end = text.find(')');
  if (!text.starts_with('[') || middle == std::string_view::npos || end == std::string_view::npos ||
      end < middle)
    return {};
  size = end + 1;
  return text.substr(1, middle - 1);
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string roff;
  bool is_first = true;
  for (const std::string_view line : split(text, '\n')) {
    std::string part;
    for (const char letter : line)
      append_roff_letter(part, letter);
    protect_line_begin(part);
    roff += (is_first ? "" : "\n") + part;
    is_first = false;
  }
  return roff;
}

std::string roff_bold(std::string_view text) {
  return "\\fB" + roff_text(text) + "\\fR";
}

std::string roff_italic(std::string_view text) {
  return "\\fI" + roff_text(text) + "\\fR";
}

std::string roff_of_markdown(std::string_view text) {
  std::string roff;
  while (!text.empty()) {
    std::size_t size = 0;
    if (const auto link = link_text(text, size); !link.empty()) {
      roff += roff_of_markdown(link);
      text.remove_prefix(size);
      continue;
    }
    const std::size_t end = text.starts_with('`') ? text.find('`', 1) : std::string_view::npos;
    if (end != std::string_view::npos) {
      roff += roff_bold(text.substr(1, end - 1));
      text.remove_prefix(end + 1);
      continue;
    }
    append_roff_letter(roff, text.front());
    text.remove_prefix(1);
  }
  protect_line_begin(roff);
  return roff;
}

RoffPage::RoffPage(std::string_view name, int section, std::string_view date, std::string_view source) {
  text_ = ".\\\" Made by autopilot man; do not edit.\n.TH " + roff_quoted(upper(name)) + " " +
          std::to_string(section) + " \"" + std::string(date) + "\" " + roff_quoted(source) +
          " \"Autopilot\"\n";
}

void RoffPage::heading(std::string_view title) {
  text_ += ".SH " + roff_quoted(title) + "\n";
  is_new_section_ = true;
}

void RoffPage::subheading(std::string_view title) {
  text_ += ".SS " + roff_quoted(title) + "\n";
  is_new_section_ = true;
}

void RoffPage::paragraph(std::string_view roff) {
  if (!is_new_section_) text_ += ".PP\n";
  text_.append(roff).append("\n");
  is_new_section_ = false;
}

void RoffPage::item(std::string_view roff_tag, std::string_view roff) {
  text_.append(".TP\n").append(roff_tag).append("\n").append(roff.empty() ? "\\&" : roff).append("\n");
  is_new_section_ = false;
}

void RoffPage::lines(std::string_view text) {
  if (!is_new_section_) text_ += ".PP\n";
  text_ += ".EX\n" + roff_text(text) + "\n.EE\n";
  is_new_section_ = false;
}

}  // namespace autopilot::cli
