// SPDX-License-Identifier: Apache-2.0

#include "kube/objects.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <limits>
#include <utility>

#include "core/parse.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

std::map<std::string, std::string, std::less<>> text_map_at(const json::object& object, Names names) {
  std::map<std::string, std::string, std::less<>> texts;
  const json::object* found = object_at(object, names);
  if (found == nullptr) return texts;
  for (const auto& [name, value] : *found)
    if (value.is_string()) texts.emplace(name, text_of(value));
  return texts;
}

std::optional<WallTime> object_time_at(const json::object& object, Names names) {
  return parse_time(text_at(object, names));
}

// Limit of one container or node. A larger number becomes the limit, so that sums are exact.
constexpr std::int64_t kMostDevices = std::int64_t{1} << 31;
// The limit of the API.
constexpr std::int64_t kLongestLeaseSeconds = std::numeric_limits<std::int32_t>::max();

// A quantity of devices is a string ("8") or a number; processors ("500m") and bytes ("1Gi") are not device
// quantities.
Devices devices_at(const json::object& object, Names names) {
  Devices devices;
  const json::object* found = object_at(object, names);
  if (found == nullptr) return devices;
  for (const auto& [name, value] : *found) {
    const auto count =
        value.is_string() ? parse_number<std::int64_t>(text_of(value)) : number_at(*found, {name});
    if (count) devices.emplace(name, std::clamp<std::int64_t>(*count, 0, kMostDevices));
  }
  return devices;
}

Devices sum(Devices one, const Devices& other) {
  for (const auto& [name, count] : other)
    one[name] += count;
  return one;
}

Devices most(Devices one, const Devices& other) {
  for (const auto& [name, count] : other)
    one[name] = std::max(one[name], count);
  return one;
}

// Containers run at the same time. Init containers run before them, one after the other, and sidecars keep
// running. The limit is the number of requested devices.
Devices devices_of_pod(const json::object& pod) {
  Devices staying;
  Devices needed;
  for (const json::object* container : objects_at(pod, {"spec", "initContainers"})) {
    const Devices asked = devices_at(*container, {"resources", "limits"});
    needed = most(std::move(needed), sum(staying, asked));
    if (text_at(*container, {"restartPolicy"}) == "Always") staying = sum(std::move(staying), asked);
  }
  for (const json::object* container : objects_at(pod, {"spec", "containers"})) {
    staying = sum(std::move(staying), devices_at(*container, {"resources", "limits"}));
  }
  return most(std::move(needed), staying);
}

ContainerEnd end_of(const json::object& container) {
  return {.name = std::string(text_at(container, {"name"})),
          .exit_code = number_at(container, {"state", "terminated", "exitCode"}).value_or(0),
          .reason = std::string(text_at(container, {"state", "terminated", "reason"})),
          .message = std::string(text_at(container, {"state", "terminated", "message"}))};
}

std::vector<InitContainer> init_containers_of(const json::object& pod) {
  std::vector<InitContainer> containers;
  for (const json::object* container : objects_at(pod, {"spec", "initContainers"})) {
    containers.push_back({.name = std::string(text_at(*container, {"name"})),
                          .exit_code = std::nullopt,
                          .stays = text_at(*container, {"restartPolicy"}) == "Always",
                          .has_devices = !devices_at(*container, {"resources", "limits"}).empty()});
  }
  for (const json::object* status : objects_at(pod, {"status", "initContainerStatuses"})) {
    const auto found = std::ranges::find(containers, text_at(*status, {"name"}), &InitContainer::name);
    if (found != containers.end()) found->exit_code = number_at(*status, {"state", "terminated", "exitCode"});
  }
  return containers;
}

std::vector<NodeRequirement> requirements_at(const json::object& term, Names names) {
  std::vector<NodeRequirement> wanted;
  for (const json::object* one : objects_at(term, names)) {
    NodeRequirement& made = wanted.emplace_back();
    made.key = text_at(*one, {"key"});
    made.op = text_at(*one, {"operator"});
    if (const json::array* values = array_at(*one, {"values"}))
      for (const json::value& value : *values)
        if (const json::string* text = value.if_string())
          made.values.emplace_back(text->data(), text->size());
  }
  return wanted;
}

Placement placement_of(const json::object& pod) {
  Placement placement;
  placement.selector = text_map_at(pod, {"spec", "nodeSelector"});
  const Names required{"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"};
  if (const json::object* wanted = object_at(pod, required)) {
    placement.terms.emplace();
    for (const json::object* term : objects_at(*wanted, {"nodeSelectorTerms"}))
      placement.terms->push_back(
          {requirements_at(*term, {"matchExpressions"}), requirements_at(*term, {"matchFields"})});
  }
  for (const json::object* one : objects_at(pod, {"spec", "tolerations"})) {
    placement.tolerations.push_back(
        {std::string(text_at(*one, {"key"})), std::string(text_at(*one, {"operator"})),
         std::string(text_at(*one, {"value"})), std::string(text_at(*one, {"effect"}))});
  }
  return placement;
}

// Applies `parse` to the object in the text.
template <class T>
Result<T> parse_text(std::string_view text, T (*parse)(const JsonObject&)) {
  const auto object = parse_object(text);
  if (!object) return fail(Errc::malformed, "not a JSON object");
  return parse(JsonObject{*object});
}

template <class T, T (*Parse)(const JsonObject&)>
std::vector<T> items_of(const JsonObject& list) {
  std::vector<T> items;
  for (const json::object* item : objects_at(list.value, {"items"}))
    items.push_back(Parse({*item}));
  return items;
}

StorageClass storage_class_of(const JsonObject& object) {
  StorageClass found;
  found.meta = parse_meta(object);
  found.provisioner = text_at(object.value, {"provisioner"});
  found.waits_for_consumer = text_at(object.value, {"volumeBindingMode"}) == "WaitForFirstConsumer";
  found.keeps_volumes = text_at(object.value, {"reclaimPolicy"}) == "Retain";
  return found;
}

}  // namespace

Meta parse_meta(const JsonObject& object) {
  const json::object& members = object.value;
  Meta meta;
  meta.name = text_at(members, {"metadata", "name"});
  meta.name_space = text_at(members, {"metadata", "namespace"});
  meta.uid = text_at(members, {"metadata", "uid"});
  meta.version = text_at(members, {"metadata", "resourceVersion"});
  meta.labels = text_map_at(members, {"metadata", "labels"});
  meta.annotations = text_map_at(members, {"metadata", "annotations"});
  meta.is_deleting = !text_at(members, {"metadata", "deletionTimestamp"}).empty();
  return meta;
}

Node parse_node(const JsonObject& object) {
  const json::object& members = object.value;
  Node node;
  node.meta = parse_meta(object);
  node.is_unschedulable = flag_at(members, {"spec", "unschedulable"});
  for (const json::object* taint : objects_at(members, {"spec", "taints"})) {
    node.taints.push_back({std::string(text_at(*taint, {"key"})), std::string(text_at(*taint, {"value"})),
                           std::string(text_at(*taint, {"effect"})), object_time_at(*taint, {"timeAdded"})});
  }
  for (const json::object* condition : objects_at(members, {"status", "conditions"})) {
    node.conditions.push_back(
        {std::string(text_at(*condition, {"type"})), std::string(text_at(*condition, {"status"})),
         std::string(text_at(*condition, {"reason"})), std::string(text_at(*condition, {"message"})),
         object_time_at(*condition, {"lastHeartbeatTime"}),
         object_time_at(*condition, {"lastTransitionTime"})});
  }
  node.capacity = devices_at(members, {"status", "capacity"});
  node.allocatable = devices_at(members, {"status", "allocatable"});
  return node;
}

Result<Node> parse_node(std::string_view text) {
  return parse_text<Node>(text, parse_node);
}

Pod parse_pod(const JsonObject& object) {
  const json::object& members = object.value;
  Pod pod;
  pod.meta = parse_meta(object);
  pod.node = text_at(members, {"spec", "nodeName"});
  pod.phase = text_at(members, {"status", "phase"});
  pod.account = text_at(members, {"spec", "serviceAccountName"});
  for (const json::object* owner : objects_at(members, {"metadata", "ownerReferences"})) {
    if (!flag_at(*owner, {"controller"})) continue;
    pod.owner_kind = text_at(*owner, {"kind"});
    pod.owner_name = text_at(*owner, {"name"});
    pod.owner_api_version = text_at(*owner, {"apiVersion"});
    pod.owner_uid = text_at(*owner, {"uid"});
  }
  pod.priority = number_at(members, {"spec", "priority"}).value_or(0);
  pod.active_deadline = number_at(members, {"spec", "activeDeadlineSeconds"});
  pod.init_containers = init_containers_of(members);
  for (const json::object* address : objects_at(members, {"status", "podIPs"}))
    pod.addresses.emplace_back(text_at(*address, {"ip"}));
  pod.placement = placement_of(members);
  pod.devices = devices_of_pod(members);
  for (const json::object* claim : objects_at(members, {"spec", "resourceClaims"}))
    pod.device_claims.emplace_back(text_at(*claim, {"name"}));
  for (const json::object* container : objects_at(members, {"status", "containerStatuses"})) {
    if (pod.waiting.empty()) pod.waiting = text_at(*container, {"state", "waiting", "reason"});
    if (object_at(*container, {"state", "terminated"}) != nullptr) pod.ends.push_back(end_of(*container));
  }
  for (const json::object* condition : objects_at(members, {"status", "conditions"})) {
    if (text_at(*condition, {"type"}) == "PodScheduled" && text_at(*condition, {"status"}) == "False")
      pod.unscheduled = text_at(*condition, {"message"});
  }
  return pod;
}

Job parse_job(const JsonObject& object) {
  const json::object& members = object.value;
  Job job;
  job.meta = parse_meta(object);
  job.active = number_at(members, {"status", "active"}).value_or(0);
  job.succeeded = number_at(members, {"status", "succeeded"}).value_or(0);
  job.failed = number_at(members, {"status", "failed"}).value_or(0);
  for (const json::object* condition : objects_at(members, {"status", "conditions"})) {
    if (text_at(*condition, {"status"}) != "True") continue;
    const std::string_view type = text_at(*condition, {"type"});
    if (type != "Complete" && type != "Failed") continue;
    (type == "Complete" ? job.is_complete : job.is_failed) = true;
    job.reason = text_at(*condition, {"reason"});
    job.message = text_at(*condition, {"message"});
  }
  return job;
}

Result<Job> parse_job(std::string_view text) {
  return parse_text<Job>(text, parse_job);
}

Result<std::vector<Job>> parse_jobs(std::string_view text) {
  return parse_text(text, items_of<Job, parse_job>);
}

Result<Pod> parse_pod(std::string_view text) {
  return parse_text<Pod>(text, parse_pod);
}

Result<std::vector<Pod>> parse_pods(std::string_view text) {
  return parse_text(text, items_of<Pod, parse_pod>);
}

Result<StorageClass> parse_storage_class(std::string_view text) {
  return parse_text(text, storage_class_of);
}

PersistentVolumeClaim parse_claim(const JsonObject& object) {
  PersistentVolumeClaim claim;
  claim.meta = parse_meta(object);
  claim.phase = text_at(object.value, {"status", "phase"});
  claim.volume = text_at(object.value, {"spec", "volumeName"});
  return claim;
}

Result<PersistentVolumeClaim> parse_claim(std::string_view text) {
  return parse_text<PersistentVolumeClaim>(text, parse_claim);
}

Result<std::vector<PersistentVolumeClaim>> parse_claims(std::string_view text) {
  return parse_text(text, items_of<PersistentVolumeClaim, parse_claim>);
}

EndpointSlice parse_endpoint_slice(const JsonObject& object) {
  const json::object& members = object.value;
  EndpointSlice slice;
  slice.meta = parse_meta(object);
  slice.address_type = text_at(members, {"addressType"});
  for (const json::object* member : objects_at(members, {"endpoints"})) {
    const json::array* addresses = array_at(*member, {"addresses"});
    if (addresses == nullptr || addresses->empty() || !addresses->front().is_string()) continue;
    const json::value* ready = value_at(*member, {"conditions", "ready"});
    const json::string& address = addresses->front().get_string();
    const bool is_pod = text_at(*member, {"targetRef", "kind"}) == "Pod";
    slice.endpoints.push_back(
        {.address = std::string(address.data(), address.size()),
         .is_ready = ready == nullptr || !ready->is_bool() || ready->get_bool(),
         .node = std::string(text_at(*member, {"nodeName"})),
         .pod = is_pod ? std::string(text_at(*member, {"targetRef", "name"})) : std::string()});
  }
  for (const json::object* member : objects_at(members, {"ports"})) {
    const auto number = number_at(*member, {"port"});
    if (number && *number > 0 && *number <= std::numeric_limits<std::uint16_t>::max())
      slice.ports.push_back({std::string(text_at(*member, {"name"})), static_cast<std::uint16_t>(*number)});
  }
  for (Endpoint& endpoint : slice.endpoints)
    for (const EndpointPort& port : slice.ports)
      endpoint.ports.push_back(port.name);
  return slice;
}

Result<std::vector<EndpointSlice>> parse_endpoint_slices(std::string_view text) {
  return parse_text(text, items_of<EndpointSlice, parse_endpoint_slice>);
}

Lease parse_lease(const JsonObject& object) {
  const json::object& members = object.value;
  Lease lease;
  lease.meta = parse_meta(object);
  lease.holder = text_at(members, {"spec", "holderIdentity"});
  lease.acquired = object_time_at(members, {"spec", "acquireTime"});
  lease.renewed = object_time_at(members, {"spec", "renewTime"});
  if (const auto seconds = number_at(members, {"spec", "leaseDurationSeconds"}))
    lease.duration = std::chrono::seconds{std::clamp<std::int64_t>(*seconds, 0, kLongestLeaseSeconds)};
  lease.transitions = number_at(members, {"spec", "leaseTransitions"}).value_or(0);
  return lease;
}

Result<Lease> parse_lease(std::string_view text) {
  return parse_text<Lease>(text, parse_lease);
}

Result<std::string> read_list_page(std::string_view json,
                                   const std::function<void(const JsonObject& object)>& take) {
  const auto list = parse_object(json);
  const json::array* items = list ? array_at(*list, {"items"}) : nullptr;
  if (items == nullptr) return fail(Errc::malformed, "not a list of the API");
  for (const json::value& item : *items)
    if (const json::object* object = item.if_object()) take({*object});
  return std::string(text_at(*list, {"metadata", "continue"}));
}

Status read_object(std::string_view json, const std::function<void(const JsonObject& object)>& take) {
  const auto object = parse_object(json);
  if (!object) return fail(Errc::malformed, "not a JSON object");
  take({*object});
  return {};
}

namespace {

// Older runtimes add a scheme: "docker-pullable://".
std::string pinned_of(std::string_view id) {
  if (const auto scheme = id.find("://"); scheme != std::string_view::npos) id.remove_prefix(scheme + 3);
  return id.find("@sha256:") == std::string_view::npos ? "" : std::string(id);
}

std::string pinned_of(const json::object& pod, std::string_view container) {
  for (const json::object* status : objects_at(pod, {"status", "containerStatuses"}))
    if (text_at(*status, {"name"}) == container) return pinned_of(text_at(*status, {"imageID"}));
  return "";
}

}  // namespace

Result<std::vector<ContainerImage>> parse_container_images(std::string_view pod) {
  const auto object = parse_object(pod);
  if (!object) return fail(Errc::malformed, "not a JSON object");
  std::vector<ContainerImage> images;
  for (const json::object* container : objects_at(*object, {"spec", "containers"})) {
    ContainerImage image{.name = std::string(text_at(*container, {"name"})),
                         .image = std::string(text_at(*container, {"image"})),
                         .pinned = {}};
    image.pinned = pinned_of(*object, image.name);
    images.push_back(std::move(image));
  }
  return images;
}

}  // namespace autopilot::kube
