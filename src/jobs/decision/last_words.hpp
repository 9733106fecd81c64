// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What the last words of a rank's log state about the end of the rank.
namespace autopilot::jobs {

enum class FailureKind : std::uint8_t {
  hardware,        // a part of a node
  application,     // the program, its configuration or its data
  infrastructure,  // storage, the scheduler, the network as a whole, a lost node
  unclear,
};
[[nodiscard]] std::string_view to_string(FailureKind kind);

// How near a statement is to the cause, strongest first.
enum class CauseStrength : std::uint8_t {
  specific,     // names a cause
  vague,        // the rank ended by itself, for a reason that is not stated
  consequence,  // the rank ended because another did
};

struct LastWords {
  std::string_view key;  // "cuda_out_of_memory"; of a fixed list, valid for ever
  FailureKind kind = FailureKind::unclear;
  CauseStrength strength = CauseStrength::vague;
  bool names_gpu = false;     // the fault is in the GPU of the rank
  std::string_view sentence;  // "CUDA ran out of GPU memory"; valid for ever
  std::string line;           // of the log, at most 200 bytes, without control characters
  std::optional<int> rank;    // of the prefix "[rank3]:", in a log that several ranks share
};

// The strongest statement of the text, of equally strong ones the first. Upper and lower case are equal.
// nullopt: no line is known. Any bytes are accepted; at most the last 64 KiB are read.
[[nodiscard]] std::optional<LastWords> read_last_words(std::string_view text);

// One line of a log for a person: printable, at most that many bytes.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t bytes = 200);

}  // namespace autopilot::jobs
