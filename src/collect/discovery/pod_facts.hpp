// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

// What the API server knows of the pods of this node. The agent fills it in.
namespace autopilot::collect {

struct PodOwner {
  std::string kind;  // "Job", "PyTorchJob"
  std::string name;
  std::string uid;

  friend bool operator==(const PodOwner&, const PodOwner&) = default;
};

struct PodFacts {
  using Texts = std::map<std::string, std::string, std::less<>>;

  std::string uid;
  std::string name_space;
  std::string name;
  Texts labels;
  Texts annotations;
  // The chain of controllers: first the owner of the pod, then the owner of the owner. It may end early where
  // an owner could not be read; labels then often name what is missing.
  std::vector<PodOwner> owners;
  Texts containers;  // names by id of the container runtime, without "containerd://"
};

using PodFactsByUid = std::map<std::string, PodFacts, std::less<>>;

}  // namespace autopilot::collect
