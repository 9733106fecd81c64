// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"

namespace autopilot::cli {

// The explanation of one thing: a title and labelled paragraphs. Pure.
struct Explained {
  std::string kind;  // "reason", "Xid", "check", ...
  std::string id;    // as `explain` accepts it
  std::string title;
  std::vector<std::pair<std::string, std::string>> paragraphs;  // label, text
  std::string more_note;                                        // a line before `more`; may be empty
  std::vector<Explained> more;                                  // explanations of what this one names

  // Omits an empty paragraph.
  Explained& add(std::string_view label, std::string_view paragraph);
  Explained& add(const catalog::Provenance& provenance);
  // The text of the first paragraph with that label; empty: none.
  [[nodiscard]] std::string_view text_of(std::string_view label) const;
};

// 80 columns. Control characters are replaced (see printable).
[[nodiscard]] std::string page_text(const Explained& page);
// One after the other, with a line between them.
[[nodiscard]] std::string pages_text(std::span<const Explained> pages);

// The machine that a list of pages is about.
struct ExplainedNode {
  std::string node;
  std::string health;
  std::string verdict;  // empty: none
  std::string source;   // the agent that answered, or checks that ran now
  bool simulated = false;
};

// Items of one JSON object, with the members of the node, if there is one:
// {"query":...,"items":[{"kind","id","title","paragraphs":[{"label","text"}],"more":[...]}]}.
[[nodiscard]] std::string explained_json(std::string_view query, std::span<const Explained> pages,
                                         const std::optional<ExplainedNode>& node = std::nullopt);

}  // namespace autopilot::cli
