// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/reason.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::gpu {
namespace {

using testing::HasSubstr;

Reason reason_of(Stage stage, nccl::Return code, const std::string& text) {
  return failure_of(stage, NcclError{.code = code, .call = "ncclCommInitRank", .text = text}, Vendor::nvidia)
      .reason;
}

TEST(Reason, every_one_has_its_word) {
  for (int i = 0; i <= static_cast<int>(Reason::internal); ++i)
    EXPECT_FALSE(to_string(static_cast<Reason>(i)).empty()) << i;
}

TEST(Reason, where_something_failed_says_why) {
  EXPECT_EQ(failure_of(Stage::driver, Error{Errc::not_found, "x"}, Vendor::nvidia).reason, Reason::no_driver);
  EXPECT_EQ(failure_of(Stage::guard, Error{Errc::conflict, "x"}, Vendor::nvidia).reason, Reason::busy);
  EXPECT_EQ(failure_of(Stage::memory, Error{Errc::exhausted, "x"}, Vendor::nvidia).reason, Reason::no_memory);
  EXPECT_EQ(failure_of(Stage::memory, Error{Errc::unavailable, "x"}, Vendor::nvidia).reason,
            Reason::internal);
  EXPECT_EQ(failure_of(Stage::measuring, Error{Errc::unavailable, "x"}, Vendor::nvidia).reason,
            Reason::internal);
}

TEST(Reason, a_missing_library_comes_with_its_cure) {
  const Failure failure =
      failure_of(Stage::library, Error{Errc::not_found, "libnccl.so.2: none"}, Vendor::nvidia);
  EXPECT_EQ(failure.reason, Reason::no_library);
  EXPECT_THAT(failure.text, HasSubstr("--nccl-library"));
}

TEST(Reason, what_is_of_rccl_is_not_said_to_be_of_nccl) {
  EXPECT_THAT(failure_of(Stage::library, Error{Errc::not_found, "x"}, Vendor::amd).text,
              HasSubstr("install RCCL (rccl)"));
  const NcclError mismatch{.code = nccl::kInvalidUsage, .call = "c", .text = "Mismatched version"};
  EXPECT_THAT(failure_of(Stage::joining, mismatch, Vendor::amd).text, HasSubstr("same version of RCCL"));
}

TEST(Reason, nobody_who_listens_is_told_from_nobody_who_answers) {
  EXPECT_EQ(reason_of(Stage::joining, nccl::kSystemError, "connect failed : Connection refused"),
            Reason::refused);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kSystemError, "connect failed : Connection timed out"),
            Reason::not_joined);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kSystemError, "no socket interface found"), Reason::internal);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kInternalError, "connection refused"), Reason::internal);
}

TEST(Reason, once_all_were_there_a_failure_of_the_system_is_that_of_a_peer) {
  for (const nccl::Return code : {nccl::kRemoteError, nccl::kSystemError, nccl::kInternalError})
    EXPECT_EQ(reason_of(Stage::measuring, code, "closed"), Reason::peer_vanished) << code;
  EXPECT_EQ(reason_of(Stage::joining, nccl::kRemoteError, "closed"), Reason::peer_vanished);
  EXPECT_EQ(reason_of(Stage::measuring, nccl::kInvalidUsage, "x"), Reason::internal);
}

TEST(Reason, words_say_more_than_codes) {
  EXPECT_EQ(reason_of(Stage::joining, nccl::kInvalidUsage,
                      "Mismatched NCCL version detected : rank 0 version 22105 rank 1 version 22304"),
            Reason::wrong_version);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kUnhandledCudaError, "Cuda failure 2 'out of memory'"),
            Reason::no_memory);
  EXPECT_EQ(reason_of(Stage::joining, nccl::kInternalError, "mismatch in rank count"), Reason::internal);
}

TEST(Reason, who_hangs_is_blamed_and_nobody_else) {
  EXPECT_EQ(failure_of_hanging(Stage::driver, "cuInit has not returned").reason, Reason::internal);
  EXPECT_EQ(failure_of_hanging(Stage::joining, "ncclCommInitRank has not returned").reason,
            Reason::not_joined);
  EXPECT_EQ(failure_of_hanging(Stage::joining, "cuMemGetInfo_v2 has not returned").reason, Reason::internal);
  EXPECT_EQ(failure_of_hanging(Stage::measuring, "ncclGroupEnd has not returned").reason,
            Reason::peer_vanished);
  EXPECT_EQ(failure_of_hanging(Stage::joining, "ncclGetUniqueId has not returned").reason, Reason::internal);
}

TEST(Reason, what_a_library_says_is_cut_and_made_printable) {
  const Failure failure = failure_of(
      Stage::joining, NcclError{.code = 3, .call = "c", .text = "\x1b[31m" + std::string(5000, 'x')},
      Vendor::nvidia);
  EXPECT_LE(failure.text.size(), 300U);
  EXPECT_THAT(failure.text, HasSubstr("c: ?[31m"));
}

}  // namespace
}  // namespace autopilot::probes::gpu
