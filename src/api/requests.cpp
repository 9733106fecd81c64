// SPDX-License-Identifier: Apache-2.0
// Requests to the agent, and its errors.
#include <utility>

#include "api/v1.hpp"
#include "api/wire.hpp"
#include "core/parse.hpp"

namespace autopilot::api {

namespace {

Error read_error_body(const JsonObject& object) {
  Error error;
  error.code = object.choice("code", parse_errc);
  error.what = object.word("message");
  return error;
}

Error read_error(const JsonObject& object) {
  return object.object("error", read_error_body);
}

OperationRequest read_operation_request(const JsonObject& object) {
  object.has_only({"kind", "reservation", "deadlineSeconds"});
  OperationRequest request;
  request.kind = object.word("kind");
  if (object.has("reservation")) request.reservation = object.list("reservation", read_subject);
  if (object.has("deadlineSeconds")) request.deadline = object.seconds("deadlineSeconds");
  return request;
}

AcknowledgeRequest read_acknowledge_request(const JsonObject& object) {
  object.has_only({"reason"});
  return {object.word("reason")};
}

InjectRequest read_inject_request(const JsonObject& object) {
  object.has_only({"fault", "subject", "magnitude", "durationSeconds"});
  InjectRequest request;
  request.fault = object.word("fault");
  if (object.has("subject")) request.subject = object.object("subject", read_subject);
  if (object.has("magnitude")) request.magnitude = object.number("magnitude");
  if (object.has("durationSeconds")) request.duration = object.seconds("durationSeconds");
  return request;
}

Receipt read_receipt(const JsonObject& object) {
  Receipt receipt;
  receipt.id = object.word("id");
  receipt.durable = object.flag("durable");
  return receipt;
}

}  // namespace

std::string to_json(const Error& error) {
  JsonWriter out;
  out.begin_object();
  out.begin_object("error");
  out.word("code", to_string(error.code));
  out.word("message", error.what);
  out.end_object();
  out.end_object();
  return out.take();
}

Error parse_error(std::string_view json) {
  auto error = read_text(json, read_error);
  return error ? *std::move(error) : std::move(error).error();
}

std::string to_json(const OperationRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("kind", request.kind);
  if (!request.reservation.empty()) write_subjects(out, "reservation", request.reservation);
  if (request.deadline) out.number("deadlineSeconds", to_seconds(*request.deadline));
  out.end_object();
  return out.take();
}

Result<OperationRequest> parse_operation_request(std::string_view json) {
  return read_text(json, read_operation_request);
}

std::string to_json(const AcknowledgeRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("reason", request.reason);
  out.end_object();
  return out.take();
}

Result<AcknowledgeRequest> parse_acknowledge_request(std::string_view json) {
  auto request = TRY(read_text(json, read_acknowledge_request));
  if (trim(request.reason).empty())
    return fail(Errc::malformed, "reason: missing; give a reason in a few words");
  if (request.reason.size() > Acknowledgement::kMaxReasonBytes)
    return fail(Errc::malformed, "reason: expected at most " +
                                     std::to_string(Acknowledgement::kMaxReasonBytes) + " bytes, not " +
                                     std::to_string(request.reason.size()));
  return request;
}

std::string to_json(const InjectRequest& request) {
  JsonWriter out;
  out.begin_object();
  out.word("fault", request.fault);
  write_subject(out, "subject", request.subject);
  if (request.magnitude) out.number("magnitude", *request.magnitude);
  if (request.duration) out.number("durationSeconds", to_seconds(*request.duration));
  out.end_object();
  return out.take();
}

Result<InjectRequest> parse_inject_request(std::string_view json) {
  return read_text(json, read_inject_request);
}

std::string to_json(const Receipt& receipt) {
  JsonWriter out;
  out.begin_object();
  out.word("id", receipt.id);
  out.flag("durable", receipt.durable);
  out.end_object();
  return out.take();
}

Result<Receipt> parse_receipt(std::string_view json) {
  return read_text(json, read_receipt);
}

}  // namespace autopilot::api
