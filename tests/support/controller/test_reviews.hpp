// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/webhook/review_outcome.hpp"
#include "controller/webhook/settings.hpp"
#include "core/yaml.hpp"
#include "kube/base64.hpp"
#include "tests/fakes/json_patch.hpp"

// For the tests of this folder: reviews as API servers send them, and the effect of a response on the pod.
namespace autopilot::controller::testing {

inline constexpr const char* kUid = "705ab4f5-6393-11e8-b7cc-42010a800002";

[[nodiscard]] inline WebhookSettings test_settings() {
  WebhookSettings settings;
  settings.image = "registry.example.com/autopilot@sha256:6e5f";
  settings.agent_url = "https://10.96.0.12:3334";
  settings.authority = "-----BEGIN CERTIFICATE-----";
  return settings;
}

[[nodiscard]] inline boost::json::value json_of(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return nullptr;
    case YamlNode::Kind::scalar:
      break;
    case YamlNode::Kind::list: {
      boost::json::array list;
      for (const YamlNode& item : node.items)
        list.push_back(json_of(item));
      return list;
    }
    case YamlNode::Kind::map: {
      boost::json::object object;
      for (const YamlMember& member : node.members)
        object[member.key] = json_of(member.value);
      return object;
    }
  }
  boost::json::error_code error;
  if (node.quoted || node.text.starts_with('"')) return boost::json::string(node.text);
  boost::json::value value = boost::json::parse(node.text, error);
  return error ? boost::json::value(node.text) : value;
}

[[nodiscard]] inline boost::json::value json_of_yaml(std::string_view text, const std::string& file) {
  YamlProblems problems(file);
  const YamlNode node = parse_yaml(text, problems);
  EXPECT_TRUE(problems.empty()) << problems.to_string();
  return json_of(node);
}

[[nodiscard]] inline boost::json::object request_for(const boost::json::value& pod) {
  using boost::json::object;
  const object kind{{"group", ""}, {"version", "v1"}, {"kind", "Pod"}};
  const object resource{{"group", ""}, {"version", "v1"}, {"resource", "pods"}};
  return {{"uid", kUid},
          {"kind", kind},
          {"resource", resource},
          {"requestKind", kind},
          {"requestResource", resource},
          {"namespace", "team-a"},
          {"operation", "CREATE"},
          {"userInfo", object{{"username", "system:serviceaccount:kube-system:job-controller"}}},
          {"object", pod},
          {"oldObject", nullptr},
          {"dryRun", false},
          {"options", object{{"apiVersion", "meta.k8s.io/v1"}, {"kind", "CreateOptions"}}}};
}

[[nodiscard]] inline std::string review_of(boost::json::object request) {
  return boost::json::serialize(boost::json::object{
      {"kind", "AdmissionReview"}, {"apiVersion", "admission.k8s.io/v1"}, {"request", std::move(request)}});
}
[[nodiscard]] inline std::string review_of_pod(const boost::json::value& pod) {
  return review_of(request_for(pod));
}

// A response as an API server parses it.
struct ReadAnswer {
  std::string uid;
  bool is_allowed = false;
  boost::json::array patch;
  std::vector<std::string> warnings;
};

[[nodiscard]] inline ReadAnswer read_answer(const HandlerAnswer& answer) {
  ReadAnswer read;
  const boost::json::value review = boost::json::parse(answer.body);
  EXPECT_EQ(review.at("apiVersion"), "admission.k8s.io/v1");
  EXPECT_EQ(review.at("kind"), "AdmissionReview");
  const boost::json::object& response = review.at("response").as_object();
  read.uid = std::string(response.at("uid").as_string());
  read.is_allowed = response.at("allowed").as_bool();
  if (const auto* patch = response.if_contains("patch")) {
    EXPECT_EQ(response.at("patchType"), "JSONPatch");
    const auto text = kube::decode_base64(std::string(patch->as_string()));
    EXPECT_TRUE(text);
    read.patch = boost::json::parse(text.value_or("[]")).as_array();
  }
  if (const auto* warnings = response.if_contains("warnings"))
    for (const boost::json::value& warning : warnings->as_array())
      read.warnings.emplace_back(warning.as_string());
  return read;
}

// The pod after the response.
[[nodiscard]] inline boost::json::value patched(const boost::json::value& pod, const HandlerAnswer& answer) {
  const auto text =
      apply_json_patch(boost::json::serialize(pod), boost::json::serialize(read_answer(answer).patch));
  EXPECT_TRUE(text) << "the patch does not fit: " << answer.body;
  return boost::json::parse(text.value_or("null"), {}, {.max_depth = 64});
}

}  // namespace autopilot::controller::testing
