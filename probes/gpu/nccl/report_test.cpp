// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/gpu/run/report.hpp"

namespace autopilot::probes::gpu {
namespace {

using testing::HasSubstr;

Reason reason_of(Stage stage, nccl::Return code, const std::string& text) {
  return failure_of(stage, NcclError{.code = code, .call = "ncclCommInitRank", .text = text}, Vendor::nvidia)
      .reason;
}

TEST(Reason, every_reason_has_a_word) {
  for (int i = 0; i <= static_cast<int>(Reason::internal); ++i)
    EXPECT_FALSE(to_string(static_cast<Reason>(i)).empty()) << i;
}

TEST(Reason, the_stage_determines_the_reason) {
  EXPECT_EQ(failure_of(Stage::driver, Error{Errc::not_found, "x"}, Vendor::nvidia).reason, Reason::no_driver);
  EXPECT_EQ(failure_of(Stage::guard, Error{Errc::conflict, "x"}, Vendor::nvidia).reason, Reason::busy);
  EXPECT_EQ(failure_of(Stage::memory, Error{Errc::exhausted, "x"}, Vendor::nvidia).reason, Reason::no_memory);
  EXPECT_EQ(failure_of(Stage::memory, Error{Errc::unavailable, "x"}, Vendor::nvidia).reason,
            Reason::internal);
  EXPECT_EQ(failure_of(Stage::measuring, Error{Errc::unavailable, "x"}, Vendor::nvidia).reason,
            Reason::internal);
}

TEST(Reason, a_missing_library_comes_with_its_remedy) {
  const Failure failure =
      failure_of(Stage::library, Error{Errc::not_found, "libnccl.so.2: none"}, Vendor::nvidia);
  EXPECT_EQ(failure.reason, Reason::no_library);
  EXPECT_THAT(failure.text, HasSubstr("--nccl-library"));
}

TEST(Reason, rccl_is_not_called_nccl) {
  EXPECT_THAT(failure_of(Stage::library, Error{Errc::not_found, "x"}, Vendor::amd).text,
              HasSubstr("install RCCL (rccl)"));
  const NcclError mismatch{.code = nccl::kInvalidUsage, .call = "c", .text = "Mismatched version"};
  EXPECT_THAT(failure_of(Stage::joining, mismatch, Vendor::amd).text, HasSubstr("same version of RCCL"));
}

TEST(Reason, connection_refused_is_distinguished_from_no_answer) {
  EXPECT_EQ(reason_of(Stage::joining, nccl::kSystemError, "connect failed : Connection refused"),
            Reason::refused);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kSystemError, "connect failed : Connection timed out"),
            Reason::not_joined);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kSystemError, "no socket interface found"), Reason::internal);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kInternalError, "connection refused"), Reason::internal);
}

TEST(Reason, after_all_have_joined_a_system_error_is_that_of_a_peer) {
  for (const nccl::Return code : {nccl::kRemoteError, nccl::kSystemError, nccl::kInternalError})
    EXPECT_EQ(reason_of(Stage::measuring, code, "closed"), Reason::peer_vanished) << code;
  EXPECT_EQ(reason_of(Stage::joining, nccl::kRemoteError, "closed"), Reason::peer_vanished);
  EXPECT_EQ(reason_of(Stage::measuring, nccl::kInvalidUsage, "x"), Reason::internal);
}

TEST(Reason, the_message_has_precedence_over_the_code) {
  EXPECT_EQ(reason_of(Stage::joining, nccl::kInvalidUsage,
                      "Mismatched NCCL version detected : rank 0 version 22105 rank 1 version 22304"),
            Reason::wrong_version);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kUnhandledCudaError, "Cuda failure 2 'out of memory'"),
            Reason::no_memory);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kInternalError, "mismatch in rank count"), Reason::internal);
}

TEST(Reason, only_the_hanging_call_determines_the_reason) {
  EXPECT_EQ(failure_of_hanging(Stage::driver, "cuInit has not returned").reason, Reason::internal);
  EXPECT_EQ(failure_of_hanging(Stage::joining, "ncclCommInitRank has not returned").reason,
            Reason::not_joined);
  EXPECT_EQ(failure_of_hanging(Stage::joining, "cuMemGetInfo_v2 has not returned").reason, Reason::internal);
  EXPECT_EQ(failure_of_hanging(Stage::measuring, "ncclGroupEnd has not returned").reason,
            Reason::peer_vanished);
  EXPECT_EQ(failure_of_hanging(Stage::joining, "ncclGetUniqueId has not returned").reason, Reason::internal);
}

TEST(Reason, a_message_of_a_library_is_truncated_and_printable) {
  const Failure failure = failure_of(
      Stage::joining, NcclError{.code = 3, .call = "c", .text = "\x1b[31m" + std::string(5000, 'x')},
      Vendor::nvidia);
  EXPECT_LE(failure.text.size(), 300U);
  EXPECT_THAT(failure.text, HasSubstr("c: ?[31m"));
}

AllReduceReport measured() {
  AllReduceReport report;
  report.address = "10.0.0.2";
  report.nccl_version = "2.21.5";
  report.ranks = 16;
  report.gpus = 8;
  report.figures = {.bytes = 268435456,
                    .iterations = 20,
                    .seconds = 0.5,
                    .algorithm_bits_per_second = 85899345920.4,
                    .bus_bits_per_second = 161061273600,
                    .samples = {1e11, 2e11}};
  return report;
}

TEST(AllReduceReport, figures_are_whole_bits) {
  EXPECT_EQ(to_json(measured()),
            R"({"program":"autopilot-gpu-probe","format":1,"simulated":false,"address":"10.0.0.2",)"
            R"("nccl_version":"2.21.5","ranks":16,"gpus":8,"bytes":268435456,"iterations":20,"seconds":5E-1,)"
            R"("bus_bits_per_second":161061273600,"algorithm_bits_per_second":85899345920,)"
            R"("samples":[100000000000,200000000000]})");
  EXPECT_EQ(exit_code_of(measured()), exit_measured);
}

TEST(AllReduceReport, a_reason_replaces_the_figures) {
  AllReduceReport report = measured();
  report.failure = {Reason::peer_vanished, "rank \xff is gone"};
  EXPECT_EQ(to_json(report),
            R"({"program":"autopilot-gpu-probe","format":1,"simulated":false,"address":"10.0.0.2",)"
            R"("nccl_version":"2.21.5","ranks":16,"gpus":8,"reason":"peer_vanished",)"
            "\"error\":\"rank \xef\xbf\xbd is gone\"}");
  EXPECT_EQ(exit_code_of(report), exit_not_measured);
}

TEST(AllReduceReport, unknown_values_are_left_out) {
  AllReduceReport report;
  report.ranks = 2;
  report.simulated = true;
  report.failure = {Reason::no_driver, "none"};
  EXPECT_EQ(to_json(report), R"({"program":"autopilot-gpu-probe","format":1,"simulated":true,"ranks":2,)"
                             R"("reason":"no_driver","error":"none"})");
}

TEST(AllReduceReport, a_wrong_result_has_a_code_of_its_own) {
  AllReduceReport report = measured();
  report.failure = {Reason::wrong_result, "gpu 3"};
  EXPECT_EQ(to_json(report).find("wrong_rank"), std::string::npos);
  report.wrong_rank = 0;
  EXPECT_TRUE(to_json(report).ends_with(R"("reason":"wrong_result","error":"gpu 3","wrong_rank":0})"));
  EXPECT_EQ(exit_code_of(report), exit_wrong);
}

TEST(AllReduceReport, the_version_has_the_name_of_the_library) {
  AllReduceReport report = measured();
  report.vendor = Vendor::amd;
  for (const std::string& text : {to_json(report), to_invitation(report, "0f")}) {
    EXPECT_NE(text.find(R"("rccl_version":"2.21.5")"), std::string::npos) << text;
    EXPECT_EQ(text.find("nccl"), std::string::npos) << text;
  }
}

TEST(AllReduceReport, an_invitation_has_all_data_to_join) {
  EXPECT_EQ(to_invitation(measured(), "0f"),
            R"({"program":"autopilot-gpu-probe","format":1,"simulated":false,"id":"0f","gpus":8,)"
            R"("nccl_version":"2.21.5"})");
}

}  // namespace

}  // namespace autopilot::probes::gpu
