// SPDX-License-Identifier: Apache-2.0
#include "incidents/placement.hpp"

#include <algorithm>

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

}  // namespace autopilot::incidents
