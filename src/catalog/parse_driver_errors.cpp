// SPDX-License-Identifier: Apache-2.0
#include "catalog/parse_driver_errors.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::catalog {
namespace {

constexpr std::string_view kOfPrograms = "app";

// What the table of each kind of error says in the same words.
template <class Error>
void read_advice(Entry& entry, Error& error) {
  error.meaning = entry.required_word("meaning");
  error.action_now = entry.action("action_now");
  error.action_later = entry.action("action_later");
  error.health = entry.health("health");
  error.confidence = entry.confidence();
  error.provenance = entry.provenance();
  if (error.health == Health::failed && error.provenance.evidence == EvidenceKind::own)
    entry.problem(entry.line_of("health"), "`health`: a judgement of our own may say degraded, not failed");
}

std::vector<std::string> read_classes(Entry& entry) {
  auto classes = entry.required_words("classes");
  for (const std::string& word : classes)
    entry.known_word("classes", word, xid_classes());
  return classes;
}

std::vector<std::uint32_t> read_registers(Entry& entry, std::string_view key) {
  std::vector<std::uint32_t> values;
  for (const std::string& word : entry.required_words(key)) {
    const auto value = parse_hex<std::uint32_t>(word);
    if (!value)
      entry.problem(entry.line_of(key),
                    "`" + std::string(key) + "`: expected a number such as 0x00000001, found `" + word + "`");
    values.push_back(value.value_or(0));
  }
  return values;
}

}  // namespace

Xid read_xid(Entry& entry) {
  Xid xid;
  xid.code = entry.code("code");
  xid.name = entry.required_word("name");
  xid.classes = read_classes(entry);
  read_advice(entry, xid);
  for (const std::string& word : entry.words("takes_back").value_or(std::vector<std::string>{})) {
    const auto code = parse_number<std::uint32_t>(word);
    if (!code)
      entry.problem(entry.line_of("takes_back"), "`takes_back`: expected a code, found `" + word + "`");
    xid.takes_back.push_back(code.value_or(0));
  }
  const bool is_of_program = !xid.classes.empty() && xid.classes.front() == kOfPrograms;
  const auto place = entry.choice<RecursAt>("recurs_at", &parse_recurs_at, {"nowhere", "gpu", "unit"});
  if (place && !is_of_program)
    entry.problem(entry.line_of("recurs_at"), "`recurs_at`: only for errors of programs (first class `app`)");
  xid.recurs_at = place.value_or(is_of_program ? RecursAt::gpu : RecursAt::nowhere);
  return xid;
}

Sxid read_sxid(Entry& entry) {
  Sxid sxid;
  sxid.code = entry.code("code");
  sxid.last = entry.has("last") ? entry.code("last", sxid.code) : sxid.code;
  sxid.name = entry.required_word("name");
  sxid.classes = read_classes(entry);
  read_advice(entry, sxid);
  if (sxid.is_unit() && sxid.health != Health::healthy)
    entry.problem(entry.line_of("health"), "`health`: a unit names unknown codes, which never act");
  return sxid;
}

NvLinkError read_nvlink_error(Entry& entry) {
  NvLinkError error;
  error.id = entry.id("[a-z][a-z0-9_]*");
  error.xid = entry.code("xid");
  error.units = entry.required_words("units");
  error.block_v1 = entry.within("block_v1", 0, 31);
  error.unit_v1 = entry.within("unit_v1", 0, 31);
  error.unit_v2 = entry.within("unit_v2", 0, 127);
  error.match = entry.required<StatusMatch>("match", &parse_status_match, {"bits", "value", "any", "reason"});
  if (error.match == StatusMatch::bits || error.match == StatusMatch::value)
    error.status = read_registers(entry, "status");
  error.promoted = entry.choice<Action>("promoted", &parse_action, action_words());
  read_advice(entry, error);
  return error;
}

LinkDownReason read_link_down_reason(Entry& entry) {
  LinkDownReason reason;
  reason.number = entry.within("number", 0, 63);
  reason.id = entry.id("[a-z][a-z0-9_]*");
  read_advice(entry, reason);
  return reason;
}

DcgmError read_dcgm_error(Entry& entry) {
  static const std::vector<std::string> severities{"isolate", "reset",   "triage",
                                                   "config",  "monitor", "unknown"};
  DcgmError error;
  error.number = entry.code("number");
  error.name = entry.required_word("name");
  error.severity = entry.required_word("severity");
  entry.known_word("severity", error.severity, severities);
  error.category = entry.required_word("category");
  if (!entry.has("evicts")) entry.problem(entry.line(), "`evicts` is missing");
  error.evicts = entry.boolean("evicts").value_or(true);
  error.says = entry.word("says").value_or("");
  if (error.evicts && !error.says.empty())
    entry.problem(entry.line_of("says"), "`says`: only for errors that do not evict");
  error.provenance = entry.provenance();
  return error;
}

NvLinkRegister read_nvlink_register(Entry& entry) {
  NvLinkRegister meaning;
  meaning.id = entry.id("[a-z][a-z0-9_]*");
  meaning.number = entry.within("register", 1, 7);
  for (const std::string& word : entry.required_words("bits")) {
    const auto bit = parse_number<int>(word);
    if (!bit || *bit < 0 || *bit > 31)
      entry.problem(entry.line_of("bits"), "`bits`: expected 0 to 31, found `" + word + "`");
    meaning.bits.push_back(std::clamp(bit.value_or(0), 0, 31));
  }
  read_advice(entry, meaning);
  if (entry.has("from_times")) meaning.from_times = entry.within("from_times", 1, 100);
  return meaning;
}

}  // namespace autopilot::catalog
