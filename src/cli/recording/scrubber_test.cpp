// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/scrubber.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>

namespace autopilot::cli {
namespace {

constexpr std::string_view kPodUid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";

std::string once(std::string_view text) {
  return Scrubber().apply(text);
}

TEST(Scrubber, the_same_value_gets_the_same_placeholder) {
  Scrubber scrubber;
  scrubber.learn_name(SecretKind::host, "gpu-node-17");
  scrubber.learn_serial("1654123000101");
  EXPECT_EQ(scrubber.apply("gpu-node-17: serial 1654123000101, gpu-node-17.example"),
            "node-1: serial 0000000000001, node-1.example");
  EXPECT_EQ(scrubber.apply("my_gpu-node-17x gpu-node-170"), "my_gpu-node-17x gpu-node-170");
}

TEST(Scrubber, a_name_with_its_domain_is_learned_with_and_without_it) {
  Scrubber scrubber;
  scrubber.learn_name(SecretKind::host, "filer7.storage.corp");
  EXPECT_EQ(scrubber.apply("filer7.storage.corp filer7"), "node-1.domain-1.example node-1");
  EXPECT_EQ(scrubber.apply_name(SecretKind::host, "filer8.storage.corp"), "node-2.domain-1.example");
}

TEST(Scrubber, a_name_that_the_kernel_uses_is_replaced_only_where_it_is_a_name) {
  Scrubber scrubber({"nvme", "xfs"});
  scrubber.learn_name(SecretKind::host, "nvme");
  EXPECT_EQ(scrubber.apply("nvme nvme0: I/O timeout"), "nvme nvme0: I/O timeout");
  EXPECT_EQ(scrubber.apply_name(SecretKind::host, "nvme\n"), "node-1\n");
  EXPECT_EQ(scrubber.apply("/home/xfs/run XFS (sda1) xfs"), "/home/user-1/run XFS (sda1) xfs");
  // Parts of PCI addresses are hexadecimal words as well.
  scrubber.learn_name(SecretKind::host, "1bdead");
  EXPECT_EQ(scrubber.apply("0000:1b:00.0 1bdead"), "0000:1b:00.0 1bdead");
}

TEST(Scrubber, finds_addresses_by_their_form) {
  EXPECT_EQ(once("from 10.1.2.3 to 10.1.2.4, 10.1.2.3 again; 10.1.3.1"),
            "from 192.0.2.1 to 192.0.2.2, 192.0.2.1 again; 198.51.100.1");
  EXPECT_EQ(once("10.1.2.3:/export nfs, 10.1.2.0, 10.1.2.255."),
            "192.0.2.1:/export nfs, 192.0.2.0, 192.0.2.255.");
  EXPECT_EQ(once("3c:ec:ef:01:02:03 3C-EC-EF-01-02-03\n"), "02:00:00:00:00:01 02-00-00-00-00-01\n");
  EXPECT_EQ(once("506b:4b03:005c:2b60"), "0200:0000:0000:0001");
  EXPECT_EQ(once("enx3cecef010203: up"), "enx020000000001: up");
  EXPECT_EQ(once("fe80::3eec:efff:fe01:203%eth0 up"), "fe80::1%eth0 up");
  EXPECT_EQ(once("2a00:1450:1:2::7 2a00:1450:1:2::8 2a00:1450:1:3::7"),
            "2001:db8:0:1::1 2001:db8:0:1::2 2001:db8:0:2::1");
}

TEST(Scrubber, more_networks_than_are_reserved_for_examples_stay_apart) {
  Scrubber scrubber;
  std::set<std::string> found;
  for (int net = 0; net < 600; ++net)
    found.insert(scrubber.apply("10." + std::to_string(net / 250) + "." + std::to_string(net % 250) + ".9"));
  EXPECT_EQ(found.size(), 600);
}

TEST(Scrubber, leaves_what_only_looks_like_a_secret) {
  const std::string digest(32, '0');
  for (const std::string text : {"0000:1b:00.0",
                                 "NVRM: Xid (PCI:0000:1b:00): 79, GPU",
                                 "535.161.08",
                                 "28.39.1002",
                                 "127.0.0.1",
                                 "00:00:00:00:00:00",
                                 "std::string",
                                 "12:34:56 up 3 days",
                                 "0.0.0.0",
                                 "a:b",
                                 "",
                                 "::",
                                 "time 1.5.",
                                 "Xid 94, pid=4242, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
                                 "255.255.255.0",
                                 "BIOS 2.0.1.4 version 10.20.30.40",
                                 "00000000-0000-0000-0000-000000000000",
                                 "key=0x1f token=7 pass=1",
                                 "Sense Key : Medium Error [current]",
                                 "critical medium error, dev sda, sector 1234567890",
                                 "nvme0n1: writeback error on inode 1654123000101",
                                 "RIP: 0010:nvidia_isr_kthread_bh+0x1a/0x40 [nvidia]",
                                 "xfs_trans_read_buf_map+0x1b1/0x2f0 [xfs] (fs/xfs/xfs_trans_buf.c:296)",
                                 "ff02::1",
                                 "169.254.169.254",
                                 "RAX: ffff888102345678 RBX: 0000000000000001",
                                 "for user mode",
                                 "usb 1-1: SerialNumber: 0000:00:14.0",
                                 "See https://docs.nvidia.com/deploy/xid-errors/index.html",
                                 "pod starts",
                                 "/home /homeless/x /users"})
    EXPECT_EQ(once(text), text);
  EXPECT_EQ(once(digest), digest);
}

TEST(Scrubber, a_uuid_is_one_in_every_spelling) {
  Scrubber scrubber;
  EXPECT_EQ(scrubber.apply("GPU-55e30905-e576-41d4-a27b-a3a892c46d43"),
            "GPU-00000000-0000-4000-8000-000000000001");
  EXPECT_EQ(scrubber.apply("55E30905-E576-41D4-A27B-A3A892C46D43 55e30905e57641d4a27ba3a892c46d43"),
            "00000000-0000-4000-8000-000000000001 00000000000040008000000000000001");
  EXPECT_EQ(scrubber.apply("MIG-0f6c7a2b-e576-41d4-a27b-a3a892c46d43 UUID=1A2B-3C4D"),
            "MIG-00000000-0000-4000-8000-000000000002 UUID=0X0X-0X1X");
}

TEST(Scrubber, pods_and_containers_keep_their_form) {
  const std::string uid(kPodUid);
  std::string in_slice = uid;
  std::ranges::replace(in_slice, '-', '_');
  const std::string id = std::string(60, 'a') + "0123";
  const std::string zeros(63, '0');
  Scrubber scrubber;
  EXPECT_EQ(scrubber.apply("0::/kubepods/burstable/pod" + uid + "/" + id),
            "0::/kubepods/burstable/pod00000000-0000-4000-8000-000000000001/" + zeros + "1");
  EXPECT_EQ(scrubber.apply("kubepods-pod" + in_slice + ".slice/cri-containerd-" + id + ".scope"),
            "kubepods-pod00000000_0000_4000_8000_000000000001.slice/cri-containerd-" + zeros + "1.scope");
  EXPECT_EQ(
      scrubber.apply("/var/log/pods/ml_train-0_" + uid + "/log of pod ml/train-0"),
      "/var/log/pods/namespace-1_pod-1_00000000-0000-4000-8000-000000000001/log of pod namespace-1/pod-1");
}

TEST(Scrubber, credentials_do_not_remain) {
  for (const char* text :
       {"iscsi_password=hunter2!", "--token abcdef.0123456789abcdef", "api_key: Zm9vYmFyMTIz",
        "Authorization: Bearer abc123def456ghi", "http://alice:hunter2@10.0.0.9/boot.cfg", "key=AbCd1234EfGh",
        "AKIAIOSFODNN7EXAMPLE", "hf_abcdefghijklmnopqrst", "{\"client_secret\": \"tyxdRt8Q\"}",
        "QWxhZGRpbjpvcGVuIHNlc2FtZTEyMzQ1Njc4OTBhYmNkZWZHSElKSzAx"}) {
    const std::string scrubbed = once(text);
    for (const char* secret :
         {"hunter2", "abcdef", "Zm9v", "abc123", "AbCd", "IOSFOD", "tyxd", "QWxh", "alice"})
      EXPECT_EQ(scrubbed.find(secret), std::string::npos) << scrubbed;
  }
  EXPECT_EQ(once("root=UUID=55e30905-e576-41d4-a27b-a3a892c46d43 ro quiet"),
            "root=UUID=00000000-0000-4000-8000-000000000001 ro quiet");
}

TEST(Scrubber, names_are_learned_by_the_words_in_front_of_them) {
  Scrubber scrubber;
  EXPECT_EQ(scrubber.apply("systemd[1]: Hostname set to <gpu17>."), "systemd[1]: Hostname set to <node-1>.");
  EXPECT_EQ(scrubber.apply("nfs: server filer9 not responding"), "nfs: server node-2 not responding");
  EXPECT_EQ(scrubber.apply("New session 4 of user alice."), "New session 4 of user user-1.");
  EXPECT_EQ(scrubber.apply("usb 1-1: SerialNumber: S6EUNA0R500123"), "usb 1-1: SerialNumber: X0XXXX0X000001");
  EXPECT_EQ(scrubber.apply("wwn-0x5000c500a1b2c3d4 alice@gpu17 S6EUNA0R500123 /home/alice/x"),
            "wwn-0x0000000000000001 user-1@node-1 X0XXXX0X000001 /home/user-1/x");
}

TEST(Scrubber, a_serial_that_means_none_or_nothing_is_not_learned) {
  Scrubber scrubber;
  for (const char* value : {"0", "N/A", "Default string", "0000000000", "1002", "12345678"})
    scrubber.learn_serial(value);
  EXPECT_EQ(scrubber.apply("vendor 1002, 12345678 sectors, Default string"),
            "vendor 1002, 12345678 sectors, Default string");
  EXPECT_EQ(scrubber.apply_serial("12345678\n"), "00000001\n");
  EXPECT_EQ(scrubber.apply_serial("Default string"), "Default string");
}

TEST(Scrubber, gives_an_address_in_hex_the_placeholder_that_it_has_as_text) {
  Scrubber scrubber;
  EXPECT_EQ(scrubber.apply_hex_address("0101000A"), "010200C0");  // 10.0.1.1, the low byte first
  EXPECT_EQ(scrubber.apply("10.0.1.1 0101000A"), "192.0.2.1 0101000A");
  EXPECT_EQ(scrubber.apply_hex_address("00000000"), "00000000");
  EXPECT_EQ(scrubber.apply_hex_address("2a001450000100020000000000000007"),
            "20010db8000000010000000000000001");
  EXPECT_EQ(scrubber.apply_hex_address("what"), "what");
}

TEST(Scrubber, a_number_is_found_in_every_spelling_that_the_kernel_has_for_it) {
  Scrubber scrubber;
  scrubber.learn_number(SecretKind::serial, 0x3d17726e65b4610cU);
  scrubber.learn_number(SecretKind::uuid, 0x00c51f2b0d4e6710U);
  scrubber.learn_number(SecretKind::serial, 7);
  EXPECT_EQ(scrubber.apply("XGMI: Add node 0, hive 0x3d17726e65b4610c."),
            "XGMI: Add node 0, hive 0x0000000000000001.");
  EXPECT_EQ(scrubber.apply("hive_id 4402112979256238348"), "hive_id 0000000000000000001");
  EXPECT_EQ(scrubber.apply("00c51f2b0d4e6710 0xc51f2b0d4e6710 55484840179296016"),
            "0000000000000002 0x00000000000002 00000000000000002");
  EXPECT_EQ(scrubber.apply("node 7, x3d17726e65b4610c"), "node 7, x3d17726e65b4610c");
}

TEST(Scrubber, a_second_scrubbing_changes_nothing) {
  const std::string text =
      "Hostname set to <gpu17.corp.example>. 10.1.2.3 10.9.9.9 3c:ec:ef:01:02:03 506b:4b03:005c:2b60 "
      "/home/alice/run 55e30905-e576-41d4-a27b-a3a892c46d43 2a00:1450:1:2::7 fe80::3eec:efff:fe01:203 "
      "SerialNumber: S6EUNA0R500123 pod ml/train-0 " +
      std::string(60, 'a') + "0123 ip-10-1-2-3 ";
  const std::string first = once(text);
  EXPECT_EQ(once(first), first);
}

TEST(Scrubber, it_counts_values_and_places) {
  Scrubber scrubber;
  (void)scrubber.apply("10.1.2.3 10.1.2.3 10.1.2.4");
  const ScrubCount counted = scrubber.counts()[static_cast<std::size_t>(SecretKind::address)];
  EXPECT_EQ(counted.values, 2);
  EXPECT_EQ(counted.places, 3);
  scrubber.reset_counts();
  EXPECT_EQ(scrubber.counts()[static_cast<std::size_t>(SecretKind::address)].places, 0);
}

}  // namespace
}  // namespace autopilot::cli
