// SPDX-License-Identifier: Apache-2.0
#include "docs/driver_pages.hpp"

#include <cstdio>
#include <map>

#include "docs/markdown.hpp"

namespace autopilot::docs {
namespace {

using catalog::Catalog;

std::string recurs_text(catalog::RecursAt place) {
  if (place == catalog::RecursAt::nowhere) return "";
  return "; degraded if it recurs in the " + std::string(place == catalog::RecursAt::gpu ? "GPU" : "unit");
}

// The last columns of every table of errors: meaning, now, later, finding.
template <class Error>
std::string advice(const Error& error, int from_times = 1) {
  std::string finding = error.health == Health::healthy
                            ? "event"
                            : std::string(to_string(error.health)) + ", " + number(error.confidence);
  if (from_times > 1) finding += " from " + std::to_string(from_times) + " on one link, else degraded";
  if constexpr (requires { error.recurs_at; }) finding += recurs_text(error.recurs_at);
  return cell(error.meaning) + " | " + action_text(error.action_now) + " | " +
         action_text(error.action_later) + " | " + finding + " |\n";
}

std::string codes_of(const catalog::Xid& xid) {
  return std::to_string(xid.code);
}

std::string codes_of(const catalog::Sxid& sxid) {
  return std::to_string(sxid.code) + (sxid.is_unit() ? " to " + std::to_string(sxid.last) : "");
}

template <class Error>
std::string codes_table(const std::vector<Error>& errors) {
  std::string table =
      "| code | symbol | class | meaning | now | later | finding |\n|---|---|---|---|---|---|---|\n";
  for (const Error& error : errors)
    table += "| " + codes_of(error) + " | " + code(error.name) + " | " + join(error.classes, false) + " | " +
             advice(error);
  return table;
}

// Each source once, with the codes that come from it.
template <class Error>
std::string sources(const std::vector<Error>& errors) {
  std::map<std::string, std::vector<std::string>> codes;
  for (const Error& error : errors)
    codes[origin(error.provenance)].push_back(codes_of(error));
  std::string text = "\n## Sources\n\n";
  for (const auto& [source, from_it] : codes)
    text += "- " + source + ": " + join(from_it, false) + "\n";
  return text;
}

std::string hexadecimal(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

std::string nvlink_errors(const Catalog& facts) {
  std::string text =
      "\n## NVLink of the fifth generation (144 to 150)\n\nThe line names a unit; its first register has the "
      "number of the unit (bits 9:5 before driver 575, bits 6:0\nsince), and its second register the error. "
      "This "
      "table has precedence over the table above. If bits 25:20 of the first register\nare not zero, only "
      "the "
      "table above counts.\n\n| code | unit | number before 575 / since | status | meaning | now | later | "
      "finding |\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& error : facts.nvlink_errors()) {
    std::string status = error.match == catalog::StatusMatch::any ? "any" : "";
    if (error.match == catalog::StatusMatch::reason) status = "see below";
    for (const std::uint32_t value : error.status)
      status += (status.empty() ? "" : ", ") + hexadecimal(value);
    if (error.match == catalog::StatusMatch::value) status.insert(0, "is ");
    if (error.promoted) status += " (promoted: " + action_text(*error.promoted) + ")";
    text += "| " + std::to_string(error.xid) + " | " + join(error.units, true) + " | " +
            std::to_string(error.unit_v1) + " / " + std::to_string(error.unit_v2) + " | " + status + " | " +
            advice(error);
  }
  return text;
}

std::string link_down_reasons(const Catalog& facts) {
  std::string text =
      "\n## Causes of a lost link (149, `NETIR_LINK_DOWN`)\n\nBits 25:20 of the first register.\n\n| number "
      "| "
      "cause | meaning | now | later | finding |\n|---|---|---|---|---|---|\n";
  for (const auto& reason : facts.link_down_reasons())
    text += "| " + std::to_string(reason.number) + " | " + code(reason.id) + " | " + advice(reason);
  return text;
}

std::string nvlink_registers(const Catalog& facts) {
  std::string text =
      "\n## Registers of 74\n\nThe registers are numbered from 1 in the order of the line. Of several bits "
      "the worst counts.\n\n"
      "| register | bits | meaning | now | later | finding |\n|---|---|---|---|---|---|\n";
  for (const auto& meaning : facts.nvlink_registers()) {
    std::string bits;
    for (const int bit : meaning.bits)
      bits += (bits.empty() ? "" : ", ") + std::to_string(bit);
    text +=
        "| " + std::to_string(meaning.number) + " | " + bits + " | " + advice(meaning, meaning.from_times);
  }
  return text;
}

template <class Error>
std::string source_of_table(const std::vector<Error>& errors) {
  return errors.empty() ? "" : "\nSource: " + origin(errors.front().provenance) + ".\n";
}

}  // namespace

std::string xids_page(const Catalog& facts) {
  return std::string(kNote) +
         "# Xid codes\n\nErrors that the NVIDIA driver writes to the kernel log as `NVRM: Xid`. *Now* and "
         "*later* "
         "follow the vendor's\ncatalog; *finding* is the result of the code alone (\"event\": shown, without "
         "effect), "
         "with our confidence\nthat the GPU named in the line is at fault. An unknown code is shown with the "
         "class "
         "unknown and has no effect.\n*If it recurs*: in another process within a day, on the same GPU or "
         "the same "
         "unit (GPC and TPC) of it, see\n[reasons](reasons.md). Xid 154 is the driver's own recommendation: "
         "the action "
         "in its line has precedence over every table.\n`autopilot explain xid N` prints the same.\n\n" +
         codes_table(facts.xids()) + nvlink_errors(facts) + source_of_table(facts.nvlink_errors()) +
         link_down_reasons(facts) + source_of_table(facts.link_down_reasons()) + nvlink_registers(facts) +
         source_of_table(facts.nvlink_registers()) + sources(facts.xids());
}

std::string sxids_page(const Catalog& facts) {
  return std::string(kNote) +
         "# SXid codes\n\nErrors that the NVSwitch driver writes to the kernel log as `SXid`. The severity "
         "in the line "
         "has precedence over this table:\n*Fatal* is failed (degraded if the class is unknown), *Non-fatal* "
         "degraded, *Correctable* an event;\n*finding* is for lines without a severity. A row with several "
         "codes "
         "covers the codes of a unit\nwithout a row of their own: they are shown with the class unknown and "
         "have no "
         "effect. `autopilot explain sxid N`\nprints the same.\n\n" +
         codes_table(facts.sxids()) + sources(facts.sxids());
}

}  // namespace autopilot::docs
