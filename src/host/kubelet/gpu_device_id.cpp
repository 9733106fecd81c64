// SPDX-License-Identifier: Apache-2.0
#include "host/kubelet/gpu_device_id.hpp"

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kUuid = "GPU-";
constexpr std::string_view kInstance = "MIG-";
constexpr std::string_view kNvidiaClaims = "gpu.nvidia.com";

// In front of the number of a replica: NVIDIA's plugin, and AMD's.
std::string_view without_replica(std::string_view id) {
  id = id.substr(0, id.find("::"));
  return id.substr(0, id.find("-slice-"));
}

// "12" of "12/gi0" or "12-mig-9-4-4"; a number must end there.
std::optional<int> leading_number(std::string_view text, char separator) {
  return parse_number<int>(text.substr(0, text.find(separator)));
}

// "MIG-<uuid>", or as drivers before 470 say "MIG-GPU-<uuid>/<instance>/<part>".
NamedGpu instance_named_by(std::string_view id) {
  NamedGpu named;
  const std::string_view rest = id.substr(kInstance.size());
  if (rest.starts_with(kUuid)) {
    named.uuid = rest.substr(0, rest.find('/'));
  } else {
    named.instance_uuid = id;
  }
  return named;
}

std::optional<NamedGpu> of_minor(std::optional<int> minor) {
  if (!minor || *minor < 0) return std::nullopt;
  NamedGpu named;
  named.minor = minor;
  return named;
}

}  // namespace

std::optional<NamedGpu> gpu_named_by(std::string_view resource, std::string_view id) {
  id = without_replica(id);
  if (id.starts_with(kInstance)) return instance_named_by(id);
  NamedGpu named;
  if (id.starts_with(kUuid)) {
    named.uuid = id;
    return named;
  }
  // "gpu-0", "gpu-0-mig-9-4-4"; "gpu-vfio-0" is counted otherwise.
  if (resource == kNvidiaClaims)
    return id.starts_with("gpu-") ? of_minor(leading_number(id.substr(4), '-')) : std::nullopt;
  // "nvidia0", "nvidia0/gi0", "nvidia0/vgpu0"
  if (id.starts_with("nvidia")) return of_minor(leading_number(id.substr(6), '/'));
  // Whole and with its domain: a plugin may count "0:1" whatever it likes.
  const auto address = canonical_pci_address(id);
  if (!address || *address != to_lower(id)) return std::nullopt;
  named.pci_address = *address;
  return named;
}

}  // namespace autopilot::host
