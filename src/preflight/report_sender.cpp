// SPDX-License-Identifier: Apache-2.0
#include "preflight/report_sender.hpp"

#include <utility>

#include "logging/log.hpp"

namespace autopilot::preflight {
ReportSender::ReportSender(net::EventLoop& loop, kube::Client& client, std::string name_space,
                           std::function<double()> random, const kube::BackOffTimes& pauses)
    : loop_(loop),
      client_(client),
      name_space_(std::move(name_space)),
      random_(std::move(random)),
      pauses_(pauses) {}

void ReportSender::send(kube::HealthCheckReport report, OnWritten on_written) {
  if (sending_.size() >= kMostAtOnce)
    return loop_.post([on_written = std::move(on_written)] {
      on_written(fail(Errc::exhausted, "too many reports wait to be written"));
    });
  report.meta.name_space = name_space_;
  const std::uint64_t number = ++next_;
  Sending& sending = sending_[number];
  sending.report = std::move(report);
  sending.on_written = std::move(on_written);
  create(number);
}

kube::ApiPath ReportSender::path_of(const Sending& sending) const {
  return {kube::health_check_reports_path(name_space_) + "/" + sending.report.meta.name, {}};
}

void ReportSender::create(std::uint64_t number) {
  Sending& sending = sending_.at(number);
  sending.report.meta.version.clear();
  sending.exchange = client_.create({kube::health_check_reports_path(name_space_), {}},
                                    kube::health_check_report_json(sending.report),
                                    [this, number](const kube::ApiResult<std::string>& answer) {
                                      if (answer) return end(number, {});
                                      if (answer.error().verdict.outcome == kube::ApiOutcome::conflict)
                                        return look(number);
                                      take_failure(number, answer.error());
                                    });
}

void ReportSender::look(std::uint64_t number) {
  Sending& sending = sending_.at(number);
  sending.exchange =
      client_.get(path_of(sending), [this, number](const kube::ApiResult<std::string>& answer) {
        if (answer) return change(number, *answer);
        take_failure(number, answer.error());
      });
}

// Replaces the report only if its outcome is still `started`.
void ReportSender::change(std::uint64_t number, const std::string& there) {
  Sending& sending = sending_.at(number);
  const auto known = kube::parse_health_check_report(there);
  if (!known) return end(number, fail(known.error()));
  if (known->pod.uid != sending.report.pod.uid)
    return end(number, fail(Errc::conflict, "the report " + known->meta.name + " is of another pod"));
  const bool is_open = known->outcome == kube::ReportedOutcome::started &&
                       sending.report.outcome != kube::ReportedOutcome::started;
  if (!is_open) return end(number, {});
  sending.report.meta.version = known->meta.version;
  // Other clients may have added labels meanwhile; immutable fields keep their present values.
  sending.report.tests = known->tests;
  sending.report.job = known->job;
  sending.report.pod = known->pod;
  sending.exchange = client_.replace(path_of(sending), kube::health_check_report_json(sending.report),
                                     [this, number](const kube::ApiResult<std::string>& answer) {
                                       if (answer) return end(number, {});
                                       take_failure(number, answer.error());
                                     });
}

void ReportSender::take_failure(std::uint64_t number, const kube::ApiError& why) {
  Sending& sending = sending_.at(number);
  const Duration pause = sending.failures.fail(pauses_, random_(), why.verdict.retry_after);
  const bool is_final = why.verdict.next == kube::ApiNext::give_up;
  if (is_final || sending.failures.failures() >= kTries) return end(number, fail(why.error));
  sending.again = loop_.after(pause, [this, number] { create(number); });
}

void ReportSender::end(std::uint64_t number, Status written) {
  if (!written) logging::log_warning("cannot write a HealthCheckReport", {{"cause", written.error().what}});
  loop_.post([this, number, written = std::move(written)] {
    auto sending = sending_.extract(number);
    if (!sending.empty()) sending.mapped().on_written(written);
  });
}

}  // namespace autopilot::preflight
