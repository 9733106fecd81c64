// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "collect/evidence/evidence_store.hpp"
#include "core/result.hpp"
#include "host/files/fd.hpp"

namespace autopilot::collect {

// A text, and what of it is missing.
struct CapturedText {
  std::string text;
  std::string problem;  // empty: it is complete

  void add_line(const std::string& line, bool is_problem) {
    text.append(line).append("\n");
    if (is_problem) note(line);
  }
  // Keeps the first of several.
  void note(const std::string& what) {
    if (problem.empty()) problem = what;
  }
};

// One item of the evidence, with the time from the construction to end(). The folder outlives it.
class TimedItem {
 public:
  TimedItem(EvidenceFolder& folder, std::string name) : folder_(folder), began_(host::mono_now()) {
    item_.name = std::move(name);
  }
  // Once. `file` is the name in the folder.
  void end(const std::string& file, const CapturedText& captured) {
    item_.took = host::mono_now() - began_;
    item_.file = file;
    item_.problem = captured.problem;
    folder_.add(std::move(item_), captured.text);
  }
  void end(const std::string& file, const Result<std::string>& text) {
    if (!text) return end(file, CapturedText{.text = {}, .problem = text.error().what});
    end(file, CapturedText{.text = *text, .problem = text->empty() ? "empty" : ""});
  }

 private:
  EvidenceFolder& folder_;
  MonoTime began_;
  EvidenceItem item_;
};

}  // namespace autopilot::collect
