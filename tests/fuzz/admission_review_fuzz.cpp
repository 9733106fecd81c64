// SPDX-License-Identifier: Apache-2.0
// What reaches the webhooks: whatever it is, it is allowed, in the words of the API, and not slowly. A patch
// fits the pod, brings in no folder of the node, puts our container first, and another look at the patched
// pod changes nothing.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "controller/webhook/observation_review.hpp"
#include "controller/webhook/preflight_review.hpp"
#include "core/result.hpp"
#include "kube/base64.hpp"
#include "tests/fakes/json_patch.hpp"
#include "tests/fuzz/targets.hpp"

namespace autopilot::admission_review_fuzz {
namespace {

using namespace autopilot::controller;

namespace json = boost::json;

WebhookSettings settings() {
  WebhookSettings known;
  known.image = "autopilot@sha256:6e5f";
  known.agent_url = "https://10.96.0.12:3334";
  known.authority = "-----BEGIN CERTIFICATE-----";
  return known;
}

const json::object& response_of(const json::value& review) {
  const json::object& response = review.as_object().at("response").as_object();
  AUTOPILOT_ASSERT(response.at("allowed").as_bool());
  AUTOPILOT_ASSERT(response.at("uid").is_string());
  return response;
}

json::value parse(std::string_view text) {
  return json::parse({text.data(), text.size()}, {}, {.max_depth = 64});
}

// The review as it is when the API server asks about the patched pod.
json::value patched(std::string_view text, const json::object& response) {
  json::value review = parse(text);
  json::value& pod = review.as_object().at("request").as_object().at("object");
  const auto patch = kube::decode_base64(std::string(response.at("patch").as_string()));
  AUTOPILOT_ASSERT(patch.has_value());
  const auto after = apply_json_patch(json::serialize(pod), *patch);
  AUTOPILOT_ASSERT(after.has_value());
  pod = parse(*after);
  return review;
}

template <class Answer>
void look(std::string_view text, const Answer& answer, bool puts_first) {
  const HandlerAnswer first = answer(text);
  const json::value said = json::parse(first.body);
  const json::object& response = response_of(said);
  AUTOPILOT_ASSERT(response.contains("patch") == (first.outcome == ReviewOutcome::patched));
  if (!response.contains("patch")) return;
  const json::value review = patched(text, response);
  const json::value& pod = review.at("request").at("object");
  if (puts_first)
    AUTOPILOT_ASSERT(pod.at("spec").at("initContainers").at(0).at("name") == kPreflightContainer);
  const HandlerAnswer again = answer(json::serialize(review));
  AUTOPILOT_ASSERT(again.outcome == ReviewOutcome::unchanged || again.outcome == ReviewOutcome::oversized);
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  static const WebhookSettings known = settings();
  const void* bytes = data;
  const std::string_view text(static_cast<const char*>(bytes), size);
  look(
      text, [](std::string_view each) { return review(each, known); }, true);
  look(
      text, [](std::string_view each) { return review_in_namespace(each, known); }, true);
  look(
      text, [](std::string_view each) { return observe(each, {}); }, false);
  return 0;
}

}  // namespace autopilot::admission_review_fuzz
