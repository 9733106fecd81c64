// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checks/builtin.hpp"
#include "checks/diagnostic_results.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_p2p {
namespace {

constexpr std::string_view kId = "gpu.p2p";

constexpr std::string_view kOutcome = "p2p.outcome";
constexpr std::string_view kNoPeers = "no_peers";  // fewer than two GPUs
constexpr std::array<std::string_view, 3> kOutcomes{kMeasuredOutcomes[0], kMeasuredOutcomes[1], kNoPeers};

// For each pair of GPUs, link/<address>|<address>, in GB/s: copies by the first GPU while no other GPU
// copies.
constexpr std::string_view kWrite = "p2p.write";
constexpr std::string_view kRead = "p2p.read";
// For each GPU: how many other GPUs took part, and how many of these it reaches without the host. Access
// through the host is by design of the machine and not a fault; a single GPU that reaches no other GPU
// directly, while all others do, is at fault.
constexpr std::string_view kPeers = "p2p.peers";
constexpr std::string_view kDirect = "p2p.direct";
// For each GPU: number of wrong words in copies to the others and back.
constexpr std::string_view kWrong = "p2p.wrong";
constexpr std::array kFound{kWrite, kRead, kPeers, kWrong};

struct Direction {
  std::string_view name;
  std::string_view word;
};
constexpr std::array<Direction, 2> kDirections{{{kWrite, "write"}, {kRead, "read"}}};

enum class Access : std::uint8_t { direct, through_host };

Result<Observed> observe(const host::Host& host, const Request& request) {
  return last_results(host, request, kId, kProbe);
}

bool has_end(const Subject& link, const Subject& gpu) {
  const auto [from, to] = ends_of(link);
  return from == gpu.key || to == gpu.key;
}

const Measured& middle_of(std::vector<Measured>& all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::ranges::nth_element(all, middle, {}, &Measured::value);
  return *middle;
}

class LinksJudge {
 public:
  explicit LinksJudge(const JudgeInput& input)
      : input_(input),
        share_(limit(input, "gpu.p2p.pair_share")),
        cut_off_(cut_off_gpu()),
        nvlink_(nvlink_between_two()) {
    for (const Direction& direction : kDirections)
      measure(direction);
  }

  // A GPU with only slow links gets one finding instead of one for each link.
  void add_findings(Findings& findings) {
    const std::vector<Subject> links = input_.history.subjects(SubjectKind::link);
    for (const Subject& gpu : input_.history.subjects(SubjectKind::gpu)) {
      std::vector<Subject> own;
      std::ranges::copy_if(links, std::back_inserter(own),
                           [&gpu](const Subject& link) { return has_end(link, gpu); });
      const auto is_slow = [this](const Subject& link) { return slow_.contains(link); };
      if (own.size() < kFewestAlike || !std::ranges::all_of(own, is_slow)) continue;
      findings.push_back(make_slow_finding(input_, gpu, "p2p_gpu_slow",
                                           "the path between " + gpu_text(gpu) + " and each of its peers",
                                           {slow_.at(own.front()).front()}, kWhy));
      reported_.push_back(gpu);
    }
    for (const auto& [link, too_low] : slow_)
      if (!is_reported(link)) findings.push_back(finding(link, too_low));
    if (!all_slow_.empty())
      findings.push_back(make_slow_finding(input_, host_subject(), "p2p_slow", "the median pair of GPUs",
                                           all_slow_, "expected from the NVLinks of this model"));
  }

 private:
  static constexpr std::size_t kMostOnABoardWithoutSwitches = 4;
  static constexpr const char* kWhy = "expected from other pairs";

  void measure(const Direction& direction) {
    std::vector<Measured> all = measured(input_, direction.name);
    for (const Measured& one : all) {
      const auto access = access_of(one.result->subject);
      if (!access) continue;
      const auto usual = median_of_others(
          one, all, [&](const Measured& other) { return access_of(other.result->subject) == access; });
      if (!usual) continue;
      Limit least = share_of(share_, *usual, one.result->unit);
      if (one.value < least.value)
        slow_[one.result->subject].push_back({direction.word, "GB/s", one, std::move(least)});
    }
    if (!nvlink_ || all.empty()) return;
    const Measured& middle = middle_of(all);
    Limit least = share_of(limit(input_, "gpu.p2p.nvlink_share"), *nvlink_, middle.result->unit);
    if (middle.value < least.value) all_slow_.push_back({direction.word, "GB/s", middle, std::move(least)});
  }

  [[nodiscard]] auto model_of(const Subject& gpu) const { return input_.history.word(gpu, kGpuModel); }

  // Number of peers that a GPU does not reach directly; nullopt if not reported.
  [[nodiscard]] std::optional<double> unreached(const Subject& gpu) const {
    const auto peers = input_.history.number(gpu, kPeers);
    const auto direct = input_.history.number(gpu, kDirect);
    return peers && direct ? std::optional(*peers - *direct) : std::nullopt;
  }

  // Nominal GB/s of NVLink from one GPU to another, if all are of one model that the catalog knows and reach
  // each other. Up to four GPUs may be on a board without switches, where two GPUs share a third of the
  // links.
  [[nodiscard]] std::optional<double> nvlink_between_two() const {
    const auto all = measured(input_, kPeers);
    const auto peak = nvlink_peak(input_, kPeers);
    const auto reaches_all = [this](const Measured& peers) {
      return unreached(peers.result->subject) == 0.0;
    };
    if (!peak || !std::ranges::all_of(all, reaches_all)) return std::nullopt;
    return all.size() > kMostOnABoardWithoutSwitches ? *peak : *peak / (kMostOnABoardWithoutSwitches - 1);
  }

  // The GPU that reaches no other GPU, if all others reach each other and all are of one model. Another model
  // may lack peer access by design.
  [[nodiscard]] std::optional<Subject> cut_off_gpu() const {
    std::optional<Subject> alone;
    std::size_t others = 0;
    const auto all = measured(input_, kPeers);
    for (const Measured& peers : all) {
      const Subject& gpu = peers.result->subject;
      if (model_of(gpu) != model_of(all.front().result->subject)) return std::nullopt;
      const auto lacking = unreached(gpu);
      if (lacking == 1.0 && peers.value > 1)
        ++others;
      else if (lacking == peers.value && !alone)
        alone = gpu;
      else
        return std::nullopt;
    }
    return others >= kFewestAlike ? alone : std::nullopt;
  }

  // GPUs report only counts: nullopt if both GPUs reach some but not all of the others. Links of a GPU that
  // was cut off are compared with direct links.
  [[nodiscard]] std::optional<Access> access_of(const Subject& link) const {
    const auto [from, to] = ends_of(link);
    for (const std::string_view end : {from, to}) {
      const Subject gpu = gpu_subject(std::string(end));
      const auto lacking = unreached(gpu);
      if (!lacking) continue;
      if (cut_off_ || *lacking == 0) return Access::direct;
      if (*lacking == input_.history.number(gpu, kPeers)) return Access::through_host;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_reported(const Subject& link) const {
    return std::ranges::any_of(reported_, [&link](const Subject& gpu) { return has_end(link, gpu); });
  }

  [[nodiscard]] Finding finding(const Subject& link, const std::vector<TooLow>& too_low) const {
    const auto [from, to] = ends_of(link);
    return make_slow_finding(input_, link, "p2p_pair_slow",
                             "the path between GPU " + std::string(from) + " and GPU " + std::string(to),
                             too_low, kWhy);
  }

  const JudgeInput& input_;
  const Limit share_;
  const std::optional<Subject> cut_off_;
  const std::optional<double> nvlink_;
  std::vector<TooLow> all_slow_;                 // by direction
  std::map<Subject, std::vector<TooLow>> slow_;  // by link
  std::vector<Subject> reported_;                // GPUs
};

Findings judge(const JudgeInput& input) {
  Findings findings;
  add_unusable(input, {kOutcome, kOutcomes, kNoPeers, kFound, {}}, findings);
  add_wrong(input, kWrong, "p2p_data_wrong", "got wrong words in copies to other GPUs and back", findings);
  LinksJudge(input).add_findings(findings);
  return findings;
}

}  // namespace
}  // namespace gpu_p2p

const Check kGpuP2p = {
    .info = active_check_info(gpu_p2p::kId, "Links between GPUs", "gpu", kProbe),
    .observe = gpu_p2p::observe,
    .judge = gpu_p2p::judge,
};

}  // namespace autopilot::checks
