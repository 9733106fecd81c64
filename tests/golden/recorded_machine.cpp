// SPDX-License-Identifier: Apache-2.0
#include "golden/recorded_machine.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <utility>

#include "tests/paths/paths.hpp"

namespace autopilot::golden {
namespace {

// Both machines are checked at the same moment.
class StoppedClock final : public Clock {
 public:
  explicit StoppedClock(Instant now) : now_(now) {}
  [[nodiscard]] Instant now() const override { return now_; }

 private:
  Instant now_;
};

}  // namespace

host::OpenedHost open_machine(const std::string& directory, Instant now) {
  host::OpenOptions options;
  options.helper_program = paths::program("autopilot");
  options.nvml_library = paths::program("libnvidia-ml-sim.so");
  options.clock = std::make_shared<StoppedClock>(now);
  auto opened = host::open_tree_host(directory, options);
  EXPECT_TRUE(opened) << opened.error().what;
  return opened.value_or(host::OpenedHost{});
}

simulator::Machine machine_of(const cli::Recording& recording) {
  simulator::Machine machine;
  for (const auto& [path, file] : recording.files)
    if (file.is_link) {
      machine.files.link(path, file.text);
      if (machine.files.list(file.text).empty()) machine.files.make_directory(file.text);
    } else if (file.is_folder) {
      machine.files.make_directory(path);
    } else {
      machine.files.write(path, file.text);
    }
  machine.machine = recording.machine;
  machine.nvml = recording.nvml;
  auto log = simulator::parse_log(recording.kernel_log, "kmsg.jsonl");
  EXPECT_TRUE(log) << log.error().what;
  if (log) machine.log = *std::move(log);
  return machine;
}

}  // namespace autopilot::golden
