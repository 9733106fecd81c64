// SPDX-License-Identifier: Apache-2.0
#include "golden/cause_report.hpp"

#include <map>
#include <set>

namespace autopilot::golden {
namespace {

struct Row {
  int of = 0;
  std::map<Meeting, int> outcomes;
  std::map<std::string, int> answered;
};

constexpr Meeting kColumns[] = {Meeting::right,  Meeting::wrong_end, Meeting::wrong_cause,
                                Meeting::missed, Meeting::merged,    Meeting::incomplete};

std::map<std::string, Row> rows_of(const std::vector<Judged>& judged, bool is_held_out) {
  std::map<std::string, Row> rows;
  for (const Judged& one : judged) {
    if (one.is_held_out != is_held_out) continue;
    for (const Answer& answer : one.score.answers) {
      Row& row = rows[answer.family];
      ++row.of;
      ++row.outcomes[answer.outcome];
      ++row.answered[answer.answered.empty() ? "no incident" : answer.answered];
    }
  }
  return rows;
}

int invented_in(const std::vector<Judged>& judged, bool is_held_out) {
  int count = 0;
  for (const Judged& one : judged)
    if (one.is_held_out == is_held_out) count += static_cast<int>(one.score.invented.size());
  return count;
}

std::string table_of(const std::vector<Judged>& judged, bool is_held_out) {
  const auto rows = rows_of(judged, is_held_out);
  std::string text =
      "| cause | n | right | blamed the wrong end | wrong cause | missed | merged | incomplete | what was "
      "said |\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  Row sum;
  for (const auto& [family, row] : rows) {
    text += "| " + family + " | " + std::to_string(row.of);
    for (const Meeting column : kColumns) {
      const auto found = row.outcomes.find(column);
      const int count = found == row.outcomes.end() ? 0 : found->second;
      sum.outcomes[column] += count;
      text += " | " + std::to_string(count);
    }
    sum.of += row.of;
    std::string said;
    for (const auto& [answer, count] : row.answered)
      said += (said.empty() ? "" : ", ") + answer + " " + std::to_string(count);
    text += " | " + said + " |\n";
  }
  text += "| all | " + std::to_string(sum.of);
  for (const Meeting column : kColumns)
    text += " | " + std::to_string(sum.outcomes[column]);
  return text + " | |\n";
}

std::string wrong_ones(const std::vector<Judged>& judged, bool is_held_out) {
  std::string text;
  for (const Judged& one : judged) {
    if (one.is_held_out != is_held_out || one.score.is_right()) continue;
    text += "- `" + one.scenario + "`:";
    std::string separator = " ";
    for (const Answer& answer : one.score.answers) {
      if (answer.outcome == Meeting::right) continue;
      text += separator + answer.family + ": " + std::string(to_string(answer.outcome)) + ", " + answer.why;
      separator = "; ";
    }
    for (const std::string& invented : one.score.invented) {
      text += separator + invented;
      separator = "; ";
    }
    text += "\n";
  }
  return text;
}

std::string part(const std::vector<Judged>& judged, bool is_held_out) {
  const Share share = share_right(judged, is_held_out);
  std::string text = std::string("\n## ") + (is_held_out ? "Held out" : "Tuning") + "\n\n" +
                     std::to_string(share.right) + " of " + std::to_string(share.of) +
                     " scenarios are right in everything. Incidents by their cause:\n\n" +
                     table_of(judged, is_held_out) +
                     "\nInvented (incidents that nobody asked for, lines that act and "
                     "must not, a node that is said to be worse or better than it is): " +
                     std::to_string(invented_in(judged, is_held_out)) + ".\n";
  const std::string wrong = wrong_ones(judged, is_held_out);
  if (!wrong.empty()) text += "\nWhat is not right:\n\n" + wrong;
  return text;
}

}  // namespace

Share share_right(const std::vector<Judged>& judged, bool is_held_out) {
  Share share;
  for (const Judged& one : judged) {
    if (one.is_held_out != is_held_out) continue;
    ++share.of;
    share.right += one.score.is_right() ? 1 : 0;
  }
  return share;
}

std::string report(const std::vector<Judged>& judged) {
  return "# Do incidents name the right cause?\n\n"
         "Made by `GOLDEN_UPDATE=1 build/dev/bin/autopilot_cause_tests`; the same program without it fails "
         "when "
         "this page is\nstale. Every scenario of `tests/golden/causes` is a simulated machine with a kernel "
         "log over "
         "time, looked at by all\nbuilt-in checks. The labels were written from the vendor's documents, the "
         "driver's "
         "sources and reports of users before\nthe rules were looked at. A scenario whose name has a hash "
         "divisible "
         "by three is held out: rules are never changed for\nit. Nothing here was measured on a broken "
         "GPU.\n[Logs of others](detection-trials.md) are tried once.\n\n"
         "*Right*: cause, end, blamed subject, health and consequences are those of the label. *Blamed the "
         "wrong end*: "
         "the cause is\nright, and somebody else is accused. *Merged*: told, but as part of another cause. "
         "*Incomplete*: "
         "cause and end are right,\nand a consequence, the health or the end of the incident is not.\n" +
         part(judged, false) + part(judged, true);
}

}  // namespace autopilot::golden
