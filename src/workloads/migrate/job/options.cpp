// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/job/options.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"

namespace autopilot::workloads::migrate {
namespace {

// A rule and the value that is part of the same word ("-N2", "--nodes=2").
struct Match {
  const OptionRule* rule = nullptr;
  std::optional<std::string> value;
};

const OptionRule* rule_named(std::span<const OptionRule> rules, std::string_view name) {
  const auto rule = std::find_if(rules.begin(), rules.end(), [name](const OptionRule& one) {
    return one.name == name || (!one.short_name.empty() && one.short_name == name);
  });
  return rule == rules.end() ? nullptr : &*rule;
}

// "-n4": an option of one letter and its value. Longer names come first, so "-nnodes" is not "-n".
Match lsf_match(std::string_view word) {
  const auto rules = lsf_options();
  if (const OptionRule* rule = rule_named(rules, word)) return {rule, std::nullopt};
  if (word.size() < 3) return {};
  const std::string_view letter = word.substr(0, 2);
  const OptionRule* rule = rule_named(rules, letter);
  if (rule == nullptr || rule->takes != Takes::value) return {};
  // "-nodes 2" is a typing error, not "-n odes".
  const char next = word[2];
  const bool is_letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
  constexpr std::string_view of_numbers = "-n-W-M";
  if (is_letter && of_numbers.find(letter) != std::string_view::npos) return {};
  return {rule, std::string(word.substr(2))};
}

// A long option can be cut as far as it stays unambiguous, as getopt_long accepts it.
const OptionRule* slurm_rule(std::string_view name) {
  const auto rules = slurm_options();
  if (const OptionRule* rule = rule_named(rules, name)) return rule;
  const OptionRule* found = nullptr;
  for (const OptionRule& rule : rules) {
    if (!rule.name.starts_with(name)) continue;
    if (found != nullptr) return nullptr;
    found = &rule;
  }
  return name.size() > 3 ? found : nullptr;
}

Match slurm_match(std::string_view word) {
  if (word.starts_with("--")) {
    const auto equals = word.find('=');
    const OptionRule* rule = slurm_rule(word.substr(0, equals));
    if (rule == nullptr || equals == std::string_view::npos) return {rule, std::nullopt};
    return {rule, std::string(word.substr(equals + 1))};
  }
  const OptionRule* rule = rule_named(slurm_options(), word.substr(0, 2));
  if (rule == nullptr || word.size() == 2) return {rule, std::nullopt};
  return {rule, std::string(word.substr(2))};
}

std::vector<std::string> names_of(Scheduler scheduler) {
  std::vector<std::string> names;
  for (const OptionRule& rule : scheduler == Scheduler::lsf ? lsf_options() : slurm_options())
    names.emplace_back(rule.name);
  return names;
}

class Recogniser {
 public:
  Recogniser(const std::vector<OptionWord>& words, Scheduler scheduler, Findings& findings)
      : words_(words), scheduler_(scheduler), findings_(findings) {}

  GivenOptions all() {
    while (at_ < words_.size()) {
      const OptionWord& word = words_[at_];
      const bool is_option = word.text.size() > 1 && word.text.front() == '-';
      if (is_option) {
        take_option(word);
      } else if (word.line == 0) {
        for (; at_ < words_.size(); ++at_)
          result_.rest.push_back(words_[at_].text);
      } else {
        stray(word);
        ++at_;
      }
    }
    return std::move(result_);
  }

 private:
  void take_option(const OptionWord& word) {
    ++at_;
    Match match = scheduler_ == Scheduler::lsf ? lsf_match(word.text) : slurm_match(word.text);
    if (match.rule == nullptr) {
      unknown(word);
      return;
    }
    GivenOption option{match.rule, word.text, match.value.value_or(""), word.line, word.part};
    if (match.rule->takes == Takes::value && !match.value) {
      if (!has_value_on_same_line()) {
        findings_.add(Severity::decision, "M-VALUE", word.line, word.text + " has no value",
                      "Add the value, or remove the option");
        return;
      }
      option.value = words_[at_++].text;
      option.text += ' ' + option.value;
    }
    if (option.value.size() > 1 && option.value.front() == '=' && option.value != "=") {
      findings_.add(Severity::warning, "M-VALUE", word.line,
                    word.text + ": the value begins with '=', which " + std::string(title_of(scheduler_)) +
                        " refuses; it is left out",
                    "Separate the option and its value by a blank");
      option.value.erase(0, 1);
    }
    result_.options.push_back(std::move(option));
  }

  [[nodiscard]] bool has_value_on_same_line() const {
    return at_ < words_.size() && (words_[at_].line == 0 || !words_[at_].begins);
  }

  void unknown(const OptionWord& word) {
    std::string what = "Unknown option " + word.text.substr(0, word.text.find('=')) + " of " +
                       std::string(scheduler_ == Scheduler::lsf ? "bsub" : "sbatch") + "; it is ignored";
    if (const auto near = nearest_word(word.text.substr(0, word.text.find('=')), names_of(scheduler_)))
      what += " (did you mean " + *near + "?)";
    findings_.add(Severity::decision, "M-UNKNOWN-OPTION", word.line, std::move(what),
                  "Correct it, or remove it if the job does not need it");
    // A value that follows belongs to it.
    if (has_value_on_same_line() && words_[at_].text.front() != '-' && words_[at_].line != 0) ++at_;
  }

  void stray(const OptionWord& word) {
    findings_.add(Severity::decision, "M-STRAY-WORD", word.line,
                  "The word \"" + word.text + "\" in this directive is neither an option nor a value",
                  "Quote values with blanks, and put comments behind a #");
  }

  const std::vector<OptionWord>& words_;
  Scheduler scheduler_;
  Findings& findings_;
  std::size_t at_ = 0;
  GivenOptions result_;
};

}  // namespace

GivenOptions recognise_options(const std::vector<OptionWord>& words, Scheduler scheduler,
                               Findings& findings) {
  return Recogniser(words, scheduler, findings).all();
}

}  // namespace autopilot::workloads::migrate
