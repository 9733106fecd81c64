// SPDX-License-Identifier: Apache-2.0
#include "cli/why/call_trace.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"
#include "core/word_table.hpp"
#include "why/waits.hpp"

namespace autopilot::cli {
namespace {

namespace waits = why::waits;

// Longest trace that the kernel prints for a task, with the lines around it.
constexpr std::size_t kMostTraceLines = 96;
constexpr Duration kTraceLasts = std::chrono::seconds{2};

struct Place {
  std::string_view part;  // of the name of a module, or the beginning of a function
  std::string_view waits_for;
};

// Names of modules in Linux and in the drivers of NVIDIA, AMD, Lustre, Ceph and WekaFS.
constexpr std::array<Place, 44> kModules{
    {{"nfs", waits::kNfs},         {"nfsv3", waits::kNfs},       {"nfsv4", waits::kNfs},
     {"sunrpc", waits::kNfs},      {"lockd", waits::kNfs},       {"rpcrdma", waits::kNfs},
     {"lustre", waits::kLustre},   {"ptlrpc", waits::kLustre},   {"obdclass", waits::kLustre},
     {"osc", waits::kLustre},      {"lov", waits::kLustre},      {"mdc", waits::kLustre},
     {"lmv", waits::kLustre},      {"lnet", waits::kLustre},     {"ksocklnd", waits::kLustre},
     {"ko2iblnd", waits::kLustre}, {"ceph", waits::kCeph},       {"libceph", waits::kCeph},
     {"fuse", waits::kFuse},       {"virtiofs", waits::kFuse},   {"wekafsio", waits::kFuse},
     {"mmfs26", waits::kFuse},     {"xfs", waits::kDisk},        {"ext4", waits::kDisk},
     {"jbd2", waits::kDisk},       {"btrfs", waits::kDisk},      {"nvme", waits::kDisk},
     {"nvme_core", waits::kDisk},  {"md_mod", waits::kDisk},     {"dm_mod", waits::kDisk},
     {"raid1", waits::kDisk},      {"raid456", waits::kDisk},    {"scsi_mod", waits::kDisk},
     {"nvidia", waits::kGpu},      {"nvidia_uvm", waits::kGpu},  {"nvidia_modeset", waits::kGpu},
     {"nvidia_drm", waits::kGpu},  {"amdgpu", waits::kGpu},      {"mlx5_core", waits::kAdapter},
     {"mlx5_ib", waits::kAdapter}, {"ib_core", waits::kAdapter}, {"ib_uverbs", waits::kAdapter},
     {"rdma_cm", waits::kAdapter}, {"efa", waits::kAdapter}}};

// Functions of drivers that are part of the kernel.
constexpr std::array<Place, 31> kFunctions{{{"nfs_", waits::kNfs},
                                            {"nfs4_", waits::kNfs},
                                            {"nfs3_", waits::kNfs},
                                            {"rpc_", waits::kNfs},
                                            {"__rpc_", waits::kNfs},
                                            {"xprt_", waits::kNfs},
                                            {"ptlrpc_", waits::kLustre},
                                            {"ldlm_", waits::kLustre},
                                            {"ceph_", waits::kCeph},
                                            {"fuse_", waits::kFuse},
                                            {"__fuse_", waits::kFuse},
                                            {"request_wait_answer", waits::kFuse},
                                            {"xfs_", waits::kDisk},
                                            {"ext4_", waits::kDisk},
                                            {"jbd2_", waits::kDisk},
                                            {"btrfs_", waits::kDisk},
                                            {"blk_", waits::kDisk},
                                            {"__blk", waits::kDisk},
                                            {"blkdev_", waits::kDisk},
                                            {"submit_bio", waits::kDisk},
                                            {"nvme_", waits::kDisk},
                                            {"md_", waits::kDisk},
                                            {"raid", waits::kDisk},
                                            {"scsi_", waits::kDisk},
                                            {"nvidia_", waits::kGpu},
                                            {"uvm_", waits::kGpu},
                                            {"amdgpu_", waits::kGpu},
                                            {"ib_", waits::kAdapter},
                                            {"mlx5_", waits::kAdapter},
                                            {"mem_cgroup_", waits::kMemory},
                                            {"throttle_direct_reclaim", waits::kMemory}}};

// They wait for whatever holds a page: a disk or a file server.
constexpr std::array<std::string_view, 7> kPages{"io_schedule", "folio_wait",   "wait_on_page", "bit_wait_io",
                                                 "__lock_page", "__folio_lock", "balance_dirty"};

bool is_function_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

bool is_other_task(std::string_view text) {
  return text.find("INFO: task ") != std::string_view::npos;
}

}  // namespace

std::optional<TraceFunction> parse_trace_function(std::string_view line) {
  std::string_view text = trim(line);
  // "[<0>] name", "[<ffffffff81a2b3c4>] name" of older kernels and of /proc/PID/stack.
  if (text.starts_with("[<")) {
    const std::size_t end = text.find(">]");
    if (end == std::string_view::npos) return std::nullopt;
    text = trim(text.substr(end + 2));
  }
  if (text.starts_with("? ")) text.remove_prefix(2);
  const std::size_t plus = text.find("+0x");
  if (plus == std::string_view::npos || plus == 0) return std::nullopt;
  TraceFunction function{.name = text.substr(0, plus), .module = {}};
  if (!std::ranges::all_of(function.name, is_function_letter)) return std::nullopt;
  const std::size_t open = text.find('[', plus);
  const std::size_t close = open == std::string_view::npos ? open : text.find_first_of("] ", open);
  if (close != std::string_view::npos) function.module = text.substr(open + 1, close - open - 1);
  return function;
}

WaitsFor waits_for(const TraceFunction& function) {
  for (const Place& place : kModules)
    if (function.module == place.part) return {.what = place.waits_for, .is_certain = true};
  for (const Place& place : kFunctions)
    if (function.name.starts_with(place.part)) return {.what = place.waits_for, .is_certain = true};
  const bool is_page = std::ranges::any_of(
      kPages, [&function](std::string_view begin) { return function.name.starts_with(begin); });
  return {.what = is_page ? waits::kDisk : std::string_view(), .is_certain = false};
}

WaitPlace wait_place(std::span<const host::KernelRecord> records, std::size_t index) {
  WaitPlace uncertain;
  const std::size_t end = std::min(records.size(), index + 1 + kMostTraceLines);
  for (std::size_t i = index + 1; i < end; ++i) {
    const host::KernelRecord& record = records[i];
    if (record.time.mono > records[index].time.mono + kTraceLasts || is_other_task(record.text)) break;
    const auto function = parse_trace_function(record.text);
    if (!function) continue;
    const WaitsFor found = waits_for(*function);
    if (found.what.empty()) continue;
    WaitPlace place{.what = found.what, .function = std::string(function->name)};
    if (found.is_certain) return place;
    if (uncertain.what.empty()) uncertain = std::move(place);
  }
  return uncertain;
}

std::string_view wait_sentence(std::string_view what) {
  static constexpr WordTable<std::string_view, 8> kSentences{
      {{waits::kNfs, "it waits for an NFS server"},
       {waits::kLustre, "it waits for a Lustre server"},
       {waits::kCeph, "it waits for a Ceph server"},
       {waits::kFuse, "it waits for the program that serves its file system (FUSE)"},
       {waits::kDisk, "it waits for a disk"},
       {waits::kGpu, "it waits for the driver of a GPU"},
       {waits::kAdapter, "it waits for an RDMA adapter"},
       {waits::kMemory, "it waits for memory"}}};
  return word_of(kSentences, what);
}

}  // namespace autopilot::cli
