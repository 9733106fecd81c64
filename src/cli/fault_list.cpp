// SPDX-License-Identifier: Apache-2.0
#include "cli/fault_list.hpp"

#include <utility>

#include "api/json.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/table.hpp"
#include "core/value.hpp"

namespace autopilot::cli {
namespace {

constexpr std::size_t kFaultColumns = 80;
constexpr std::size_t kFaultIndent = 4;

ListedFault read_fault(const api::JsonObject& object) {
  ListedFault fault;
  fault.id = object.word("fault");
  fault.title = object.word("title");
  fault.subject = object.word("subject");
  fault.magnitude = object.word_or_empty("magnitude");
  fault.default_magnitude = object.number_if_any("default").value_or(0);
  fault.kinds = object.words("kinds");
  fault.example = object.word("example");
  return fault;
}

std::vector<ListedFault> read_faults(const api::JsonObject& top) {
  return top.list<ListedFault>("items", read_fault);
}

std::string described(const ListedFault& fault) {
  std::string text = fault.title + ". Subject: " + fault.subject;
  if (!fault.magnitude.empty())
    text +=
        "; magnitude: " + fault.magnitude + " (default " + to_string(Value{fault.default_magnitude}) + ")";
  if (!fault.kinds.empty()) text += "; kinds in scenarios: " + joined(fault.kinds);
  return text;
}

}  // namespace

Result<std::vector<ListedFault>> parse_fault_list(std::string_view json) {
  auto document = TRY(api::JsonDocument::parse(json));
  return document.read<std::vector<ListedFault>>(read_faults);
}

std::string render_faults(const std::vector<ListedFault>& faults) {
  const std::string indent(kFaultIndent, ' ');
  std::string text;
  for (const ListedFault& fault : faults) {
    text += printable(fault.id) + "\n";
    for (const std::string& line : wrapped(printable(described(fault)), kFaultColumns - kFaultIndent))
      text.append(indent).append(line).append("\n");
    text.append(indent).append(printable(fault.example)).append("\n");
  }
  return text;
}

}  // namespace autopilot::cli
