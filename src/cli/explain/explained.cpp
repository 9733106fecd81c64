// SPDX-License-Identifier: Apache-2.0
#include "cli/explain/explained.hpp"

#include <algorithm>

#include "api/json.hpp"
#include "cli/output/table.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kPageLabel = 16;
constexpr std::size_t kPageWidth = 80;

void write_explained(api::JsonWriter& out, const Explained& page) {
  out.begin_object();
  out.word("kind", page.kind);
  out.word("id", page.id);
  out.word("title", page.title);
  out.begin_list("paragraphs");
  for (const auto& [label, text] : page.paragraphs) {
    out.begin_object();
    out.word("label", label);
    out.word("text", text);
    out.end_object();
  }
  out.end_list();
  out.begin_list("more");
  for (const Explained& one : page.more)
    write_explained(out, one);
  out.end_list();
  out.end_object();
}

}  // namespace

Explained& Explained::add(std::string_view label, std::string_view paragraph) {
  if (!paragraph.empty()) paragraphs.emplace_back(label, paragraph);
  return *this;
}

Explained& Explained::add(const catalog::Provenance& provenance) {
  return add("Source", provenance.source + " (" + provenance.date + ", " +
                           std::string(catalog::to_string(provenance.evidence)) + ")");
}

std::string_view Explained::text_of(std::string_view label) const {
  for (const auto& [name, text] : paragraphs)
    if (name == label) return text;
  return {};
}

std::string page_text(const Explained& page) {
  std::string text = printable(page.title) + "\n\n";
  for (const auto& [label, paragraph] : page.paragraphs) {
    std::string cell = label;
    for (const std::string& line : wrapped(printable(paragraph), kPageWidth - kPageLabel)) {
      cell.resize(std::max(kPageLabel, cell.size() + 1), ' ');
      text += cell + line + "\n";
      cell.clear();
    }
  }
  if (!page.more_note.empty()) text += "\n" + page.more_note + "\n";
  for (const Explained& one : page.more)
    text += "\n" + page_text(one);
  return text;
}

std::string pages_text(std::span<const Explained> pages) {
  std::string text;
  for (const Explained& page : pages)
    text += (text.empty() ? "" : "\n") + page_text(page);
  return text;
}

std::string explained_json(std::string_view query, std::span<const Explained> pages,
                           const std::optional<ExplainedNode>& node) {
  api::JsonWriter out;
  out.begin_object();
  out.word("query", query);
  if (node) {
    out.word("node", node->node);
    out.word("health", node->health);
    out.word("verdict", node->verdict);
    out.word("source", node->source);
    out.flag("simulated", node->simulated);
  }
  out.begin_list("items");
  for (const Explained& page : pages)
    write_explained(out, page);
  out.end_list();
  out.end_object();
  return out.take();
}

}  // namespace autopilot::cli
