// SPDX-License-Identifier: Apache-2.0
#include "cli/man/man_pages.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "cli/exit_codes.hpp"
#include "cli/help_format.hpp"
#include "cli/man/roff.hpp"
#include "core/parse.hpp"
#include "logging/build_info.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kExamples = "Examples:";

std::string source_text() {
  return "autopilot " + std::string(logging::build_info().version);
}

// "autopilot-check" of "autopilot check".
std::string page_name(std::string_view words) {
  std::string name(words);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::vector<const CLI::App*> verbs_in(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); });
}

// "autopilot jobs replay"
std::string command_of(const CLI::App& verb) {
  std::string words = verb.get_name();
  for (const CLI::App* parent = verb.get_parent(); parent != nullptr; parent = parent->get_parent())
    words = parent->get_name() + " " + words;
  return words;
}

// Without the words that a validator adds: "FORMAT" of "FORMAT:{jsonl,csv}".
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::string option_tag(const CLI::Option& option) {
  std::string tag;
  for (const std::string& name : option.get_snames())
    tag += (tag.empty() ? "" : ", ") + roff_bold("-" + name);
  for (const std::string& name : option.get_lnames())
    tag += (tag.empty() ? "" : ", ") + roff_bold("--" + name);
  if (tag.empty()) return roff_italic(option.get_name(true));
  if (option.get_items_expected_max() > 0) tag += " " + roff_italic(value_name(option));
  return tag;
}

// "FORMAT:{jsonl,csv}": the words.
std::string values_sentence(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  const std::string words = type.substr(begin + 1, end - begin - 1);
  std::string text;
  for (const std::string_view word : split(words, ','))
    text += (text.empty() ? " Values: " : ", ") + roff_bold(word);
  return text + ".";
}

std::string as_sentence(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  if (!text.empty() && text.find_last_of(".:!?") != text.size() - 1) text += '.';
  return text;
}

void add_options(RoffPage& page, const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    if (!option->get_group().empty())
      page.item(option_tag(*option),
                roff_text(as_sentence(option->get_description())) + values_sentence(*option));
}

std::string synopsis_of(const CLI::App& verb) {
  std::string text = roff_bold(command_of(verb));
  if (!verb.get_options().empty()) text += " [" + roff_italic("OPTION") + "]...";
  if (!verbs_in(verb).empty())
    text +=
        verb.get_require_subcommand_min() > 0 ? " " + roff_italic("VERB") : " [" + roff_italic("VERB") + "]";
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_positional()) continue;
    std::string argument = roff_italic(option->get_name(true));
    if (!option->get_required()) argument = "[" + argument + "]";
    text += " " + argument + (option->get_items_expected_max() > 1 ? "..." : "");
  }
  return text;
}

// Paragraphs of a footer before its examples; lines that are indented are shown as they are.
void add_notes(RoffPage& page, std::string_view footer) {
  std::string paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) page.paragraph(paragraph);
    paragraph.clear();
  };
  for (const std::string_view line : split(footer.substr(0, footer.find(kExamples)), '\n')) {
    if (trim(line).empty()) {
      end_paragraph();
    } else if (line.starts_with(' ')) {
      end_paragraph();
      page.lines(line);
    } else {
      paragraph += (paragraph.empty() ? "" : "\n") + roff_text(line);
    }
  }
  end_paragraph();
}

std::string examples_in(std::string_view footer) {
  const std::size_t begin = footer.find(kExamples);
  if (begin == std::string_view::npos) return {};
  return std::string(trim(footer.substr(begin + kExamples.size())));
}

void add_exit_codes(RoffPage& page, std::span<const ExitCode> codes) {
  for (const ExitCode& one : codes)
    page.item(roff_bold(std::to_string(one.code)), roff_text(as_sentence(std::string(one.meaning))));
}

void add_examples(RoffPage& page, const CLI::App& verb) {
  const std::string written = examples_in(verb.get_footer());
  std::string examples;
  for (const std::string_view line : split(written, '\n'))
    examples += (examples.empty() ? "" : "\n") + std::string(trim(line));
  if (!examples.empty()) page.lines(examples);
}

// A verb in the page of its group.
void add_inner_verb(RoffPage& page, const CLI::App& verb) {
  page.subheading(command_of(verb));
  page.paragraph(roff_text(as_sentence(verb.get_description())));
  page.paragraph(synopsis_of(verb));
  const std::string footer = verb.get_footer();
  add_notes(page, footer);
  add_options(page, verb);
  if (verb.get_require_subcommand_min() == 0) {
    page.paragraph("Exit status:");
    add_exit_codes(page, exit_codes_of(verb_path(verb)));
  }
  if (!examples_in(verb.get_footer()).empty()) page.paragraph("Examples:");
  add_examples(page, verb);
  for (const CLI::App* inner : verbs_in(verb))
    add_inner_verb(page, *inner);
}

RoffPage begin_page(const std::string& command, std::string_view title, const std::string& date) {
  RoffPage page(page_name(command), 1, date, source_text());
  page.heading("NAME");
  page.paragraph(roff_text(page_name(command)) + " \\- " + roff_text(title));
  page.heading("SYNOPSIS");
  return page;
}

ManPage verb_page(const CLI::App& verb, const std::string& date) {
  const std::string command = command_of(verb);
  RoffPage page = begin_page(command, verb.get_description(), date);
  page.paragraph(synopsis_of(verb));
  page.heading("DESCRIPTION");
  page.paragraph(roff_text(as_sentence(verb.get_description())));
  const std::string footer = verb.get_footer();
  add_notes(page, footer);
  page.heading("OPTIONS");
  add_options(page, verb);
  if (const auto inner = verbs_in(verb); !inner.empty()) {
    page.heading("VERBS");
    for (const CLI::App* one : inner)
      add_inner_verb(page, *one);
  }
  if (verb.get_require_subcommand_min() == 0) {
    page.heading("EXIT STATUS");
    add_exit_codes(page, exit_codes_of(verb_path(verb)));
  }
  if (!examples_in(verb.get_footer()).empty()) {
    page.heading("EXAMPLES");
    add_examples(page, verb);
  }
  const CLI::App* program = verb.get_parent();
  page.heading("SEE ALSO");
  page.paragraph(roff_bold(page_name(program->get_name())) + "(1), " + roff_bold("autopilot.yaml") + "(5)");
  return {page_name(command), 1, page.take()};
}

ManPage program_page(const CLI::App& program, const std::string& date) {
  RoffPage page =
      begin_page(program.get_name(), "health of the GPUs, network, storage and host of a machine", date);
  page.paragraph(synopsis_of(program));
  page.heading("DESCRIPTION");
  page.paragraph(roff_text(program.get_description()));
  page.heading("VERBS");
  for (const CLI::App* verb : verbs_in(program))
    page.item(roff_bold(page_name(command_of(*verb))) + "(1)",
              roff_text(as_sentence(verb->get_description())));
  page.heading("OPTIONS");
  add_options(page, program);
  page.heading("EXIT STATUS");
  add_exit_codes(page, exit_codes());
  page.heading("FILES");
  page.item(roff_italic("/etc/autopilot/config.yaml"),
            "Configuration of the agent of root; " + roff_bold("autopilot.yaml") + "(5).");
  page.item(roff_italic("/run/autopilot/agent.sock"), "Socket of the agent of root.");
  page.heading("SEE ALSO");
  page.paragraph(roff_bold("autopilot.yaml") + "(5), " + roff_bold("autopilot-controller.yaml") + "(5)");
  return {page_name(program.get_name()), 1, page.take()};
}

}  // namespace

std::string ManPage::file() const {
  const std::string number = std::to_string(section);
  return "man" + number + "/" + name + "." + number;
}

std::vector<ManPage> man_pages_of(const CLI::App& program, const std::string& date) {
  std::vector<ManPage> pages{program_page(program, date)};
  for (const CLI::App* verb : verbs_in(program))
    pages.push_back(verb_page(*verb, date));
  return pages;
}

}  // namespace autopilot::cli
