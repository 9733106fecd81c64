// SPDX-License-Identifier: Apache-2.0
#include "incidents/same_address.hpp"

#include <string>
#include <string_view>

#include "core/subject.hpp"
#include "incidents/evidence.hpp"
#include "incidents/placement.hpp"

namespace autopilot::incidents {
namespace {

// Empty where it is at none.
std::string address_of(const Finding& finding) {
  const Subject device = device_of(finding.subject);
  const bool is_link = device.kind == SubjectKind::link;
  if (!is_link && device.kind != SubjectKind::gpu && device.kind != SubjectKind::nvswitch &&
      device.kind != SubjectKind::nic_port)
    return {};
  const std::string_view key = is_link ? ends_of(device).first : std::string_view(device.key);
  const auto address = canonical_pci_address(key);
  return address == key ? std::string(key) : std::string();
}

bool is_port_of(const Finding& port, const Finding& adapter) {
  return port.subject.kind == SubjectKind::nic_port && adapter.subject.kind == SubjectKind::nic_port &&
         !port.subject.key.empty() && word_of(adapter, "port") == port.subject.key;
}

}  // namespace

bool is_at_same_address(const Finding& a, const Finding& b) {
  const std::string address = address_of(a);
  return (!address.empty() && address == address_of(b)) || is_port_of(a, b) || is_port_of(b, a);
}

}  // namespace autopilot::incidents
