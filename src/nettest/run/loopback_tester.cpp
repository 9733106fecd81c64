// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/loopback_tester.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "nettest/run/observation_writer.hpp"
#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {
namespace {

constexpr std::string_view kNoCuda = "no_cuda";  // of docs/net-probe.md

Status check_ports(const std::vector<Subject>& wanted) {
  for (const Subject& subject : wanted)
    if (subject.kind != SubjectKind::nic_port)
      return fail(Errc::malformed, subject.key + " is not a port; name ports as nic_port/mlx5_0/1");
  return {};
}

// The wanted ports; all ports if none is named.
Result<std::vector<api::RdmaPort>> chosen_of(std::vector<api::RdmaPort> ports,
                                             const std::vector<Subject>& wanted) {
  for (const Subject& subject : wanted)
    if (std::ranges::find(ports, subject.key, &api::RdmaPort::port) == ports.end())
      return fail(Errc::not_found, subject.key + " is not an active RDMA port of this node");
  if (!wanted.empty())
    std::erase_if(ports, [&wanted](const api::RdmaPort& port) {
      return std::ranges::find(wanted, port.port, &Subject::key) == wanted.end();
    });
  return ports;
}

}  // namespace

LoopbackTester::LoopbackTester(net::EventLoop& loop, const Clock& clock, Doors doors,
                               std::shared_ptr<host::TestBoard> board)
    : loop_(loop), clock_(clock), doors_(std::move(doors)), board_(std::move(board)) {}

Status LoopbackTester::begin(diagnostics::OwnTest::Calls calls) {
  if (asked_) return fail(Errc::conflict, "RDMA ports of this node are being tested already");
  TRY_STATUS(check_ports(calls.reservation));
  TRY_STATUS(check_job());
  asked_ = std::move(calls);
  found_.clear();
  ports_ = measured_ = 0;
  lacks_cuda_ = false;
  doors_.own.find([this, number = ++number_](const OwnNetwork::Lines& lines) {
    if (number == number_) take_lines(lines);
  });
  return {};
}

Status LoopbackTester::check_job() const {
  const std::string job = doors_.job();
  if (job.empty()) return {};
  return fail(Errc::conflict, "a job is on this node, which is not tested beside it: " + job);
}

void LoopbackTester::take_lines(const OwnNetwork::Lines& lines) {
  if (!asked_) return;
  if (!lines) return end(fail(lines.error()));
  auto chosen = chosen_of(lines->rdma, asked_->reservation);
  if (!chosen) return end(fail(chosen.error()));
  tests_.clear();
  ports_ = chosen->size();
  for (api::RdmaPort& port : *chosen)
    tests_.insert(tests_.begin(), {std::move(port)});
  if (!tests_.empty()) return test_next();
  ObservationWriter writer(clock_.now());
  writer.add(host_subject(), "rdma_loopback.outcome", std::string("no_targets"), "");
  board_->put(std::string(kLoopbackCheck), writer.take());
  end(Result<std::string>("this node has no RDMA port that is active"));
}

void LoopbackTester::test_next() {
  if (!asked_) return;
  if (tests_.empty()) return conclude();
  if (const Status may = check_job(); !may) return found_.empty() ? end(fail(may.error())) : conclude();
  const Test next = tests_.back();
  asked_->on_progress(next.port.port + (next.uses_gpu ? " is measured from the memory of GPU " + next.port.gpu
                                                      : " is measured"));
  doors_.standing.end_on(line_of(next.port), [this, next, number = number_] {
    if (number == number_) test(next);
  });
}

void LoopbackTester::test(const Test& next) {
  end_ = doors_.ends.measure_loopback(
      line_of(next.port),
      {.port = next.port.port, .seconds = kSeconds, .gpu = next.uses_gpu ? next.port.gpu : ""},
      [this, next, number = number_](const Result<BandwidthReport>& report) {
        if (number == number_) take(next, report);
      });
}

void LoopbackTester::take(const Test& test, const Result<BandwidthReport>& report) {
  const bool is_measured = report && report->measured;
  // A job stopped the test, which is not evidence about the port.
  if (!is_measured && !check_job()) return test_next();
  tests_.pop_back();
  if (test.uses_gpu && report && report->reason == kNoCuda)
    lacks_cuda_ = true;
  else
    note(test, report);
  if (!test.uses_gpu) {
    measured_ += is_measured ? 1 : 0;
    if (is_measured && !test.port.gpu.empty() && !lacks_cuda_) tests_.push_back({test.port, true});
  }
  test_next();
}

void LoopbackTester::note(const Test& test, const Result<BandwidthReport>& report) {
  std::optional<Bandwidth> measured;
  if (report) measured = report->measured;
  ObservationWriter writer(clock_.now());
  Observation& written = writer.add(subject_of(SubjectKind::nic_port, test.port.port),
                                    test.uses_gpu ? "rdma_loopback.written_by_gpu" : "rdma_loopback.written",
                                    measured ? measured->all.received : 0.0, "bits_per_second");
  written.attributes = {{"rate", static_cast<std::int64_t>(test.port.rate)}};
  if (test.uses_gpu) written.attributes.emplace_back("gpu", test.port.gpu);
  if (!measured) {
    written.value.reset();
    written.missing = report ? report->reason : to_string(report.error().code);
    written.attributes.emplace_back("error", problem_text(report ? report->error : report.error().what));
  }
  for (Observation& one : writer.take())
    found_.push_back(std::move(one));
}

std::string LoopbackTester::sentence() const {
  return std::to_string(measured_) + " of " + std::to_string(ports_) +
         (ports_ == 1 ? " RDMA port measured" : " RDMA ports measured") +
         (lacks_cuda_ ? "; not from the memory of GPUs: perftest is built without CUDA" : "");
}

void LoopbackTester::note_rest() {
  BandwidthReport none;
  none.reason = host::kNotTested;
  none.error = kEndedBefore;
  for (; !tests_.empty(); tests_.pop_back())
    note(tests_.back(), none);
}

void LoopbackTester::conclude() {
  note_rest();
  ObservationWriter writer(clock_.now());
  writer.add(host_subject(), "rdma_loopback.outcome", std::string("measured"), "");
  Observations all = writer.take();
  std::ranges::move(std::exchange(found_, {}), std::back_inserter(all));
  board_->put(std::string(kLoopbackCheck), std::move(all));
  end(sentence());
}

std::string LoopbackTester::cancel() {
  if (!asked_) return {};
  ++number_;
  doors_.ends.stop(std::exchange(end_, {}));
  if (found_.empty()) {
    asked_.reset();
    return {};
  }
  conclude();
  return sentence();
}

void LoopbackTester::end(const Result<std::string>& said) {
  doors_.look();
  end_.clear();
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked) return;
  loop_.post([on_end = asked->on_end, said] { on_end(said); });
}

}  // namespace autopilot::nettest
