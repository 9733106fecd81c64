// SPDX-License-Identifier: Apache-2.0

#include "kube/certificate_objects.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <cstddef>
#include <optional>

#include "kube/base64.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

// The message of a condition that is true, or has the status `status`.
std::optional<std::string> condition(const json::object& object, std::string_view type,
                                     std::string_view status, std::string_view reason = "") {
  for (const json::object* found : objects_at(object, {"status", "conditions"})) {
    if (text_at(*found, {"type"}) != type || text_at(*found, {"status"}) != status) continue;
    if (reason.empty() || text_at(*found, {"reason"}) == reason)
      return std::string(text_at(*found, {"message"}));
  }
  return std::nullopt;
}

std::optional<std::string> refusal(const json::object& object) {
  for (const std::string_view type : {"Denied", "InvalidRequest"})
    if (auto why = condition(object, type, "True")) return why;
  for (const std::string_view reason : {"Failed", "Denied"})
    if (auto why = condition(object, "Ready", "False", reason)) return why;
  return std::nullopt;
}

}  // namespace

std::string certificate_requests_path(const std::string& name_space) {
  return "/apis/cert-manager.io/v1/namespaces/" + name_space + "/certificaterequests";
}

std::string certificate_request_json(const CertificateQuestion& question) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(question.lifetime).count();
  return json::serialize(json::object{
      {"apiVersion", "cert-manager.io/v1"},
      {"kind", "CertificateRequest"},
      {"metadata", json::object{{"name", question.name}}},
      {"spec", json::object{{"request", encode_base64(question.request)},
                            {"isCA", false},
                            {"duration", std::to_string(seconds) + "s"},
                            {"usages", json::array{"digital signature", "server auth", "client auth"}},
                            {"issuerRef", json::object{{"group", "cert-manager.io"},
                                                       {"kind", "Issuer"},
                                                       {"name", question.issuer}}}}}});
}

Result<IssuedCertificate> parse_certificate_request(std::string_view text) {
  const auto object = parse_object(text);
  if (!object || text_at(*object, {"kind"}) != "CertificateRequest")
    return fail(Errc::malformed, "the response is not a CertificateRequest");
  if (const auto why = refusal(*object))
    return fail(Errc::denied, "cert-manager refused the certificate: " + *why);
  if (!condition(*object, "Ready", "True"))
    return fail(Errc::unavailable, "cert-manager has not issued the certificate yet");
  const auto certificate = decode_base64(text_at(*object, {"status", "certificate"}));
  const auto authority = decode_base64(text_at(*object, {"status", "ca"}));
  if (!certificate || certificate->empty() || !authority || authority->empty())
    return fail(Errc::denied,
                "cert-manager issued a certificate without its authority; use an Issuer of the kind ca");
  return IssuedCertificate{*certificate, *authority};
}

namespace {

// An entry that is not an object keeps its position, because patches use positions.
CalledWebhook parse_called(const json::value& value) {
  const json::object* webhook = value.if_object();
  if (webhook == nullptr) return {};
  return {.service = std::string(text_at(*webhook, {"clientConfig", "service", "name"})),
          .name_space = std::string(text_at(*webhook, {"clientConfig", "service", "namespace"})),
          .authorities = decode_base64(text_at(*webhook, {"clientConfig", "caBundle"})).value_or("")};
}

}  // namespace

std::string webhook_configuration_path(const std::string& name) {
  return "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + name;
}

Result<WebhookConfiguration> parse_webhook_configuration(std::string_view text) {
  const auto object = parse_object(text);
  if (!object || text_at(*object, {"kind"}) != "MutatingWebhookConfiguration")
    return fail(Errc::malformed, "the response is not a MutatingWebhookConfiguration");
  WebhookConfiguration configuration;
  configuration.meta = parse_meta({*object});
  if (const json::array* webhooks = array_at(*object, {"webhooks"}))
    for (const json::value& webhook : *webhooks)
      configuration.webhooks.push_back(parse_called(webhook));
  return configuration;
}

std::optional<std::string> authorities_patch(const WebhookConfiguration& configuration,
                                             const std::string& name_space, const std::string& service,
                                             const std::string& authorities) {
  json::array steps{json::object{
      {"op", "replace"}, {"path", "/metadata/resourceVersion"}, {"value", configuration.meta.version}}};
  for (std::size_t at = 0; at < configuration.webhooks.size(); ++at) {
    const CalledWebhook& one = configuration.webhooks[at];
    if (one.service != service || one.name_space != name_space || one.authorities == authorities) continue;
    steps.push_back(json::object{{"op", "add"},
                                 {"path", "/webhooks/" + std::to_string(at) + "/clientConfig/caBundle"},
                                 {"value", encode_base64(authorities)}});
  }
  if (steps.size() == 1) return std::nullopt;
  return json::serialize(steps);
}

}  // namespace autopilot::kube
