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

// Devices of one kind that the kubelet gave to a container, whether or not it uses them. One container may
// have several of the same kind.
struct HeldDevices {
  std::string pod_namespace;
  std::string pod;
  std::string container;
  std::string resource;          // "nvidia.com/gpu"; for a claim the driver: "gpu.nvidia.com"
  std::vector<std::string> ids;  // as the device plugin or the driver calls them

  friend bool operator==(const HeldDevices&, const HeldDevices&) = default;
};

struct PodResources {
  static constexpr std::size_t kMaxPods = 10'000;
  static constexpr std::size_t kMaxHeld = 4096;
  static constexpr std::size_t kMaxIds = 16'384;  // of all together
  // Of a name or an id; the longest that Kubernetes allows is 317 (a prefix, a slash and a name).
  static constexpr std::size_t kMaxName = 320;

  std::vector<HeldDevices> held;  // containers without a device are left out
  std::size_t left_out = 0;       // devices beyond the limits, or with a name that is none

  // Printable ASCII without blanks, quotes and backslashes, not longer than kMaxName.
  [[nodiscard]] static bool is_name(std::string_view text);

  friend bool operator==(const PodResources&, const PodResources&) = default;
};

// A ListPodResourcesResponse of the kubelet's pod-resources API v1, as protobuf: devices of plugins and those
// of claims (DRA); fields that it does not know are skipped. malformed: no such message, or a pod without a
// name. exhausted: more than kMaxPods.
[[nodiscard]] Result<PodResources> parse_pod_resources(std::string_view message);

// As it travels from helper to agent; what is too much for one answer is left out and counted.
[[nodiscard]] std::string format_pod_resources(const PodResources& resources);
// malformed: what no helper of ours says.
[[nodiscard]] Result<PodResources> parse_pod_resources_answer(std::string_view text);

// What the id of a device says about the GPU that it is, or is a part of. One of the members.
struct NamedGpu {
  std::string uuid;           // "GPU-..."
  std::string instance_uuid;  // "MIG-...": of an instance; of which GPU it does not say
  std::string pci_address;    // as the kernel spells it
  std::optional<int> minor;   // the number of /dev/nvidiaN

  friend bool operator==(const NamedGpu&, const NamedGpu&) = default;
};

// `resource` and `id` as in HeldDevices, in the words of NVIDIA's, AMD's and Google's device plugins and of
// NVIDIA's driver for claims. Nothing: no GPU, or a spelling that nobody here knows.
[[nodiscard]] std::optional<NamedGpu> gpu_named_by(std::string_view resource, std::string_view id);

// What the kubelet of this machine knows.
class Kubelet {
 public:
  Kubelet() = default;
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;
  virtual ~Kubelet() = default;

  // Which container holds which devices, now. not_found: no kubelet here, or none with this service; every
  // other error: there is one and it cannot be asked. Thread-safe; returns at the deadline.
  [[nodiscard]] virtual Result<PodResources> pod_resources(MonoTime deadline) const = 0;

  // Of a machine without one.
  [[nodiscard]] static const Kubelet& none();
};

// One field of a message in protobuf's binary form.
struct ProtobufField {
  std::uint32_t number = 0;
  // Of texts, bytes and messages; a part of what is read. Nothing: a number, which nobody here wants.
  std::optional<std::string_view> bytes;
};

// Walks over the fields of one message, in the order of their bytes. Needs no memory.
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message) : rest_(message) {}

  // The next field, nothing at the end. malformed: cut off, a length beyond the message, a field 0, or one of
  // the groups that proto3 does not have; there is nothing to read behind it then.
  [[nodiscard]] Result<std::optional<ProtobufField>> next();

 private:
  [[nodiscard]] Result<std::uint64_t> take_number();
  [[nodiscard]] Result<std::string_view> take(std::uint64_t size);

  std::string_view rest_;
};

}  // namespace autopilot::host
