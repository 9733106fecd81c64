// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::host {

// Devices of one resource that the kubelet assigned to a container, used or not. A container may have several
// entries of one resource.
struct HeldDevices {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  std::string resource;          // "nvidia.com/gpu"; for a claim the driver: "gpu.nvidia.com"
  std::vector<std::string> ids;  // as the device plugin or the driver names them

  friend bool operator==(const HeldDevices&, const HeldDevices&) = default;
};

struct PodResources {
  static constexpr std::size_t kMaxPods = 10'000;
  static constexpr std::size_t kMaxHeld = 4096;
  static constexpr std::size_t kMaxIds = 16'384;  // of all entries together
  // Bytes of a name or an id. The longest that Kubernetes allows is 317 (a prefix, a slash and a name).
  static constexpr std::size_t kMaxName = 320;

  std::vector<HeldDevices> held;  // without containers that have no device
  std::size_t left_out = 0;       // devices beyond the limits, or with an invalid name

  // True for printable ASCII without blanks, quotes and backslashes, of 1 to kMaxName bytes.
  [[nodiscard]] static bool is_name(std::string_view text);

  friend bool operator==(const PodResources&, const PodResources&) = default;
};

// A ListPodResourcesResponse of the kubelet's pod-resources API v1, as protobuf: devices of plugins and of
// claims (DRA). Unknown fields are skipped. malformed: not such a message, or a pod without a name.
// exhausted: more than kMaxPods.
[[nodiscard]] Result<PodResources> parse_pod_resources(std::string_view message);

// The message from helper to agent. Devices beyond its size limit are left out and counted.
[[nodiscard]] std::string format_pod_resources(const PodResources& resources);
// malformed: not such a message.
[[nodiscard]] Result<PodResources> parse_pod_resources_answer(std::string_view text);

// The GPU that the id of a device identifies, or whose part it identifies. One member is set.
struct NamedGpu {
  std::string uuid;           // "GPU-..."
  std::string instance_uuid;  // "MIG-...": of an instance; its GPU is unknown
  std::string pci_address;    // in the kernel's spelling
  std::optional<int> minor;   // the number of /dev/nvidiaN

  friend bool operator==(const NamedGpu&, const NamedGpu&) = default;
};

// `resource` and `id` as in HeldDevices, in the formats of NVIDIA's, AMD's and Google's device plugins and of
// NVIDIA's DRA driver. Empty: not a GPU, or an unknown format.
[[nodiscard]] std::optional<NamedGpu> gpu_named_by(std::string_view resource, std::string_view id);

// The kubelet of this machine.
class Kubelet {
 public:
  Kubelet() = default;
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;
  virtual ~Kubelet() = default;

  // The devices that containers hold now. not_found: no kubelet, or a kubelet without this service. Any other
  // error: the kubelet exists and the request failed. Thread-safe; returns by the deadline.
  [[nodiscard]] virtual Result<PodResources> pod_resources(MonoTime deadline) const = 0;

  // The kubelet of a machine without one.
  [[nodiscard]] static const Kubelet& none();
};

// One field of a message in protobuf's binary form.
struct ProtobufField {
  std::uint32_t number = 0;
  // The value of a text, bytes or a message, a view into the parsed message. Empty for a number, which is
  // skipped.
  std::optional<std::string_view> bytes;
};

// Reads the fields of one message in order. Allocates no memory.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // The next field; empty at the end. malformed: truncated, a length beyond the message, field number 0, or a
  // group, which proto3 does not have; do not call it again then.
  [[nodiscard]] Result<std::optional<ProtobufField>> next();

 private:
  [[nodiscard]] Result<std::uint64_t> take_number();
  [[nodiscard]] Result<std::string_view> take(std::uint64_t size);

  std::string_view rest_;
};

}  // namespace autopilot::host
