// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"
#include "host/gpu/gpus.hpp"

namespace autopilot::host {

// Errors of one block of the GPU since the driver was loaded.
struct RasCounts {
  std::int64_t uncorrected = 0;
  std::int64_t corrected = 0;
  std::int64_t deferred = 0;  // 0 as well where the driver does not tell them
};
// "ue: 0\nce: 3\nde: 1\n". malformed without the first two, and for anything that is no count.
[[nodiscard]] Result<RasCounts> parse_ras_counts(std::string_view text);

// Reads the files of one GPU of the driver amdgpu. A file that is not there is a reading that the GPU does
// not offer; one that cannot be read says so.
class AmdReader {
 public:
  // `folder` is that of the PCI device.
  AmdReader(const Files& files, std::string folder) : files_(files), folder_(std::move(folder)) {}

  // The groups that AMD's GPUs have; the others have no readings, and the link is told by its PCI device.
  // `pids` are those who use the GPU.
  [[nodiscard]] std::vector<GpuReading> read(const std::vector<GpuGroup>& groups,
                                             const Result<std::vector<std::int64_t>>& pids);

 private:
  struct BlockCounts;
  [[nodiscard]] Result<RasCounts> read_block(const std::string& file) const;
  void read_group(GpuGroup group, const Result<std::vector<std::int64_t>>& pids);
  void read_ecc();
  void read_bad_pages();
  void read_clocks();
  void read_temperature();
  void read_power();
  void read_processes(const Result<std::vector<std::int64_t>>& pids);

  void add(std::string_view name, Result<Value> value);
  // An integer in a file of the GPU.
  void add_file(std::string_view name, std::string_view file);
  // An integer in a file of its sensors (hwmon), times `scale`.
  void add_sensor(std::string_view name, const std::string& file, double scale);
  // The same where only numbers above 0 up to `most` make sense.
  void add_plausible(std::string_view name, const std::string& file, double scale, double most);
  // "temp2" for the label "junction"; not_found where no sensor has that label.
  [[nodiscard]] Result<std::string> sensor_with_label(std::string_view label);
  [[nodiscard]] const Result<std::string>& sensors();

  const Files& files_;
  std::string folder_;
  std::optional<Result<std::string>> sensors_;  // folder; nothing: not looked for yet
  std::vector<GpuReading> readings_;
};

struct BadPages {
  std::int64_t retired = 0;
  std::int64_t pending = 0;
  std::int64_t failed = 0;
};
// Rows "0x00000001 : 0x00001000 : R"; an empty text has none. malformed for any other row.
[[nodiscard]] Result<BadPages> parse_bad_pages(std::string_view text);

// The highest of the rows "1: 2100Mhz *", in megahertz; nothing where there is none.
[[nodiscard]] std::optional<std::int64_t> highest_clock(std::string_view text);

}  // namespace autopilot::host
