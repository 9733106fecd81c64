// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/bandwidth_ends.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "nettest/run/observation_writer.hpp"

namespace autopilot::nettest {
namespace {

constexpr std::size_t kMaxWords = 300;
// Seconds that the programs of perftest may take beyond the seconds that count and kBeyond: each program is
// asked for its options, begins, and is waited for when it hangs.
constexpr int kAroundRdma = 24;
// Likewise of an all-reduce: a call of the driver that hangs is given up after host::kNcclPatience, then one
// end waits as long for the other, and what was measured has a margin of ten seconds.
constexpr int kAroundNccl = 2 * kNcclPatience + 10;

// Processes of one end on one GPU. perftest is a process for each of its tests: a client beside a server
// where a port writes to itself, and a server that ends while the next one begins.
constexpr int kByPerftest = 2;
constexpr int kByGpuProbe = 1;

constexpr std::string_view kNetProbe = "autopilot-net-probe";
constexpr std::string_view kGpuProbe = "autopilot-gpu-probe";

std::string_view program_on(const std::string& interface) {
  return interface == kAllLines ? kGpuProbe : kNetProbe;
}

// Why a child ended without a report: its last words, or how it ended.
std::string last_words(std::string_view program, const Result<host::ChildReport>& report) {
  if (!report) return report.error().what;
  if (report->end == host::ChildEnd::timed_out) return std::string(program) + " did not end in its time";
  if (report->end == host::ChildEnd::cancelled) return "the test was ended";
  const std::string words = to_printable(trim(report->errors), kMaxWords);
  return std::string(program) + ": " + to_string(report->status) + (words.empty() ? "" : ", " + words);
}

api::BandwidthWay way_of(const Bandwidth& bandwidth) {
  return {.sent = bandwidth.all.sent, .received = bandwidth.all.received, .samples = bandwidth.samples};
}

api::BandwidthAnswer no_measurement(std::string reason, std::string error) {
  return {.to_peer = {}, .from_peer = {}, .reason = std::move(reason), .error = std::move(error)};
}

// A line of which something came through is not silent, whatever else became of the test.
std::string reason_with(const std::string& reason, bool came_through) {
  return came_through && (reason == "timed_out" || reason == "unreachable") ? "partly" : reason;
}

using Run = std::function<Result<host::ChildReport>(const host::Command&)>;

Result<BandwidthReport> run_one_way(const Run& run, const host::Command& command, bool from_peer) {
  const auto report = run(command);
  if (!report || report->output.empty()) return fail(Errc::unavailable, last_words(kNetProbe, report));
  return parse_bandwidth(trim(report->output), from_peer);
}

Result<BandwidthReport> measure_one_way(const Run& run, const std::string& program,
                                        const BandwidthTest& test) {
  return run_one_way(run, command_of(program, test), test.from_peer);
}

// One direction, then the other. On a thread that may block.
api::BandwidthAnswer measure_both_ways(const Run& run, const std::string& program,
                                       const api::BandwidthRequest& request) {
  BandwidthTest test{.address = request.address,
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
    const bool came_through = answer.to_peer || report->came_through;
    if (!report->measured) return no_measurement(reason_with(report->reason, came_through), report->error);
    (from_peer ? answer.from_peer : answer.to_peer) = way_of(*report->measured);
  }
  return answer;
}

// A write, a read and the latency, by one child.
api::BandwidthAnswer measure_by_rdma(const Run& run, const std::string& program,
                                     const api::BandwidthRequest& request, const std::string& gpu) {
  RdmaTest test{.address = request.address,
                .port = request.rdma_port,
                .to = request.to,
                .ports = {request.ports.begin(), request.ports.end()},
                .seconds = static_cast<int>(request.seconds),
                .gpu = gpu};
  if (request.most > 0) test.most = request.most;
  const auto child = run(command_of(program, test));
  if (!child || child->output.empty()) return no_measurement("internal", last_words(kNetProbe, child));
  const auto report = parse_rdma(trim(child->output));
  if (!report) return no_measurement("internal", report.error().what);
  const std::optional<RdmaBandwidth>& measured = report->measured;
  if (!measured) return no_measurement(reason_with(report->reason, report->came_through), report->error);
  api::BandwidthAnswer answer{.to_peer = way_of(measured->to_peer),
                              .from_peer = way_of(measured->from_peer),
                              .reason = "",
                              .error = ""};
  if (const std::optional<RdmaLatency>& latency = measured->latency)
    answer.latency = api::BandwidthLatency{latency->typical, latency->p99, latency->most};
  return answer;
}

// Of wrong sums, for the node that has these ranks; empty: not known, or here and there.
std::string place_of(const AllReduceReport& report, int first, int gpus) {
  if (!report.wrong_rank) return {};
  const int from = *report.wrong_rank;
  const int to = report.wrong_last_rank.value_or(from);
  if (from >= first && to < first + gpus) return api::kWrongHere;
  return to < first || from >= first + gpus ? api::kWrongThere : "";
}

// On a thread that may block, likewise.
api::BandwidthAnswer measure_by_nccl(const Run& run, const std::string& program,
                                     const api::BandwidthRequest& request, host::GpuVendor vendor) {
  const std::size_t first = request.ranks == 0 ? request.gpus : request.first_rank;
  const AllReduceTest test{.end = {.address = request.address,
                                   .gpus = static_cast<int>(request.gpus),
                                   .ranks = static_cast<int>(api::ranks_of(request.ranks, request.gpus)),
                                   .seconds = static_cast<int>(request.seconds),
                                   .vendor = vendor},
                           .first = static_cast<int>(first),
                           .id = request.nccl_id};
  const auto child = run(command_of(program, test));
  if (!child || child->output.empty()) return no_measurement("internal", last_words(kGpuProbe, child));
  const auto report = parse_all_reduce(trim(child->output));
  if (!report) return no_measurement("internal", report.error().what);
  const std::optional<AllReduce>& measured = report->measured;
  if (!measured) {
    api::BandwidthAnswer answer = no_measurement(report->reason, report->error);
    answer.wrong_at = place_of(*report, test.first, test.end.gpus);
    return answer;
  }
  const api::BandwidthWay way{.sent = measured->bus,
                              .received = measured->bus,
                              .samples = means_of(measured->samples, request.seconds)};
  return {.to_peer = way, .from_peer = way, .reason = "", .error = ""};
}

// Over TCP and RDMA the other endpoint reports everything.
api::ServersEnd found_by(const BandwidthServer&, const Result<host::ChildReport>&) {
  return {};
}
api::ServersEnd found_by(const RdmaServer&, const Result<host::ChildReport>&) {
  return {};
}

// Of the server that waited, what the others do not know of: a wrong sum, or why it ended before it was
// stopped.
api::ServersEnd found_by(const AllReduceServer& server, const Result<host::ChildReport>& child) {
  if (!child) return {};
  const bool was_stopped = child->end == host::ChildEnd::cancelled;
  const std::string_view output = trim(child->output);
  const auto report = parse_all_reduce(output.substr(output.rfind('\n') + 1));
  if (!report)
    return was_stopped ? api::ServersEnd{} : api::ServersEnd{"internal", last_words(kGpuProbe, child)};
  if (report->measured || (was_stopped && report->reason != api::kWrongResult)) return {};
  return {report->reason, report->error, place_of(*report, 0, server.end.gpus)};
}

Result<api::ServersAnswer> ports_in(std::string_view line) {
  api::ServersAnswer answer;
  for (const int port : TRY(parse_listening(line)))
    answer.ports.push_back(static_cast<std::uint16_t>(port));
  return answer;
}

Result<api::ServersAnswer> nccl_id_in(std::string_view line) {
  api::ServersAnswer answer;
  answer.nccl_id = TRY(parse_nccl_id(line));
  return answer;
}

}  // namespace

BandwidthEnds::BandwidthEnds(net::EventLoop& loop, const Clock& clock, std::string prefix, Doors doors)
    : loop_(loop), clock_(clock), prefix_(std::move(prefix)), doors_(std::move(doors)), way_back_(loop) {}

const Result<std::string>& BandwidthEnds::program_for(const std::string& interface) const {
  return interface == kAllLines ? doors_.gpu_program : doors_.program;
}

bool BandwidthEnds::is_in_use(const std::string& interface) const {
  if (interface == kAllLines) return !ends_.empty();
  return std::ranges::any_of(ends_, [&interface](const auto& one) {
    return one.second.interface == interface || one.second.interface == kAllLines;
  });
}

Result<std::string> BandwidthEnds::begin(const std::string& interface, const std::string& gpu) {
  if (const auto& program = program_for(interface); !program) return fail(program.error());
  if (is_in_use(interface))
    return fail(Errc::conflict, (interface == kAllLines ? "a line of this node" : interface) +
                                    " is in use by another test of bandwidth");
  if (!gpu.empty() && std::ranges::any_of(ends_, [&gpu](const auto& one) { return one.second.gpu == gpu; }))
    return fail(Errc::conflict, "GPU " + gpu + " is in use by another test of bandwidth");
  if (ends_.size() >= kMost)
    return fail(Errc::exhausted, "this node takes part in " + std::to_string(kMost) + " tests already");
  std::string id = prefix_ + std::to_string(++next_);
  ends_[id].interface = interface;
  ends_[id].gpu = gpu;
  return id;
}

void BandwidthEnds::serve(const std::string& interface, const BandwidthServer& server, OnListening done) {
  serve_with(interface, {}, server, server.seconds, ports_in, std::move(done));
}

void BandwidthEnds::serve(const std::string& interface, const RdmaServer& server, OnListening done) {
  serve_with(interface, server.gpu, server, server.seconds, ports_in, std::move(done));
}

void BandwidthEnds::serve(const AllReduceServer& server, int seconds, OnListening done) {
  serve_with(kAllLines, {}, server, seconds, nccl_id_in, std::move(done));
}

template <typename Server>
void BandwidthEnds::serve_with(const std::string& interface, const std::string& gpu, const Server& server,
                               int seconds, ReadLine read_line, OnListening done) {
  const auto id = begin(interface, gpu);
  if (!id) return loop_.post([done = std::move(done), error = id.error()] { done(fail(error)); });
  End& end = ends_.at(*id);
  end.read_line = read_line;
  end.on_listening = std::move(done);
  const MonoTime deadline = clock_.now().mono + std::chrono::seconds{seconds} + kBeyond;
  const bool is_taken =
      doors_.submit([this, id = *id, server, command = command_of(*program_for(interface), server), deadline,
                     program = program_on(interface), run = doors_.run, stop = end.stop.get_token(),
                     post = way_back_.post()] {
        const auto report = run(command, deadline, stop, [this, &id, &post](std::string_view line) {
          post([this, id, text = std::string(line)] { take_line(id, text); });
        });
        post([this, id, why = last_words(program, report), found = found_by(server, report)] {
          take_found(id, found);
          take_end(id, why);
        });
      });
  if (!is_taken) loop_.post([this, id = *id] { take_end(id, "this node has no thread left for it"); });
}

// The servers of one child listen for the first time.
void BandwidthEnds::take_line(const std::string& id, const std::string& line) {
  const auto found = ends_.find(id);
  if (found == ends_.end() || !found->second.on_listening || found->second.refusal) return;
  auto answer = found->second.read_line(line);
  if (!answer) {
    found->second.refusal = answer.error();
    found->second.stop.request_stop();
    return;
  }
  const auto done = std::exchange(found->second.on_listening, {});
  found->second.is_listening = true;
  answer->id = id;
  done(std::move(answer));
}

int BandwidthEnds::processes_on(const std::string& gpu, WallTime look) const {
  for (const std::string& held : {gpu, std::string(kAllLines)}) {
    const auto ended = gpus_until_.find(held);
    const bool had_it = ended != gpus_until_.end() && look <= ended->second;
    const auto has_it = [&held](const auto& one) { return one.second.held() == held; };
    if (had_it || std::ranges::any_of(ends_, has_it)) return held == kAllLines ? kByGpuProbe : kByPerftest;
  }
  return 0;
}

bool BandwidthEnds::holds_gpus(const std::string& id) const {
  const auto end = ends_.find(id);
  return found_.contains(id) || (end != ends_.end() && !end->second.held().empty());
}

void BandwidthEnds::note_end(const End& end) {
  if (end.held().empty()) return;
  gpus_until_[end.held()] = clock_.now().wall + kGivenBack;
  if (doors_.on_gpus_free) gpus_free_ = loop_.after(kGivenBack, doors_.on_gpus_free);
}

void BandwidthEnds::take_end(const std::string& id, const std::string& why) {
  auto end = ends_.extract(id);
  if (end.empty()) return;
  note_end(end.mapped());
  if (end.mapped().on_listening)
    end.mapped().on_listening(fail(end.mapped().refusal.value_or(Error{Errc::unavailable, why})));
  for (const auto& done : end.mapped().on_end)
    done();
}

void BandwidthEnds::take_found(const std::string& id, const api::ServersEnd& found) {
  if (found.reason.empty()) return;
  if (found_.size() >= kMost) found_.erase(found_.begin());
  found_[id] = found;
}

api::ServersEnd BandwidthEnds::give_found(const std::string& id) {
  const auto found = found_.extract(id);
  return found.empty() ? api::ServersEnd{} : found.mapped();
}

void BandwidthEnds::end(const std::string& id, OnServersEnd done) {
  const auto found = ends_.find(id);
  if (found == ends_.end() || !found->second.is_listening) return done(give_found(id));
  found->second.on_end.push_back([this, id, done = std::move(done)] { done(give_found(id)); });
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
std::string BandwidthEnds::take_part(const std::string& interface, const std::string& gpu, int seconds,
                                     std::function<Answer(const Run& run)> measure,
                                     std::function<void(Answer answer)> done) {
  const auto id = begin(interface, gpu);
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
          note_end(end.mapped());
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
                            OnMeasured done, const std::string& gpu, host::GpuVendor vendor) {
  // Over TCP one child for each direction; one child runs all tests over RDMA.
  const int seconds = static_cast<int>(request.seconds);
  int longest = seconds;
  std::function measure_so = measure_both_ways;
  if (!request.rdma_port.empty()) {
    longest = 2 * seconds + kAroundRdma;
    measure_so = [gpu](const Run& run, const std::string& program, const api::BandwidthRequest& asked) {
      return measure_by_rdma(run, program, asked, gpu);
    };
  } else if (request.gpus > 0) {
    longest = seconds + kAroundNccl;
    measure_so = [vendor](const Run& run, const std::string& program, const api::BandwidthRequest& asked) {
      return measure_by_nccl(run, program, asked, vendor);
    };
  }
  take_part<Result<api::BandwidthAnswer>>(
      interface, gpu, longest,
      [program = program_for(interface), request, measure_so](
          const Run& run) -> Result<api::BandwidthAnswer> { return measure_so(run, *program, request); },
      std::move(done));
}

void BandwidthEnds::measure_to(const std::string& interface, const BandwidthTest& test, OnReport done) {
  take_part<Result<BandwidthReport>>(
      interface, {}, test.seconds,
      [program = doors_.program, test](const Run& run) { return measure_one_way(run, *program, test); },
      std::move(done));
}

std::string BandwidthEnds::measure_loopback(const std::string& interface, const RdmaLoopback& test,
                                            OnReport done) {
  return take_part<Result<BandwidthReport>>(
      interface, test.gpu, test.seconds + kAroundRdma,
      [program = doors_.program, test](const Run& run) {
        return run_one_way(run, command_of(*program, test), false);
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

}  // namespace autopilot::nettest
