// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot::cli {

// A word that can be the last one of a command line.
struct Candidate {
  std::string word;
  std::string description;  // one line; may be empty
};

struct Completion {
  std::vector<Candidate> candidates;
  bool offers_files = false;
};

// Words that only an agent or another program knows. Each returns nothing if it gets no answer in a fraction
// of a second.
struct LiveWords {
  using List = std::function<std::vector<Candidate>()>;
  static std::vector<Candidate> none() { return {}; }

  List incidents = &none;  // open ones
  List jobs = &none;
  List tests = &none;     // diagnostics of this machine
  List faults = &none;    // of the simulator
  List machines = &none;  // simulated ones
};

// What can be the last of the words, which follow the name of the program; it may be empty. Hidden verbs and
// options are left out.
[[nodiscard]] Completion complete(const CLI::App& app, const std::vector<std::string>& words,
                                  const LiveWords& live);

// Words as bash passes them, where it breaks a word at each ':' and '=', as the words that a person wrote.
// `cut`: bytes of the last word that bash has already taken, and that a candidate must not repeat.
[[nodiscard]] std::vector<std::string> joined_at_breaks(const std::vector<std::string>& words,
                                                        std::size_t& cut);

}  // namespace autopilot::cli
