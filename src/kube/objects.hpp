// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/placement.hpp"

// What is needed of the objects of the API, and no more: the rest of an object is not kept. Read from JSON; a
// field that is missing is as empty as it stands here.
namespace autopilot::kube {

struct JsonObject;  // json_object.hpp

struct Meta {
  std::string name;
  std::string name_space;  // empty for objects of the whole cluster
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
  std::optional<WallTime> added;  // of those that take pods away
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

// How many of a resource there are, by its name. Whole numbers alone: what devices are counted in.
using Devices = std::map<std::string, std::int64_t, std::less<>>;

struct Node {
  Meta meta;
  bool is_unschedulable = false;
  std::vector<Taint> taints;
  std::vector<NodeCondition> conditions;
  Devices capacity;  // also what cannot be used now
  Devices allocatable;
};
[[nodiscard]] Node parse_node(const JsonObject& object);
// malformed: no JSON object.
[[nodiscard]] Result<Node> parse_node(std::string_view text);

// How a container ended.
struct ContainerEnd {
  std::string name;
  std::int64_t exit_code = 0;
  std::string reason;   // "Completed", "Error", "OOMKilled"
  std::string message;  // what it left in its termination log
  friend bool operator==(const ContainerEnd&, const ContainerEnd&) = default;
};

// A container that begins before others do.
struct InitContainer {
  std::string name;
  std::optional<std::int64_t> exit_code;  // nothing: it waits or runs
  bool stays = false;                     // runs on beside the others (restartPolicy Always)
  bool has_devices = false;               // asks for such as Devices counts
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
  Devices devices;                         // that its containers ask for together
  std::vector<std::string> device_claims;  // names of ResourceClaims
  std::vector<ContainerEnd> ends;          // of its containers, those that begin not among them
  std::string waiting;                     // why the first container that waits does: "ImagePullBackOff"
  std::string unscheduled;                 // why the scheduler finds no node for it, in its words
  [[nodiscard]] bool is_over() const { return phase == "Succeeded" || phase == "Failed"; }
};
[[nodiscard]] Pod parse_pod(const JsonObject& object);
[[nodiscard]] Result<Pod> parse_pod(std::string_view text);

struct StorageClass {
  Meta meta;
  std::string provisioner;
  bool waits_for_consumer = false;  // binds a claim when a pod uses it, not before
  bool keeps_volumes = false;       // a volume stays when its claim goes
};
// malformed: no JSON object.
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
  std::int64_t active = 0;  // pods, also those that wait for their node
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  bool is_complete = false;  // by its conditions: a Job is over when it says so, whatever its numbers are
  bool is_failed = false;
  std::string reason;  // of the condition: "DeadlineExceeded", "BackoffLimitExceeded"
  std::string message;
  [[nodiscard]] bool is_over() const { return is_complete || is_failed; }
};
[[nodiscard]] Job parse_job(const JsonObject& object);
// malformed: no JSON object.
[[nodiscard]] Result<Job> parse_job(std::string_view text);

// One address of those who serve a Service.
struct Endpoint {
  std::string address;   // of the slice's kind: an IP address or a name
  bool is_ready = true;  // also where nobody says so
  std::string node;
  std::string pod;  // empty: something else serves
  // Names of the ports of the Service that it serves: those of its slice.
  std::vector<std::string> ports = {};
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
struct EndpointPort {
  std::string name;  // empty: it has none
  std::uint16_t number = 0;
  friend bool operator==(const EndpointPort&, const EndpointPort&) = default;
};
// A part of the endpoints of a Service. A port of no number of its own is left out.
struct EndpointSlice {
  Meta meta;
  std::string address_type;  // "IPv4", "IPv6", "FQDN"
  std::vector<Endpoint> endpoints;
  std::vector<EndpointPort> ports;
};
[[nodiscard]] EndpointSlice parse_endpoint_slice(const JsonObject& object);
// The items of a list. malformed: no JSON object.
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
// malformed: no JSON object.
[[nodiscard]] Result<Lease> parse_lease(std::string_view text);

}  // namespace autopilot::kube
