// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/serving_source.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "collect/progress/serving_figures.hpp"
#include "core/parse.hpp"
#include "host/files/fd.hpp"

namespace autopilot::collect {
namespace {

struct Replica {
  std::string job;
  std::string name;
  std::string pod_uid;  // empty: outside pods
  std::uint16_t port = 0;
};

struct PortOf {
  std::optional<std::uint16_t> port;
  std::string problem;
};

PortOf port_of(const SeenJob& job, const JobPod* pod, std::uint16_t configured) {
  if (pod != nullptr) {
    if (const auto setting = pod->settings.find(kMetricsPort); setting != pod->settings.end()) {
      const auto port = parse_number<std::uint16_t>(setting->second);
      if (port && *port > 0) return {port, {}};
      return {{},
              "Annotation " + std::string(kMetricsPort) + " of pod " + pod->name_space + "/" + pod->name +
                  " is not a port (1 to 65535); correct it"};
    }
  }
  if (job.record.kind == jobs::JobKind::inference && configured > 0) return {configured, {}};
  return {};
}

std::string replica_name(const SeenJob& job, const RankProcess& process, const JobPod* pod) {
  const auto known = std::find_if(job.record.ranks.begin(), job.record.ranks.end(),
                                  [&](const jobs::RankRecord& rank) { return rank.rank == process.rank; });
  if (known != job.record.ranks.end() && !known->replica.empty()) return known->replica;
  return pod != nullptr ? pod->name : "pid " + std::to_string(process.pid);
}

struct Wanted {
  std::vector<Replica> replicas;
  std::vector<std::string> problems;
};

Wanted wanted_of(const SeenJobs& jobs, std::uint16_t configured) {
  Wanted wanted;
  std::size_t left_out = 0;
  for (const SeenJob& job : jobs.jobs) {
    std::vector<std::string> names;  // of this job: the ranks of a replica share its server
    for (const RankProcess& process : job.processes) {
      const auto pod = std::find_if(job.pods.begin(), job.pods.end(),
                                    [&](const JobPod& one) { return one.uid == process.pod_uid; });
      const JobPod* held = process.pod_uid.empty() || pod == job.pods.end() ? nullptr : &*pod;
      const PortOf port = port_of(job, held, configured);
      const std::string name = replica_name(job, process, held);
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      names.push_back(name);
      if (!port.problem.empty() && wanted.problems.size() < ServingSource::kMaxReplicas)
        wanted.problems.push_back(port.problem);
      if (!port.port) continue;
      if (wanted.replicas.size() < ServingSource::kMaxReplicas)
        wanted.replicas.push_back({job.record.job, name, process.pod_uid, *port.port});
      else
        ++left_out;
    }
  }
  if (left_out > 0)
    wanted.problems.push_back("Metrics of " + std::to_string(left_out) +
                              " replicas are not read: the agent reads " +
                              std::to_string(ServingSource::kMaxReplicas) + " of a node");
  return wanted;
}

}  // namespace

struct ServingSource::Shared {
  explicit Shared(ServingOptions given) : options(std::move(given)) {
    if (!options.fetch) options.fetch = host::http_get;
  }

  struct Before {
    MonoTime time{};
    ServingFigures figures;
  };

  ServingOptions options;
  std::map<std::pair<std::string, std::string>, Before> before;  // of the task, by job and replica
  std::mutex mutex;
  std::vector<jobs::Record> records;  // guarded, as is all that follows
  std::vector<std::string> not_seen;

  void read(const SeenJobs& jobs, WallTime now) {
    Wanted wanted = wanted_of(jobs, options.port);
    std::vector<jobs::Record> found;
    std::map<std::pair<std::string, std::string>, Before> next;
    for (const Replica& replica : wanted.replicas) {
      const std::string problem = read(replica, now, next, found);
      if (!problem.empty()) wanted.problems.push_back(problem);
    }
    before = std::move(next);
    const std::lock_guard lock(mutex);
    std::move(found.begin(), found.end(), std::back_inserter(records));
    not_seen = std::move(wanted.problems);
  }

  // Returns why it could not be read.
  std::string read(const Replica& replica, WallTime now,
                   std::map<std::pair<std::string, std::string>, Before>& next,
                   std::vector<jobs::Record>& found) const {
    const bool has_address = !replica.pod_uid.empty() && options.pod_address;
    const auto address = has_address ? options.pod_address(replica.pod_uid) : std::nullopt;
    const host::HttpPlace place{address.value_or("127.0.0.1"), replica.port, options.path};
    const auto text = options.fetch(place, kMaxBytes, host::mono_now() + kDeadline);
    const std::string whose = "Metrics of replica " + replica.name + " of job " + replica.job;
    if (!text)
      return whose + " are not read (" + text.error().what + "); check the port and the network policy";
    const auto figures = read_serving_figures(*text);
    if (!figures)
      return whose + " are not known (port " + std::to_string(replica.port) +
             "); name the port of vLLM, SGLang, TGI or Triton";
    const std::pair key(replica.job, replica.name);
    const Before state{host::mono_now(), *figures};
    next.insert_or_assign(key, state);
    const auto known = before.find(key);
    if (known == before.end()) return {};
    jobs::ServingRecord record = serving_between(known->second.figures, *figures,
                                                 std::max(1e-3, to_seconds(state.time - known->second.time)));
    record.time = now;
    record.job = replica.job;
    record.replica = replica.name;
    found.emplace_back(std::move(record));
    return {};
  }
};

ServingSource::ServingSource(ServingOptions options)
    : shared_(std::make_shared<Shared>(std::move(options))) {}

void ServingSource::poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) {
  if (thread_.is_busy()) return;
  {
    const std::lock_guard lock(shared_->mutex);
    std::move(shared_->records.begin(), shared_->records.end(), std::back_inserter(records));
    shared_->records.clear();
  }
  if (read_ && now - *read_ < kInterval) return;
  read_ = now;
  (void)thread_.start([shared = shared_, jobs, now] { shared->read(jobs, now); });
}

std::vector<std::string> ServingSource::not_seen() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->not_seen;
}

}  // namespace autopilot::collect
