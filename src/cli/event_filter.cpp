// SPDX-License-Identifier: Apache-2.0
#include "cli/event_filter.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/output/phrases.hpp"
#include "cli/output/table.hpp"
#include "core/parse.hpp"
#include "core/text.hpp"

namespace autopilot::cli {
namespace {

bool is_in(const std::vector<std::string>& wanted, std::string_view word) {
  return wanted.empty() || std::ranges::find(wanted, word) != wanted.end();
}

// True if the text is the word, or begins with it and the separator.
bool is_or_begins(std::string_view text, std::string_view word, char separator) {
  return text.starts_with(word) && (text.size() == word.size() || text[word.size()] == separator);
}

bool is_equal_word(std::string_view a, std::string_view b) {
  return to_lower(a) == to_lower(b);
}

// "gpu/3" of "GPU 3"; the address of the kernel of each form of a PCI address; else the words.
std::string usual_spelling(const std::string& words) {
  if (const auto address = canonical_pci_address(words)) return *address;
  const std::string lower = to_lower(words);
  const auto blank = lower.find_first_of(" /");
  if (blank == std::string::npos || !parse_subject_kind(lower.substr(0, blank))) return words;
  const std::string key = words.substr(blank + 1);
  return lower.substr(0, blank) + "/" + canonical_pci_address(key).value_or(key);
}

bool is_about(const Subject& subject, std::string_view wanted) {
  if (is_equal_word(wanted, subject_text(subject)) && !wanted.empty()) return true;
  if (wanted == to_string(subject) || wanted == to_string(subject.kind)) return true;
  if (!subject.key.empty() && wanted == subject.key) return true;
  return subject.index &&
         wanted == std::string(to_string(subject.kind)) + "/" + std::to_string(*subject.index);
}

Status check_words(const std::string& option, const std::vector<std::string>& words,
                   const std::vector<std::string>& known) {
  for (const std::string& word : words) {
    if (std::ranges::find(known, word) != known.end()) continue;
    const auto near = nearest_word(word, known);
    return fail(Errc::malformed, option + ": no '" + word + "'" +
                                     (near ? "; did you mean " + *near + "?" : std::string(";")) +
                                     " the values are: " + joined(known));
  }
  return {};
}

constexpr std::size_t kDay = 10;         // bytes of "2026-11-30T03:00:00.000Z"
constexpr std::size_t kClockBegin = 11;  // of the clock time in it
constexpr std::size_t kClock = 12;       // to the millisecond

}  // namespace

namespace {

void add_domains(std::vector<std::string>& checks) {
  const std::vector<std::string> ids = checks;
  for (const std::string& id : ids)
    if (const auto dot = id.find('.'); dot != std::string::npos) checks.push_back(id.substr(0, dot));
}

// Without the list of all values: there are hundreds.
Status check_name(const std::string& option, const std::vector<std::string>& words,
                  const std::vector<std::string>& known, const std::string& list) {
  for (const std::string& word : words) {
    if (std::ranges::find(known, word) != known.end()) continue;
    const auto near = nearest_word(word, known);
    return fail(Errc::malformed, option + ": no '" + word + "'" +
                                     (near ? "; did you mean " + *near + "?" : "; list them with: " + list));
  }
  return {};
}

}  // namespace

Status check_names(const EventFilter& filter, EventNames names, const std::vector<Event>& events) {
  for (const Event& event : events) {
    names.checks.push_back(event.check);
    names.reasons.push_back(event.reason);
  }
  add_domains(names.checks);
  TRY_STATUS(check_name("--check", filter.checks, names.checks, "autopilot check --list"));
  return check_name("--reason", filter.reasons, names.reasons, "autopilot events");
}

void add_spellings(EventFilter& filter, const std::vector<Event>& events) {
  std::vector<std::string> all;
  for (const std::string& word : filter.subjects) {
    all.push_back(word);
    all.push_back(usual_spelling(word));
    if (parse_subject_kind(word)) continue;  // every subject of the kind
    for (const Event& event : events) {
      const Subject& subject = event.subject;
      if (subject.kind == SubjectKind::host || !(is_about(subject, word) || is_about(subject, all.back())))
        continue;
      all.push_back(to_string(subject));
      if (subject.index)
        all.push_back(std::string(to_string(subject.kind)) + "/" + std::to_string(*subject.index));
    }
  }
  std::ranges::sort(all);
  const auto rest = std::ranges::unique(all);
  all.erase(rest.begin(), rest.end());
  filter.subjects = std::move(all);
}

bool EventFilter::admits(const Event& event) const {
  if ((since && event.time < *since) || (until && event.time >= *until)) return false;
  const auto has_check = [&event](const std::string& one) { return is_or_begins(event.check, one, '.'); };
  const auto has_subject = [&event](const std::string& one) { return is_about(event.subject, one); };
  const auto has_kind = [&event](const std::string& one) {
    return is_or_begins(to_string(event.kind), one, '_');
  };
  return (checks.empty() || std::ranges::any_of(checks, has_check)) &&
         (subjects.empty() || std::ranges::any_of(subjects, has_subject)) &&
         (kinds.empty() || std::ranges::any_of(kinds, has_kind)) && is_in(reasons, event.reason) &&
         is_in(healths, to_string(event.health));
}

std::vector<std::string> event_kind_words() {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(EventKind::validation_finished); ++i) {
    const std::string word(to_string(static_cast<EventKind>(i)));
    const std::string first = word.substr(0, word.find('_'));
    if (std::ranges::find(words, first) == words.end()) words.push_back(first);
    if (word != first) words.push_back(word);
  }
  return words;
}

std::vector<std::string> health_words() {
  std::vector<std::string> words;
  for (const Health health :
       {Health::failed, Health::degraded, Health::unknown, Health::healthy, Health::unsupported})
    words.emplace_back(to_string(health));
  return words;
}

Status check_filter(const EventFilter& filter) {
  TRY_STATUS(check_words("--kind", filter.kinds, event_kind_words()));
  TRY_STATUS(check_words("--health", filter.healths, health_words()));
  if (filter.since && filter.until && *filter.until <= *filter.since)
    return fail(Errc::malformed, "--until: " + format_time(*filter.until) + " is not after --since " +
                                     format_time(*filter.since));
  return {};
}

std::vector<Event> selected_events(std::vector<Event> events, const EventFilter& filter) {
  std::erase_if(events, [&filter](const Event& event) { return !filter.admits(event); });
  std::ranges::stable_sort(events, {}, [](const Event& event) { return std::pair(event.time, event.id); });
  return events;
}

std::string EventLines::line_of(const Event& event) {
  const std::string time = format_time(event.time);
  std::string text;
  if (std::string day = time.substr(0, kDay); day != day_) {
    text = day + " (UTC)\n";
    day_ = std::move(day);
  }
  std::string line = time.substr(kClockBegin, kClock) + "  " + std::string(to_string(event.kind));
  if (!event.check.empty()) line += "  " + event.check;
  if (event.subject.kind != SubjectKind::host) line += "  " + to_string(event.subject);
  if (!event.message.empty()) line += "  " + event.message;
  if (event.injected) line += " [injected]";
  if (find_attribute(event.details, "fromUser") != nullptr) line += " [written by user space]";
  if (event.simulated) line += " [SIMULATED]";
  if (!event.durable) line += " [not durable]";
  return text + printable(line) + "\n";
}

}  // namespace autopilot::cli
