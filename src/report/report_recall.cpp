// SPDX-License-Identifier: Apache-2.0
#include "report/report_recall.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "kube/client.hpp"
#include "kube/credentials.hpp"
#include "logging/build_info.hpp"
#include "logging/log.hpp"
#include "net/event_loop.hpp"
#include "net/tls.hpp"
#include "report/node_report.hpp"
#include "report/recall.hpp"
#include "runtime/runtime.hpp"
#include "runtime/workers.hpp"

namespace autopilot::report {
namespace {

constexpr Duration kLookAtLane = std::chrono::milliseconds{5};
constexpr Duration kAgain = std::chrono::milliseconds{250};

// The answer of the API server, or why there is none.
class Question {
 public:
  Question(const kube::ClusterDoor& door, const std::string& node, const Clock& clock, Duration deadline)
      : deadline_(deadline),
        path_(report_path(door.name_space, node)),
        shared_(std::make_shared<Shared>(door)),
        client_(loop_, door.access.server, options(deadline)),
        lanes_({.threads = 1, .max_stuck = 1, .max_queued = 1}),
        now_(clock.now()) {}

  Result<std::string> ask() {
    const auto patience = loop_.after(deadline_, [this] { loop_.stop(); });
    // A file or a plugin may block; a call that hangs keeps its worker.
    const auto ticket =
        lanes_.submit([shared = shared_, now = now_] { shared->give(shared->credentials.refresh(now)); });
    look_ = loop_.every(kLookAtLane, [this] { begin_when_possible(); });
    loop_.run();
    static_cast<void>(lanes_.abandon(ticket));
    return std::move(answer_);
  }

 private:
  struct Shared {
    explicit Shared(const kube::ClusterDoor& door)
        : credentials(door.access, door.read_file, door.run_plugin) {}
    void give(Status status) {
      const std::lock_guard lock(mutex);
      refreshed = std::move(status);
    }
    std::optional<Status> taken() {
      const std::lock_guard lock(mutex);
      return refreshed;
    }

    kube::Credentials credentials;
    std::mutex mutex;
    std::optional<Status> refreshed;
  };

  // Three codes describe the report itself (recall_report), not the connection to it.
  static Error of_the_way(Error why) {
    if (why.code == Errc::not_found || why.code == Errc::conflict || why.code == Errc::malformed)
      why.code = Errc::unavailable;
    return why;
  }

  static kube::ClientOptions options(Duration deadline) {
    kube::ClientOptions options;
    options.user_agent = "autopilot-agent/" + std::string(logging::build_info().version);
    options.deadline = deadline;
    return options;
  }

  void begin_when_possible() {
    const auto refreshed = shared_->taken();
    if (!refreshed) return;
    look_.cancel();
    if (!*refreshed) return end(fail(of_the_way(refreshed->error())));
    if (const auto identity = shared_->credentials.take_changed_identity()) {
      const auto context = net::TlsContext::make(*identity);
      if (!context) return end(fail(of_the_way(context.error())));
      client_.use(*context);
    }
    client_.use_token(shared_->credentials.token());
    get();
  }

  // Retries a busy or starting server: a state that is not taken over now is soon overwritten.
  void get() {
    exchange_ = client_.get({path_, {}}, [this](kube::ApiResult<std::string> json) {
      if (json) return end(std::move(*json));
      kube::ApiError& why = json.error();
      if (why.status == 404) return end(fail(Errc::not_found, why.error.what));
      const bool may_get_better = why.verdict.next == kube::ApiNext::back_off;
      if (!may_get_better) return end(fail(of_the_way(std::move(why.error))));
      answer_ = fail(of_the_way(std::move(why.error)));
      next_ = loop_.after(kAgain, [this] { get(); });
    });
  }

  void end(Result<std::string> answer) {
    look_.cancel();
    answer_ = std::move(answer);
    loop_.stop();
  }

  const Duration deadline_;
  const std::string path_;
  net::EventLoop loop_;
  std::shared_ptr<Shared> shared_;
  kube::Client client_;
  runtime::Workers lanes_;
  const Instant now_;
  net::Subscription look_;
  net::Subscription next_;
  net::Exchange exchange_;
  Result<std::string> answer_ = fail(Errc::timed_out, "the cluster did not give the node's report in time");
};

}  // namespace

Result<NodeReport> recall_report(const kube::ClusterDoor& door, const std::string& node, bool simulated,
                                 const Clock& clock, Duration deadline) {
  return read_report(TRY(Question(door, node, clock, deadline).ask()), node, simulated);
}

void log_taken_over(const NodeReport& report) {
  logging::log_info("what an earlier agent reported to the cluster is taken over",
                    {{"reported", format_time(report.observed_at)},
                     {"incidents", std::to_string(report.saved.incidents.size())}});
}

Result<NodeReport> read_report(std::string_view json, const std::string& node, bool simulated) {
  auto report = parse_report(json);
  if (!report) return fail(report.error().code, "the report in the cluster: " + report.error().what);
  if (report->node != node) return fail(Errc::conflict, "the report in the cluster is of another node");
  if (report->simulated != simulated)
    return fail(Errc::conflict, report->simulated ? "the report in the cluster is of a simulated machine"
                                                  : "the report in the cluster is of a real machine");
  return report;
}

store::Batch to_batch(const NodeReport& report) {
  store::Batch batch;
  batch.incidents = report.saved.incidents;
  batch.pass_records = report.pass_records;
  auto& findings = batch.findings.emplace();
  for (const incidents::SavedFinding& saved : report.saved.findings)
    findings.push_back({saved.check, saved.finding, saved.boot_id, saved.state});
  batch.values.emplace_back(runtime::kNextIncident, std::to_string(report.saved.next_incident));
  if (report.written) batch.values.emplace_back(kWrittenVerdict, incidents::to_text(*report.written));
  return batch;
}

}  // namespace autopilot::report
