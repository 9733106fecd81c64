// SPDX-License-Identifier: Apache-2.0
#include "host/facts/pci_facts.hpp"

#include <cstdint>
#include <string_view>

#include "host/pci/pci.hpp"

namespace autopilot::host {
namespace {

// Of the PCI Express specification: the extended capabilities begin behind the first 256 bytes; the upper 16
// bits of their first word are the offset of the next one, in its upper 12 bits.
constexpr std::size_t kConfigBytes = 4096;
constexpr std::size_t kFirstExtended = 0x100;
constexpr std::uint32_t kAccessControl = 0x000D;
constexpr std::size_t kControlRegister = 6;
// P2P Request Redirect, P2P Completion Redirect, Upstream Forwarding.
constexpr std::uint32_t kRedirects = 0x001C;
constexpr unsigned kPciBridge = 0x0604;

std::uint32_t word_at(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < size; ++i)
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return word;
}

}  // namespace

Result<bool> redirects_peer_traffic(std::string_view config) {
  if (config.size() < kConfigBytes)
    return fail(Errc::denied, "only the first " + std::to_string(config.size()) +
                                  " bytes of the configuration space are readable: CAP_SYS_ADMIN is missing");
  std::size_t offset = kFirstExtended;
  // A chain of capabilities that leads back ends after as many as there is room for.
  for (std::size_t i = 0; i < kConfigBytes / 4 && offset >= kFirstExtended && offset + 8 <= kConfigBytes;
       ++i) {
    const std::uint32_t header = word_at(config, offset, 4);
    if ((header & 0xFFFFU) == kAccessControl)
      return (word_at(config, offset + kControlRegister, 2) & kRedirects) != 0;
    offset = (header >> 20U) & 0xFFCU;
  }
  return false;
}

PciIsolation read_pci_isolation(const Files& files) {
  PciIsolation isolation;
  if (const auto units = files.list_sysfs("/sys/class/iommu")) isolation.has_iommu = !units->empty();
  const auto classes = read_pci_classes(files);
  if (!classes) {
    isolation.problem = classes.error().what;
    return isolation;
  }
  std::size_t redirecting = 0;
  for (const auto& [address, code] : *classes) {
    if (!code || *code >> 8U != kPciBridge || is_pci_asleep(files, address)) continue;
    const auto config = files.read_beginning("/sys/bus/pci/devices/" + address + "/config", kConfigBytes);
    const auto redirects = config ? redirects_peer_traffic(*config) : fail(config.error());
    if (!redirects) {
      isolation.problem = address + ": " + redirects.error().what;
      return isolation;
    }
    if (*redirects) ++redirecting;
  }
  isolation.redirecting_bridges = redirecting;
  return isolation;
}

}  // namespace autopilot::host
