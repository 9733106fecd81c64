// SPDX-License-Identifier: Apache-2.0
#include "scenario/scenario.hpp"

namespace autopilot::simulator {
namespace {

constexpr std::string_view kSchema = "autopilot.scenario/v1";

void read_timeline(const YamlNode& list, Scenario& scenario, YamlProblems& problems) {
  for (const YamlNode& item : list.items) {
    Fault fault = read_fault(item, problems);
    if (!fault.id.empty() && find_fault_type(fault.id) == nullptr)
      problems.add(item.line,
                   "unknown fault `" + fault.id.substr(0, 80) + "` (autopilot-sim faults lists them)");
    if (fault.until && *fault.until <= fault.at)
      problems.add(item.line, "`until` is before the start of the fault");
    scenario.timeline.push_back(std::move(fault));
  }
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode document = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  Scenario scenario;
  {
    YamlMap map(document, "scenario", problems);
    const std::string schema = map.required_word("schema");
    if (!schema.empty() && schema != kSchema)
      map.problem(map.line_of("schema"), "`schema` must be " + std::string(kSchema));
    scenario.title = map.word("title").value_or("");
    scenario.machine = map.word("machine").value_or("");
    if (const YamlNode* timeline = map.list("timeline")) read_timeline(*timeline, scenario, problems);
    if (const YamlNode* node = map.map("expect")) {
      YamlMap expect(*node, "expect", problems);
      scenario.expected =
          expect.choice<Verdict>("verdict", parse_verdict, {"PASS", "WARN", "EVICT", "TESTING"})
              .value_or(Verdict::none);
    }
  }
  TRY_STATUS(problems.status());
  return scenario;
}

}  // namespace autopilot::simulator
