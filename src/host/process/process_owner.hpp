// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/workload.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// The rows of /proc/<pid>/cgroup: the container, the pod's UID and the batch job that the paths name, in the
// words of containerd, CRI-O, Docker, Podman and Slurm, cgroup v1 and v2. Other rows say nothing.
[[nodiscard]] WorkloadOwner parse_cgroups(std::string_view text);
// The same of one path, as the kernel log names it: "/kubepods.slice/kubepods-pod<uid>.slice".
[[nodiscard]] WorkloadOwner parse_cgroup_path(std::string_view path);

// "namespace" and "name" by UID: the folders where the kubelet keeps the logs of the pods of this node.
using PodNames = std::map<std::string, std::pair<std::string, std::string>, std::less<>>;
// Empty where there is no kubelet, or its folder may not be read.
[[nodiscard]] PodNames read_pod_names(const Files& files);

// One process with its name and its owner. not_found when it ended meanwhile.
[[nodiscard]] Result<Workload> read_workload(const Files& files, std::int64_t pid, const PodNames& pods);

}  // namespace autopilot::host
