// SPDX-License-Identifier: Apache-2.0
#include "incidents/gpu_users.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "incidents/node_state.hpp"
#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::at;
using ::testing::ElementsAre;
using testing::finding;
using testing::gpu;
using ::testing::IsEmpty;

const Subject kUsedGpu = gpu("0000:3b:00.0");
const Subject kUnusedGpu = gpu("0000:5d:00.0");

Observation use(const Subject& gpu, std::int64_t pid, const std::string& pod, Duration when) {
  GpuUser gpu_user;
  gpu_user.pid = pid;
  gpu_user.started_ticks = static_cast<std::uint64_t>(pid) * 10;
  gpu_user.process = "python3";
  gpu_user.owner.pod_namespace = "ml";
  gpu_user.owner.pod = pod;
  return to_observation(gpu_user, gpu, "/proc", at(when));
}

Observation hold(const Subject& gpu, const std::string& pod, Duration when) {
  GpuUser gpu_user;
  gpu_user.owner.pod_namespace = "ml";
  gpu_user.owner.pod = pod;
  return to_observation(gpu_user, gpu, "kubelet", at(when));
}

// Somebody tells that the pod holds GPUs of the machine, and not which.
Observation hold_some(const std::string& pod, Duration when) {
  GpuUser gpu_user;
  gpu_user.owner.pod_namespace = "ml";
  gpu_user.owner.pod = pod;
  gpu_user.owner.candidate_by = "api";
  return to_observation(gpu_user, host_subject(), "api", at(when));
}

std::vector<std::string> names(const std::vector<GpuUser>& gpu_users) {
  std::vector<std::string> result;
  for (const GpuUser& gpu_user : gpu_users)
    result.push_back(to_string(gpu_user));
  return result;
}

TEST(GpuUsers, are_those_of_the_gpu_in_that_time) {
  GpuUsers users;
  users.note({use(kUsedGpu, 1, "first", minutes{0}), use(kUnusedGpu, 2, "other", minutes{0})});
  users.note({use(kUsedGpu, 1, "first", minutes{10}), use(kUnusedGpu, 2, "other", minutes{10})});
  users.note({use(kUsedGpu, 3, "second", minutes{20})});
  EXPECT_THAT(names(users.of(kUsedGpu, at(minutes{5}).wall, at(minutes{6}).wall)),
              ElementsAre("pod ml/first (python3, 1)"));
  EXPECT_THAT(names(users.of(kUsedGpu, at(minutes{5}).wall, at(minutes{20}).wall)),
              ElementsAre("pod ml/first (python3, 1)", "pod ml/second (python3, 3)"));
  EXPECT_THAT(users.of(kUsedGpu, at(minutes{14}).wall, at(minutes{16}).wall), IsEmpty());
  EXPECT_THAT(names(users.of_any(at(minutes{5}).wall, at(minutes{5}).wall)),
              ElementsAre("pod ml/first (python3, 1)", "pod ml/other (python3, 2)"));
}

TEST(GpuUsers, may_have_begun_before_and_ended_after_they_were_seen) {
  GpuUsers users;
  users.note({use(kUsedGpu, 1, "short", minutes{10})});
  EXPECT_THAT(users.of(kUsedGpu, at(minutes{7}).wall, at(minutes{8}).wall), ::testing::SizeIs(1));
  EXPECT_THAT(users.of(kUsedGpu, at(minutes{12}).wall, at(minutes{12}).wall), ::testing::SizeIs(1));
  EXPECT_THAT(users.of(kUsedGpu, at(minutes{13}).wall, at(minutes{13}).wall), IsEmpty());
}

TEST(GpuUsers, a_number_that_is_used_again_is_another_process) {
  GpuUsers users;
  auto again = use(kUsedGpu, 1, "second", minutes{1});
  again.attributes.front().second = std::int64_t{999};
  users.note({use(kUsedGpu, 1, "first", minutes{0}), again});
  EXPECT_THAT(users.of(kUsedGpu, at(minutes{0}).wall, at(minutes{1}).wall), ::testing::SizeIs(2));
}

TEST(GpuUsers, are_also_pods_that_only_hold_it) {
  GpuUsers users;
  users.note({hold(kUsedGpu, "first", minutes{0}), hold(kUnusedGpu, "first", minutes{0})});
  users.note({hold(kUsedGpu, "first", minutes{10}), hold(kUsedGpu, "second", minutes{20})});
  EXPECT_THAT(names(users.of(kUsedGpu, at(minutes{5}).wall, at(minutes{6}).wall)),
              ElementsAre("pod ml/first"));
  EXPECT_THAT(users.of(kUsedGpu, at(minutes{14}).wall, at(minutes{16}).wall), IsEmpty());
  EXPECT_THAT(names(users.of(kUsedGpu, at(minutes{19}).wall, at(minutes{19}).wall)),
              ElementsAre("pod ml/second"));
  EXPECT_THAT(names(users.of_any(at(minutes{0}).wall, at(minutes{0}).wall)), ElementsAre("pod ml/first"));
}

TEST(GpuUsers, may_be_one_that_holds_some_gpu_where_no_other_does) {
  GpuUsers users;
  const auto of = [&](Duration when) { return names(users.of(kUsedGpu, at(when).wall, at(when).wall)); };
  users.note({hold_some("first", minutes{0})});
  EXPECT_THAT(of(minutes{0}), ElementsAre("pod ml/first (the only one with GPUs)"));
  users.note({hold_some("first", minutes{10}), hold_some("second", minutes{10})});
  EXPECT_THAT(of(minutes{5}), ElementsAre("pod ml/first (the only one with GPUs)"));
  EXPECT_THAT(of(minutes{10}), IsEmpty()) << "it may be either";
  users.note({hold_some("second", minutes{20})});
  EXPECT_THAT(of(minutes{11}), IsEmpty());
  EXPECT_THAT(of(minutes{20}), ElementsAre("pod ml/second (the only one with GPUs)"));
  EXPECT_THAT(names(users.of_any(at(minutes{10}).wall, at(minutes{10}).wall)),
              ElementsAre("pod ml/first", "pod ml/second"))
      << "what is about all GPUs is about both";
}

TEST(GpuUsers, who_is_seen_on_the_gpu_is_no_candidate) {
  GpuUsers users;
  users.note({hold_some("first", minutes{0}), hold(kUsedGpu, "first", minutes{0})});
  EXPECT_THAT(names(users.of(kUsedGpu, at(minutes{0}).wall, at(minutes{0}).wall)),
              ElementsAre("pod ml/first"));
}

TEST(GpuUsers, of_a_part_are_those_of_it_and_those_that_nobody_can_place) {
  const auto part = [](const std::string& key) {
    Subject subject;
    subject.kind = SubjectKind::gpu_instance;
    subject.key = key;
    return subject;
  };
  GpuUsers users;
  users.note({hold(part(kUsedGpu.key + "/5/0"), "fifth", minutes{1}),
              hold(part(kUsedGpu.key + "/50/0"), "other", minutes{0}), use(kUsedGpu, 1, "whole", minutes{2}),
              hold(part(kUnusedGpu.key + "/5/0"), "elsewhere", minutes{0})});
  const auto of = [&](const Subject& subject) {
    return names(users.of(subject, at(minutes{1}).wall, at(minutes{1}).wall));
  };
  EXPECT_THAT(of(part(kUsedGpu.key + "/5")), ElementsAre("pod ml/fifth", "pod ml/whole (python3, 1)"));
  EXPECT_THAT(of(part(kUsedGpu.key + "/5/0")), ElementsAre("pod ml/fifth", "pod ml/whole (python3, 1)"));
  EXPECT_THAT(of(part(kUsedGpu.key + "/5/1")), ElementsAre("pod ml/whole (python3, 1)"));
  EXPECT_THAT(of(kUsedGpu), ElementsAre("pod ml/other", "pod ml/fifth", "pod ml/whole (python3, 1)"));
}

TEST(GpuUsers, a_clock_that_steps_back_hides_nobody) {
  GpuUsers users;
  users.note({use(kUsedGpu, 1, "long", hours{5})});
  users.note({use(kUsedGpu, 1, "long", hours{3})});
  EXPECT_THAT(users.of(kUsedGpu, at(hours{3}).wall, at(hours{3}).wall), ::testing::SizeIs(1));
}

TEST(GpuUsers, what_was_known_of_a_process_is_not_forgotten_when_it_ends) {
  GpuUsers users;
  auto ended = use(kUsedGpu, 1, "train-0", minutes{1});
  ended.attributes.resize(1);  // its control group is gone
  users.note({use(kUsedGpu, 1, "train-0", minutes{0})});
  users.note({ended});
  EXPECT_THAT(names(users.of(kUsedGpu, at(minutes{1}).wall, at(minutes{1}).wall)),
              ElementsAre("pod ml/train-0 (python3, 1)"));
}

TEST(GpuUsers, what_a_later_look_does_not_see_of_a_pod_is_not_forgotten_either) {
  GpuUser whole;
  whole.pid = 7;
  whole.process = "python3";
  whole.owner.pod_uid = "8b7c1f8e";
  whole.owner.container = "0123456789ab";
  GpuUser partly = whole;
  whole.owner.pod_namespace = "ml";
  whole.owner.pod = "train-0";
  partly.owner.container.clear();
  GpuUsers users;
  users.note({to_observation(whole, kUsedGpu, "/proc", at(minutes{0}))});
  users.note({to_observation(partly, kUsedGpu, "/proc", at(minutes{1}))});
  const auto seen = users.of(kUsedGpu, at(minutes{1}).wall, at(minutes{1}).wall);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].owner, whole.owner);
}

TEST(GpuUsers, a_pod_that_is_made_again_is_another_also_after_a_look_that_could_not_tell) {
  const auto hold_by = [](const std::string& uid, Duration when) {
    GpuUser gpu_user;
    gpu_user.owner = {.container = {},
                      .pod_uid = uid,
                      .pod_namespace = "ml",
                      .pod = "train-0",
                      .job = {},
                      .candidate_by = {}};
    return to_observation(gpu_user, kUsedGpu, "kubelet", at(when));
  };
  GpuUsers users;
  users.note({hold_by("1", minutes{0})});
  users.note({hold_by("", minutes{1})});
  users.note({hold_by("2", minutes{2})});
  std::vector<std::string> uids;
  for (const GpuUser& one : users.of(kUsedGpu, at(minutes{0}).wall, at(minutes{2}).wall))
    uids.push_back(one.owner.pod_uid);
  EXPECT_THAT(uids, ElementsAre("1", "2"));
}

TEST(GpuUsers, of_too_many_those_are_kept_that_were_seen_last) {
  GpuUsers users;
  for (int i = 0; i < 63; ++i)
    users.note({use(kUsedGpu, 100 + i, "short", minutes{i % 10})});
  users.note({use(kUsedGpu, 1, "long", minutes{0})});
  users.note({use(kUsedGpu, 1, "long", minutes{20})});
  for (int i = 0; i < 63; ++i)
    users.note({use(kUsedGpu, 200 + i, "next", minutes{20})});
  const auto kept = names(users.of(kUsedGpu, at(minutes{20}).wall, at(minutes{20}).wall));
  EXPECT_EQ(kept.size(), GpuUsers::kMaxPerGpu);
  EXPECT_THAT(kept, ::testing::Contains("pod ml/long (python3, 1)"));
}

TEST(GpuUsers, are_forgotten_after_a_while_and_limited) {
  GpuUsers users;
  users.note({use(kUsedGpu, 1, "old", minutes{0})});
  users.note({use(kUsedGpu, 2, "new", hours{2})});
  EXPECT_THAT(names(users.of(kUsedGpu, at(minutes{0}).wall, at(hours{3}).wall)),
              ElementsAre("pod ml/new (python3, 2)"));
  for (int i = 0; i < 200; ++i)
    users.note({use(kUsedGpu, 100 + i, "many", hours{2})});
  EXPECT_EQ(users.of(kUsedGpu, at(hours{2}).wall, at(hours{2}).wall).size(), GpuUsers::kMaxPerGpu);
}

class IncidentGpuUsers : public ::testing::Test {
 protected:
  IncidentGpuUsers()
      : state_([](std::string_view id) { return catalog::builtin().reason(id); }, catalog::builtin().causes(),
               std::string(testing::kBoot)) {}

  Changes round(std::string_view check, Duration when, Findings findings, const Observations& seen,
                Findings records = {}) {
    for (Findings* list : {&findings, &records})
      for (Finding& one : *list)
        one.since = one.last_seen = at(when).wall;
    return state_.complete_round(check, at(when), findings, seen, records);
  }
  std::vector<std::string> hit() {
    const auto incidents = state_.incidents();
    EXPECT_EQ(incidents.size(), 1U);
    return incidents.empty() ? std::vector<std::string>{} : names(incidents.front().gpu_users);
  }
  static Finding record_of(const Subject& subject, const std::string& pid) {
    Finding record = finding(subject, "xid_app", Health::healthy);
    record.evidence = {{"code", std::int64_t{31}}, {"process", std::string("python3")}, {"pid", pid}};
    return record;
  }

  NodeState state_;
};

TEST_F(IncidentGpuUsers, are_named_even_if_they_are_gone) {
  round("gpu.processes", minutes{0}, {},
        {use(kUsedGpu, 1, "train-0", minutes{0}), use(kUnusedGpu, 2, "x", minutes{0})});
  round("gpu.processes", minutes{1}, {}, testing::answers({kUsedGpu, kUnusedGpu}));
  const auto changes = round("gpu.xid", minutes{1}, {finding(kUsedGpu, "gpu_fallen_off_bus")}, {});
  ASSERT_EQ(changes.incidents.size(), 1U);
  EXPECT_THAT(names(changes.incidents[0].gpu_users), ElementsAre("pod ml/train-0 (python3, 1)"));
  round("gpu.processes", hours{3}, {}, testing::answers({kUnusedGpu}));
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0 (python3, 1)"));
}

TEST_F(IncidentGpuUsers, survive_a_restart) {
  round("gpu.processes", minutes{0}, {}, {use(kUsedGpu, 1, "train-0", minutes{0})});
  round("gpu.xid", minutes{1}, {finding(kUsedGpu, "gpu_fallen_off_bus")}, {});
  const auto saved = state_.save();
  state_ = NodeState([](std::string_view id) { return catalog::builtin().reason(id); },
                     catalog::builtin().causes(), std::string(testing::kBoot));
  (void)state_.restore(saved, at(minutes{2}));
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0 (python3, 1)"));
}

TEST_F(IncidentGpuUsers, of_a_link_are_those_of_its_gpu) {
  round("gpu.processes", minutes{0}, {}, {use(kUsedGpu, 1, "train-0", minutes{0})});
  Subject link;
  link.kind = SubjectKind::nvlink;
  link.key = "0000:3b:00.0/4";
  round("gpu.xid", minutes{1}, {finding(link, "xid_nvlink")}, {});
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0 (python3, 1)"));
}

TEST_F(IncidentGpuUsers, of_a_programs_fault_are_that_program_alone) {
  round("gpu.processes", minutes{0}, {},
        {use(kUsedGpu, 1, "train-0", minutes{0}), use(kUsedGpu, 2, "notebook", minutes{0})});
  round("gpu.xid", minutes{1}, {}, {}, {record_of(kUsedGpu, "2")});
  EXPECT_THAT(hit(), ElementsAre("pod ml/notebook (python3, 2)"));
}

TEST_F(IncidentGpuUsers, of_a_fault_of_the_hardware_are_all_whoever_met_it_first) {
  round("gpu.processes", minutes{0}, {},
        {use(kUsedGpu, 1, "train-0", minutes{0}), use(kUsedGpu, 2, "train-1", minutes{0})});
  Finding lost = finding(kUsedGpu, "gpu_fallen_off_bus");
  lost.evidence = {
      {"code", std::int64_t{79}}, {"process", std::string("nvidia-smi")}, {"pid", std::string("2")}};
  round("gpu.xid", minutes{1}, {lost}, {});
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0 (python3, 1)", "pod ml/train-1 (python3, 2)"));
}

TEST_F(IncidentGpuUsers, a_program_that_no_look_has_seen_is_named_by_its_line_until_one_has) {
  round("gpu.xid", minutes{0}, {}, {}, {record_of(kUsedGpu, "7")});
  EXPECT_THAT(hit(), ElementsAre("process python3, 7"));
  const auto changes = round("gpu.processes", minutes{1}, {}, {use(kUsedGpu, 7, "train-0", minutes{1})});
  ASSERT_EQ(changes.incidents.size(), 1U) << "it must reach the journal";
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0 (python3, 7)"));
  EXPECT_TRUE(
      round("gpu.processes", minutes{2}, {}, {use(kUsedGpu, 7, "train-0", minutes{2})}).incidents.empty());
}

TEST_F(IncidentGpuUsers, are_pods_that_held_the_gpu_without_a_process_also_when_they_are_gone) {
  round("gpu.processes", minutes{0}, {},
        {hold(kUsedGpu, "train-0", minutes{0}), hold(kUnusedGpu, "x", minutes{0})});
  round("gpu.processes", minutes{1}, {}, testing::answers({kUsedGpu, kUnusedGpu}));
  const auto changes = round("gpu.xid", minutes{1}, {finding(kUsedGpu, "gpu_fallen_off_bus")}, {});
  ASSERT_EQ(changes.incidents.size(), 1U);
  EXPECT_THAT(names(changes.incidents[0].gpu_users), ElementsAre("pod ml/train-0"));
  round("gpu.processes", hours{3}, {}, testing::answers({kUnusedGpu}));
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0"));
}

TEST_F(IncidentGpuUsers, a_pod_is_told_by_its_processes_whichever_was_seen_first) {
  round("gpu.xid", minutes{0}, {finding(kUsedGpu, "gpu_fallen_off_bus")}, {});
  round("gpu.processes", minutes{1}, {},
        {hold(kUsedGpu, "train-0", minutes{1}), hold(kUsedGpu, "shared", minutes{1})});
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0", "pod ml/shared"));
  const auto changes =
      round("gpu.processes", minutes{2}, {},
            {use(kUsedGpu, 1, "train-0", minutes{2}), hold(kUsedGpu, "train-0", minutes{2})});
  ASSERT_EQ(changes.incidents.size(), 1U) << "it must reach the journal";
  EXPECT_THAT(hit(), ElementsAre("pod ml/shared", "pod ml/train-0 (python3, 1)"));
  EXPECT_TRUE(
      round("gpu.processes", minutes{3}, {}, {hold(kUsedGpu, "train-0", minutes{3})}).incidents.empty());
}

TEST_F(IncidentGpuUsers, of_a_programs_fault_that_no_look_saw_are_it_and_the_only_pod_on_the_gpu) {
  round("gpu.processes", minutes{0}, {},
        {hold(kUsedGpu, "train-0", minutes{0}), hold(kUnusedGpu, "x", minutes{0})});
  round("gpu.xid", minutes{0}, {}, {}, {record_of(kUsedGpu, "7")});
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0", "process python3, 7"));
  round("gpu.processes", minutes{1}, {}, {use(kUsedGpu, 7, "train-0", minutes{1})});
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0 (python3, 7)"));
}

TEST_F(IncidentGpuUsers, of_a_programs_fault_a_pod_that_was_a_guess_goes_when_a_look_finds_the_program) {
  round("gpu.processes", minutes{0}, {}, {hold(kUsedGpu, "train-0", minutes{0})});
  round("gpu.xid", minutes{0}, {}, {}, {record_of(kUsedGpu, "7")});
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0", "process python3, 7"));
  const auto changes = round("gpu.processes", minutes{1}, {}, {use(kUsedGpu, 7, "monitor", minutes{1})});
  ASSERT_EQ(changes.incidents.size(), 1U) << "it must reach the journal";
  EXPECT_THAT(hit(), ElementsAre("pod ml/monitor (python3, 7)"));
}

TEST_F(IncidentGpuUsers, of_a_programs_fault_are_no_pods_that_share_the_gpu) {
  round("gpu.processes", minutes{0}, {},
        {hold(kUsedGpu, "shared-0", minutes{0}), hold(kUsedGpu, "shared-1", minutes{0})});
  round("gpu.xid", minutes{0}, {}, {}, {record_of(kUsedGpu, "7")});
  EXPECT_THAT(hit(), ElementsAre("process python3, 7"));
}

TEST_F(IncidentGpuUsers, another_program_with_the_same_fault_is_named_too) {
  round("gpu.processes", minutes{0}, {},
        {use(kUsedGpu, 1, "train-0", minutes{0}), use(kUsedGpu, 2, "train-1", minutes{0})});
  round("gpu.xid", minutes{1}, {}, {}, {record_of(kUsedGpu, "1")});
  const auto changes = round("gpu.xid", minutes{1}, {}, {}, {record_of(kUsedGpu, "2")});
  ASSERT_EQ(changes.incidents.size(), 1U);
  EXPECT_THAT(hit(), ElementsAre("pod ml/train-0 (python3, 1)", "pod ml/train-1 (python3, 2)"));
}

TEST_F(IncidentGpuUsers, that_begin_while_it_lasts_are_told_once) {
  round("gpu.xid", minutes{0}, {finding(kUsedGpu, "gpu_fallen_off_bus")}, {});
  const auto changes = round("gpu.processes", minutes{1}, {}, {use(kUsedGpu, 1, "train-0", minutes{1})});
  ASSERT_EQ(changes.incidents.size(), 1U);
  EXPECT_THAT(names(changes.incidents[0].gpu_users), ElementsAre("pod ml/train-0 (python3, 1)"));
  EXPECT_TRUE(round("gpu.processes", minutes{2}, {}, {use(kUsedGpu, 1, "train-0", minutes{2})}).empty());
}

TEST_F(IncidentGpuUsers, are_not_blamed_on_what_is_no_gpu_and_not_told_of_injected_faults) {
  round("gpu.processes", minutes{0}, {}, {use(kUsedGpu, 1, "train-0", minutes{0})});
  round("host.clock", minutes{1}, {finding(host_subject(), "clock_unsynchronised")}, {});
  round("host.clock", minutes{2}, {finding(host_subject(), "clock_unsynchronised")}, {});
  EXPECT_THAT(hit(), IsEmpty());
  Finding injected = finding(kUsedGpu, "gpu_fallen_off_bus");
  injected.injected = true;
  round("gpu.xid", minutes{3}, {injected}, {});
  for (const Incident& incident : state_.incidents())
    EXPECT_THAT(incident.gpu_users, IsEmpty()) << incident.reason;
}

TEST_F(IncidentGpuUsers, are_limited) {
  Observations many;
  for (int i = 0; i < 40; ++i)
    many.push_back(use(kUsedGpu, 1 + i, "mps", minutes{0}));
  round("gpu.processes", minutes{0}, {}, many);
  round("gpu.xid", minutes{1}, {finding(kUsedGpu, "gpu_fallen_off_bus")}, {});
  EXPECT_EQ(hit().size(), Incident::kMaxGpuUsers);
}

}  // namespace
}  // namespace autopilot::incidents
