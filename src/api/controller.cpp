// SPDX-License-Identifier: Apache-2.0
#include "api/controller.hpp"

#include "api/wire.hpp"

namespace autopilot::api {

namespace {

SigningRequest read_signing_request(const JsonObject& object) {
  object.has_only({"request"});
  return {object.word("request")};
}

SignedCertificate read_signed_certificate(const JsonObject& object) {
  return {object.word("certificate"), object.word("authority")};
}

}  // namespace

std::string to_json(const SigningRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("request", request.request);
  out.end_object();
  return out.take();
}

Result<SigningRequest> parse_signing_request(std::string_view json) {
  return read_text(json, read_signing_request);
}

std::string to_json(const SignedCertificate& issued) {
  JsonWriter out;
  out.begin_object();
  out.word("certificate", issued.certificate);
  out.word("authority", issued.authority);
  out.end_object();
  return out.take();
}

Result<SignedCertificate> parse_signed_certificate(std::string_view json) {
  return read_text(json, read_signed_certificate);
}

namespace {

GangQuestion read_question(const JsonObject& object) {
  object.has_only({"podUid", "size", "proven"});
  GangQuestion question;
  question.pod_uid = object.word("podUid");
  if (object.has("size")) question.size = object.count("size");
  if (object.has("proven")) question.is_proven = object.flag("proven");
  return question;
}

GangAnswer read_answer(const JsonObject& object) {
  GangAnswer answer{object.flag("mayStart"), object.word_or_empty("message")};
  if (object.has("nodes")) answer.nodes = object.words("nodes");
  return answer;
}

}  // namespace

std::string to_json(const GangQuestion& question) {
  JsonWriter out;
  out.begin_object();
  out.word("podUid", question.pod_uid);
  if (question.size > 0) out.count("size", question.size);
  if (!question.is_proven) out.flag("proven", false);
  out.end_object();
  return out.take();
}

Result<GangQuestion> parse_gang_question(std::string_view json) {
  auto question = TRY(read_text(json, read_question));
  if (question.pod_uid.empty() || question.pod_uid.size() > GangQuestion::kLongestUid)
    return fail(Errc::malformed, "podUid: expected the uid of a pod");
  if (question.size > GangQuestion::kMostPods)
    return fail(Errc::malformed, "size: at most " + std::to_string(GangQuestion::kMostPods));
  return question;
}

std::string to_json(const GangAnswer& answer) {
  JsonWriter out;
  out.begin_object();
  out.flag("mayStart", answer.may_start);
  out.word_if_any("message", answer.message);
  if (!answer.nodes.empty()) out.words("nodes", answer.nodes);
  out.end_object();
  return out.take();
}

Result<GangAnswer> parse_gang_answer(std::string_view json) {
  auto answer = TRY(read_text(json, read_answer));
  if (answer.nodes.size() > GangAnswer::kMostNodes)
    return fail(Errc::malformed, "nodes: at most " + std::to_string(GangAnswer::kMostNodes));
  return answer;
}

}  // namespace autopilot::api
