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
  Duration heartbeat = std::chrono::minutes{5};  // longest time between two writes
  Duration spacing = std::chrono::seconds{20};   // between two writes: half of what WriteOrder lets through
};

// Keeps the report of the node in the cluster up to date: writes a change at once if the last write is at
// least `spacing` ago, else after `spacing`; without changes, once per heartbeat. On the event loop's thread.
class ReportWriter {
 public:
  ReportWriter(kube::Client& client, kube::ClusterWriter& writer, const Clock& clock,
               ReportWriterOptions options);
  ReportWriter(const ReportWriter&) = delete;
  ReportWriter& operator=(const ReportWriter&) = delete;
  ~ReportWriter() = default;

  // Sets the text to write from now on: report_text(). Call it regularly, because the time of a write depends
  // on it.
  void note(std::string text);
  // True if the last noted text should be written now.
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
