// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// Text of man pages, in the macros of man(7). Pure.
namespace autopilot::cli {

// The text as roff prints it unchanged: no requests and no escapes. Line ends remain.
[[nodiscard]] std::string roff_text(std::string_view text);
// Text with Markdown's `code` in bold and [links](address) without their address, as the tables of settings
// have it.
[[nodiscard]] std::string roff_of_markdown(std::string_view text);
[[nodiscard]] std::string roff_bold(std::string_view text);
[[nodiscard]] std::string roff_italic(std::string_view text);

// One page, built from its beginning to its end.
class RoffPage {
 public:
  // date: "2026-11-30"
  RoffPage(std::string_view name, int section, std::string_view date, std::string_view source);

  void heading(std::string_view title);
  void subheading(std::string_view title);
  // `roff`: already in roff's form.
  void paragraph(std::string_view roff);
  // A tag with an indented paragraph.
  void item(std::string_view roff_tag, std::string_view roff);
  // Lines as they are, such as commands.
  void lines(std::string_view text);

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool is_new_section_ = true;  // a paragraph request after a heading is superfluous
};

}  // namespace autopilot::cli
