// SPDX-License-Identifier: Apache-2.0
#include "collect/evidence/capture.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "collect/evidence/dump_capture.hpp"
#include "collect/evidence/timed_item.hpp"
#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/process/process_handle.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMaxProcFile = std::size_t{16} << 10;
constexpr std::array<std::string_view, 4> kThreadFiles{"status", "wchan", "stack", "syscall"};
constexpr const char* kNotAvailable = "not available on this node";

// What a source may take, so that its own error arrives before it is abandoned.
MonoTime earlier(MonoTime deadline, Duration patience) {
  return deadline - patience / 8;
}

// A thread of a rank's process, or of a child that counts as its own.
struct ThreadOf {
  std::int64_t pid = 0;
  std::uint64_t started_ticks = 0;
  std::int64_t thread = 0;
  int rank = 0;
};

Result<std::string> ask_ras_of(const EvidenceSources& sources, const RankProcess& process,
                               MonoTime deadline) {
  if (!sources.ask_ras || !sources.environment_of) return fail(Errc::unsupported, "NCCL RAS is not asked");
  const RankEnvironment environment = sources.environment_of(process);
  const host::RasAddress address = TRY(host::parse_ras_address(environment.ras_address));
  return sources.ask_ras({.pid = process.pid, .started_ticks = process.started_ticks, .address = address},
                         deadline);
}

// Nothing of the caller's is used after the deadline.
void capture_ras(const EvidenceSources& sources, const EvidenceRequest& request, DeadlineRunner& runner,
                 Duration patience, EvidenceFolder& folder) {
  std::set<std::uint64_t> seen;
  for (const RankProcess& process : request.processes) {
    if (!seen.insert(process.network_namespace).second || seen.size() > kMaxEvidenceNamespaces) continue;
    TimedItem item(folder, "ras");
    const MonoTime deadline = host::mono_now() + patience;
    item.end("ras-rank" + std::to_string(process.rank) + ".txt",
             runner.run([sources, process,
                         until = earlier(deadline, patience)] { return ask_ras_of(sources, process, until); },
                        deadline));
  }
}

std::vector<ThreadOf> main_threads_of(const EvidenceRequest& request) {
  std::vector<ThreadOf> threads;
  for (const RankProcess& process : request.processes)
    threads.push_back({process.pid, process.started_ticks, process.pid, process.rank});
  return threads;
}

// The main threads, then further ones until there are enough.
std::vector<ThreadOf> threads_of(const EvidenceRequest& request, DeadlineRunner& runner, MonoTime deadline) {
  std::vector<ThreadOf> threads = main_threads_of(request);
  const std::size_t processes = threads.size();
  for (std::size_t i = 0; i < processes && threads.size() < kMaxEvidenceThreads; ++i) {
    const ThreadOf main = threads[i];
    const auto found = runner.run_for<std::vector<std::int64_t>>(
        [main]() -> Result<std::vector<std::int64_t>> {
          const auto handle = TRY(host::ProcessHandle::open(main.pid, main.started_ticks));
          return handle.threads();
        },
        deadline);
    if (!found) continue;
    for (const std::int64_t thread : *found)
      if (thread != main.pid) threads.push_back({main.pid, main.started_ticks, thread, main.rank});
  }
  threads.resize(std::min(threads.size(), kMaxEvidenceThreads));
  return threads;
}

Result<std::string> describe_thread(const ThreadOf& one) {
  const auto handle = TRY(host::ProcessHandle::open(one.pid, one.started_ticks));
  std::string text;
  for (const std::string_view name : kThreadFiles) {
    const std::string file = "task/" + std::to_string(one.thread) + "/" + std::string(name);
    const auto content = handle.read(file, kMaxProcFile);
    text += "-- " + std::string(name) + "\n" + (content ? to_utf8(*content) : content.error().what);
    if (!text.ends_with('\n')) text += '\n';
  }
  return text;
}

void capture_processes(const EvidenceRequest& request, DeadlineRunner& runner,
                       const EvidenceDeadlines& deadlines, EvidenceFolder& folder) {
  TimedItem item(folder, "processes");
  const MonoTime deadline = host::mono_now() + deadlines.processes;
  CapturedText captured;
  for (const ThreadOf& one : threads_of(request, runner, host::mono_now() + deadlines.process_thread)) {
    const MonoTime until = std::min(deadline, host::mono_now() + deadlines.process_thread);
    const auto described = runner.run([one] { return describe_thread(one); }, until);
    const std::string head = "rank " + std::to_string(one.rank) + ", process " + std::to_string(one.pid) +
                             ", thread " + std::to_string(one.thread);
    captured.text += "== " + head + "\n" + (described ? *described : described.error().what + "\n");
    if (!described) captured.note(head + ": " + described.error().what);
  }
  item.end("processes.txt", captured);
}

void capture_text(const std::string& name, const std::string& file, const EvidenceText& source,
                  DeadlineRunner& runner, Duration patience, EvidenceFolder& folder) {
  TimedItem item(folder, name);
  const MonoTime deadline = host::mono_now() + patience;
  if (!source) {
    item.end("", fail(Errc::unsupported, kNotAvailable));
    return;
  }
  item.end(file,
           runner.run([source, until = earlier(deadline, patience)] { return source(until); }, deadline));
}

void capture_node_counters(const EvidenceSources& sources, const EvidenceRequest& request,
                           DeadlineRunner& runner, const CounterTimes& times, EvidenceFolder& folder) {
  TimedItem item(folder, "counters");
  if (!sources.host) return item.end("", fail(Errc::unsupported, kNotAvailable));
  item.end("counters.json", capture_counters(sources.host, request.processes, runner, times));
}

// Why no flight recorder can be asked; empty: they can.
std::string why_no_dumps(const EvidenceSources& sources, const EvidenceRequest& request) {
  if (!sources.environment_of) return "the environment of the processes is not known";
  if (request.has_local_ranks)
    return "the ranks of the job are not known, and files of the flight recorder are named by rank";
  return {};
}

}  // namespace

Result<EvidenceIndex> capture_evidence(EvidenceStore& store, const EvidenceSources& sources,
                                       const EvidenceRequest& request, DeadlineRunner& runner,
                                       const EvidenceDeadlines& deadlines) {
  EvidenceFolder folder = TRY(store.begin(request.finding, request.job, request.time));
  DumpCapture dumps(sources.environment_of, request.processes, runner, folder);
  const std::string why_not = why_no_dumps(sources, request);
  capture_ras(sources, request, runner, deadlines.ras, folder);
  if (why_not.empty())
    dumps.ask(deadlines.trigger);
  else
    TimedItem(folder, "flight_recorder").end("", fail(Errc::unsupported, why_not));
  capture_processes(request, runner, deadlines, folder);
  capture_node_counters(sources, request, runner, deadlines.counters, folder);
  capture_text("telemetry", "telemetry.jsonl", sources.telemetry, runner, deadlines.telemetry, folder);
  capture_text("kernel_log", "kernel_log.txt", sources.kernel_log, runner, deadlines.kernel_log, folder);
  if (why_not.empty()) dumps.copy(deadlines.dumps);
  return folder.finish();
}

EvidenceCapture::EvidenceCapture(std::shared_ptr<EvidenceStore> store, EvidenceSources sources,
                                 EvidenceDeadlines deadlines)
    : thread_(kMaxWaiting, [store = std::move(store), sources = std::move(sources), deadlines,
                            runner = DeadlineRunner()](const EvidenceRequest& request) mutable {
        return Outcome{request.finding, capture_evidence(*store, sources, request, runner, deadlines)};
      }) {}

bool EvidenceCapture::start(EvidenceRequest request) {
  return thread_.add(std::move(request));
}

std::vector<EvidenceCapture::Outcome> EvidenceCapture::take_finished() {
  return thread_.take();
}

}  // namespace autopilot::collect
