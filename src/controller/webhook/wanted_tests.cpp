// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/wanted_tests.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <iterator>
#include <optional>
#include <utility>

#include "api/preflight.hpp"
#include "core/parse.hpp"
#include "core/pod_tests.hpp"
#include "kube/json_path.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

using Request = api::PreflightRequest;

// As IBM's first Autopilot had them; their values say nothing.
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

// "gpu.diagnosis, self_test"; nothing for another form.
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

// A newer agent may know one that is not known here: it is asked for, and whoever makes the pod is told.
std::string warning_of_unknown(const std::string& key, const std::vector<std::string>& ids) {
  std::vector<std::string> unknown;
  std::ranges::copy_if(ids, std::back_inserter(unknown), [](const std::string& id) {
    return std::ranges::find(kPodTests, id) == kPodTests.end();
  });
  if (unknown.empty()) return "";
  return "annotation " + key + ": unknown tests " + joined(unknown, ", ") +
         "; a node without such a test proves nothing by it; known are " + joined(kPodTests, ", ");
}

}  // namespace

WantedTests wanted_tests(const json::object& pod, const WebhookSettings& settings) {
  const std::string key = settings.prefix + "/preflight";
  const json::value* value = kube::value_at(pod, {"metadata", "annotations", key});
  const auto named = parse_ids(kube::text_at(pod, {"metadata", "annotations", key}));
  if (!named || (value != nullptr && !value->is_string()))
    return {joined(settings.default_tests), "annotation " + key +
                                                ": expected ids of tests, with commas between " +
                                                "them, as gpu.diagnosis,self_test; the usual ones are made"};
  std::vector<std::string> ids;
  for (const auto& [label, id] : kLabels)
    if (kube::value_at(pod, {"metadata", "labels", label}) != nullptr) add(ids, id);
  for (const std::string& id : *named)
    add(ids, id);
  return {joined(ids.empty() ? settings.default_tests : ids), warning_of_unknown(key, *named)};
}

}  // namespace autopilot::controller
