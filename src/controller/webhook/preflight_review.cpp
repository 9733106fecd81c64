// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/preflight_review.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "controller/webhook/accelerators.hpp"
#include "controller/webhook/admission_review.hpp"
#include "controller/webhook/preflight_container.hpp"
#include "kube/json_path.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

constexpr const char* kLabel = "autopilot";
constexpr std::string_view kSpec = "/spec/";
constexpr const char* kContainers = "/spec/initContainers";
constexpr const char* kMainContainers = "/spec/containers";
constexpr const char* kVolumes = "/spec/volumes";

std::string at(const char* list, std::size_t index) {
  return std::string(list) + '/' + std::to_string(index);
}

bool is_named(const json::value& item, std::string_view name) {
  const json::object* object = item.if_object();
  return object != nullptr && kube::text_at(*object, {"name"}) == name;
}

// Position of the item of that name.
std::optional<std::size_t> place_of(const json::array& list, std::string_view name) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (is_named(list[i], name)) return i;
  return std::nullopt;
}

// Accepts "false", "False" and "FALSE".
bool is_false(std::string_view text) {
  return std::ranges::equal(text, std::string_view("false"), {}, [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
}

bool has_label(const json::object& pod) {
  return kube::value_at(pod, {"metadata", "labels", kLabel}) != nullptr;
}

// Source of the request for pre-flight tests: the label of the pod, or its namespace for all of its pods.
enum class Wanted : std::uint8_t { by_pod, by_namespace };

bool wants_tests(const json::object& pod, Wanted wanted) {
  if (!has_label(pod)) return wanted == Wanted::by_namespace;
  return !is_false(kube::text_at(pod, {"metadata", "labels", kLabel}));
}

// Why a pod that requests a test cannot get it. A patch must not create a pod that the API server refuses.
std::string obstacle(const json::object& pod) {
  if (kube::text_at(pod, {"spec", "os", "name"}) == "windows") return "its nodes run Windows";
  if (kube::value_at(pod, {"metadata", "annotations", "kubernetes.io/config.mirror"}) != nullptr)
    return "it is the mirror of a static pod";
  for (const json::object* container : kube::objects_at(pod, {"spec", "containers"}))
    if (kube::text_at(*container, {"name"}) == kPreflightContainer)
      return std::string("its container ") + kPreflightContainer +
             " uses the name of the pre-flight container";
  return "";
}

std::string is_replaced(const char* what, const char* name) {
  return std::string(what) + ' ' + name + " differs from Autopilot's, and is replaced";
}

class Changes {
 public:
  Changes(const json::object& pod, PodDecision& decision) : pod_(pod), decision_(decision) {}

  // Shows agents and the controller that the pod is tested.
  void put_label() {
    const json::object label{{kLabel, ""}};
    if (kube::object_at(pod_, {"metadata"}) == nullptr)
      step(patch_add("/metadata", json::object{{"labels", label}}));
    else if (kube::object_at(pod_, {"metadata", "labels"}) == nullptr)
      step(patch_add("/metadata/labels", label));
    else if (!has_label(pod_))
      step(patch_add(std::string("/metadata/labels/") + kLabel, ""));
  }

  // Only our container mounts the token. Runs before put_first(), which moves the other containers.
  void take_token_from_others() {
    for (const char* list : {kContainers, kMainContainers}) {
      const json::array* containers =
          kube::array_at(pod_, {"spec", std::string_view(list).substr(kSpec.size())});
      for (std::size_t i = 0; containers != nullptr && i < containers->size(); ++i)
        if (!is_named((*containers)[i], kPreflightContainer)) take_token_from((*containers)[i], at(list, i));
    }
  }

  // Our container is the first init container.
  void put_first(json::object wanted, const AcceleratorNames& names) {
    const json::array* list = kube::array_at(pod_, {"spec", "initContainers"});
    if (list == nullptr) return step(patch_add(kContainers, json::array{std::move(wanted)}));
    const auto place = place_of(*list, kPreflightContainer);
    if (!place) {
      if (list->empty()) return step(patch_add(kContainers, json::array{std::move(wanted)}));
      return step(patch_add(at(kContainers, 0), std::move(wanted)));
    }
    const json::object& present = (*list)[*place].get_object();
    keep_rules_of_cluster(wanted, present, names);
    if (!is_as_wanted(present, wanted)) {
      decision_.warnings.push_back(is_replaced("init container", kPreflightContainer));
      step(patch_replace(at(kContainers, *place), std::move(wanted)));
    }
    if (*place != 0) step(patch_move(at(kContainers, *place), at(kContainers, 0)));
  }

  void put_volume(json::object wanted) {
    const json::array* list = kube::array_at(pod_, {"spec", "volumes"});
    if (list == nullptr) return step(patch_add(kVolumes, json::array{std::move(wanted)}));
    const auto place = place_of(*list, kPreflightVolume);
    if (!place) return step(patch_add(std::string(kVolumes) + "/-", std::move(wanted)));
    if (is_as_wanted((*list)[*place].get_object(), wanted)) return;
    decision_.warnings.push_back(is_replaced("volume", kPreflightVolume));
    step(patch_replace(at(kVolumes, *place), std::move(wanted)));
  }

 private:
  void take_token_from(const json::value& container, const std::string& path) {
    const json::object* object = container.if_object();
    const json::array* mounts = object == nullptr ? nullptr : kube::array_at(*object, {"volumeMounts"});
    if (mounts == nullptr || !place_of(*mounts, kPreflightVolume)) return;
    json::array others;
    std::ranges::copy_if(*mounts, std::back_inserter(others),
                         [](const json::value& mount) { return !is_named(mount, kPreflightVolume); });
    decision_.warnings.push_back("container " + std::string(kube::text_at(*object, {"name"})) + " mounts " +
                                 kPreflightVolume + ", the token of " + kPreflightContainer +
                                 "; the mount is removed");
    step(patch_replace(path + "/volumeMounts", std::move(others)));
  }

  void step(json::object one) { decision_.patch.emplace_back(std::move(one)); }

  const json::object& pod_;
  PodDecision& decision_;
};

PodDecision decide(const json::object& pod, const WebhookSettings& settings, Wanted wanted) {
  PodDecision decision;
  if (!wants_tests(pod, wanted)) {
    decision.outcome = ReviewOutcome::left_out;
    return decision;
  }
  if (const std::string share = asked_share(pod, kPreflightContainer); !share.empty()) {
    decision.outcome = ReviewOutcome::left_out;
    decision.warnings.push_back("the pod starts without a test: " + share +
                                "; a test would take the GPU from its other users");
    return decision;
  }
  const AcceleratorNeeds needs = accelerator_needs(pod, settings.accelerators, kPreflightContainer);
  if (!needs.has_any()) {
    decision.outcome = ReviewOutcome::no_accelerator;
    if (has_label(pod))
      decision.warnings.emplace_back("the pod requests no accelerator and starts without a test");
    return decision;
  }
  if (const std::string why = obstacle(pod); !why.empty()) {
    decision.outcome = ReviewOutcome::left_out;
    decision.warnings.push_back("the pod starts without a test: " + why);
    return decision;
  }
  WantedTests tests = wanted_tests(pod, settings);
  if (!tests.warning.empty()) decision.warnings.push_back(std::move(tests.warning));
  Changes changes(pod, decision);
  changes.put_label();
  changes.take_token_from_others();
  changes.put_first(preflight_container(pod, needs, tests.ids, settings), settings.accelerators);
  changes.put_volume(preflight_volume());
  decision.outcome = decision.patch.empty() ? ReviewOutcome::unchanged : ReviewOutcome::patched;
  return decision;
}

}  // namespace

HandlerAnswer review(std::string_view admission_review_json, const WebhookSettings& settings) {
  return answer_review(admission_review_json,
                       [&](const json::object& pod) { return decide(pod, settings, Wanted::by_pod); });
}

HandlerAnswer review_in_namespace(std::string_view admission_review_json, const WebhookSettings& settings) {
  return answer_review(admission_review_json,
                       [&](const json::object& pod) { return decide(pod, settings, Wanted::by_namespace); });
}

}  // namespace autopilot::controller
