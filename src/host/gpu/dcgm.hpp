// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/subject.hpp"

namespace autopilot::host {

// The output of `dcgmi diag -j` of DCGM 2 and 3 ("DCGM GPU Diagnostic") and of DCGM 4 ("DCGM Diagnostic").
// The format follows NVIDIA's own schema and writers (github.com/NVIDIA/DCGM, Apache-2.0:
// testing/python3/dcgm_diag_schema.json at 686e102, dcgmi/Diag.cpp and nvvs/include/NvvsJsonStrings.h of 2.x
// to 4.6, read 2026-11-22).

// Results of a test from best to worst; a test of several GPUs has the worst of their results.
enum class DcgmStatus : std::uint8_t { skip, pass, warn, fail };
[[nodiscard]] std::string_view to_string(DcgmStatus status);
// "pass", "Pass", "SKIPPED", ...
[[nodiscard]] std::optional<DcgmStatus> parse_dcgm_status(std::string_view word);

struct DcgmMessage {
  std::string text;
  std::optional<std::int64_t> error;  // dcgmError_t, if it is reported
};

// The category of tests that check the software of the machine and run nothing on a GPU.
inline constexpr std::string_view kDcgmSoftware = "Deployment";

// Result of one test on one entity, or on all of them.
struct DcgmResult {
  std::string category;             // kDcgmSoftware, "Hardware", "Integration", "Stress"; as DCGM writes them
  std::string test;                 // "GPU Memory" (3), "memory" (4)
  std::vector<std::uint32_t> gpus;  // DCGM's ids; empty: not about particular GPUs
  std::string entity;               // another entity, "CPU 0"; empty: GPUs or everything
  DcgmStatus status = DcgmStatus::skip;  // a pass with a warning is `warn`: the test was not complete
  std::vector<DcgmMessage> messages;
};

struct DcgmGpu {
  std::uint32_t id = 0;  // DCGM's id
  std::string serial;    // empty: not reported
  friend bool operator==(const DcgmGpu&, const DcgmGpu&) = default;
};

struct DcgmDiagnosis {
  std::string version;
  std::string driver;
  std::string runtime_error;  // why DCGM could not test; then there are few or no results
  std::string unreadable;  // describes the first result that cannot be parsed; empty: all results were parsed
  std::vector<DcgmGpu> gpus;        // all GPUs of the document, by id
  std::vector<DcgmResult> results;  // in the order of the document; without tests that did not run
};

inline constexpr std::size_t kMaxDcgmBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxDcgmResults = 4096;
inline constexpr std::size_t kMaxDcgmGpus = 256;
inline constexpr std::size_t kMaxDcgmWord = 256;      // bytes of a name; a longer name is cut
inline constexpr std::size_t kMaxDcgmMessage = 1024;  // bytes of a message, likewise
inline constexpr std::size_t kMaxDcgmMessages = 8;    // messages of one result; the rest is dropped

// The text may contain other lines around the document, because dcgmi prints some. malformed: no document, or
// one without tests. A result with an unknown format or status is described in `unreadable`, so that the
// diagnosis does not count as a pass and other failures are kept. exhausted: beyond the limits. Texts are
// printable UTF-8. Pure.
[[nodiscard]] Result<DcgmDiagnosis> parse_dcgm_diagnosis(std::string_view text);

// "GPU Memory" -> "gpu_memory": the name of a DCGM test in observations and settings. Pure.
[[nodiscard]] std::string test_word(std::string_view name);

// A DCGM error that fails a test without a hardware fault (catalog/dcgm_errors.yaml).
struct DcgmExcuse {
  std::int64_t error = 0;
  std::string says;  // part of its warning, in lower case; empty: any warning
  friend bool operator==(const DcgmExcuse&, const DcgmExcuse&) = default;
};

// True if one of `excuses` has this error and matches the warning. An empty warning matches; a warning with
// another text does not. Pure.
[[nodiscard]] bool is_excused(std::optional<std::int64_t> error, std::string_view warning,
                              std::span<const DcgmExcuse> excuses);

// "45:link generation,47": the excuses as an argument of a helper, and back. malformed: not such a list.
// Pure.
[[nodiscard]] std::string format_excuses(std::span<const DcgmExcuse> excuses);
[[nodiscard]] Result<std::vector<DcgmExcuse>> parse_excuses(std::string_view text);

// True if `word` (of test_word) contains a name of `fatal`, ignoring case and blanks. "memory" of DCGM 4 is
// "gpu_memory". Pure.
[[nodiscard]] bool is_fatal_test(std::string_view word, std::span<const std::string> fatal);

// The subject of a DCGM GPU: by serial, otherwise by index unless the serials differ. Null if there is none.
// Pure.
[[nodiscard]] const Subject* gpu_of(const DcgmGpu& gpu, std::span<const Subject> gpus);

}  // namespace autopilot::host
