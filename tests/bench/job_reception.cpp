// SPDX-License-Identifier: Apache-2.0
#include "job_reception.hpp"

#include <atomic>
#include <ctime>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/job_batch.hpp"
#include "api/job_records.hpp"
#include "job_hub/receiver.hpp"
#include "simulator/jobs/generator.hpp"

namespace autopilot::jobs::bench {
namespace {

constexpr Duration kBatchEvery = std::chrono::seconds(10);

double thread_cpu() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(WallTime start) : start_(start) {}
  [[nodiscard]] Instant now() const override {
    const Duration passed{passed_.load()};
    return {start_ + passed, MonoTime(std::chrono::hours(1)) + passed};
  }
  void pass(Duration time) { passed_ += time.count(); }

 private:
  const WallTime start_;
  std::atomic<std::int64_t> passed_{0};
};

// Lines of each node, as its agent would send them: a job as the ranks of the node.
class Nodes {
 public:
  void add(const Record& record) {
    if (const auto* job = std::get_if<JobRecord>(&record)) return add_job(*job);
    std::visit([&](const auto& held) { lines_[node_of(held)] += api::to_line(record); }, record);
  }
  std::map<std::string, std::string>& lines() { return lines_; }

 private:
  void add_job(const JobRecord& job) {
    std::map<std::string, JobRecord> parts;
    for (const RankRecord& rank : job.ranks) {
      auto [part, is_new] = parts.try_emplace(rank.node, job);
      if (is_new) part->second.ranks.clear();
      part->second.ranks.push_back(rank);
      homes_[job.job].insert_or_assign(rank.rank, rank.node);
    }
    for (auto& [node, part] : parts)
      lines_[node] += api::to_line(Record(std::move(part)));
  }
  [[nodiscard]] std::string home_of(const std::string& job, std::optional<int> rank) const {
    const auto ranks = homes_.find(job);
    if (ranks == homes_.end() || ranks->second.empty()) return "nowhere";
    const auto found = rank ? ranks->second.find(*rank) : ranks->second.begin();
    return found == ranks->second.end() ? ranks->second.begin()->second : found->second;
  }
  template <class OfNode>
    requires requires(const OfNode& record) { record.node; }
  [[nodiscard]] std::string node_of(const OfNode& record) const {
    return record.node;
  }
  template <class OfRank>
    requires requires(const OfRank& record) { record.rank; }
  [[nodiscard]] std::string node_of(const OfRank& record) const {
    return home_of(record.job, record.rank);
  }
  template <class OfJob>
  [[nodiscard]] std::string node_of(const OfJob& record) const {
    return home_of(record.job, std::nullopt);
  }

  std::map<std::string, std::string> lines_;
  std::map<std::string, std::map<int, std::string>> homes_;  // node of each rank, by job
};

}  // namespace

ReceptionCost run_reception(const ScalePlan& plan) {
  ReceptionCost cost;
  simulated_jobs::Generator generator(make_large(plan));
  SimulatedClock clock(generator.scenario().start);
  Nodes nodes;
  std::vector<Record> records;
  std::map<std::string, std::uint64_t> sequences;
  const double before = heap_bytes();
  job_hub::JobHub hub(
      clock, BrainOptions{}, nullptr,
      {.batches = std::size_t{4} * static_cast<std::size_t>(plan.nodes), .bytes = std::size_t{1} << 30});
  job_hub::JobReceiver receiver(
      clock, {.leads = [] { return true; },
              .offer = [&](job_hub::NodeBatch batch) { return hub.offer(std::move(batch)); }});
  while (generator.next(records)) {
    clock.pass(kBatchEvery);
    for (const Record& record : records)
      nodes.add(record);
    for (auto& [node, lines] : nodes.lines()) {
      net::HttpRequest request;
      const std::uint64_t sequence = ++sequences[node];
      request.body = to_line(api::JobBatch{.node = node,
                                           .instance = "bench",
                                           .sequence = sequence,
                                           .sent = clock.now().wall,
                                           .is_whole = sequence == 1}) +
                     std::exchange(lines, {});
      request.peer.names = {node};
      const double begin = thread_cpu();
      if (receiver.answer(request).status != 200) ++cost.refused;
      cost.receiver_cpu_s += thread_cpu() - begin;
    }
    // The next window comes when the brain is done with this one: its time does not depend on this machine.
    std::promise<void> done;
    if (hub.ask([&](Brain&, WallTime) { done.set_value(); })) done.get_future().wait();
  }
  records = {};
  nodes = {};
  cost.heap_bytes = heap_bytes() - before;
  clock.pass(std::chrono::seconds(1));
  std::promise<void> done;
  if (hub.ask([&](Brain&, WallTime) { done.set_value(); })) done.get_future().wait();
  while (hub.stats().batches < receiver.stats().batches)
    clock.pass(std::chrono::seconds(1));
  const job_hub::HubStats stats = hub.stats();
  cost.batches = receiver.stats().batches;
  cost.bytes = receiver.stats().bytes;
  cost.records = stats.records;
  cost.malformed = stats.malformed;
  cost.dropped = stats.dropped;
  cost.jobs = stats.jobs;
  cost.brain_cpu_s = stats.cpu_seconds;
  return cost;
}

}  // namespace autopilot::jobs::bench
