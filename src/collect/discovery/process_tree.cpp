// SPDX-License-Identifier: Apache-2.0
#include "collect/discovery/process_tree.hpp"

#include <algorithm>
#include <array>

namespace autopilot::collect {
namespace {

// As the kernel shows names: at most 15 characters.
constexpr auto kWrappers = std::to_array<std::string_view>({
    "ash",     "bash",         "busybox",     "conmon",       "containerd-shim",
    "csh",     "dash",         "docker-init", "dumb-init",    "env",
    "fish",    "init",         "ksh",         "login",        "numactl",
    "pause",   "screen",       "sh",          "slurm_script", "ssh",
    "sshd",    "sshd-session", "su",          "sudo",         "systemd",
    "tcsh",    "timeout",      "tini",        "tmux",         "tmux: server",
    "unshare", "zsh",
});
static_assert(std::ranges::is_sorted(kWrappers));

constexpr auto kGpuServices = std::to_array<std::string_view>({
    "Xorg",
    "Xwayland",
    "autopilot-gpu-p",
    "dcgm-exporter",
    "gnome-shell",
    "nv-hostengine",
    "nvidia-cuda-mps",
    "nvidia-persiste",
});
static_assert(std::ranges::is_sorted(kGpuServices));

}  // namespace

bool is_wrapper_name(std::string_view name) {
  return std::ranges::binary_search(kWrappers, name);
}

bool is_gpu_service_name(std::string_view name) {
  return std::ranges::binary_search(kGpuServices, name);
}

ProcessTree::ProcessTree(const Processes& processes) : processes_(processes) {
  for (const auto& [pid, process] : processes)
    children_.emplace(process.task.parent, pid);
}

const host::Process* ProcessTree::parent(const host::Process& process) const {
  const auto found = processes_.find(process.task.parent);
  return found == processes_.end() ? nullptr : &found->second;
}

const host::Process& ProcessTree::root(const host::Process& process) const {
  const host::Process* root = &process;
  for (int depth = 0; depth < kDepth; ++depth) {
    const host::Process* next = parent(*root);
    if (next == nullptr || next->task.pid == 1 || is_wrapper_name(next->task.name)) break;
    root = next;
  }
  return *root;
}

std::vector<std::int64_t> ProcessTree::below(std::int64_t pid, const std::set<std::int64_t>& others,
                                             std::size_t limit) const {
  std::vector<std::int64_t> found;
  std::set<std::int64_t> seen{pid};
  std::vector<std::int64_t> open{pid};
  for (std::size_t at = 0; at < open.size(); ++at) {
    const auto [begin, end] = children_.equal_range(open[at]);
    for (auto child = begin; child != end; ++child) {
      if (found.size() >= limit) return found;
      if (others.contains(child->second) || !seen.insert(child->second).second) continue;
      found.push_back(child->second);
      open.push_back(child->second);
    }
  }
  return found;
}

}  // namespace autopilot::collect
