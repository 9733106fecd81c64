// SPDX-License-Identifier: Apache-2.0
#include "collect/ras/rank_map.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace autopilot::collect {
namespace {

using host::RasAnswer;
using host::RasCommunicator;
using host::RasPlace;

// Host, pid, CUDA device.
using PlaceKey = std::tuple<std::string, std::int64_t, int>;

std::optional<PlaceKey> key_of(const RasPlace& place) {
  if (place.host.empty() || place.pid == 0) return std::nullopt;
  return PlaceKey{place.host, place.pid, place.cuda_dev.value_or(-1)};
}

bool spans(const RasCommunicator& communicator, const JobPlaces& job) {
  return job.world && !job.has_local_ranks && communicator.size == *job.world;
}

template <class Visit>
void for_each_member(const RasCommunicator& communicator, Visit visit) {
  for (const auto& rank : communicator.ranks)
    visit(rank.rank, rank.place);
  for (const auto& rank : communicator.missing)
    visit(rank.rank, rank.place);
}

enum class Agreement { contradicts, unknown, agrees };

// Whether the processes of this node have the ranks that the order of the communicator gives them.
Agreement agreement_of(const RasCommunicator& communicator, const JobPlaces& job) {
  std::map<int, std::int64_t> pids;
  for (const LocalRank& local : job.local)
    if (local.inner_pid != 0) pids.emplace(local.rank, local.inner_pid);
  Agreement agreement = Agreement::unknown;
  for_each_member(communicator, [&](int rank, const RasPlace& place) {
    const auto found = pids.find(rank);
    if (found == pids.end() || place.pid == 0) return;
    if (place.pid != found->second) {
      agreement = Agreement::contradicts;
    } else if (agreement == Agreement::unknown) {
      agreement = Agreement::agrees;
    }
  });
  return agreement;
}

bool uses_gpu(const LocalRank& local, const RasPlace& place) {
  const auto device = place.nvml_dev ? place.nvml_dev : place.cuda_dev;
  return device && std::ranges::find(local.gpus, *device) != local.gpus.end();
}

// The rank of this node at that place, if its host is this node.
std::optional<int> local_rank_at(const RasPlace& place, const JobPlaces& job) {
  std::vector<const LocalRank*> found;
  for (const LocalRank& local : job.local)
    if (local.inner_pid != 0 && local.inner_pid == place.pid) found.push_back(&local);
  if (found.size() > 1) std::erase_if(found, [&](const LocalRank* one) { return !uses_gpu(*one, place); });
  if (found.size() != 1) return std::nullopt;
  return found.front()->rank;
}

class Mapper {
 public:
  Mapper(const RasAnswer& answer, const JobPlaces& job) : answer_(answer), job_(job) {}

  MappedAnswer map() {
    const bool is_ordered = learn_from_order();
    const bool is_local = learn_from_this_node();
    MappedAnswer mapped;
    mapped.is_of_job = is_verified_ || is_local || (!job_.is_shared && (is_ordered || is_silent()));
    if (!mapped.is_of_job) return mapped;
    for (const RasCommunicator& communicator : answer_.communicators)
      if (!communicator.is_closing) add(communicator, mapped);
    return mapped;
  }

 private:
  // Without differences the text form names no communicator.
  [[nodiscard]] bool is_silent() const { return answer_.communicators.empty(); }

  // True: a communicator that spans the job is in the order of its ranks, as far as this node can know.
  bool learn_from_order() {
    const RasCommunicator* best = nullptr;
    for (const RasCommunicator& communicator : answer_.communicators) {
      if (!spans(communicator, job_)) continue;
      const Agreement agreement = agreement_of(communicator, job_);
      if (agreement == Agreement::contradicts) continue;
      if (!best || (agreement == Agreement::agrees && !is_verified_)) best = &communicator;
      is_verified_ = is_verified_ || agreement == Agreement::agrees;
    }
    if (!best) return false;
    is_ordered_ = true;
    for_each_member(*best, [&](int rank, const RasPlace& place) {
      if (const auto key = key_of(place)) places_.emplace(*key, rank);
    });
    return true;
  }

  // True: processes of this node are in the answer, all on one host.
  bool learn_from_this_node() {
    std::map<std::string, std::set<int>> found;  // ranks of this node, by host
    for (const RasCommunicator& communicator : answer_.communicators)
      for_each_member(communicator, [&](int, const RasPlace& place) {
        if (const auto rank = local_rank_at(place, job_); rank && !place.host.empty())
          found[place.host].insert(*rank);
      });
    // Pods of several nodes may have the same pids.
    if (found.size() != 1) return false;
    const std::string& own_host = found.begin()->first;
    for (const RasCommunicator& communicator : answer_.communicators)
      for_each_member(communicator, [&](int, const RasPlace& place) {
        const auto rank = local_rank_at(place, job_);
        const auto key = key_of(place);
        if (rank && key && place.host == own_host) places_.emplace(*key, *rank);
      });
    // Containers of two jobs may have a pid in common, but hardly all.
    return !job_.is_shared || found.begin()->second.size() == job_.local.size();
  }

  [[nodiscard]] std::optional<int> rank_at(const RasCommunicator& communicator, int position,
                                           const RasPlace& place) const {
    if (const auto key = key_of(place))
      if (const auto found = places_.find(*key); found != places_.end()) return found->second;
    const bool has_place = place.pid != 0;
    if (!has_place && is_ordered_ && spans(communicator, job_)) return position;
    // The text form places only the ranks that differ.
    if (answer_.form == host::RasForm::text && spans(communicator, job_) &&
        agreement_of(communicator, job_) != Agreement::contradicts)
      return position;
    return std::nullopt;
  }

  void add(const RasCommunicator& communicator, MappedAnswer& mapped) const {
    jobs::Communicator made;
    made.id = communicator.id;
    made.size = communicator.size;
    for (const auto& member : communicator.ranks) {
      const auto rank = rank_at(communicator, member.rank, member.place);
      if (!rank) {
        ++mapped.unmapped;
        return;
      }
      made.ranks.push_back(*rank);
      made.started.push_back(member.started);
    }
    for (const auto& member : communicator.missing) {
      // A process that answers has closed the communicator: it ends.
      if (!member.is_unresponsive && !member.is_dead) return;
      const auto rank = rank_at(communicator, member.rank, member.place);
      if (!rank) {
        ++mapped.unmapped;
        return;
      }
      (member.is_dead ? made.dead : made.missing).push_back(*rank);
    }
    if (has_repeated(made.ranks)) {
      ++mapped.unmapped;
      return;
    }
    mapped.communicators.push_back(std::move(made));
  }

  static bool has_repeated(std::vector<int> ranks) {
    std::ranges::sort(ranks);
    return std::ranges::adjacent_find(ranks) != ranks.end();
  }

  const RasAnswer& answer_;
  const JobPlaces& job_;
  bool is_ordered_ = false;   // a communicator that spans the job is in the order of its ranks
  bool is_verified_ = false;  // and a process of this node confirms it
  std::map<PlaceKey, int> places_;
};

}  // namespace

MappedAnswer map_answer(const RasAnswer& answer, const JobPlaces& job) {
  return Mapper(answer, job).map();
}

}  // namespace autopilot::collect
