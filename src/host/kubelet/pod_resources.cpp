// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/pod_resources.hpp"

#include <algorithm>
#include <utility>

#include "host/kubelet/protobuf_reader.hpp"

namespace autopilot::host {
namespace {

// Numbers of fields in k8s.io/kubelet/pkg/apis/podresources/v1/api.proto.
namespace field {
constexpr std::uint32_t kPods = 1;
constexpr std::uint32_t kPodName = 1;
constexpr std::uint32_t kPodNamespace = 2;
constexpr std::uint32_t kPodContainers = 3;
constexpr std::uint32_t kContainerName = 1;
constexpr std::uint32_t kContainerDevices = 2;
constexpr std::uint32_t kContainerClaims = 5;
constexpr std::uint32_t kDevicesResource = 1;
constexpr std::uint32_t kDevicesIds = 2;
constexpr std::uint32_t kClaimResources = 4;
constexpr std::uint32_t kClaimDriver = 2;
constexpr std::uint32_t kClaimDevice = 4;
}  // namespace field

// Calls visit(number, bytes) for every field that is text or a message.
template <class Visit>
Status for_each_field(std::string_view message, Visit visit) {
  ProtobufReader reader(message);
  while (const auto field = TRY(reader.next()))
    if (field->bytes) TRY_STATUS(visit(field->number, *field->bytes));
  return {};
}

class PodResourcesParser {
 public:
  Result<PodResources> parse(std::string_view message) {
    TRY_STATUS(for_each_field(message, [this](std::uint32_t number, std::string_view bytes) -> Status {
      return number == field::kPods ? add_pod(bytes) : Status{};
    }));
    return std::move(resources_);
  }

 private:
  // The fields of a message may come in any order: names first, then what stands below them.
  Status add_pod(std::string_view message) {
    if (++pods_ > PodResources::kMaxPods)
      return fail(Errc::exhausted,
                  "the kubelet tells of more than " + std::to_string(PodResources::kMaxPods) + " pods");
    HeldDevices held;
    TRY_STATUS(for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kPodName) held.pod = bytes;
      if (number == field::kPodNamespace) held.pod_namespace = bytes;
      return {};
    }));
    if (!PodResources::is_name(held.pod) || !PodResources::is_name(held.pod_namespace))
      return fail(Errc::malformed, "the kubelet tells of a pod without a name");
    return for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      return number == field::kPodContainers ? add_container(held, bytes) : Status{};
    });
  }

  Status add_container(HeldDevices held, std::string_view message) {
    TRY_STATUS(for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kContainerName) held.container = bytes;
      return {};
    }));
    if (!PodResources::is_name(held.container))
      return fail(Errc::malformed, "the kubelet tells of a container without a name");
    const std::size_t first = resources_.held.size();
    return for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kContainerDevices) return add_devices(held, first, bytes);
      return number == field::kContainerClaims ? add_claim(held, first, bytes) : Status{};
    });
  }

  Status add_devices(const HeldDevices& held, std::size_t first, std::string_view message) {
    std::string_view resource;
    TRY_STATUS(for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kDevicesResource) resource = bytes;
      return {};
    }));
    return for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number == field::kDevicesIds) add_device(held, first, resource, bytes);
      return {};
    });
  }

  Status add_claim(const HeldDevices& held, std::size_t first, std::string_view message) {
    return for_each_field(message, [&](std::uint32_t number, std::string_view bytes) -> Status {
      if (number != field::kClaimResources) return {};
      std::string_view driver;
      std::string_view device;
      TRY_STATUS(for_each_field(bytes, [&](std::uint32_t part, std::string_view text) -> Status {
        if (part == field::kClaimDriver) driver = text;
        if (part == field::kClaimDevice) device = text;
        return {};
      }));
      // A claim may be of something else than a device.
      if (!device.empty()) add_device(held, first, driver, device);
      return {};
    });
  }

  // Those that follow one another are put together; the kubelet tells each NUMA node's for itself.
  void add_device(const HeldDevices& held, std::size_t first, std::string_view resource,
                  std::string_view id) {
    auto& all = resources_.held;
    const bool goes_on = all.size() > first && all.back().resource == resource;
    if (!PodResources::is_name(resource) || !PodResources::is_name(id) || ids_ == PodResources::kMaxIds ||
        (!goes_on && all.size() == PodResources::kMaxHeld)) {
      ++resources_.left_out;
      return;
    }
    if (!goes_on) {
      all.push_back(held);
      all.back().resource = resource;
    }
    all.back().ids.emplace_back(id);
    ++ids_;
  }

  PodResources resources_;
  std::size_t pods_ = 0;
  std::size_t ids_ = 0;
};

}  // namespace

bool PodResources::is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; });
}

Result<PodResources> parse_pod_resources(std::string_view message) {
  return PodResourcesParser().parse(message);
}

}  // namespace autopilot::host
