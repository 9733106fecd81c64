// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/observation_review.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "controller/webhook/accelerators.hpp"
#include "controller/webhook/admission_review.hpp"
#include "kube/json_path.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

constexpr const char* kVolume = "autopilot-flight-recorder";
constexpr const char* kFolder = "/var/run/autopilot/flight-recorder";
// A job that hangs writes some megabytes for each of its processes, repeatedly into the same files.
constexpr const char* kMostBytes = "1Gi";

// Names of the same setting: each program reads one of them, depending on its version, so all or none are
// set.
struct Setting {
  std::vector<std::string> names;
  std::string value;
  bool needs_folder = false;
};

std::vector<Setting> settings_for(const json::object& container) {
  const std::string folder = kFolder;
  return {{{"NCCL_RAS_ENABLE"}, "1"},
          {{"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"}, "2000"},
          {{"TORCH_NCCL_DUMP_ON_TIMEOUT"}, "1"},
          {{"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"}, folder + "/rank_", true},
          // torchrun deletes and recreates the file, which the termination log of a container does not allow.
          {{"TORCHELASTIC_ERROR_FILE"},
           folder + "/error_" + std::string(kube::text_at(container, {"name"})) + ".json",
           true}};
}

bool has_variable(const json::object& container, const Setting& setting) {
  return std::ranges::any_of(kube::objects_at(container, {"env"}), [&](const json::object* variable) {
    return std::ranges::find(setting.names, kube::text_at(*variable, {"name"})) != setting.names.end();
  });
}

json::object own_volume() {
  return {{"name", kVolume}, {"emptyDir", json::object{{"sizeLimit", kMostBytes}}}};
}

// True if the folder is free: no other volume has the name of ours, and nothing else is mounted there.
bool has_room_for_folder(const json::object& pod, const json::object& container) {
  const auto volumes = kube::objects_at(pod, {"spec", "volumes"});
  const auto mounts = kube::objects_at(container, {"volumeMounts"});
  return std::ranges::none_of(volumes,
                              [](const json::object* volume) {
                                return kube::text_at(*volume, {"name"}) == kVolume && *volume != own_volume();
                              }) &&
         std::ranges::none_of(mounts, [](const json::object* mount) {
           return kube::text_at(*mount, {"mountPath"}).starts_with(kFolder);
         });
}

// Adds to a list of the pod, and creates the list if it is missing.
class ListAdder {
 public:
  ListAdder(const json::object& owner, const char* list, std::string path, json::array& patch)
      : path_(std::move(path)), patch_(patch) {
    const json::array* there = kube::array_at(owner, {list});
    has_items_ = there != nullptr && !there->empty();
  }

  void add(json::object item) {
    if (has_items_)
      patch_.emplace_back(patch_add(path_ + "/-", std::move(item)));
    else
      patch_.emplace_back(patch_add(path_, json::array{std::move(item)}));
    has_items_ = true;
  }

 private:
  std::string path_;
  bool has_items_ = false;
  json::array& patch_;
};

class Observation {
 public:
  Observation(const json::object& pod, const ObservationSettings& settings)
      : pod_(pod), settings_(settings) {}

  PodDecision decide() {
    const json::array* containers = kube::array_at(pod_, {"spec", "containers"});
    bool has_accelerators = false;
    for (std::size_t i = 0; containers != nullptr && i < containers->size(); ++i) {
      const json::object* container = (*containers)[i].if_object();
      if (container == nullptr || !asks_for_accelerators(*container, settings_.accelerators)) continue;
      has_accelerators = true;
      if (kube::objects_at(*container, {"envFrom"}).empty())
        set_in(*container, "/spec/containers/" + std::to_string(i));
    }
    if (needs_folder_) add_volume();
    if (!set_.empty()) add_record();
    decision_.outcome = !has_accelerators         ? ReviewOutcome::no_accelerator
                        : decision_.patch.empty() ? ReviewOutcome::unchanged
                                                  : ReviewOutcome::patched;
    return std::move(decision_);
  }

 private:
  void set_in(const json::object& container, const std::string& path) {
    const bool has_room = has_room_for_folder(pod_, container);
    bool needs_folder = false;
    ListAdder variables(container, "env", path + "/env", decision_.patch);
    json::object record;
    for (const Setting& setting : settings_for(container)) {
      if (has_variable(container, setting) || (setting.needs_folder && !has_room)) continue;
      needs_folder = needs_folder || setting.needs_folder;
      for (const std::string& name : setting.names) {
        variables.add({{"name", name}, {"value", setting.value}});
        record[name] = setting.value;
      }
    }
    if (!record.empty()) set_[kube::text_at(container, {"name"})] = std::move(record);
    if (!needs_folder) return;
    needs_folder_ = true;
    ListAdder(container, "volumeMounts", path + "/volumeMounts", decision_.patch)
        .add({{"name", kVolume}, {"mountPath", kFolder}});
  }

  void add_volume() {
    for (const json::object* volume : kube::objects_at(pod_, {"spec", "volumes"}))
      if (kube::text_at(*volume, {"name"}) == kVolume) return;
    ListAdder(*kube::object_at(pod_, {"spec"}), "volumes", "/spec/volumes", decision_.patch)
        .add(own_volume());
  }

  void add_record() {
    const std::string key = settings_.prefix + "/observation";
    const std::string record = json::serialize(set_);
    if (kube::object_at(pod_, {"metadata", "annotations"}) != nullptr)
      decision_.patch.emplace_back(
          patch_add("/metadata/annotations/" + patch_token(key), json::string(record)));
    else if (kube::object_at(pod_, {"metadata"}) != nullptr)
      decision_.patch.emplace_back(patch_add("/metadata/annotations", json::object{{key, record}}));
    else
      decision_.patch.emplace_back(patch_add("/metadata", {{"annotations", json::object{{key, record}}}}));
  }

  const json::object& pod_;
  const ObservationSettings& settings_;
  PodDecision decision_;
  json::object set_;  // container -> variable -> value
  bool needs_folder_ = false;
};

}  // namespace

HandlerAnswer observe(std::string_view admission_review_json, const ObservationSettings& settings) {
  return answer_review(admission_review_json,
                       [&](const json::object& pod) { return Observation(pod, settings).decide(); });
}

}  // namespace autopilot::controller
