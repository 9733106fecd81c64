// SPDX-License-Identifier: Apache-2.0
#include "report/late_recall.hpp"

#include <utility>

#include "logging/log.hpp"
#include "report/node_report.hpp"
#include "report/report_recall.hpp"

namespace autopilot::report {

LateRecall::LateRecall(net::EventLoop& loop, kube::Client& client, std::string name_space, std::string node,
                       bool is_simulated, std::function<void(std::optional<NodeReport>)> on_end,
                       Duration pause)
    : loop_(loop),
      client_(client),
      name_space_(std::move(name_space)),
      node_(std::move(node)),
      is_simulated_(is_simulated),
      on_end_(std::move(on_end)),
      pause_(pause) {}

void LateRecall::start() {
  next_ = loop_.after(Duration{0}, [this] { ask(); });
}

void LateRecall::ask() {
  exchange_ = client_.get({report_path(name_space_, node_), {}},
                          [this](kube::ApiResult<std::string> json) { take(std::move(json)); });
}

void LateRecall::take(kube::ApiResult<std::string> json) {
  if (!json) {
    if (json.error().status == 404) return end(std::nullopt);
    problem_ = "the report of an earlier agent cannot be read: " + json.error().error.what;
    next_ = loop_.after(pause_, [this] { ask(); });
    return;
  }
  auto report = read_report(*json, node_, is_simulated_);
  if (!report) {
    logging::log_warning("what an earlier agent reported to the cluster cannot be taken over",
                         {{"cause", report.error().what}});
    return end(std::nullopt);
  }
  end(std::move(*report));
}

void LateRecall::end(std::optional<NodeReport> report) {
  problem_.clear();
  on_end_(std::move(report));
}

}  // namespace autopilot::report
