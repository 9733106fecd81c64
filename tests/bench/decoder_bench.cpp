// SPDX-License-Identifier: Apache-2.0
// How many lines of a kernel log one core understands in a second.
#include <array>
#include <benchmark/benchmark.h>
#include <string>
#include <string_view>
#include <vector>

#include "checks/kernel_log/decode.hpp"
#include "checks/kernel_log/driver_events.hpp"
#include "host/kernel_log/kmsg_source.hpp"

namespace autopilot {
namespace {

// What kernels write on a quiet day. None of these lines means anything to us.
constexpr std::array<std::string_view, 30> kPlain{
    "usb 1-14.1: new high-speed USB device number 7 using xhci_hcd",
    "usb 1-14.1: New USB device found, idVendor=046b, idProduct=ff10, bcdDevice= 1.00",
    "input: American Megatrends Inc. Virtual Keyboard as "
    "/devices/pci0000:00/0000:00:14.0/usb1/1-14/input/input4",
    "systemd[1]: Started Journal Service.",
    "systemd-journald[1211]: Received client request to flush runtime journal.",
    "audit: type=1400 audit(1763712000.123:42): apparmor=\"STATUS\" operation=\"profile_load\" "
    "name=\"docker-default\"",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode. Quota mode: none.",
    "nvme nvme3: 128/0/0 default/read/poll queues",
    "nvme nvme3: pci function 0000:41:00.0",
    "mlx5_core 0000:18:00.0: firmware version: 28.39.2048",
    "mlx5_core 0000:18:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
    "mlx5_core 0000:29:00.0 ens41f0np0: Link up",
    "IPv6: ADDRCONF(NETDEV_CHANGE): ens41f0np0: link becomes ready",
    "docker0: port 3(veth7f3c1aa) entered blocking state",
    "docker0: port 3(veth7f3c1aa) entered forwarding state",
    "device veth7f3c1aa entered promiscuous mode",
    "eth0: renamed from vethab12cd3",
    "cgroup: fork rejected by pids controller in /kubepods/burstable/pod1234/abcd",
    "TCP: request_sock_TCP: Possible SYN flooding on port 8080. Sending cookies.",
    "perf: interrupt took too long (2503 > 2500), lowering kernel.perf_event_max_sample_rate to 79750",
    "python[48213]: segfault at 7f20 ip 00007f6c8a1b2c3d sp 00007ffd4a3b2c10 error 4 in "
    "libtorch.so[7f6c80000000+a000000]",
    "kauditd_printk_skb: 12 callbacks suppressed",
    "nvidia-uvm: Loaded the UVM driver, major device number 235.",
    "nvidia-modeset: Loading NVIDIA Kernel Mode Setting Driver for UNIX platforms  535.161.08",
    "pcieport 0000:16:00.0: pciehp: Slot(3): Link Up",
    "pci 0000:1b:00.0: reg 0x10: [mem 0x2a3c80000000-0x2a3c80ffffff 64bit pref]",
    "ACPI: PCI Root Bridge [PC03] (domain 0000 [bus 15-26])",
    "clocksource: timekeeping watchdog on CPU17: Marking clocksource 'tsc' as checked",
    "Bluetooth: Core ver 2.22",
    "NFS: state manager: check lease failed on NFSv4 server 10.1.2.3 with error 13",
};

// What means something, of several domains: one line in fifty.
constexpr std::array<std::string_view, 6> kTelling{
    "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: Xid (PCI:0000:43:00): 31, pid=4711, name=python, Ch 00000010, intr 00000000. MMU Fault: ENGINE "
    "GRAPHICS",
    "NVRM: Xid (PCI:0000:43:00): 45, pid=4711, name=python, Ch 00000010",
    "Out of memory: Killed process 48213 (python) total-vm:104857600kB, anon-rss:83886080kB, file-rss:0kB",
    "EXT4-fs error (device nvme0n1p2): ext4_lookup:1785: inode #2: comm python: deleted inode referenced: "
    "131",
    "pcieport 0000:16:00.0: AER: Corrected error received: 0000:1b:00.0",
};

std::vector<host::KernelRecord> mixed_log() {
  std::vector<host::KernelRecord> log;
  for (std::size_t i = 0; i < 3000; ++i) {
    host::KernelRecord record;
    record.sequence = i;
    record.text = i % 50 == 49 ? kTelling[i / 50 % kTelling.size()] : kPlain[i % kPlain.size()];
    log.push_back(std::move(record));
  }
  return log;
}

void decode_mixed_log(benchmark::State& state) {
  const auto log = mixed_log();
  const checks::Decoder& decoder = checks::builtin_decoder();
  std::size_t understood = 0;
  while (state.KeepRunning())
    for (const auto& record : log)
      understood += decoder.decode(record) ? 1 : 0;
  if (understood == 0) state.SkipWithError("nothing was understood");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(log.size()));
}
BENCHMARK(decode_mixed_log);

// The same from the bytes of /dev/kmsg on.
void parse_and_decode_mixed_log(benchmark::State& state) {
  std::vector<std::string> lines;
  for (const auto& record : mixed_log())
    lines.push_back("6," + std::to_string(record.sequence) + ",5123456,-;" + record.text + "\n");
  const checks::Decoder& decoder = checks::builtin_decoder();
  while (state.KeepRunning())
    for (const auto& line : lines) {
      auto parsed = host::parse_kmsg_record(line);
      const auto record = host::to_kernel_record(std::move(*parsed), {});
      benchmark::DoNotOptimize(decoder.decode(record));
    }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(lines.size()));
}
BENCHMARK(parse_and_decode_mixed_log);

// A storm: one round of gpu.xid over a full ring.
void collect_storm(benchmark::State& state) {
  host::KernelRecords records;
  records.witness = "/dev/kmsg";
  for (std::size_t i = 0; i < 16'384; ++i) {
    host::KernelRecord record;
    record.sequence = i;
    record.text = "NVRM: Xid (PCI:0000:" + std::string(i % 2 == 0 ? "1b" : "43") +
                  ":00): 45, pid=" + std::to_string(i % 97) + ", name=python, Ch 00000010";
    records.records.push_back(std::move(record));
  }
  while (state.KeepRunning())
    benchmark::DoNotOptimize(checks::collect_driver_events(records));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(records.records.size()));
}
BENCHMARK(collect_storm);

}  // namespace
}  // namespace autopilot
