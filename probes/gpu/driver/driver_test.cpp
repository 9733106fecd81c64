// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/driver/driver.hpp"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>

#include "probes/gpu/driver/session.hpp"
#include "tests/paths/paths.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::probes::gpu {
namespace {

using testing::HasSubstr;

constexpr const char* kTable = R"(
gpus:
  - {uuid: GPU-01234567-89ab-cdef-0123-456789abcdef, pci_address: "0000:05:00.0", memory_mib: 64}
calls:
  hipMemcpyDtoHAsync: {result: 2}
)";

// HIP, played by the simulated driver.
class HipTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!check_is_built_in(Vendor::amd)) GTEST_SKIP() << "needs a build with AUTOPILOT_EXPERIMENTAL_HIP";
    folder_.write("/table.yaml", kTable);
    ::setenv("AUTOPILOT_SIM_CUDA", (folder_.path() + "/table.yaml").c_str(), 1);
    auto opened = Library::open(paths::program("libamdhip64-sim.so"), Vendor::amd);
    ASSERT_TRUE(opened) << opened.error().what;
    library_.emplace(*std::move(opened));
    driver_.emplace(*library_, watch_);
  }
  Result<std::unique_ptr<Session>> open(Session::In where) {
    return Session::open(*driver_, list_gpus(*driver_).value().front(), 0.5, where);
  }

  const host::TestFolder folder_;
  Watch watch_;
  std::optional<Library> library_;
  std::optional<Driver> driver_;
};

TEST_F(HipTest, a_gpu_has_an_address_and_memory_and_no_facts_of_cuda) {
  const auto gpus = list_gpus(*driver_);
  ASSERT_TRUE(gpus) << gpus.error().what;
  ASSERT_EQ(gpus->size(), 1U);
  EXPECT_EQ(gpus->front().pci_address, "0000:05:00.0");
  EXPECT_EQ(gpus->front().memory_bytes, std::size_t{64} << 20);
  EXPECT_EQ(gpus->front().uuid, "");
  EXPECT_EQ(gpus->front().capability(), 0);
}

TEST_F(HipTest, a_session_has_memory_and_errors_have_the_names_of_hip) {
  auto session = open(Session::In::primary_context);
  ASSERT_TRUE(session) << session.error().what;
  auto buffer = (*session)->allocate(4096);
  ASSERT_TRUE(buffer) << buffer.error().what;
  const int word = 7;
  EXPECT_TRUE((*session)->copy_to_gpu(*buffer, &word, sizeof word));
  EXPECT_TRUE((*session)->wait());
  int read = 0;
  const Status refused = (*session)->read(&read, *buffer, 0, sizeof read);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, "hipMemcpyDtoHAsync: hipErrorOutOfMemory (2)");
}

TEST_F(HipTest, functions_that_hip_does_not_provide_are_errors) {
  const auto own = open(Session::In::own_context);
  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().code, Errc::unsupported);
  EXPECT_THAT(own.error().what, HasSubstr("cuCtxCreate_v2: not used with this driver's library"));
  auto session = open(Session::In::primary_context);
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_FALSE((*session)->allocate_on_host(4096));
  EXPECT_FALSE((*session)->fork());
  EXPECT_FALSE(
      driver_->run(driver_->calls().launch, nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  driver_->give_back(driver_->calls().module_unload, nullptr);
}

TEST_F(HipTest, each_usual_name_is_tried_and_named) {
  const auto opened = Library::open_first({"/nowhere/a.so", "/nowhere/b.so"}, Vendor::amd);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::not_found);
  EXPECT_EQ(opened.error().what, "/nowhere/a.so, /nowhere/b.so: HIP is not installed");
  EXPECT_TRUE(Library::open_first({"/nowhere/a.so", paths::program("libamdhip64-sim.so")}, Vendor::amd));
}

TEST(Library, hip_that_is_not_built_in_names_the_option) {
  if (check_is_built_in(Vendor::amd)) GTEST_SKIP() << "needs a build without AUTOPILOT_EXPERIMENTAL_HIP";
  const auto opened = Library::open("/nowhere/hip.so", Vendor::amd);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unsupported);
  EXPECT_THAT(opened.error().what, HasSubstr("-DAUTOPILOT_EXPERIMENTAL_HIP=ON"));
}

TEST(Library, the_newest_hip_comes_first) {
  EXPECT_THAT(driver_libraries(Vendor::amd),
              testing::ElementsAre("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"));
  EXPECT_THAT(driver_libraries(Vendor::nvidia), testing::ElementsAre("libcuda.so.1"));
}

TEST_F(HipTest, a_library_of_the_other_vendor_lacks_the_functions) {
  const auto opened = Library::open(paths::program("libcuda-sim.so"), Vendor::amd);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unsupported);
  EXPECT_THAT(opened.error().what, HasSubstr("is not HIP, or is older than 4.2: it lacks hipInit"));
}

using testing::ElementsAre;

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
