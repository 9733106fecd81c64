// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/gpu_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<GpuFacts> three() {
  std::vector<GpuFacts> gpus(3);
  for (int i = 0; i < 3; ++i)
    gpus[static_cast<std::size_t>(i)].index = i;
  gpus[0].pci_address = "0000:01:00.0";
  gpus[1].pci_address = "0000:02:00.0";
  gpus[0].uuid = "GPU-aaaa0000-0000-0000-0000-000000000000";
  gpus[1].uuid = "GPU-aaaa1111-0000-0000-0000-000000000000";
  gpus[2].uuid = "GPU-bbbb0000-0000-0000-0000-000000000000";
  gpus[2].pci_address = "0000:3b:00.0";
  return gpus;
}

std::vector<int> chosen(const std::vector<std::string>& words) {
  std::vector<int> indices;
  const auto gpus = choose_gpus(three(), words);
  EXPECT_TRUE(gpus) << gpus.error().what;
  for (const GpuFacts& gpu : gpus.value())
    indices.push_back(gpu.index);
  return indices;
}

TEST(ChooseGpus, all_without_a_choice) {
  EXPECT_THAT(chosen({}), ElementsAre(0, 1, 2));
}

TEST(ChooseGpus, by_index_uuid_and_address_in_the_order_of_the_driver) {
  EXPECT_THAT(chosen({"0000:3B:00.0", "0"}), ElementsAre(0, 2));
  EXPECT_THAT(chosen({"gpu-AAAA1"}), ElementsAre(1));
}

TEST(ChooseGpus, each_once) {
  EXPECT_THAT(chosen({"2", "GPU-bbbb", "0000:3b:00.0"}), ElementsAre(2));
}

TEST(ChooseGpus, an_ambiguous_word_chooses_no_gpu) {
  const auto gpus = choose_gpus(three(), {"GPU-aaaa"});
  ASSERT_FALSE(gpus);
  EXPECT_THAT(gpus.error().what, HasSubstr("several UUIDs"));
}

TEST(ChooseGpus, an_unknown_word_names_the_known_ones) {
  for (const char* word : {"3", "-1", "", "GPU", "GPU-cccc", "0000:ff:00.0"}) {
    const auto gpus = choose_gpus(three(), {word});
    ASSERT_FALSE(gpus) << word;
    EXPECT_THAT(gpus.error().what, HasSubstr("expected 0 to 2"));
  }
}

TEST(ChooseGpus, addresses_that_the_driver_does_not_list_are_returned) {
  EXPECT_THAT(addresses_not_listed(three(), {"0000:3B:00.0", "0000:FF:00.0", "7", "GPU-cccc"}),
              ElementsAre("0000:ff:00.0"));
  EXPECT_THAT(addresses_not_listed(three(), {}), ElementsAre());
}

}  // namespace
}  // namespace autopilot::probes::gpu
