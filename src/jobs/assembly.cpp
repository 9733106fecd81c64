// SPDX-License-Identifier: Apache-2.0
#include "jobs/assembly.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "jobs/assembled_job.hpp"
#include "jobs/node_silence.hpp"

namespace autopilot::jobs {
namespace {

// So that no node fills the table of jobs.
constexpr std::size_t kJobsOfNode = 64;
constexpr Duration kTimeToState = std::chrono::seconds(60);
// As long as the engine shows an ended job; a restart until then is the next attempt.
constexpr Duration kRememberEnded = std::chrono::minutes(30);

// Keeps the rows of the table of processes for which `is_kept` is true.
void keep_processes(WindowRecord& window, const std::vector<bool>& is_kept) {
  const auto erase_rows = [&](auto& rows) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < is_kept.size(); ++i)
      if (is_kept[i]) rows[kept++] = std::move(rows[i]);
    rows.resize(kept);
  };
  for (Column& column : window.columns)
    if (info(column.metric).table == Table::process && column.values.size() == is_kept.size())
      erase_rows(column.values);
  erase_rows(window.processes);
}

}  // namespace

class Assembly::State {
 public:
  explicit State(AssemblyLimits limits) : limits_(limits), silence_(limits.nodes) {}

  void add(std::string_view node, Record&& record, std::vector<Record>& out) {
    const NodeSilence::Heard heard = silence_.hear(node);
    if (heard == NodeSilence::Heard::refused) {
      ++dropped_;
      return;
    }
    if (heard == NodeSilence::Heard::back)
      out.emplace_back(NodeStateRecord{.time = time_of(record), .node = std::string(node)});
    if (std::visit([&](auto& held) { return take(node, held); }, record)) out.push_back(std::move(record));
  }

  void begin_session(std::string_view node) {
    const auto jobs = jobs_of_.find(node);
    if (jobs == jobs_of_.end()) return;
    for (const std::string& job : jobs->second)
      jobs_.at(job).doubt(node);
    sessions_.insert_or_assign(std::string(node), std::nullopt);
  }

  void advance(WallTime now, std::vector<Record>& out) {
    std::vector<std::string> lost;
    silence_.advance(
        now, [this](const std::string& node) { return has_live_job(node); }, lost);
    for (std::string& node : lost)
      out.emplace_back(NodeStateRecord{.time = now, .node = std::move(node), .is_lost = true});
    end_doubted(now);
    const auto is_lost = [this](std::string_view node) { return silence_.is_lost(node); };
    for (auto& [name, job] : jobs_)
      job.advance(now, is_lost, out);
    forget(now);
  }

  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  [[nodiscard]] bool has_live_job(const std::string& node) const {
    const auto jobs = jobs_of_.find(node);
    return jobs != jobs_of_.end() && std::ranges::any_of(jobs->second, [&](const std::string& job) {
             return jobs_.at(job).has_live_part(node);
           });
  }

  void end_doubted(WallTime now) {
    for (auto session = sessions_.begin(); session != sessions_.end();) {
      auto& [node, begun] = *session;
      if (!begun) begun = now;
      if (now - *begun < kTimeToState) {
        ++session;
        continue;
      }
      if (const auto jobs = jobs_of_.find(node); jobs != jobs_of_.end())
        for (const std::string& job : jobs->second)
          jobs_.at(job).end_doubted(node, now);
      session = sessions_.erase(session);
    }
  }

  void forget(WallTime now) {
    for (auto node = jobs_of_.begin(); node != jobs_of_.end();) {
      std::erase_if(node->second,
                    [&](const std::string& job) { return !jobs_.at(job).has_part(node->first); });
      node = node->second.empty() ? jobs_of_.erase(node) : std::next(node);
    }
    std::erase_if(jobs_, [&](const auto& each) {
      const auto over = each.second.over_since();
      return over && now - *over > kRememberEnded;
    });
  }

  bool drop() {
    ++dropped_;
    return false;
  }

  // The job, if the node has a part in it.
  AssembledJob* find(std::string_view node, const std::string& job) {
    const auto found = jobs_.find(job);
    return found != jobs_.end() && found->second.has_part(node) ? &found->second : nullptr;
  }

  // An ended job makes room.
  bool has_room() {
    if (jobs_.size() < limits_.jobs) return true;
    auto oldest = jobs_.end();
    for (auto job = jobs_.begin(); job != jobs_.end(); ++job)
      if (job->second.over_since() &&
          (oldest == jobs_.end() || *job->second.over_since() < *oldest->second.over_since()))
        oldest = job;
    if (oldest == jobs_.end()) return false;
    for (auto& [node, names] : jobs_of_)
      names.erase(oldest->first);
    jobs_.erase(oldest);
    return true;
  }

  // Each take() returns true for a record that the engine gets as it is now.
  bool take(std::string_view node, JobRecord& record) {
    const auto is_elsewhere = [&](const RankRecord& rank) { return rank.node != node; };
    if (std::ranges::any_of(record.ranks, is_elsewhere)) return drop();
    const auto names = jobs_of_.find(node);
    const bool is_known = names != jobs_of_.end() && names->second.contains(record.job);
    if (!is_known && names != jobs_of_.end() && names->second.size() >= kJobsOfNode) return drop();
    if (!jobs_.contains(record.job) && !has_room()) return drop();
    const std::string name = record.job;
    const auto [job, is_new] = jobs_.try_emplace(name, limits_.ranks_of_job);
    if (!job->second.state(node, std::move(record))) {
      if (is_new) jobs_.erase(job);
      return drop();
    }
    if (!is_known) jobs_of_[std::string(node)].insert(name);
    return false;
  }

  bool take(std::string_view node, JobEndRecord& record) {
    AssembledJob* job = find(node, record.job);
    if (job == nullptr || !job->end(node, record)) return drop();
    return false;
  }

  bool take(std::string_view node, WindowRecord& record) {
    if (record.node != node) return drop();
    std::vector<bool> is_kept;
    for (ProcessKey& key : record.processes) {
      const AssembledJob* job = find(node, key.job);
      const auto rank = job != nullptr ? job->rank_of(node, key.rank) : std::nullopt;
      is_kept.push_back(rank.has_value());
      key.rank = rank.value_or(key.rank);
    }
    keep_processes(record, is_kept);
    return true;
  }

  bool take(std::string_view node, CollectivesRecord& record) {
    const AssembledJob* job = find(node, record.job);
    if (job == nullptr) return drop();
    if (!job->has_local_ranks(node)) return true;
    // What this node calls a rank is its own number: other ranks of the job have no name here.
    const auto is_foreign = [&](Communicator& each) {
      bool is_known = true;
      for (std::vector<int>* ranks : {&each.ranks, &each.missing, &each.dead})
        for (int& rank : *ranks) {
          const auto number = job->rank_of(node, rank);
          is_known = is_known && number;
          rank = number.value_or(rank);
        }
      return !is_known;
    };
    std::erase_if(record.communicators, is_foreign);
    return !record.communicators.empty() || drop();
  }

  template <class Of>
  bool take(std::string_view node, Of& record) {
    if constexpr (requires { record.node; }) {
      return record.node == node || drop();
    } else {
      const AssembledJob* job = find(node, record.job);
      if (job == nullptr) return drop();
      if constexpr (requires { record.rank; }) {
        const std::optional<int> own = record.rank;  // nullopt: about the job as a whole
        if (!own) return true;
        const auto rank = job->rank_of(node, *own);
        if (!rank) return drop();
        record.rank = *rank;
      }
      return true;
    }
  }

  AssemblyLimits limits_;
  NodeSilence silence_;
  std::map<std::string, AssembledJob, std::less<>> jobs_;
  std::map<std::string, std::set<std::string>, std::less<>> jobs_of_;  // by node; each is in jobs_
  // Nodes whose agent began anew, since the advance() after it.
  std::map<std::string, std::optional<WallTime>, std::less<>> sessions_;
  std::size_t dropped_ = 0;
};

Assembly::Assembly(AssemblyLimits limits) : state_(std::make_unique<State>(limits)) {}
Assembly::Assembly(Assembly&&) noexcept = default;
Assembly& Assembly::operator=(Assembly&&) noexcept = default;
Assembly::~Assembly() = default;

void Assembly::add(std::string_view node, Record record, std::vector<Record>& out) {
  state_->add(node, std::move(record), out);
}

void Assembly::begin_session(std::string_view node) {
  state_->begin_session(node);
}

void Assembly::advance(WallTime now, std::vector<Record>& out) {
  state_->advance(now, out);
}

std::size_t Assembly::dropped() const {
  return state_->dropped();
}

}  // namespace autopilot::jobs
