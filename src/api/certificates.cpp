// SPDX-License-Identifier: Apache-2.0
#include "api/certificates.hpp"

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

}  // namespace autopilot::api
