// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Values of options as the schedulers read them. nullopt: the text has another form.
namespace autopilot::workloads::migrate {

// "0": a run limit that does not limit.
struct RunLimit {
  std::optional<std::chrono::seconds> limit;  // nullopt: unlimited
};

// -W of LSF: [hours:]minutes[/host]. "1200" is 20 hours, "30:00" is 30 hours.
[[nodiscard]] std::optional<RunLimit> parse_lsf_limit(std::string_view text);
// --time of Slurm: m, m:s, h:m:s, d-h, d-h:m, d-h:m:s, UNLIMITED. "30:00" is 30 minutes.
[[nodiscard]] std::optional<RunLimit> parse_slurm_limit(std::string_view text);

struct Size {
  double number = 0;
  std::uint64_t unit = 0;  // bytes; 0: the text has no unit
};
// "8000", "64GB", "1.5T", "100m". Units are powers of 1024.
[[nodiscard]] std::optional<Size> parse_size(std::string_view text);
// The unit alone: "KB", "M", "GiB".
[[nodiscard]] std::optional<std::uint64_t> parse_unit(std::string_view text);
// nullopt: more than 2^60 bytes.
[[nodiscard]] std::optional<std::int64_t> bytes_of(const Size& size, std::uint64_t default_unit);

struct Range {
  int least = 0;
  std::optional<int> most;  // nullopt: as least
};
// "4", "2,8" (LSF), "2-8" (Slurm).
[[nodiscard]] std::optional<Range> parse_range(std::string_view text, char separator);
[[nodiscard]] std::optional<int> parse_positive(std::string_view text);

struct ArrayIndices {
  static constexpr std::size_t kMost = 100'000;  // of an Indexed Job

  std::vector<int> indices;  // ascending, without duplicates
  std::optional<int> throttle;
};
// "0,6,16-32:4%2". nullopt also for more than kMost indices.
[[nodiscard]] std::optional<ArrayIndices> parse_array(std::string_view text);

// A name of an object in Kubernetes: lower case, digits and hyphens, begins with a letter, at most `longest`.
[[nodiscard]] std::string object_name(std::string_view text, std::size_t longest);
// A value of a label: at most 63 letters, digits, '-', '_' and '.'.
[[nodiscard]] std::string label_value(std::string_view text);
// "a, b" as words.
[[nodiscard]] std::vector<std::string> list_of(std::string_view text, std::string_view separators);

}  // namespace autopilot::workloads::migrate
