// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <string>
#include <string_view>

#include "diagnostics/cluster/deep_test_steps.hpp"

// For tests of deep tests: a node, and what an API server does with a merge patch.
namespace autopilot::diagnostics {

inline constexpr WallTime kBegin{std::chrono::seconds{1'800'000'000}};
inline const std::string kNode = "gpu-7";

inline DeepTestPolicy deep_test_policy() {
  DeepTestPolicy policy;
  policy.every = std::chrono::minutes{20};
  policy.holder = "agent-a";
  policy.fatal = {"PCIe", "GPU Memory"};
  policy.job.prefix = "autopilot.ibm.com";
  policy.job.name_space = "autopilot";
  policy.job.image = "registry/deep-test:1";
  policy.job.command = {"dcgmi", "diag", "-r", "3", "-j"};
  policy.job.deadline = std::chrono::minutes{5};
  return policy;
}

// The node object of the API, with eight GPUs.
inline boost::json::object node_object() {
  return boost::json::parse(R"({"metadata": {"name": "gpu-7", "resourceVersion": "1"}, "spec": {},
    "status": {"allocatable": {"cpu": "96", "nvidia.com/gpu": "8"}}})")
      .as_object();
}

inline kube::Node node_of(const boost::json::object& object) {
  return *kube::parse_node(boost::json::serialize(object));
}

// RFC 7386.
inline void merge(boost::json::object& into, const boost::json::object& patch) {
  for (const auto& [key, value] : patch) {
    if (value.is_null()) {
      into.erase(key);
    } else if (!value.is_object()) {
      into[key] = value;
    } else {
      boost::json::value& target = into[key];
      if (!target.is_object()) target.emplace_object();
      merge(target.as_object(), value.as_object());
    }
  }
}

inline std::string version_of(const boost::json::object& object) {
  return std::string(object.at("metadata").at("resourceVersion").as_string());
}

// False: refused, it is not that version any more.
inline bool patch_node(boost::json::object& node, std::string_view patch) {
  const boost::json::object body = boost::json::parse({patch.data(), patch.size()}).as_object();
  if (version_of(body) != version_of(node)) return false;
  merge(node, body);
  node["metadata"].as_object()["resourceVersion"] = std::to_string(std::stoi(version_of(node)) + 1);
  return true;
}

inline constexpr std::string_view kPassed =
    R"({"deep_test":1,"tests":[{"name":"pcie","status":"pass","gpus":[0,1]}],"gpus":{"0":"S0","1":"S1"}})";
inline constexpr std::string_view kFailed =
    R"({"deep_test":1,"tests":[{"name":"targeted_power","status":"fail","gpus":[1],"message":"too weak"},)"
    R"({"name":"pcie","status":"pass","gpus":[0,1]}],"gpus":{"0":"S0","1":"S1"}})";
inline constexpr std::string_view kFatal =
    R"({"deep_test":1,"tests":[{"name":"memory","status":"fail","gpus":[0]}],"gpus":{"0":"S0","1":"S1"}})";

}  // namespace autopilot::diagnostics
