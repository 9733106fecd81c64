// SPDX-License-Identifier: Apache-2.0
#include "incidents/devices.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/parse.hpp"
#include "core/subject.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::incidents {
namespace {

bool is_part_of_gpu(SubjectKind kind) {
  return kind == SubjectKind::nvlink || kind == SubjectKind::gpu_instance;
}

// "/3" of "0000:3b:00.0/3"; empty for a device itself.
std::string part_of(const Subject& subject) {
  if (!is_part_of_gpu(subject.kind)) return {};
  const auto slash = subject.key.find('/');
  return slash == std::string::npos ? std::string{} : subject.key.substr(slash);
}

// NIC ports are not followed: several ports of one card share a serial.
bool is_followed(SubjectKind kind) {
  return kind == SubjectKind::gpu || kind == SubjectKind::nvswitch || kind == SubjectKind::disk;
}

// Both are false if a card has no identity.
bool is_same_card(const Subject& a, const Subject& b) {
  return same_card(a, b).value_or(false);
}

bool is_other_card(const Subject& a, const Subject& b) {
  return !same_card(a, b).value_or(true);
}

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

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// True for "sda1" and "sda", "nvme0n1p2" and "nvme0n1", "nvme0n1" and "nvme0", and equal names; false for
// "sdab" and "sda", "nvme10" and "nvme1".
bool is_part_of(std::string_view part, std::string_view whole) {
  if (whole.empty() || !part.starts_with(whole)) return false;
  std::string_view rest = part.substr(whole.size());
  if (rest.empty()) return true;
  if (!is_digit(whole.back())) return is_digit(rest.front());
  const bool names_part = rest.front() == 'p' || rest.front() == 'n';
  return names_part && rest.size() > 1 && is_digit(rest[1]);
}

std::vector<std::string> faulty_disks(const Finding& finding) {
  std::vector<std::string> names;
  const std::string faulty = word_of(finding, "faulty");
  for (const std::string_view name : split(faulty, ','))
    if (const auto trimmed = trim(name); !trimmed.empty()) names.emplace_back(trimmed);
  return names;
}

std::vector<std::string> disks_of(const Finding& finding) {
  std::vector<std::string> names = faulty_disks(finding);
  if (finding.subject.kind == SubjectKind::disk) names.push_back(finding.subject.key);
  constexpr std::string_view folder = "/dev/";
  if (const std::string source = word_of(finding, "source"); source.starts_with(folder))
    names.push_back(source.substr(folder.size()));
  return names;
}

// True if a name equals or contains a name of the other list. Two partitions of one disk have no common name.
bool have_common(const std::vector<std::string>& disks, const std::vector<std::string>& others) {
  return std::ranges::any_of(disks, [&others](const std::string& disk) {
    return std::ranges::any_of(others, [&disk](const std::string& other) {
      return is_part_of(other, disk) || is_part_of(disk, other);
    });
  });
}

// "sda" for "sda1", "nvme0n1" for "nvme0n1p2".
std::string whole_of(const std::string& name) {
  const auto digits = name.find_last_not_of("0123456789");
  if (digits == std::string::npos || digits + 1 == name.size()) return name;
  const bool has_number_before = digits > 0 && is_digit(name[digits - 1]);
  if (name[digits] == 'p' && has_number_before) return name.substr(0, digits);
  return has_number_before ? name : name.substr(0, digits + 1);
}

bool is_storage(const Finding& finding) {
  return finding.subject.kind == SubjectKind::disk || finding.subject.kind == SubjectKind::mount;
}

}  // namespace

std::optional<bool> same_card(const Subject& a, const Subject& b) {
  if (!a.serial.empty() && !b.serial.empty()) return a.serial == b.serial;
  if (!a.uuid.empty() && !b.uuid.empty()) return a.uuid == b.uuid;
  return std::nullopt;
}

Subject device_of(const Subject& subject) {
  if (!is_part_of_gpu(subject.kind)) return subject;
  Subject device = subject;
  device.kind = SubjectKind::gpu;
  device.key = subject.key.substr(0, subject.key.find('/'));
  device.index.reset();
  return device;
}

void Placement::learn(const Observations& observations) {
  for (const auto& observation : observations) {
    if (observation.is_event()) continue;
    const Subject& subject = observation.subject;
    if (subject.serial.empty() && subject.uuid.empty()) continue;
    // The UUID of a part (a GPU instance has one) does not identify the card in the slot.
    if (is_part_of_gpu(subject.kind)) continue;
    const auto [known, is_new] = cards_.emplace(subject, subject);
    if (is_new) continue;
    if (is_other_card(known->second, subject)) {
      known->second = subject;
      continue;
    }
    if (!subject.serial.empty()) known->second.serial = subject.serial;
    if (!subject.uuid.empty()) known->second.uuid = subject.uuid;
  }
}

Subject Placement::identified(Subject subject) const {
  const auto card = cards_.find(device_of(subject));
  if (card == cards_.end()) return subject;
  // Never mix the identities of two cards.
  if (is_other_card(subject, card->second)) return subject;
  if (subject.serial.empty()) subject.serial = card->second.serial;
  if (subject.uuid.empty()) subject.uuid = card->second.uuid;
  return subject;
}

bool Placement::is_replaced(const Subject& subject) const {
  const auto card = cards_.find(device_of(subject));
  return card != cards_.end() && is_other_card(subject, card->second);
}

std::optional<Subject> Placement::moved_to(const Subject& subject) const {
  const Subject device = device_of(subject);
  if (!is_followed(device.kind)) return std::nullopt;
  const auto here = cards_.find(device);
  if (here != cards_.end() && is_same_card(device, here->second)) return std::nullopt;
  const auto there = std::ranges::find_if(cards_, [&](const auto& other) {
    return other.first.kind == device.kind && other.first.key != device.key &&
           is_same_card(device, other.second);
  });
  if (there == cards_.end()) return std::nullopt;
  Subject moved = subject;
  moved.key = there->first.key + part_of(subject);
  if (moved.kind == there->first.kind) moved.index = there->second.index;
  return moved;
}

bool is_at_same_address(const Finding& a, const Finding& b) {
  const std::string address = address_of(a);
  return (!address.empty() && address == address_of(b)) || is_port_of(a, b) || is_port_of(b, a);
}

bool is_on_same_disk(const Finding& a, const Finding& b) {
  return is_storage(a) && is_storage(b) && have_common(disks_of(a), disks_of(b));
}

bool lost_different_disks(const Finding& a, const Finding& b) {
  std::vector<std::string> disks = faulty_disks(a);
  std::vector<std::string> others = faulty_disks(b);
  if (disks.empty() && others.empty()) return false;
  for (auto* names : {&disks, &others})
    std::ranges::transform(*names, names->begin(), whole_of);
  return !have_common(disks, others);
}

}  // namespace autopilot::incidents
