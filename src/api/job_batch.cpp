// SPDX-License-Identifier: Apache-2.0
#include "api/job_batch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "api/wire.hpp"

namespace autopilot::api {

namespace {

constexpr WallTime kLatest{std::chrono::sys_days{std::chrono::year{2100} / 1 / 1}};

JobBatch read_batch(const JsonObject& object) {
  object.has_only({"node", "instance", "sequence", "sent", "whole", "dropped"});
  return {.node = object.word("node"),
          .instance = object.word("instance"),
          .sequence = object.count("sequence"),
          .sent = object.time("sent"),
          .is_whole = object.flag_or_false("whole"),
          .dropped = object.has("dropped") ? object.count("dropped") : 0};
}

bool is_printable(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::ranges::all_of(text, [](char letter) { return letter > ' ' && letter < 0x7f; });
}

SuspectedJob read_suspected(const JsonObject& object) {
  return {.job = object.word("job"), .finding = object.word_or_empty("finding")};
}

JobBatchAnswer read_batch_answer(const JsonObject& object) {
  JobBatchAnswer answer{.taken = object.count("taken"), .wants_whole = object.flag_or_false("resync")};
  if (object.has("suspected")) answer.suspected = object.list("suspected", read_suspected);
  if (answer.suspected.size() > JobBatchAnswer::kMostSuspected)
    answer.suspected.resize(JobBatchAnswer::kMostSuspected);
  return answer;
}

}  // namespace

std::string to_line(const JobBatch& batch) {
  JsonWriter out;
  out.begin_object();
  out.word("node", batch.node);
  out.word("instance", batch.instance);
  out.count("sequence", batch.sequence);
  out.time("sent", batch.sent);
  out.flag_if_set("whole", batch.is_whole);
  if (batch.dropped > 0) out.count("dropped", batch.dropped);
  out.end_object();
  return out.take();
}

Result<JobBatchBody> parse_job_batch(std::string_view body) {
  const std::size_t end = body.substr(0, JobBatch::kLongestHead + 1).find('\n');
  if (end == std::string_view::npos)
    return fail(Errc::malformed, "the first line, which describes the batch, is missing or longer than " +
                                     std::to_string(JobBatch::kLongestHead) + " bytes");
  JobBatch batch = TRY(read_text(body.substr(0, end), read_batch));
  if (!is_printable(batch.node, JobBatch::kLongestNode))
    return fail(Errc::malformed, "node: expected the name of a node");
  if (!is_printable(batch.instance, JobBatch::kLongestInstance))
    return fail(Errc::malformed, "instance: expected 1 to 64 printable characters");
  if (batch.sent < WallTime{} || batch.sent > kLatest)
    return fail(Errc::malformed, "sent: expected a time from 1970 to 2100");
  if (batch.sequence == 0) return fail(Errc::malformed, "sequence: 0 is below 1");
  return JobBatchBody{std::move(batch), body.substr(end + 1)};
}

std::string to_json(const JobBatchAnswer& answer) {
  JsonWriter out;
  out.begin_object();
  out.count("taken", answer.taken);
  out.flag_if_set("resync", answer.wants_whole);
  if (!answer.suspected.empty()) {
    out.begin_list("suspected");
    for (const SuspectedJob& suspected : answer.suspected) {
      out.begin_object();
      out.word("job", suspected.job);
      out.word_if_any("finding", suspected.finding);
      out.end_object();
    }
    out.end_list();
  }
  out.end_object();
  return out.take();
}

Result<JobBatchAnswer> parse_job_batch_answer(std::string_view json) {
  return read_text(json, read_batch_answer);
}

}  // namespace autopilot::api
