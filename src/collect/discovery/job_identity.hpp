// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "collect/discovery/pod_facts.hpp"
#include "host/process/process_table.hpp"
#include "jobs/records.hpp"

// Which job a process belongs to. Pure.
namespace autopilot::collect {

struct JobIdentity {
  std::string key;    // JobRecord::job
  std::string name;   // for display
  std::string owner;  // "PyTorchJob ml/llama": kind, namespace and name; or empty
  jobs::JobKind kind = jobs::JobKind::training;
  std::string replica;  // of inference; or empty
  std::string pod;      // name; or empty

  friend bool operator==(const JobIdentity&, const JobIdentity&) = default;
};

// The job of a pod by its chain of owners, outermost known kind first; where the chain ends early, by labels.
[[nodiscard]] JobIdentity identify_pod(const PodFacts& pod);

// The job of a process with a batch system, a rendezvous or an MPI job, outside of pods.
// `trusts_slurm_variables`: no control group of this node names a job of Slurm, so that variables may.
// nullopt: none is stated.
[[nodiscard]] std::optional<JobIdentity> identify_by_launch(const host::Process& process,
                                                            std::string_view node,
                                                            bool trusts_slurm_variables);

// The job of ranks that state nothing that they share: that of their launcher. MPICH's names the same port on
// every node.
[[nodiscard]] JobIdentity identify_by_launcher(const host::Process& launcher, std::string_view node);

// What the ranks of a job share: "10.0.0.1:29500", or "run-7@10.0.0.1" where torchrun has an id for the run,
// for then each attempt has another port. Empty: not stated, or an address that only this node can use.
[[nodiscard]] std::string shared_rendezvous(const host::Launch& launch);

// At most kLongestKey printable ASCII characters; a longer key ends with a hash of the whole.
inline constexpr std::size_t kLongestKey = 253;
[[nodiscard]] std::string bounded_key(std::string key);

}  // namespace autopilot::collect
