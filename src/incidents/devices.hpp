// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "core/finding.hpp"
#include "core/observation.hpp"
#include "core/subject.hpp"

namespace autopilot::incidents {

// Compares serials, else UUIDs; nullopt if one side has neither.
[[nodiscard]] std::optional<bool> same_card(const Subject& a, const Subject& b);

// The device of a subject: the GPU of an NVLink or a GPU instance; other subjects are their own device.
[[nodiscard]] Subject device_of(const Subject& subject);

// Card in each slot in this boot, from observations.
class Placement {
 public:
  void learn(const Observations& observations);
  // The subject, completed with serial and UUID of the card in its slot.
  [[nodiscard]] Subject identified(Subject subject) const;
  // True if another card is in the subject's slot.
  [[nodiscard]] bool is_replaced(const Subject& subject) const;
  // The subject with the key of its card's new slot; nullopt: not moved.
  [[nodiscard]] std::optional<Subject> moved_to(const Subject& subject) const;

 private:
  std::map<Subject, Subject> cards_;  // device by slot -> device with serial or UUID
};

// Both are about the device at one PCI address: a GPU, a switch, an adapter by its address, or a link whose
// device it is. An adapter and the port that its evidence names ("port") are one as well.
[[nodiscard]] bool is_at_same_address(const Finding& a, const Finding& b);

// True if both findings concern one disk, by the names of its parts: a controller, its namespaces and their
// partitions (nvme0, nvme0n1, nvme0n1p2), a disk and its partitions (sda, sda1). The disk of a mount is its
// evidence "source", the disks of an array are its evidence "faulty". Volume names (/dev/mapper/x) identify
// no disk.
[[nodiscard]] bool is_on_same_disk(const Finding& a, const Finding& b);

// True for two arrays whose faulty members have no disk in common; also if only one of them lists faulty
// members.
[[nodiscard]] bool lost_different_disks(const Finding& a, const Finding& b);

}  // namespace autopilot::incidents
