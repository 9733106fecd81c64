// SPDX-License-Identifier: Apache-2.0
#include "cli/completion/candidates.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "catalog/catalog.hpp"
#include "checks/check.hpp"
#include "cli/demo/scenarios.hpp"
#include "cli/event_filter.hpp"
#include "cli/explain/topics.hpp"
#include "cli/help_format.hpp"
#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

using Candidates = std::vector<Candidate>;

// The place of the last word in the command line.
struct Place {
  const CLI::App* verb = nullptr;
  const CLI::Option* option = nullptr;  // whose value the last word is; null: none
  std::size_t arguments = 0;            // of the verb, before the last word
  std::string previous;
};

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

const CLI::Option* option_of(const CLI::App& verb, const std::string& word) {
  if (!word.starts_with('-') || word == "-" || word == "--") return nullptr;
  for (const CLI::App* app = &verb; app != nullptr; app = app->get_parent())
    if (const CLI::Option* option = app->get_option_no_throw(word.substr(0, word.find('=')))) return option;
  return nullptr;
}

const CLI::App* verb_in(const CLI::App& app, const std::string& word) {
  for (const CLI::App* verb :
       app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    if (verb->get_name() == word) return verb;
  return nullptr;
}

Place place_of(const CLI::App& app, const std::vector<std::string>& words) {
  Place place{.verb = &app};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    place.previous = word;
    if (place.option != nullptr) {
      place.option = nullptr;
      continue;
    }
    if (const CLI::Option* option = option_of(*place.verb, word)) {
      if (takes_value(*option) && word.find('=') == std::string::npos) place.option = option;
      continue;
    }
    const CLI::App* inner = place.arguments == 0 ? verb_in(*place.verb, word) : nullptr;
    if (inner != nullptr)
      place.verb = inner;
    else
      ++place.arguments;
  }
  return place;
}

Candidates plain(const std::vector<std::string>& words) {
  Candidates candidates;
  for (const std::string& word : words)
    candidates.push_back({word, ""});
  return candidates;
}

// The words of "FORMAT:{jsonl,csv}"; empty: the option takes any text.
Candidates listed_values(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{');
  const std::size_t end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  const std::string list = type.substr(begin + 1, end - begin - 1);
  Candidates candidates;
  for (const std::string_view word : split(list, ','))
    candidates.push_back({std::string(word), ""});
  return candidates;
}

Candidates check_words() {
  Candidates candidates;
  for (const auto& check : checks::builtin_checks())
    candidates.push_back({check.info.id, check.info.title});
  return candidates;
}

Candidates tag_words() {
  std::set<std::string> tags;
  for (const auto& check : checks::builtin_checks())
    tags.insert(check.info.tags.begin(), check.info.tags.end());
  return plain({tags.begin(), tags.end()});
}

Candidates reason_words() {
  Candidates candidates;
  for (const auto& reason : catalog::builtin().reasons())
    candidates.push_back({reason.id, reason.title});
  return candidates;
}

Candidates demo_words() {
  Candidates candidates;
  for (const DemoScenario& scenario : demo_scenarios())
    candidates.push_back({std::string(scenario.name), std::string(scenario.title)});
  return candidates;
}

// Kinds with hundreds of ids are offered from the first letter on.
bool is_many(const Topic& topic) {
  return topic.kind == "Xid" || topic.kind == "SXid" || topic.kind == "threshold" || topic.kind == "log rule";
}

Candidates topic_words(const Place& place, const std::string& current, const LiveWords& live) {
  const std::string kind = to_lower(place.previous);
  Candidates candidates;
  for (const Topic& topic : all_topics(catalog::builtin())) {
    const std::size_t blank = topic.id.find(' ');
    if (blank == std::string::npos) {
      if (place.arguments == 0 && !(is_many(topic) && current.empty()))
        candidates.push_back({topic.id, topic.title});
    } else if (place.arguments > 0) {  // "explain xid 7"
      if (topic.id.substr(0, blank) == kind) candidates.push_back({topic.id.substr(blank + 1), topic.title});
    } else if (!current.empty()) {  // "explain xid7" and "explain 7"
      candidates.push_back({topic.id.substr(0, blank) + topic.id.substr(blank + 1), topic.title});
      candidates.push_back({topic.id.substr(blank + 1), topic.kind + ": " + topic.title});
    }
  }
  if (place.arguments == 0)
    for (Candidate& incident : live.incidents())
      candidates.push_back(std::move(incident));
  return candidates;
}

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

constexpr auto kFileOptions =
    std::to_array<std::string_view>({"--against", "--all", "--config", "--events", "--fit", "--history",
                                     "--kubeconfig", "--policy", "--root", "--rules", "--socket", "--trace"});
constexpr auto kFileVerbs =
    std::to_array<std::string_view>({"decode", "drift", "config check", "record", "replay", "man",
                                     "jobs replay", "jobs score", "history import", "history export"});
constexpr auto kJobVerbs =
    std::to_array<std::string_view>({"jobs show", "jobs why", "jobs evidence", "jobs ack", "jobs mute",
                                     "jobs feedback", "validations", "record"});

Completion values_of(const Place& place, const CLI::Option& option, const LiveWords& live) {
  Completion completion;
  const std::string name = "--" + (option.get_lnames().empty() ? "" : option.get_lnames().front());
  const std::string verb = verb_path(*place.verb);
  completion.candidates = listed_values(option);
  if (!completion.candidates.empty()) return completion;
  if (name == "--output") completion.candidates = plain({"table", "json", "yaml"});
  if (name == "--tag") completion.candidates = tag_words();
  if (name == "--check") completion.candidates = check_words();
  if (name == "--reason" && verb == "events") completion.candidates = reason_words();
  if (name == "--kind" && verb == "events") completion.candidates = plain(event_kind_words());
  if (name == "--health") completion.candidates = plain(health_words());
  if (name == "--job") completion.candidates = live.jobs();
  if (name == "--simulate") completion.candidates = live.machines();
  if ((name == "--since" || name == "--until") && verb == "events")
    completion.candidates = plain({"1h", "1d", "7d", "today", "yesterday"});
  completion.offers_files = is_one_of(name, kFileOptions) || name == "--simulate";
  return completion;
}

Completion arguments_of(const Place& place, const std::string& current, const LiveWords& live) {
  Completion completion;
  const std::string verb = verb_path(*place.verb);
  for (const CLI::Option* option : place.verb->get_options())
    if (option->get_positional()) completion.candidates = listed_values(*option);
  if (verb == "check") completion.candidates = check_words();
  if (verb == "demo") completion.candidates = demo_words();
  if (verb == "explain" || verb == "kubectl autopilot explain")
    completion.candidates = topic_words(place, current, live);
  if (place.arguments == 0) {
    if (verb == "ack") completion.candidates = live.incidents();
    if (verb == "test") completion.candidates = live.tests();
    if (verb == "inject") completion.candidates = live.faults();
    if (is_one_of(verb, kJobVerbs)) completion.candidates = live.jobs();
    for (const CLI::App* inner :
         place.verb->get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
      completion.candidates.push_back({inner->get_name(), inner->get_description()});
  }
  completion.offers_files = is_one_of(verb, kFileVerbs);
  return completion;
}

Candidates option_words(const CLI::App& verb) {
  Candidates candidates;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_group().empty()) continue;
    const std::string description = option->get_description();
    for (const std::string& name : option->get_lnames())
      candidates.push_back({"--" + name, description});
    for (const std::string& name : option->get_snames())
      candidates.push_back({"-" + name, description});
  }
  return candidates;
}

// In one line each, and without candidates that begin otherwise.
Candidates fitting(Candidates candidates, const std::string& begin) {
  std::erase_if(candidates, [&begin](const Candidate& one) { return !one.word.starts_with(begin); });
  for (Candidate& one : candidates)
    for (char& letter : one.description)
      if (letter == '\n' || letter == '\t' || letter == '\r') letter = ' ';
  return candidates;
}

// "--output=j"
Completion with_equals(const Place& place, const std::string& current, const LiveWords& live) {
  const std::size_t equals = current.find('=');
  const CLI::Option* option = option_of(*place.verb, current);
  if (option == nullptr || !takes_value(*option)) return {};
  Completion completion = values_of(place, *option, live);
  for (Candidate& one : completion.candidates)
    one.word = current.substr(0, equals + 1) + one.word;
  completion.candidates = fitting(std::move(completion.candidates), current);
  completion.offers_files = false;
  return completion;
}

bool is_break(const std::string& word) {
  return !word.empty() && word.find_first_not_of(":=") == std::string::npos;
}

}  // namespace

Completion complete(const CLI::App& app, const std::vector<std::string>& words, const LiveWords& live) {
  const std::string current = words.empty() ? "" : words.back();
  const Place place = place_of(app, words);
  Completion completion;
  if (place.option != nullptr) {
    completion = values_of(place, *place.option, live);
  } else if (current.starts_with("--") && current.find('=') != std::string::npos) {
    return with_equals(place, current, live);
  } else if (current.starts_with('-')) {
    completion.candidates = option_words(*place.verb);
  } else {
    completion = arguments_of(place, current, live);
    if (completion.candidates.empty() && !completion.offers_files)
      completion.candidates = option_words(*place.verb);
  }
  completion.candidates = fitting(std::move(completion.candidates), current);
  return completion;
}

std::vector<std::string> joined_at_breaks(const std::vector<std::string>& words, std::size_t& cut) {
  std::vector<std::string> joined;
  bool continues = false;
  cut = 0;
  for (const std::string& word : words) {
    const bool is_break_here = is_break(word) && !joined.empty();
    if (is_break_here || continues) {
      cut = joined.back().size() + (is_break_here ? word.size() : 0);
      joined.back() += word;
    } else {
      cut = 0;
      joined.push_back(word);
    }
    continues = is_break_here;
  }
  return joined;
}

}  // namespace autopilot::cli
