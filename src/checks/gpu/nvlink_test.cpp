// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class GpuNvLink : public GpuCheckTest {
 protected:
  void add_linked(int index, int links, const std::string& model = "NVIDIA H100 80GB HBM3") {
    add_to_pci(index);
    add_to_driver(index, model);
    set(index, "nvlink.count", links);
    for (int link = 0; link < links; ++link) {
      set_link(index, link, "nvlink.active", Value{true});
      set_link(index, link, "nvlink.replays", Value{std::int64_t{7}});
      set_link(index, link, "nvlink.crc_errors", Value{std::int64_t{0}});
    }
  }
  void set_link(int index, int link, std::string_view name, std::optional<Value> value, int code = 0) {
    set(index, name, std::move(value), code, link);
  }
  static std::string link(int gpu_index, int number) {
    return "nvlink/" + address(gpu_index) + "/" + std::to_string(number);
  }
};

TEST_F(GpuNvLink, all_links_of_the_model_are_up) {
  for (int i = 0; i < 2; ++i)
    add_linked(i, 18);
  EXPECT_THAT(look(kGpuNvlink), IsEmpty());
}

TEST_F(GpuNvLink, a_link_that_is_down_is_named) {
  add_linked(0, 18);
  set_link(0, 5, "nvlink.active", Value{false});
  EXPECT_THAT(look(kGpuNvlink), ElementsAre(link(0, 5) + " failed nvlink_down"));
  EXPECT_THAT(findings_[0].message, HasSubstr("NVLink 5 of GPU 0"));
}

TEST_F(GpuNvLink, a_gpu_without_any_link_up_is_one_finding) {
  add_linked(0, 18);
  for (int number = 0; number < 18; ++number)
    set_link(0, number, "nvlink.active", Value{false});
  EXPECT_THAT(look(kGpuNvlink), ElementsAre(gpu(0) + " failed nvlink_down"));
}

TEST_F(GpuNvLink, fewer_links_than_the_product_has) {
  add_linked(0, 16);
  EXPECT_THAT(look(kGpuNvlink), ElementsAre(gpu(0) + " degraded nvlink_missing"));
}

TEST_F(GpuNvLink, a_model_nobody_knows_is_judged_by_its_siblings) {
  for (int i = 0; i < 4; ++i)
    add_linked(i, 6, "NVIDIA X900");
  EXPECT_THAT(look(kGpuNvlink), IsEmpty());
  set_link(2, 0, "nvlink.active", Value{false});
  EXPECT_THAT(look(kGpuNvlink), ElementsAre(link(2, 0) + " failed nvlink_down"));
}

TEST_F(GpuNvLink, optional_bridges_that_are_not_fitted_are_no_fault) {
  for (int i = 0; i < 4; ++i) {
    add_linked(i, 12, "NVIDIA A100 80GB PCIe");
    for (int number = 0; number < 12; ++number)
      set_link(i, number, "nvlink.active", Value{false});
  }
  EXPECT_THAT(look(kGpuNvlink), ElementsAre("host unsupported not_supported"));
}

TEST_F(GpuNvLink, gpus_without_links_make_the_check_unsupported) {
  for (int i = 0; i < 4; ++i) {
    add_to_pci(i);
    add_to_driver(i, "NVIDIA L40S");
    set(i, "nvlink.count", std::nullopt, 3);
  }
  EXPECT_THAT(look(kGpuNvlink), ElementsAre("host unsupported not_supported"));
}

TEST_F(GpuNvLink, a_divided_gpu_has_no_links) {
  for (int i = 0; i < 2; ++i)
    add_linked(i, 18);
  set_flag(1, "mig", true);
  for (int number = 0; number < 18; ++number)
    set_link(1, number, "nvlink.active", Value{false});
  EXPECT_THAT(look(kGpuNvlink), ElementsAre(gpu(1) + " unsupported not_supported"));
}

TEST_F(GpuNvLink, links_that_cannot_be_read_are_unknown) {
  add_linked(0, 18);
  add_linked(1, 18);
  set_link(0, 3, "nvlink.active", std::nullopt, 999);
  gpus_.report.gpus[1].readings.clear();
  set(1, "nvlink.count", std::nullopt, 999);
  EXPECT_THAT(look(kGpuNvlink),
              ElementsAre(link(0, 3) + " unknown could_not_look", gpu(1) + " unknown could_not_look"));
}

TEST_F(GpuNvLink, errors_count_when_they_grow) {
  add_linked(0, 18);
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty()) << "old replays are no news";
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty());
  set_link(0, 2, "nvlink.replays", Value{std::int64_t{9}});
  set_link(0, 4, "nvlink.crc_errors", Value{std::int64_t{100'000}});
  EXPECT_THAT(look(kGpuNvlink, 60s),
              ElementsAre(link(0, 2) + " degraded nvlink_errors", link(0, 4) + " failed nvlink_crc_errors"));
}

TEST_F(GpuNvLink, damaged_data_packets_are_as_bad_as_damaged_flits) {
  add_linked(0, 18);
  set_link(0, 2, "nvlink.crc_data_errors", Value{std::int64_t{3}});
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty());
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty());
  set_link(0, 2, "nvlink.crc_data_errors", Value{std::int64_t{100'000}});
  EXPECT_THAT(look(kGpuNvlink, 60s), ElementsAre(link(0, 2) + " failed nvlink_crc_errors"));
}

TEST_F(GpuNvLink, the_counters_of_the_fifth_generation_count_when_they_grow) {
  add_linked(0, 18);
  set_link(0, 2, "nvlink.receive_errors", Value{std::int64_t{5}});
  set_link(0, 3, "nvlink.integrity_errors", Value{std::int64_t{5}});
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty()) << "what was counted before is no news";
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty());
  set_link(0, 2, "nvlink.receive_errors", Value{std::int64_t{6}});
  set_link(0, 3, "nvlink.integrity_errors", Value{std::int64_t{6}});
  EXPECT_THAT(look(kGpuNvlink, 60s),
              ElementsAre(link(0, 2) + " degraded nvlink_errors", link(0, 3) + " degraded nvlink_errors"));
}

TEST_F(GpuNvLink, wrong_symbols_count_when_there_are_more_and_more) {
  constexpr double kNone = 15e-255;
  add_linked(0, 18);
  set_link(0, 2, "nvlink.symbol_ber", Value{kNone});
  set_link(0, 3, "nvlink.symbol_ber", Value{2e-12});
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty());
  set_link(0, 2, "nvlink.symbol_ber", Value{15e-238});
  set_link(0, 3, "nvlink.symbol_ber", Value{1e-12});
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty()) << "another word for none, and a share that falls";
  set_link(0, 2, "nvlink.symbol_ber", Value{3e-12});
  EXPECT_THAT(look(kGpuNvlink, 60s), ElementsAre(link(0, 2) + " degraded nvlink_errors"));
  EXPECT_THAT(findings_.at(0).message, HasSubstr("symbol error ratio: 3.0e-12"));
  set_link(0, 2, "nvlink.symbol_ber", Value{kNone});
  EXPECT_THAT(look(kGpuNvlink, 60s), IsEmpty()) << "the link was trained again";
}

}  // namespace
}  // namespace autopilot::checks
