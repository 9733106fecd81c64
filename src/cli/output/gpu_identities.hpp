// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/snapshot.hpp"
#include "core/subject.hpp"

// One identity for each GPU of a snapshot, by its PCI address. The observations of a snapshot differ in age,
// and the driver numbers the GPUs anew when one is lost. Pure.
namespace autopilot::cli {

struct GpuIdentity {
  std::optional<int> index;  // different for each GPU; nullopt: not known, or a listed GPU has it now
  std::string model;         // empty: unknown
  std::string serial;        // the same
  bool is_lost = false;      // the driver listed its GPUs, and this one was not among them
};

// Of every GPU that an observation, a finding or an incident is about. The newest observation of a GPU
// counts. A GPU that the driver no longer lists keeps its last index only if no other GPU has it.
using GpuIdentities = std::map<std::string, GpuIdentity, std::less<>>;
[[nodiscard]] GpuIdentities gpu_identities(const NodeSnapshot& snapshot);

// The names of subjects on the page of a machine, each in one form.
class PlaceNames {
 public:
  explicit PlaceNames(const NodeSnapshot& snapshot) : gpus_(gpu_identities(snapshot)) {}

  // "GPU 3 (0000:61:00.0)"; "GPU 0000:61:00.0" if it has no index; empty for this machine.
  [[nodiscard]] std::string full(const Subject& subject) const;
  // "GPU 3"
  [[nodiscard]] std::string brief(const Subject& subject) const;
  // The message with its subject, once. GPUs in the message have the same names as everywhere on the page.
  [[nodiscard]] std::string sentence(const Subject& subject, const std::string& message) const;

 private:
  [[nodiscard]] Subject with_index(Subject subject) const;
  [[nodiscard]] std::string link(const Subject& subject) const;

  GpuIdentities gpus_;
};

}  // namespace autopilot::cli
