// SPDX-License-Identifier: Apache-2.0

#include "controller/webhook/preflight_container.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "api/preflight.hpp"
#include "controller/webhook/preflight_review.hpp"
#include "core/clock.hpp"
#include "core/parse.hpp"
#include "core/pod_tests.hpp"
#include "kube/json_path.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

using Request = api::PreflightRequest;

// Labels of IBM's first Autopilot; their values have no meaning.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kLabels{
    {{"gpu-pcie-bw", "gpu.pcie_bandwidth"}, {"gpu-mem", "gpu.memory_bandwidth"}}};

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  });
}

bool has_form_of_id(std::string_view text) {
  return text.size() <= Request::kLongestTest && std::ranges::all_of(split(text, '.'), is_word);
}

void add(std::vector<std::string>& ids, std::string_view id) {
  if (std::ranges::find(ids, id) == ids.end()) ids.emplace_back(id);
}

std::string joined(const auto& ids, std::string_view between = ",") {
  std::string text;
  for (const auto& id : ids)
    text.append(text.empty() ? "" : between).append(id);
  return text;
}

// Parses "gpu.diagnosis, self_test"; nullopt: another form.
std::optional<std::vector<std::string>> parse_ids(std::string_view text) {
  std::vector<std::string> ids;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view id = trim(part);
    if (id.empty()) continue;
    if (!has_form_of_id(id) || ids.size() == Request::kMostTests) return std::nullopt;
    add(ids, id);
  }
  return ids;
}

// A newer agent can support a test that is unknown here: the test is requested, and the user gets a warning.
std::string warning_of_unknown(const std::string& key, const std::vector<std::string>& ids) {
  std::vector<std::string> unknown;
  std::ranges::copy_if(ids, std::back_inserter(unknown), [](const std::string& id) {
    return std::ranges::find(kPodTests, id) == kPodTests.end();
  });
  if (unknown.empty()) return "";
  return "annotation " + key + ": unknown tests " + joined(unknown, ", ") +
         "; a node without such a test cannot run it; known tests: " + joined(kPodTests, ", ");
}

}  // namespace

WantedTests wanted_tests(const json::object& pod, const WebhookSettings& settings) {
  const std::string key = settings.prefix + "/preflight";
  const json::value* value = kube::value_at(pod, {"metadata", "annotations", key});
  const auto named = parse_ids(kube::text_at(pod, {"metadata", "annotations", key}));
  if (!named || (value != nullptr && !value->is_string()))
    return {joined(settings.default_tests),
            "annotation " + key + ": expected ids of tests, separated by " +
                "commas, such as gpu.diagnosis,self_test; the default tests run"};
  std::vector<std::string> ids;
  for (const auto& [label, id] : kLabels)
    if (kube::value_at(pod, {"metadata", "labels", label}) != nullptr) add(ids, id);
  for (const std::string& id : *named)
    add(ids, id);
  return {joined(ids.empty() ? settings.default_tests : ids), warning_of_unknown(key, *named)};
}

namespace json = boost::json;

namespace {

// The user of the image.
constexpr std::int64_t kOwnUser = 65532;
constexpr std::int64_t kTokenSeconds = 600;
constexpr std::int64_t kReadableByAll = 0644;
// Where programs read the token of their pod.
constexpr const char* kTokenOfPod = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr const char* kTokenFolder = "/var/run/autopilot/preflight";
// Members that an API server adds to a container without an effect on its behaviour.
constexpr std::array<std::string_view, 2> kAdded{"terminationMessagePath", "resizePolicy"};

json::object variable(std::string_view name, std::string_view value) {
  return {{"name", name}, {"value", value}};
}

json::object variable_of_pod(std::string_view name, std::string_view field) {
  const json::object reference{{"apiVersion", "v1"}, {"fieldPath", field}};
  return {{"name", name}, {"valueFrom", json::object{{"fieldRef", reference}}}};
}

json::array environment(const std::string& tests, const WebhookSettings& settings) {
  return {variable_of_pod("AUTOPILOT_NODE", "spec.nodeName"),
          variable_of_pod("AUTOPILOT_POD", "metadata.name"),
          variable_of_pod("AUTOPILOT_NAMESPACE", "metadata.namespace"),
          variable("AUTOPILOT_AGENT_URL", settings.agent_url),
          variable("AUTOPILOT_AUTHORITY", settings.authority),
          variable("AUTOPILOT_TESTS", tests),
          variable("AUTOPILOT_DEADLINE", format_duration(settings.deadline))};
}

// All accelerators of the pod, and the other resources of the container with accelerators: then no policy of
// the namespace refuses the container, the QoS class of the pod does not change, and the pod reserves no
// additional resources.
json::object resources(const AcceleratorNeeds& needs) {
  json::object result;
  for (const auto* kind : {"limits", "requests"}) {
    json::object amounts;
    const json::object* theirs = kube::object_at(*needs.container, {"resources", kind});
    for (const auto* name : {"cpu", "memory", "ephemeral-storage"})
      if (const json::value* amount = theirs == nullptr ? nullptr : theirs->if_contains(name))
        amounts[name] = *amount;
    for (const auto& [name, count] : needs.devices)
      amounts[name] = std::to_string(count);
    if (!amounts.empty()) result[kind] = std::move(amounts);
  }
  json::array claims;
  for (const ClaimUse& use : needs.claims) {
    json::object claim{{"name", use.claim}};
    if (!use.request.empty()) claim["request"] = use.request;
    claims.emplace_back(std::move(claim));
  }
  if (!claims.empty()) result["claims"] = std::move(claims);
  return result;
}

// The common user of all other containers, if it is not root. Files in the pod's volumes can belong to that
// user only, and a policy of the cluster can require it.
std::optional<std::int64_t> user_of_pod(const json::object& pod) {
  std::optional<std::int64_t> user;
  for (const auto* list : {"containers", "initContainers"})
    for (const json::object* container : kube::objects_at(pod, {"spec", list})) {
      if (kube::text_at(*container, {"name"}) == kPreflightContainer) continue;
      auto own = kube::number_at(*container, {"securityContext", "runAsUser"});
      if (!own) own = kube::number_at(pod, {"spec", "securityContext", "runAsUser"});
      if (!own || *own <= 0 || (user && *user != *own)) return std::nullopt;
      user = own;
    }
  return user;
}

// The requirements of the level `restricted` of Pod Security.
json::object security(const json::object& pod) {
  json::object context{{"allowPrivilegeEscalation", false},
                       {"capabilities", json::object{{"drop", json::array{"ALL"}}}},
                       {"readOnlyRootFilesystem", true},
                       {"runAsNonRoot", true},
                       {"seccompProfile", json::object{{"type", "RuntimeDefault"}}}};
  const auto user = user_of_pod(pod);
  context["runAsUser"] = user.value_or(kOwnUser);
  if (!user) context["runAsGroup"] = kOwnUser;
  return context;
}

// Our token replaces the token of the pod, which the API server would otherwise mount when it processes the
// pod again.
json::array mounts() {
  json::array list;
  for (const auto* path : {kTokenFolder, kTokenOfPod})
    list.push_back(json::object{{"name", kPreflightVolume}, {"mountPath", path}, {"readOnly", true}});
  return list;
}

}  // namespace

json::object preflight_container(const json::object& pod, const AcceleratorNeeds& needs,
                                 const std::string& tests, const WebhookSettings& settings) {
  return {{"name", kPreflightContainer},
          {"image", settings.image},
          {"imagePullPolicy", "IfNotPresent"},
          {"args", json::array{"preflight"}},
          {"env", environment(tests, settings)},
          {"resources", resources(needs)},
          {"securityContext", security(pod)},
          {"terminationMessagePolicy", "FallbackToLogsOnError"},
          {"volumeMounts", mounts()}};
}

json::object preflight_volume() {
  const json::object token{
      {"audience", kPreflightAudience}, {"expirationSeconds", kTokenSeconds}, {"path", "token"}};
  return {
      {"name", kPreflightVolume},
      {"projected", json::object{{"defaultMode", kReadableByAll},
                                 {"sources", json::array{json::object{{"serviceAccountToken", token}}}}}}};
}

void keep_rules_of_cluster(json::object& wanted, const json::object& present, const AcceleratorNames& names) {
  if (kube::text_at(present, {"imagePullPolicy"}) == "Always") wanted["imagePullPolicy"] = "Always";
  for (const auto* kind : {"limits", "requests"}) {
    const json::object* amounts = kube::object_at(present, {"resources", kind});
    if (amounts == nullptr) continue;
    json::object kept;
    for (const auto& [name, amount] : *amounts)
      if (!is_accelerator(name, names)) kept[name] = amount;
    if (const json::object* ours = kube::object_at(wanted, {"resources", kind}))
      for (const auto& [name, amount] : *ours)
        kept[name] = amount;
    if (!kept.empty()) wanted["resources"].as_object()[kind] = std::move(kept);
  }
}

bool is_as_wanted(const json::object& present, const json::object& wanted) {
  for (const auto& [name, value] : wanted) {
    const json::value* there = present.if_contains(name);
    if (there == nullptr || *there != value) return false;
  }
  for (const auto& [name, value] : present) {
    const bool is_added = std::ranges::find(kAdded, std::string_view(name)) != kAdded.end();
    if (!is_added && !wanted.contains(name)) return false;
  }
  return true;
}

}  // namespace autopilot::controller
