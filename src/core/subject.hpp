// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/interned.hpp"

namespace autopilot {

enum class SubjectKind : std::uint8_t {
  gpu,           // key: PCI address "0000:3b:00.0"
  gpu_instance,  // key: "<gpu>/<gpu instance>[/<compute instance>]"
  nvlink,        // key: "<gpu>/<link>"
  nvswitch,      // key: PCI address
  nic_port,      // key: "mlx5_0/1" for InfiniBand, interface name for Ethernet; see port_at
  link,          // key: "<end>|<end>", or one end if the other is unknown
  disk,          // key: kernel name "nvme0", "sda"
  mount,         // key: mount point
  peer,          // key: node name, address of a gateway, name or file server, "<storage class>/<access mode>"
  host,          // key: "" (this machine)
  process,       // key: pid
  pod,           // key: "<namespace>/<name>"
  job,           // key: "<namespace>/<name>"
  domain,        // key: NVLink cluster UUID and clique
};

[[nodiscard]] std::string_view to_string(SubjectKind kind);
[[nodiscard]] std::optional<SubjectKind> parse_subject_kind(std::string_view word);

// What an observation or a finding is about. Its identity is kind + key, within one boot.
struct Subject {
  SubjectKind kind = SubjectKind::host;
  std::string key;
  std::optional<int>
      index;        // the driver's index, for display and compatibility; it changes when a GPU is lost
  Interned uuid;    // follows the card across boots and slots; empty if unknown
  Interned serial;  // the same

  friend bool operator==(const Subject& a, const Subject& b) { return a.kind == b.kind && a.key == b.key; }
  friend std::strong_ordering operator<=>(const Subject& a, const Subject& b) {
    if (const auto order = a.kind <=> b.kind; order != 0) return order;
    return a.key <=> b.key;
  }
};

[[nodiscard]] inline Subject host_subject() {
  return {};
}
// "gpu/0000:3b:00.0"; "host" for this machine.
[[nodiscard]] std::string to_string(const Subject& subject);
// Parses the output of to_string; index, uuid and serial stay empty.
[[nodiscard]] std::optional<Subject> parse_subject(std::string_view text);

// The keys of both ends of a link; the second is empty if only one end is known.
[[nodiscard]] std::pair<std::string_view, std::string_view> ends_of(const Subject& link);

// A port of a node as tests between nodes report it, including ports of this node: nic_port/gpu-5:net0. Port
// names of the kernel have no colon.
[[nodiscard]] Subject port_at(std::string_view node, std::string_view port);
[[nodiscard]] bool is_port_at_node(const Subject& subject);

// A PCI address in the kernel's form: lower case, four-digit domain, function digit. Accepts "3B:00",
// "0000:3b:00" and NVML's "00000000:3B:00.0". nullopt if the text is not a PCI address.
[[nodiscard]] std::optional<std::string> canonical_pci_address(std::string_view text);

}  // namespace autopilot
