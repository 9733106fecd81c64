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

// What a deep test says of the GPUs of a node, short enough for the termination message of a container, which
// is how it leaves the pod that it ran in.
struct DeepTestSummary {
  struct Test {
    std::string name;  // DCGM's
    host::DcgmStatus status = host::DcgmStatus::skip;
    std::vector<std::uint32_t> gpus;      // those of that status; empty: not about certain GPUs
    std::string message;                  // the first one, cut
    std::optional<std::int64_t> error{};  // dcgmError_t of these results, where it is told
    friend bool operator==(const Test&, const Test&) = default;
  };

  std::string problem;       // why nothing can be said of the GPUs; empty: they were tested
  std::vector<Test> tests;   // of each name, and each error of it, what failed, what was warned, or else what
                             // passed; in this order, skips last
  std::size_t left_out = 0;  // tests that had no room; never one that is worse than one that is here
  std::vector<host::DcgmGpu> gpus;  // that were tested
  friend bool operator==(const DeepTestSummary&, const DeepTestSummary&) = default;
};

// The kubelet keeps so many bytes of a termination message.
inline constexpr std::size_t kMaxDeepTestSummary = 4096;

[[nodiscard]] DeepTestSummary summary_of(const host::DcgmDiagnosis& diagnosis);

// One line of JSON of at most kMaxDeepTestSummary bytes. Room is made by leaving out first messages, then
// tests from the end, then serials.
[[nodiscard]] std::string format_deep_test_summary(DeepTestSummary summary);
// malformed: what is no such line. Pure, and safe with what a stranger wrote.
[[nodiscard]] Result<DeepTestSummary> parse_deep_test_summary(std::string_view text);

// What a deep test said, by how its program ended and what it wrote. gpus: how many it was given; fewer were
// tested: there is no telling about the rest. 0: not known.
[[nodiscard]] DeepTestSummary read_deep_test(const host::ChildReport& report, std::size_t gpus);

// 0: tested, and nothing failed; 1: something failed; 2: nothing can be said of the GPUs.
[[nodiscard]] int exit_code_of(const DeepTestSummary& summary);

// A deep test that is no program of its own: what follows `--` on the command line, and when it must end.
using OwnDeepTest = std::function<DeepTestSummary(const std::vector<std::string>& arguments, MonoTime until)>;

// `autopilot helper deep-test --output FILE [--deadline DURATION] [--gpus N] -- PROGRAM [ARGUMENT...]`: runs
// the program of a deep test, looked up in PATH, which prints what `dcgmi diag -j` does; leaves its summary
// in the file and what it printed on standard output and error. `... --tests own -- [OPTION...]`: `own` in
// the place of a program. Gives the exit code.
[[nodiscard]] int run_deep_test(const std::vector<std::string>& arguments, const OwnDeepTest& own);

}  // namespace autopilot::diagnostics
