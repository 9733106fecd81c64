// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/scrubber.hpp"

#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

TEST(Scrubber, TheSameValueGetsTheSameStandIn) {
  Scrubber scrubber;
  scrubber.learn(Scrubber::Kind::host, "gpu-node-17");
  scrubber.learn(Scrubber::Kind::serial, "1654123000101");
  scrubber.learn(Scrubber::Kind::uuid, "GPU-55e30905-e576-41d4-a27b-a3a892c46d43");
  EXPECT_EQ(scrubber.apply("gpu-node-17: serial 1654123000101, gpu-node-17.example"),
            "node-1: serial SERIAL0001, node-1.example");
  EXPECT_EQ(scrubber.apply("GPU-55e30905-e576-41d4-a27b-a3a892c46d43"),
            "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_EQ(scrubber.apply("my_gpu-node-17x"), "my_gpu-node-17x");
  scrubber.learn(Scrubber::Kind::uuid, "MIG-0f6c7a2b-e576-41d4-a27b-a3a892c46d43");
  EXPECT_EQ(scrubber.apply("MIG-0f6c7a2b-e576-41d4-a27b-a3a892c46d43"),
            "MIG-00000000-0000-0000-0000-000000000002");
}

TEST(Scrubber, FindsAddressesByThemselves) {
  Scrubber scrubber;
  EXPECT_EQ(scrubber.apply("from 10.1.2.3 to 10.1.2.4, 10.1.2.3 again"),
            "from 198.18.0.1 to 198.18.0.2, 198.18.0.1 again");
  EXPECT_EQ(scrubber.apply("10.1.2.3:/export nfs"), "198.18.0.1:/export nfs");
  EXPECT_EQ(scrubber.apply("3c:ec:ef:01:02:03\n"), "02:00:00:00:00:01\n");
  EXPECT_EQ(scrubber.apply("fe80::3eec:efff:fe01:203 up"), "2001:db8::1 up");
}

TEST(Scrubber, LeavesWhatOnlyLooksLikeOne) {
  Scrubber scrubber;
  for (const char* text :
       {"0000:1b:00.0", "NVRM: Xid (PCI:0000:1b:00): 79, GPU", "535.161.08", "28.39.1002", "127.0.0.1",
        "00:00:00:00:00:00", "std::string", "12:34:56 up 3 days", "0.0.0.0", "a:b", "", "::", "time 1.5."})
    EXPECT_EQ(scrubber.apply(text), text);
}

TEST(Scrubber, gives_an_address_in_hex_the_stand_in_that_it_has_as_text) {
  Scrubber scrubber;
  scrubber.learn_address_in_hex("0101000A");  // 10.0.1.1 on a machine with the low byte first
  scrubber.learn_address_in_hex("00000000");
  scrubber.learn_address_in_hex("fe800000000000000000000000000001");
  scrubber.learn_address_in_hex("what");
  EXPECT_EQ(scrubber.apply("eth0 00000000 0101000A 0003"), "eth0 00000000 010012C6 0003");
  EXPECT_EQ(scrubber.apply("10.0.1.1 0x1"), "198.18.0.1 0x1");
  EXPECT_EQ(scrubber.apply("fe800000000000000000000000000001"), "20010db8000000000000000000000001");
}

TEST(Scrubber, a_number_is_found_in_every_spelling_that_the_kernel_has_for_it) {
  Scrubber scrubber;
  scrubber.learn_number(Scrubber::Kind::serial, 0x3d17726e65b4610cU);
  scrubber.learn_number(Scrubber::Kind::uuid, 0x00c51f2b0d4e6710U);
  scrubber.learn(Scrubber::Kind::uuid, "00c51f2b0d4e6710\n");
  EXPECT_EQ(scrubber.apply("XGMI: Add node 0, hive 0x3d17726e65b4610c."),
            "XGMI: Add node 0, hive 0xSERIAL0001.");
  EXPECT_EQ(scrubber.apply("hive_id 4402112979256238348"), "hive_id SERIAL0001");
  const std::string told = "GPU-00000000-0000-0000-0000-000000000001";
  EXPECT_EQ(scrubber.apply("00c51f2b0d4e6710 0xc51f2b0d4e6710 55484840179296016"),
            told + " 0x" + told + " " + told);
}

TEST(Scrubber, a_number_that_tells_nothing_stays) {
  Scrubber scrubber;
  scrubber.learn_number(Scrubber::Kind::serial, 0);
  scrubber.learn_number(Scrubber::Kind::serial, 7);
  scrubber.learn(Scrubber::Kind::host, "a1");
  scrubber.learn(Scrubber::Kind::serial, "1002");
  scrubber.learn(Scrubber::Kind::serial, "3d17726e65b4610c");
  for (const char* text : {"hive_id 0", "mask 0x0000000000000000", "node 7", "0xa1", "vendor 0x1002",
                           "my0x3d17726e65b4610c", "x3d17726e65b4610c", "0x3d17726e65b4610c0"})
    EXPECT_EQ(scrubber.apply(text), text);
}

TEST(Scrubber, pods_and_containers_keep_their_form) {
  const std::string uid = "8b7c1f8e-0d55-4f9c-a2a3-1d2f3a4b5c6d";
  const std::string id(64, 'a');
  Scrubber scrubber;
  scrubber.learn_pod(uid);
  scrubber.learn(Scrubber::Kind::container, id);
  const std::string zeros(63, '0');
  EXPECT_EQ(scrubber.apply("0::/kubepods/burstable/pod" + uid + "/" + id),
            "0::/kubepods/burstable/pod00000000-0000-4000-8000-000000000001/" + zeros + "1");
  EXPECT_EQ(scrubber.apply("kubepods-pod8b7c1f8e_0d55_4f9c_a2a3_1d2f3a4b5c6d.slice/cri-containerd-" + id +
                           ".scope"),
            "kubepods-pod00000000_0000_4000_8000_000000000001.slice/cri-containerd-" + zeros + "1.scope");
}

}  // namespace
}  // namespace autopilot::cli
