// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/log_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"
#include "host/files/files.hpp"
#include "host/process/rank_output.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMaxSentences = 32;
// A container runtime adds at most this much to the text of 4 KiB.
constexpr std::size_t kEndBytes = 32 * 1024;

// "3.log": the number of the container's start.
std::optional<int> start_of(std::string_view name) {
  if (!name.ends_with(".log")) return std::nullopt;
  return parse_number<int>(name.substr(0, name.size() - 4));
}

const JobPod* pod_of(const SeenJob& job, const RankProcess& process) {
  const auto known = std::find_if(job.pods.begin(), job.pods.end(),
                                  [&](const JobPod& pod) { return pod.uid == process.pod_uid; });
  return process.pod_uid.empty() || known == job.pods.end() ? nullptr : &*known;
}

// Names of Kubernetes have no slash; a name with one would lead out of the folder.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.find('/') == std::string_view::npos && name != "." &&
         name != "..";
}

// Of lines that were written before the log was opened, only the present state counts.
void keep_present(std::vector<jobs::Record>& records) {
  std::optional<jobs::Record> step;
  std::array<std::optional<jobs::Record>, 6> phases;
  for (jobs::Record& record : records) {
    if (const auto* phase = std::get_if<jobs::PhaseRecord>(&record))
      phases[static_cast<std::size_t>(phase->phase)] = record;
    else
      step = record;
  }
  records.clear();
  if (step) records.push_back(*step);
  for (const auto& phase : phases)
    if (phase) records.push_back(*phase);
  std::sort(records.begin(), records.end(),
            [](const jobs::Record& a, const jobs::Record& b) { return jobs::time_of(a) < jobs::time_of(b); });
}

}  // namespace

LogReader::LogReader(LogOptions options)
    : options_(std::move(options)),
      ends_({.pod_end = options_.pod_end,
             .may_run = host::may_run,
             .log_end = [this](const std::string& job, const RankProcess& process) {
               return log_end(job, process);
             }}) {}

std::string LogReader::key(const std::string& job, const RankProcess& process) {
  if (!process.pod_uid.empty()) return job + "\n" + process.pod_uid;
  return job + "\n" + std::to_string(process.pid) + " " + std::to_string(process.started_ticks);
}

void LogReader::choose(const SeenJobs& jobs) {
  struct Choice {
    const SeenJob* job;
    const RankProcess* process;
    bool is_first;
  };
  std::vector<Choice> choices;
  for (const SeenJob& job : jobs.jobs)
    for (const RankProcess& process : job.processes)
      choices.push_back({&job, &process, &process == &job.processes.front()});
  std::stable_sort(choices.begin(), choices.end(),
                   [](const Choice& a, const Choice& b) { return a.process->rank < b.process->rank; });
  for (auto& [name, log] : logs_)
    log.is_wanted = false;
  left_out_ = 0;
  for (const Choice& choice : choices)
    want(*choice.job, *choice.process, choice.is_first);
}

void LogReader::want(const SeenJob& job, const RankProcess& process, bool is_first_of_job) {
  const std::string name = key(job.record.job, process);
  const auto known = logs_.find(name);
  const auto wanted =
      std::count_if(logs_.begin(), logs_.end(), [](const auto& one) { return one.second.is_wanted; });
  if (known != logs_.end() && known->second.is_wanted) return;
  if (static_cast<std::size_t>(wanted) >= kMaxFiles) {
    ++left_out_;
    return;
  }
  if (known != logs_.end()) {
    known->second.is_wanted = true;
    return;
  }
  Log log = make_log(job, process);
  const bool states_steps = log.pod || (is_first_of_job && (process.rank == 0 || job.record.has_local_ranks));
  log.has_steps = states_steps && job.record.kind == jobs::JobKind::training;
  logs_.emplace(name, std::move(log));
}

LogReader::Log LogReader::make_log(const SeenJob& job, const RankProcess& process) const {
  Log log{.job = job.record.job, .pod = {}, .process = process, .file = {}, .steps = {}, .problem = {}};
  std::string pattern = options_.step_pattern;
  if (const JobPod* pod = pod_of(job, process)) {
    log.pod = *pod;
    if (const auto setting = pod->settings.find(kStepPattern); setting != pod->settings.end())
      pattern = setting->second;
  }
  log.format = log.pod ? LogFormat::container : LogFormat::plain;
  log.lines = LogLines(log.format);
  const auto ranks = std::count_if(job.processes.begin(), job.processes.end(), [&](const RankProcess& one) {
    return log.pod && one.pod_uid == process.pod_uid;
  });
  StepLines::Owner owner{job.record.job, ranks == 1 ? std::optional(process.rank) : std::nullopt};
  auto steps = StepLines::create(owner, pattern);
  if (!steps) {
    log.pattern_problem = "Step pattern of job " + log.job + " is not used: " + steps.error().what;
    steps = StepLines::create(std::move(owner));
  }
  if (steps) log.steps = *std::move(steps);
  return log;
}

Result<std::string> LogReader::newest_file(const JobPod& pod) const {
  if (!is_name(pod.name_space) || !is_name(pod.name) || !is_name(pod.uid))
    return fail(Errc::malformed, "the pod has no valid name");
  const std::string folder = options_.pods_folder + "/" + pod.name_space + "_" + pod.name + "_" + pod.uid;
  const host::Files files;
  std::string container = pod.container;
  if (container.empty()) {
    const auto containers = TRY(files.list(folder));
    if (containers.size() != 1)
      return fail(Errc::not_found, folder + ": the container with the ranks is unknown");
    container = containers.front();
  }
  if (!is_name(container)) return fail(Errc::malformed, "the container has no valid name");
  const auto names = TRY(files.list(folder + "/" + container));
  std::optional<int> newest;
  for (const std::string& name : names)
    newest = std::max(newest, start_of(name));
  if (!newest) return fail(Errc::not_found, folder + "/" + container + ": no log");
  return folder + "/" + container + "/" + std::to_string(*newest) + ".log";
}

void LogReader::open(Log& log) const {
  const auto open_one = [&]() -> Result<host::LogFile> {
    if (!log.pod) return host::open_standard_output(log.process.pid);
    return host::LogFile::open(TRY(newest_file(*log.pod)), options_.open_log);
  };
  auto file = open_one();
  if (file) {
    log.file = *std::move(file);
    log.problem.clear();
    if (log.file->start_before_end(log.was_read ? LogReader::kMaxBehind : kMaxBefore)) log.lines.skip();
    return;
  }
  const std::string where = log.job + ", rank " + std::to_string(log.process.rank);
  if (file.error().code == Errc::unsupported)
    log.problem = "Output of job " + where + " is not read (" + file.error().what +
                  "); write it to a file (srun --output, tee), or send heartbeats "
                  "(deploy/examples/autopilot_heartbeat.py)";
  else if (log.pod)
    log.problem = "Log of job " + where + " is not read (" + file.error().what + "); mount " +
                  options_.pods_folder +
                  " into the agent read-only, and run the agent as root or give it a kubelet helper "
                  "(docs/kubelet-helper.md)";
  else if (file.error().code != Errc::not_found)
    log.problem = "Output of job " + where + " is not read (" + file.error().what +
                  "); run the agent as root, or send heartbeats (deploy/examples/autopilot_heartbeat.py)";
}

void LogReader::parse(Log& log, const host::LogFile::Piece& piece, WallTime now,
                      std::vector<jobs::Record>& records) const {
  if (piece.skipped > 0) log.lines.skip();
  // Without a time of its own, a line is at most as young as its file.
  const WallTime read = log.format == LogFormat::plain ? std::min(now, log.file->modified()) : now;
  std::vector<jobs::Record> found;
  log.lines.feed(piece.bytes, read, [&](const LogLine& line) {
    if (log.steps) log.steps->add(line, found);
    // A flood of steps: the newest count.
    if (found.size() > 2 * kMaxRecords)
      found.erase(found.begin(), found.end() - static_cast<std::ptrdiff_t>(kMaxRecords));
  });
  if (!log.was_read) keep_present(found);
  const std::size_t first = found.size() > kMaxRecords ? found.size() - kMaxRecords : 0;
  std::move(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(), std::back_inserter(records));
}

void LogReader::read_log(Log& log, std::size_t limit, WallTime now,
                         std::vector<jobs::Record>& records) const {
  if (!log.file) open(log);
  if (!log.file || !log.has_steps) return;
  auto piece = log.file->read_new(limit, kMaxBehind);
  if (piece && piece->bytes.empty() && log.pod) {
    // The container may have started again, with a log of its own.
    const auto newest = newest_file(*log.pod);
    if (newest && *newest != log.file->path()) {
      log.file.reset();
      log.lines = LogLines(log.format);
      open(log);
      if (!log.file) return;
      piece = log.file->read_new(limit, kMaxBehind);
    }
  }
  if (!piece) {
    log.problem = "Log of job " + log.job + " is not read (" + piece.error().what + "); check the disk";
    log.file.reset();
    return;
  }
  parse(log, *piece, now, records);
  log.was_read = true;
}

void LogReader::read(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  choose(jobs);
  std::map<std::string_view, std::size_t> logs_of_job;
  for (const auto& [name, log] : logs_)
    if (log.is_wanted) ++logs_of_job[log.job];
  for (auto& [name, log] : logs_)
    if (log.is_wanted) read_log(log, kMaxBytes / logs_of_job[log.job], now, records);
  // The last lines of logs whose ranks ended are read before their files are closed.
  for (auto& [name, log] : logs_)
    if (!log.is_wanted && log.file) read_log(log, kMaxBytes, now, records);
  ends_.update(jobs, now, records);
  if (!ends_.is_waiting()) std::erase_if(logs_, [](const auto& one) { return !one.second.is_wanted; });
}

std::string LogReader::log_end(const std::string& job, const RankProcess& process) {
  const auto known = logs_.find(key(job, process));
  if (known == logs_.end()) return {};
  Log& log = known->second;
  if (!log.file) open(log);
  if (!log.file) return {};
  const auto bytes = log.file->read_end(kEndBytes);
  if (!bytes) return {};
  std::string text;
  LogLines lines(log.format);
  if (bytes->size() == kEndBytes) lines.skip();
  const auto sink = [&](const LogLine& line) { text.append(line.text).append("\n"); };
  lines.feed(*bytes, {}, sink);
  lines.finish({}, sink);
  return text;
}

std::vector<std::string> LogReader::not_seen() const {
  std::vector<std::string> sentences;
  for (const auto& [name, log] : logs_)
    for (const std::string* problem : {&log.pattern_problem, &log.problem})
      if (!problem->empty() && log.is_wanted && sentences.size() < kMaxSentences)
        sentences.push_back(*problem);
  if (left_out_ > 0)
    sentences.push_back("Logs of " + std::to_string(left_out_) + " ranks are not read: the agent reads " +
                        std::to_string(kMaxFiles) +
                        " logs of a node, the lowest ranks first; send heartbeats");
  return sentences;
}

}  // namespace autopilot::collect
