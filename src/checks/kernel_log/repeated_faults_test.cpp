// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/repeated_faults.hpp"

#include <chrono>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class RepeatedFaults : public ::testing::Test {
 protected:
  Observation& add(int code, const std::string& program, const std::string& gpu = "0000:3b:00.0") {
    now_ += 60s;
    Observation event;
    event.name = "xid";
    event.subject.kind = SubjectKind::gpu;
    event.subject.key = gpu;
    event.value = std::int64_t{code};
    event.time.mono = MonoTime{} + now_;
    event.attributes.emplace_back("process", program);
    return events_.emplace_back(std::move(event));
  }
  void add_in(int gpc, int tpc, const std::string& program) {
    Observation& event = add(13, program);
    event.attributes.emplace_back("gpc", std::int64_t{gpc});
    event.attributes.emplace_back("tpc", std::int64_t{tpc});
  }
  std::vector<std::string> places() {
    std::vector<const Observation*> records;
    for (const Observation& event : events_)
      records.push_back(&event);
    std::vector<std::string> texts;
    for (const RepeatedFault& fault : repeated_faults(records))
      texts.push_back(fault.gpu.key + " " + std::to_string(fault.code) + " " +
                      std::to_string(fault.gpc.value_or(-1)) + "/" + std::to_string(fault.tpc.value_or(-1)) +
                      " " + std::to_string(fault.programs.size()));
    return texts;
  }

  Duration now_{0};
  std::deque<Observation> events_;
};

TEST_F(RepeatedFaults, two_programs_at_one_unit) {
  add_in(2, 1, "train");
  add_in(2, 1, "serve");
  add_in(2, 2, "fold");
  EXPECT_THAT(places(), ElementsAre("0000:3b:00.0 13 2/1 2"));
}

TEST_F(RepeatedFaults, page_faults_of_two_programs_at_one_gpu) {
  add(31, "train");
  add(31, "serve");
  EXPECT_THAT(places(), ElementsAre("0000:3b:00.0 31 -1/-1 2"));
}

TEST_F(RepeatedFaults, a_program_that_fails_on_several_gpus_takes_its_fault_along) {
  add(31, "train");
  add(31, "serve");
  add(31, "serve", "0000:5e:00.0");
  EXPECT_THAT(places(), IsEmpty());
}

TEST_F(RepeatedFaults, no_unit_no_place_and_no_name_no_program) {
  add(13, "train");
  add(13, "serve");
  add(31, "");
  add(31, "train");
  EXPECT_THAT(places(), IsEmpty());
}

TEST_F(RepeatedFaults, what_follows_an_error_of_the_hardware_is_its_consequence) {
  add(31, "train");
  add(48, "");
  add(31, "serve");
  events_.back().time.mono -= 55s;
  EXPECT_THAT(places(), IsEmpty());
  add(31, "fold");
  EXPECT_THAT(places(), ElementsAre("0000:3b:00.0 31 -1/-1 2"));
}

}  // namespace
}  // namespace autopilot::checks
