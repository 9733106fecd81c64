// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/placement.hpp"

namespace autopilot::kube {

// The needed parts of API objects, read from JSON; the rest is dropped. A missing field gets its default
// here.

struct JsonObject;  // json_object.hpp

struct Meta {
  std::string name;
  std::string name_space;  // empty for cluster-scoped objects
  std::string uid;
  std::string version;  // resourceVersion
  std::map<std::string, std::string, std::less<>> labels;
  std::map<std::string, std::string, std::less<>> annotations;
  bool is_deleting = false;
};
[[nodiscard]] Meta parse_meta(const JsonObject& object);

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  std::optional<WallTime> added;  // set for taints that evict pods
  friend bool operator==(const Taint&, const Taint&) = default;
};

struct NodeCondition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  std::optional<WallTime> heartbeat;
  std::optional<WallTime> transition;
};

// Number of each resource by its name. Integers only, as used for devices.
using Devices = std::map<std::string, std::int64_t, std::less<>>;

struct Node {
  Meta meta;
  bool is_unschedulable = false;
  std::vector<Taint> taints;
  std::vector<NodeCondition> conditions;
  Devices capacity;  // includes devices that cannot be used now
  Devices allocatable;
};
[[nodiscard]] Node parse_node(const JsonObject& object);
// malformed: not a JSON object.
[[nodiscard]] Result<Node> parse_node(std::string_view text);

// How a container ended.
struct ContainerEnd {
  std::string name;
  std::int64_t exit_code = 0;
  std::string reason;   // "Completed", "Error", "OOMKilled"
  std::string message;  // its termination message
  friend bool operator==(const ContainerEnd&, const ContainerEnd&) = default;
};

// An init container.
struct InitContainer {
  std::string name;
  std::optional<std::int64_t> exit_code;  // nullopt: waiting or running
  bool stays = false;                     // sidecar (restartPolicy Always)
  bool has_devices = false;               // requests devices
  friend bool operator==(const InitContainer&, const InitContainer&) = default;
};

struct Pod {
  Meta meta;
  std::string node;
  std::string phase;       // "Pending", "Running", "Succeeded", "Failed", "Unknown"
  std::string owner_kind;  // of the controlling owner
  std::string owner_name;
  std::string owner_uid;
  std::string owner_api_version;  // "batch/v1"
  std::string account;            // its service account
  std::int64_t priority = 0;
  std::vector<InitContainer> init_containers;  // in their order
  std::vector<std::string> addresses;
  Placement placement;
  Devices devices;                              // total of its containers
  std::vector<std::string> device_claims;       // names of ResourceClaims
  std::vector<ContainerEnd> ends;               // of its containers, without init containers
  std::string waiting;                          // reason of the first waiting container: "ImagePullBackOff"
  std::string unscheduled;                      // the scheduler's message if it finds no node
  std::optional<std::int64_t> active_deadline;  // spec.activeDeadlineSeconds
  [[nodiscard]] bool is_over() const { return phase == "Succeeded" || phase == "Failed"; }
};
[[nodiscard]] Pod parse_pod(const JsonObject& object);
[[nodiscard]] Result<Pod> parse_pod(std::string_view text);

struct StorageClass {
  Meta meta;
  std::string provisioner;
  bool waits_for_consumer = false;  // binds a claim only when a pod uses it
  bool keeps_volumes = false;       // a volume remains after its claim is deleted
};
// malformed: not a JSON object.
[[nodiscard]] Result<StorageClass> parse_storage_class(std::string_view text);

struct PersistentVolumeClaim {
  Meta meta;
  std::string phase;  // "Pending", "Bound", "Lost"
  std::string volume;
};
[[nodiscard]] PersistentVolumeClaim parse_claim(const JsonObject& object);
[[nodiscard]] Result<PersistentVolumeClaim> parse_claim(std::string_view text);

struct Job {
  Meta meta;
  std::int64_t active = 0;  // pods, including pods that wait for a node
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  bool is_complete = false;  // from its conditions: a condition decides whether a Job is over, not its counts
  bool is_failed = false;
  std::string reason;  // of the condition: "DeadlineExceeded", "BackoffLimitExceeded"
  std::string message;
  [[nodiscard]] bool is_over() const { return is_complete || is_failed; }
};
[[nodiscard]] Job parse_job(const JsonObject& object);
// malformed: not a JSON object.
[[nodiscard]] Result<Job> parse_job(std::string_view text);

// One address that serves a Service.
struct Endpoint {
  std::string address;   // of the slice's kind: an IP address or a name
  bool is_ready = true;  // true if the slice does not state it
  std::string node;
  std::string pod;  // empty: not a pod
  // Names of the Service ports that it serves: those of its slice.
  std::vector<std::string> ports = {};
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
struct EndpointPort {
  std::string name;  // empty: no name
  std::uint16_t number = 0;
  friend bool operator==(const EndpointPort&, const EndpointPort&) = default;
};
// A part of the endpoints of a Service. A port without a number is left out.
struct EndpointSlice {
  Meta meta;
  std::string address_type;  // "IPv4", "IPv6", "FQDN"
  std::vector<Endpoint> endpoints;
  std::vector<EndpointPort> ports;
};
[[nodiscard]] EndpointSlice parse_endpoint_slice(const JsonObject& object);
// The items of a list. malformed: not a JSON object.
[[nodiscard]] Result<std::vector<EndpointSlice>> parse_endpoint_slices(std::string_view text);
[[nodiscard]] Result<std::vector<Pod>> parse_pods(std::string_view text);
[[nodiscard]] Result<std::vector<PersistentVolumeClaim>> parse_claims(std::string_view text);
[[nodiscard]] Result<std::vector<Job>> parse_jobs(std::string_view text);

struct Lease {
  Meta meta;
  std::string holder;
  std::optional<WallTime> acquired;
  std::optional<WallTime> renewed;
  std::optional<Duration> duration;
  std::int64_t transitions = 0;
};
[[nodiscard]] Lease parse_lease(const JsonObject& object);
// malformed: not a JSON object.
[[nodiscard]] Result<Lease> parse_lease(std::string_view text);

struct JsonObject;  // json_object.hpp

// Calls `take` with each object of one page of a list. Returns the `continue` token of the next page; empty
// on the last page. malformed: not a list.
[[nodiscard]] Result<std::string> read_list_page(std::string_view json,
                                                 const std::function<void(const JsonObject& object)>& take);

// Calls `take` with the object in the text. malformed: not a JSON object.
[[nodiscard]] Status read_object(std::string_view json,
                                 const std::function<void(const JsonObject& object)>& take);

// The image of a container of a pod.
struct ContainerImage {
  std::string name;   // of the container
  std::string image;  // as in the pod spec: "registry.example.com/autopilot:0.1.0"
  // The same by its digest, from the kubelet: "registry.example.com/autopilot@sha256:..."; empty if the
  // container has not started, or its image does not come from a registry.
  std::string pinned;
  friend bool operator==(const ContainerImage&, const ContainerImage&) = default;
};
// Images of the containers of a Pod, without init containers. malformed: not a JSON object.
[[nodiscard]] Result<std::vector<ContainerImage>> parse_container_images(std::string_view pod);

// Whole seconds, the precision of times in the Kubernetes API.
[[nodiscard]] inline std::string api_time(WallTime time) {
  const std::string text = format_time(time);
  return text.substr(0, text.find('.')) + "Z";
}

}  // namespace autopilot::kube
