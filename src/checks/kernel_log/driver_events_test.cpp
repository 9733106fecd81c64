// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/driver_events.hpp"

#include <chrono>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::checks {

namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MonoTime kStart{1h};

Observation record(int code, MonoTime when, bool from_kernel = true) {
  Observation event;
  event.name = kXidEvent;
  event.subject = {SubjectKind::gpu_instance, "0000:3b:00.0/5", std::nullopt, "", ""};
  event.value = std::int64_t{code};
  event.source = "/dev/kmsg";
  event.time.mono = when;
  event.sequence = 7;
  event.attributes.emplace_back("fromKernel", from_kernel);
  return event;
}

Observation heard(std::uint32_t code, MonoTime when, Duration late = {}) {
  host::GpuEvent event;
  event.subject = {SubjectKind::gpu, "0000:3b:00.0", std::nullopt, "", ""};
  event.code = code;
  event.time.mono = when;
  event.late = late;
  return to_observation(event);
}

TEST(JoinedEvents, an_error_of_a_program_that_both_witnesses_tell_is_one) {
  const auto news = joined({record(31, kStart), heard(31, kStart + 4s)}, {});
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_EQ(news[0].source, "/dev/kmsg");
}

TEST(JoinedEvents, what_an_earlier_round_read_in_the_log_is_not_told_again) {
  EXPECT_THAT(joined({heard(31, kStart)}, {record(31, kStart - 5s)}), IsEmpty());
  EXPECT_THAT(joined({heard(31, kStart)}, {record(31, kStart - 6s)}), SizeIs(1));
}

TEST(JoinedEvents, an_event_that_was_heard_late_may_be_as_old_as_the_silence_before) {
  EXPECT_THAT(joined({heard(31, kStart, 30s)}, {record(31, kStart - 34s)}), IsEmpty());
  EXPECT_THAT(joined({heard(31, kStart, 30s)}, {record(31, kStart - 36s)}), SizeIs(1));
  EXPECT_THAT(joined({heard(31, kStart, 30s)}, {record(31, kStart + 6s)}), SizeIs(1));
}

TEST(JoinedEvents, other_errors_and_lines_of_user_space_take_nothing_away) {
  EXPECT_THAT(joined({heard(95, kStart)}, {record(31, kStart)}), SizeIs(1));
  EXPECT_THAT(joined({heard(31, kStart)}, {record(31, kStart, false)}), SizeIs(1));
}

using ::testing::ElementsAre;

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
    // A process of its own for each program, unless the test says more.
    if (!program.empty()) event.attributes.emplace_back("pid", "1000" + program);
    return events_.emplace_back(std::move(event));
  }
  void add_of(const std::string& pid, int code, const std::string& program,
              const std::string& gpu = "0000:3b:00.0") {
    add(code, program, gpu).attributes.back() = {"pid", pid};
  }
  // At the same moment as the one before it.
  void add_at_once_of(const std::string& pid, int code, const std::string& program, const std::string& gpu) {
    now_ -= 60s;
    add_of(pid, code, program, gpu);
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
    for (const RepeatedFault& fault : repeated_faults(catalog::builtin(), records))
      texts.push_back(fault.gpu.key + " " + std::to_string(fault.code) + " " +
                      std::to_string(fault.gpc.value_or(-1)) + "/" + std::to_string(fault.tpc.value_or(-1)) +
                      " " + std::to_string(fault.processes.size()));
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

TEST_F(RepeatedFaults, threads_of_one_process_have_names_of_their_own) {
  add_of("100", 31, "pt_main_thread");
  add_of("100", 31, "pt_autograd_0");
  EXPECT_THAT(places(), IsEmpty());
}

TEST_F(RepeatedFaults, two_processes_may_have_one_name) {
  add_of("100", 31, "python3");
  add_of("200", 31, "python3");
  EXPECT_THAT(places(), ElementsAre("0000:3b:00.0 31 -1/-1 2"));
}

TEST_F(RepeatedFaults, a_job_with_a_process_on_each_gpu_takes_its_fault_along_when_it_is_started_again) {
  add_of("100", 31, "python3");
  add_at_once_of("101", 31, "python3", "0000:5e:00.0");
  add_of("200", 31, "python3");
  add_at_once_of("201", 31, "python3", "0000:5e:00.0");
  EXPECT_THAT(places(), IsEmpty());
}

TEST_F(RepeatedFaults, one_name_at_another_time_is_not_one_job) {
  add_of("100", 31, "python3", "0000:5e:00.0");
  add_of("200", 31, "python3");
  add_of("300", 31, "python3");
  EXPECT_THAT(places(), ElementsAre("0000:3b:00.0 31 -1/-1 2"));
}

TEST_F(RepeatedFaults, every_error_of_programs_has_a_place_but_those_that_only_tell_of_their_end) {
  for (const int code : {32, 39, 68, 69, 45, 43, 174}) {
    add(code, "train");
    add(code, "serve");
  }
  EXPECT_THAT(places(), ElementsAre("0000:3b:00.0 32 -1/-1 2", "0000:3b:00.0 39 -1/-1 2",
                                    "0000:3b:00.0 68 -1/-1 2", "0000:3b:00.0 69 -1/-1 2"));
}

TEST_F(RepeatedFaults, names_the_processes) {
  RepeatedFault fault;
  for (int pid = 10; pid < 20; ++pid)
    fault.processes.emplace(std::to_string(pid), pid == 10 ? "train" : "");
  EXPECT_EQ(fault.named(), "10 (train), 11, 12, 13, 14, 15, 16, 17 and 2 more");
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

TEST_F(RepeatedFaults, no_unit_no_place_and_no_pid_no_process) {
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

TEST_F(RepeatedFaults, what_follows_another_fault_of_a_program_or_a_mere_notice_is_none) {
  for (const std::string program : {"train", "serve"}) {
    add(45, program);
    add(14, "");
    events_.back().time.mono -= 60s;
    add(31, program);
    events_.back().time.mono -= 115s;
  }
  EXPECT_THAT(places(), ElementsAre("0000:3b:00.0 31 -1/-1 2"));
}

}  // namespace

}  // namespace autopilot::checks
