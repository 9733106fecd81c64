// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/health_reports.hpp"
#include "kube/pacing.hpp"
#include "net/event_loop.hpp"

namespace autopilot::preflight {

// Writes HealthCheckReports: creates the object, or replaces the outcome `started` of a present one by the
// final outcome. An object with a final outcome does not change. Retries failed writes with growing pauses
// for at least a quarter of an hour, in which an API server can restart. On the event loop's thread.
class ReportSender {
 public:
  static constexpr std::size_t kMostAtOnce = 64;  // beyond: exhausted
  static constexpr std::uint32_t kTries = 60;
  static constexpr kube::BackOffTimes kPauses{.first = std::chrono::milliseconds{200},
                                              .last = std::chrono::seconds{20}};
  using OnWritten = std::function<void(const Status& written)>;

  // random: in [0, 1), for the jitter of pauses. name_space: of the reports.
  ReportSender(net::EventLoop& loop, kube::Client& client, std::string name_space,
               std::function<double()> random, const kube::BackOffTimes& pauses = kPauses);
  ReportSender(const ReportSender&) = delete;
  ReportSender& operator=(const ReportSender&) = delete;
  ~ReportSender() = default;

  // Calls back once, never from within the call, when the report is written or has been given up.
  void send(kube::HealthCheckReport report, OnWritten on_written);

 private:
  struct Sending {
    kube::HealthCheckReport report;
    OnWritten on_written;
    kube::BackOff failures;
    net::Subscription again;
    net::Exchange exchange;  // last: it calls
  };

  void create(std::uint64_t number);
  void look(std::uint64_t number);
  void change(std::uint64_t number, const std::string& there);
  void take_failure(std::uint64_t number, const kube::ApiError& why);
  void end(std::uint64_t number, Status written);
  [[nodiscard]] kube::ApiPath path_of(const Sending& sending) const;

  net::EventLoop& loop_;
  kube::Client& client_;
  const std::string name_space_;
  const std::function<double()> random_;
  const kube::BackOffTimes pauses_;
  std::map<std::uint64_t, Sending> sending_;
  std::uint64_t next_ = 0;
};

}  // namespace autopilot::preflight
