// SPDX-License-Identifier: Apache-2.0
#include "api/job_evidence.hpp"

#include "api/wire.hpp"

namespace autopilot::api {
namespace {

EvidenceItem read_evidence_item(const JsonObject& object) {
  return {.name = object.word("item"),
          .file = object.word_or_empty("file"),
          .bytes = object.count("bytes"),
          .took_s = object.number("seconds"),
          .problem = object.word_or_empty("problem")};
}

CapturedEvidence read_captured(const JsonObject& object) {
  return {.id = object.word("id"),
          .job = object.word("job"),
          .time = object.time("time"),
          .items = object.list("items", read_evidence_item)};
}

EvidenceList read_evidence_list(const JsonObject& object) {
  return {.folder = object.word("folder"), .evidence = object.list("evidence", read_captured)};
}

void write_captured(JsonWriter& out, const CapturedEvidence& captured) {
  out.begin_object();
  out.word("id", captured.id);
  out.word("job", captured.job);
  out.time("time", captured.time);
  out.begin_list("items");
  for (const EvidenceItem& item : captured.items) {
    out.begin_object();
    out.word("item", item.name);
    out.word_if_any("file", item.file);
    out.count("bytes", item.bytes);
    out.number("seconds", item.took_s);
    out.word_if_any("problem", item.problem);
    out.end_object();
  }
  out.end_list();
  out.end_object();
}

}  // namespace

std::string to_json(const EvidenceList& list) {
  JsonWriter out;
  out.begin_object();
  out.word("folder", list.folder);
  out.begin_list("evidence");
  for (const CapturedEvidence& captured : list.evidence)
    write_captured(out, captured);
  out.end_list();
  out.end_object();
  return out.take();
}

Result<EvidenceList> parse_evidence_list(std::string_view json) {
  return read_text(json, read_evidence_list);
}

}  // namespace autopilot::api
