// SPDX-License-Identifier: Apache-2.0
#include "agent/network_tests/bandwidth_ends.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"
#include "host/process/poll.hpp"

namespace autopilot::agent {
namespace {

constexpr std::size_t kMaxWords = 300;
// Seconds that the programs of perftest may take beside those that count and kBeyond: each is asked for its
// options, begins, and is waited for when it hangs.
constexpr int kAroundRdma = 24;

// Why a child that ended said nothing: its last words, or how it ended.
std::string last_words(const Result<host::ChildReport>& report) {
  if (!report) return report.error().what;
  if (report->end == host::ChildEnd::timed_out) return "autopilot-net-probe did not end in its time";
  if (report->end == host::ChildEnd::cancelled) return "the test was ended";
  const std::string words = to_printable(trim(report->errors), kMaxWords);
  return "autopilot-net-probe: " + to_string(report->status) + (words.empty() ? "" : ", " + words);
}

api::BandwidthWay way_of(const host::Bandwidth& bandwidth) {
  return {.sent = bandwidth.all.sent, .received = bandwidth.all.received, .samples = bandwidth.samples};
}

api::BandwidthAnswer no_measurement(std::string reason, std::string error) {
  return {.to_peer = {}, .from_peer = {}, .reason = std::move(reason), .error = std::move(error)};
}

using Run = std::function<Result<host::ChildReport>(const host::Command&)>;

Result<host::BandwidthReport> run_one_way(const Run& run, const host::Command& command, bool from_peer) {
  const auto report = run(command);
  if (!report || report->output.empty()) return fail(Errc::unavailable, last_words(report));
  return host::parse_bandwidth(trim(report->output), from_peer);
}

Result<host::BandwidthReport> measure_one_way(const Run& run, const std::string& program,
                                              const host::BandwidthTest& test) {
  return run_one_way(run, host::command_of(program, test), test.from_peer);
}

// One way, and then the other. On a thread that may block.
api::BandwidthAnswer measure_both_ways(const Run& run, const std::string& program,
                                       const api::BandwidthRequest& request) {
  host::BandwidthTest test{.address = request.address,
                           .to = request.to,
                           .ports = {request.ports.begin(), request.ports.end()},
                           .streams = static_cast<int>(request.streams),
                           .seconds = static_cast<int>(request.seconds)};
  if (request.most > 0) test.most = request.most;
  api::BandwidthAnswer answer;
  for (const bool from_peer : {false, true}) {
    test.from_peer = from_peer;
    const auto report = measure_one_way(run, program, test);
    if (!report) return no_measurement("internal", report.error().what);
    if (!report->measured) return no_measurement(report->reason, report->error);
    (from_peer ? answer.from_peer : answer.to_peer) = way_of(*report->measured);
  }
  return answer;
}

// A write, a read and the latency, by one child.
api::BandwidthAnswer measure_by_rdma(const Run& run, const std::string& program,
                                     const api::BandwidthRequest& request) {
  host::RdmaTest test{.address = request.address,
                      .port = request.rdma_port,
                      .to = request.to,
                      .ports = {request.ports.begin(), request.ports.end()},
                      .seconds = static_cast<int>(request.seconds)};
  if (request.most > 0) test.most = request.most;
  const auto child = run(host::command_of(program, test));
  if (!child || child->output.empty()) return no_measurement("internal", last_words(child));
  const auto report = host::parse_rdma(trim(child->output));
  if (!report) return no_measurement("internal", report.error().what);
  const std::optional<host::RdmaBandwidth>& measured = report->measured;
  if (!measured) return no_measurement(report->reason, report->error);
  const host::RdmaLatency& latency = measured->latency;
  return {.to_peer = way_of(measured->to_peer),
          .from_peer = way_of(measured->from_peer),
          .reason = "",
          .error = "",
          .latency = api::BandwidthLatency{latency.typical, latency.p99, latency.most}};
}

}  // namespace

BandwidthEnds::BandwidthEnds(net::EventLoop& loop, const Clock& clock, std::string prefix, Doors doors)
    : loop_(loop), clock_(clock), prefix_(std::move(prefix)), doors_(std::move(doors)), way_back_(loop) {}

Result<std::string> BandwidthEnds::begin(const std::string& interface) {
  if (!doors_.program) return fail(doors_.program.error());
  if (std::ranges::any_of(ends_, [&](const auto& one) { return one.second.interface == interface; }))
    return fail(Errc::conflict, interface + " is in use by another test of bandwidth");
  if (ends_.size() >= kMost)
    return fail(Errc::exhausted, "this node takes part in " + std::to_string(kMost) + " tests already");
  std::string id = prefix_ + std::to_string(++next_);
  ends_[id].interface = interface;
  return id;
}

void BandwidthEnds::serve(const std::string& interface, const host::BandwidthServer& server,
                          OnListening done) {
  serve_with(interface, server, std::move(done));
}

void BandwidthEnds::serve(const std::string& interface, const host::RdmaServer& server, OnListening done) {
  serve_with(interface, server, std::move(done));
}

template <typename Server>
void BandwidthEnds::serve_with(const std::string& interface, const Server& server, OnListening done) {
  const auto id = begin(interface);
  if (!id) return loop_.post([done = std::move(done), error = id.error()] { done(fail(error)); });
  End& end = ends_.at(*id);
  end.on_listening = std::move(done);
  const MonoTime deadline = clock_.now().mono + std::chrono::seconds{server.seconds} + kBeyond;
  const bool is_taken =
      doors_.submit([this, id = *id, command = host::command_of(*doors_.program, server), deadline,
                     run = doors_.run, stop = end.stop.get_token(), post = way_back_.post()] {
        const auto report = run(command, deadline, stop, [this, &id, &post](std::string_view line) {
          post([this, id, text = std::string(line)] { take_line(id, text); });
        });
        post([this, id, why = last_words(report)] { take_end(id, why); });
      });
  if (!is_taken) loop_.post([this, id = *id] { take_end(id, "this node has no thread left for it"); });
}

// The servers of one child listen for the first time.
void BandwidthEnds::take_line(const std::string& id, const std::string& line) {
  const auto found = ends_.find(id);
  if (found == ends_.end() || !found->second.on_listening) return;
  const auto done = std::exchange(found->second.on_listening, {});
  const auto ports = host::parse_listening(line);
  if (!ports) {
    found->second.stop.request_stop();
    return done(fail(ports.error()));
  }
  found->second.is_listening = true;
  api::ServersAnswer answer{.id = id, .ports = {}};
  for (const int port : *ports)
    answer.ports.push_back(static_cast<std::uint16_t>(port));
  done(std::move(answer));
}

void BandwidthEnds::take_end(const std::string& id, const std::string& why) {
  auto end = ends_.extract(id);
  if (end.empty()) return;
  if (end.mapped().on_listening) end.mapped().on_listening(fail(Errc::unavailable, why));
  for (const auto& done : end.mapped().on_end)
    done();
}

void BandwidthEnds::end(const std::string& id, std::function<void()> done) {
  const auto found = ends_.find(id);
  if (found == ends_.end() || !found->second.is_listening) return done();
  found->second.on_end.push_back(std::move(done));
  found->second.stop.request_stop();
}

void BandwidthEnds::end_on(const std::string& interface, std::function<void()> done) {
  const auto found = std::ranges::find_if(
      ends_, [&interface](const auto& one) { return one.second.interface == interface; });
  if (found == ends_.end()) return done();
  found->second.on_end.push_back(std::move(done));
  found->second.stop.request_stop();
}

void BandwidthEnds::end_all(const std::function<void()>& done) {
  if (ends_.empty()) return done();
  const auto left = std::make_shared<std::size_t>(ends_.size());
  for (auto& [id, end] : ends_) {
    end.on_end.push_back([left, done] {
      if (--*left == 0) done();
    });
    end.stop.request_stop();
  }
}

template <typename Answer>
std::string BandwidthEnds::take_part(const std::string& interface, int seconds,
                                     std::function<Answer(const Run& run)> measure,
                                     std::function<void(Answer answer)> done) {
  const auto id = begin(interface);
  if (!id) {
    loop_.post([done = std::move(done), error = id.error()] { done(fail(error)); });
    return {};
  }
  const Duration patience = std::chrono::seconds{seconds} + kBeyond;
  const bool is_taken =
      doors_.submit([this, id = *id, measure = std::move(measure), patience, run = doors_.run,
                     stop = ends_.at(*id).stop.get_token(), done, post = way_back_.post()] {
        const Answer answer = measure([&](const host::Command& command) {
          return run(command, host::mono_now() + patience, stop, {});
        });
        post([this, id, done, answer] {
          const auto end = ends_.extract(id);
          done(answer);
          for (const auto& told : end.mapped().on_end)
            told();
        });
      });
  if (is_taken) return *id;
  ends_.erase(*id);
  loop_.post([done = std::move(done)] {
    done(fail(Errc::exhausted, "this node has no thread left for a test of bandwidth"));
  });
  return {};
}

void BandwidthEnds::measure(const std::string& interface, const api::BandwidthRequest& request,
                            OnMeasured done) {
  const bool is_by_rdma = !request.rdma_port.empty();
  // One child makes all tests of RDMA.
  const int seconds = static_cast<int>(request.seconds);
  take_part<Result<api::BandwidthAnswer>>(
      interface, is_by_rdma ? 2 * seconds + kAroundRdma : seconds,
      [program = doors_.program, request, is_by_rdma](const Run& run) -> Result<api::BandwidthAnswer> {
        return is_by_rdma ? measure_by_rdma(run, *program, request)
                          : measure_both_ways(run, *program, request);
      },
      std::move(done));
}

void BandwidthEnds::measure_to(const std::string& interface, const host::BandwidthTest& test, OnReport done) {
  take_part<Result<host::BandwidthReport>>(
      interface, test.seconds,
      [program = doors_.program, test](const Run& run) { return measure_one_way(run, *program, test); },
      std::move(done));
}

std::string BandwidthEnds::measure_loopback(const std::string& interface, const host::RdmaLoopback& test,
                                            OnReport done) {
  return take_part<Result<host::BandwidthReport>>(
      interface, test.seconds + kAroundRdma,
      [program = doors_.program, test](const Run& run) {
        return run_one_way(run, host::command_of(*program, test), false);
      },
      std::move(done));
}

void BandwidthEnds::stop(const std::string& id) {
  const auto found = ends_.find(id);
  if (found != ends_.end()) found->second.stop.request_stop();
}

void BandwidthEnds::stop() {
  for (auto& [id, end] : ends_)
    end.stop.request_stop();
}

}  // namespace autopilot::agent
