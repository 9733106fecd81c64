// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/clock.hpp"
#include "kube/client.hpp"
#include "kube/cluster_writer.hpp"

namespace autopilot::report {

struct ReportWriterOptions {
  std::string name_space;
  std::string node;
  Duration heartbeat = std::chrono::minutes{5};  // what stands there is written again so often
  Duration spacing = std::chrono::seconds{20};   // between two writes: half of what WriteOrder lets through
};

// Keeps the report of the node in the cluster as it should be: writes it at once after a quiet while, then
// every `spacing` as long as it has news, else with each heartbeat. On the loop's thread.
class ReportWriter {
 public:
  ReportWriter(kube::Client& client, kube::ClusterWriter& writer, const Clock& clock,
               ReportWriterOptions options);
  ReportWriter(const ReportWriter&) = delete;
  ReportWriter& operator=(const ReportWriter&) = delete;
  ~ReportWriter() = default;

  // What should stand there from now on: report_text(). To be called again while time goes by.
  void note(std::string text);
  // Whether what was noted last should be written now.
  [[nodiscard]] bool is_due() const;

 private:
  struct Written {
    std::string text;
    MonoTime at{};
  };

  kube::Client& client_;
  kube::ClusterWriter& writer_;
  const Clock& clock_;
  const ReportWriterOptions options_;
  std::string text_;
  std::string sent_;
  std::optional<Written> written_;
};

}  // namespace autopilot::report
