// SPDX-License-Identifier: Apache-2.0
#include "kube/webhook_configuration.hpp"

#include <boost/json.hpp>
#include <cstddef>

#include "kube/base64.hpp"
#include "kube/json_object.hpp"
#include "kube/object_text.hpp"

namespace autopilot::kube {

namespace json = boost::json;

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
  json::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  const json::object* object = error ? nullptr : value.if_object();
  if (object == nullptr || text_at(*object, {"kind"}) != "MutatingWebhookConfiguration")
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
