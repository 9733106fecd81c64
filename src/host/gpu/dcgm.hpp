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

// What `dcgmi diag -j` says, of DCGM 2 and 3 ("DCGM GPU Diagnostic") and of DCGM 4 ("DCGM Diagnostic"). The
// shape is that of NVIDIA's own schema and writers (github.com/NVIDIA/DCGM, Apache-2.0:
// testing/python3/dcgm_diag_schema.json at 686e102, dcgmi/Diag.cpp and nvvs/include/NvvsJsonStrings.h of 2.x
// to 4.6, read 2026-11-22).

// From the best to the worst that a test can say; a test of several GPUs is as its worst.
enum class DcgmStatus : std::uint8_t { skip, pass, warn, fail };
[[nodiscard]] std::string_view to_string(DcgmStatus status);
// "pass", "Pass", "SKIPPED", ...
[[nodiscard]] std::optional<DcgmStatus> parse_dcgm_status(std::string_view word);

struct DcgmMessage {
  std::string text;
  std::optional<std::int64_t> error;  // dcgmError_t, where it is told
};

// The category of tests that look at the software of the machine and run nothing on a GPU.
inline constexpr std::string_view kDcgmSoftware = "Deployment";

// Of one test on one entity, or on all of them.
struct DcgmResult {
  std::string category;             // kDcgmSoftware, "Hardware", "Integration", "Stress"; DCGM's words
  std::string test;                 // "GPU Memory" (3), "memory" (4)
  std::vector<std::uint32_t> gpus;  // DCGM's numbers; empty: not about certain GPUs
  std::string entity;               // "CPU 0": what else it is about; empty: GPUs or everything
  DcgmStatus status =
      DcgmStatus::skip;  // a pass with a warning beside it is a warning: it was not a whole test
  std::vector<DcgmMessage> messages;
};

struct DcgmGpu {
  std::uint32_t id = 0;  // DCGM's number
  std::string serial;    // empty: not told
  friend bool operator==(const DcgmGpu&, const DcgmGpu&) = default;
};

struct DcgmDiagnosis {
  std::string version;
  std::string driver;
  std::string runtime_error;        // why it could not test; then there are few results, or none
  std::string unreadable;           // the first result that nobody can read; empty: all could be read
  std::vector<DcgmGpu> gpus;        // all that are named, by their numbers
  std::vector<DcgmResult> results;  // in the order of the text; tests that did not run are not there
};

inline constexpr std::size_t kMaxDcgmBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxDcgmResults = 4096;
inline constexpr std::size_t kMaxDcgmGpus = 256;
inline constexpr std::size_t kMaxDcgmWord = 256;      // bytes of a name; longer ones are cut
inline constexpr std::size_t kMaxDcgmMessage = 1024;  // bytes of a message, likewise
inline constexpr std::size_t kMaxDcgmMessages = 8;    // of one result; the rest is dropped

// The document may stand among other lines: dcgmi prints such. malformed: there is none, or no tests are in
// it. A result of another shape, or with a status that is no known word, is told in `unreadable`, so that
// nobody takes the whole for a pass, and what else failed is not lost with it. exhausted: beyond the limits.
// Texts are printable UTF-8. Pure.
[[nodiscard]] Result<DcgmDiagnosis> parse_dcgm_diagnosis(std::string_view text);

// "GPU Memory" -> "gpu_memory": a test of DCGM as it stands in what is told of it. Pure.
[[nodiscard]] std::string test_word(std::string_view name);

// An error of DCGM by which a test fails without a fault of the hardware (catalog/dcgm_errors.yaml).
struct DcgmExcuse {
  std::int64_t error = 0;
  std::string says;  // part of its warning, in small letters; empty: any
  friend bool operator==(const DcgmExcuse&, const DcgmExcuse&) = default;
};

// A failure with this error and warning is one of them. A warning that was cut off entirely does not speak
// against it; one of something else does, whatever its number. Pure.
[[nodiscard]] bool is_excused(std::optional<std::int64_t> error, std::string_view warning,
                              std::span<const DcgmExcuse> excuses);

// "45:link generation,47": as an argument of a helper, and back; malformed: what is no such list. Pure.
[[nodiscard]] std::string format_excuses(std::span<const DcgmExcuse> excuses);
[[nodiscard]] Result<std::vector<DcgmExcuse>> parse_excuses(std::string_view text);

// By its word: whether a name of `fatal` is part of its own, in any case and with any blanks. DCGM 4 calls
// memory what was GPU Memory before. Pure.
[[nodiscard]] bool is_fatal_test(std::string_view word, std::span<const std::string> fatal);

// The one that DCGM means: by its serial, else by its number, unless that one has another serial. Null: none.
// Pure.
[[nodiscard]] const Subject* gpu_of(const DcgmGpu& gpu, std::span<const Subject> gpus);

}  // namespace autopilot::host
