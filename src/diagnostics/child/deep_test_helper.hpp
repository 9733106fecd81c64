// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/gpu/dcgm.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::diagnostics {

// Result of a deep diagnostic for the GPUs of a node, short enough for the termination message of a
// container, from which the agent reads it.
struct DeepTestSummary {
  struct Test {
    std::string name;  // DCGM's
    host::DcgmStatus status = host::DcgmStatus::skip;
    std::vector<std::uint32_t> gpus;      // GPUs of that status; empty: not about certain GPUs
    std::string message;                  // the first message, cut
    std::optional<std::int64_t> error{};  // dcgmError_t of these results; not set: DCGM reported none
    friend bool operator==(const Test&, const Test&) = default;
  };

  std::string problem;              // why there is no result; empty: the GPUs were tested
  std::vector<Test> tests;          // for each name and error: the failures, the warnings, or else the passed
                                    // results; in this order, skips last
  std::size_t left_out = 0;         // number of tests without room; none is worse than a listed test
  std::vector<host::DcgmGpu> gpus;  // the tested GPUs
  friend bool operator==(const DeepTestSummary&, const DeepTestSummary&) = default;
};

// Bytes of a termination message that the kubelet keeps.
inline constexpr std::size_t kMaxDeepTestSummary = 4096;

[[nodiscard]] DeepTestSummary summary_of(const host::DcgmDiagnosis& diagnosis);

// One line of JSON of at most kMaxDeepTestSummary bytes. A longer one loses messages first, then tests from
// the end, then serials.
[[nodiscard]] std::string format_deep_test_summary(DeepTestSummary summary);
// malformed: anything else. Pure, and safe with untrusted text.
[[nodiscard]] Result<DeepTestSummary> parse_deep_test_summary(std::string_view text);

// Result of a deep diagnostic, from the exit status and the output of its program. gpus: number of GPUs that
// it was given; if fewer were tested, `problem` is set. 0: not known.
[[nodiscard]] DeepTestSummary read_deep_test(const host::ChildReport& report, std::size_t gpus);

// 0: tested without a failure; 1: a test failed; 2: no result for the GPUs.
[[nodiscard]] int exit_code_of(const DeepTestSummary& summary);

// A deep diagnostic without a separate program. arguments: those after `--` on the command line.
using OwnDeepTest = std::function<DeepTestSummary(const std::vector<std::string>& arguments, MonoTime until)>;

// `autopilot helper deep-test --output FILE [--deadline DURATION] [--gpus N] -- PROGRAM [ARGUMENT...]`: runs
// the program of a deep diagnostic, found in PATH, which prints the output of `dcgmi diag -j`; writes the
// summary to the file and passes the program's output on to standard output and error. `... --tests own --
// [OPTION...]`: runs `own` in place of a program. Returns the exit code.
[[nodiscard]] int run_deep_test(const std::vector<std::string>& arguments, const OwnDeepTest& own);

}  // namespace autopilot::diagnostics
