// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_nvlink {
namespace {

using namespace host::reading;

constexpr Duration kWindow = std::chrono::minutes{10};

Result<Observed> observe(const host::Host& host, const Request& request) {
  return observe_gpus(host, request, {host::GpuGroup::identity, host::GpuGroup::nvlink}, Vendors::nvidia);
}

struct Links {
  std::vector<Subject> up;
  std::vector<Subject> down;
  std::vector<Subject> unreadable;
  [[nodiscard]] std::size_t size() const { return up.size() + down.size() + unreadable.size(); }
};

// By GPU address. One pass over the observations: a machine has more than a hundred links.
std::map<std::string, Links> links_of(const History& history) {
  std::map<std::string, Links> links;
  for (const Observation& observation : history.latest()) {
    if (observation.name != kNvLinkActive) continue;
    Links& own = links[observation.subject.key.substr(0, observation.subject.key.rfind('/'))];
    const auto active = observation.value ? as_number(*observation.value) : std::nullopt;
    (!active ? own.unreadable : *active != 0 ? own.up : own.down).push_back(observation.subject);
  }
  return links;
}

std::string link_text(const Subject& gpu, const Subject& link) {
  return "NVLink " + std::to_string(link.index.value_or(0)) + " of " + gpu_text(gpu);
}

class NvLinkJudge {
 public:
  explicit NvLinkJudge(const JudgeInput& input) : input_(input), links_(links_of(input.history)) {}

  [[nodiscard]] Findings findings() {
    const std::vector<Subject> gpus = readable_gpus(input_, {kGpuState}, findings_);
    std::size_t without = 0;
    for (const Subject& gpu : gpus)
      if (!judge_gpu(gpu, gpus)) ++without;
    if (!gpus.empty() && without == gpus.size() && findings_.empty())
      findings_ = {make_finding(input_, host_subject(), "not_supported", Health::unsupported,
                                "no GPU of this machine has an NVLink in use")};
    return std::move(findings_);
  }

 private:
  // Number of links that must be up, and the source of the number.
  struct Expected {
    std::size_t count = 0;
    std::string source;
  };

  [[nodiscard]] std::optional<Expected> expected_links(const Subject& gpu,
                                                       const std::vector<Subject>& gpus) const {
    const auto name = input_.history.word(gpu, kGpuModel);
    const catalog::GpuModel* model = name ? input_.facts.gpu_model(*name) : nullptr;
    if (model != nullptr && model->nvlinks > 0)
      return Expected{static_cast<std::size_t>(model->nvlinks), model->provenance.source};
    return siblings_links(gpu, gpus, name);
  }

  // Number of active links that more than half of the GPUs of the same model have.
  [[nodiscard]] std::optional<Expected> siblings_links(const Subject& gpu, const std::vector<Subject>& gpus,
                                                       const std::optional<std::string>& model) const {
    std::map<std::size_t, std::size_t> votes;
    std::size_t voters = 0;
    for (const Subject& sibling : gpus) {
      if (input_.history.word(sibling, kGpuModel) != model) continue;
      const auto found = links_.find(sibling.key);
      ++votes[found == links_.end() ? 0 : found->second.up.size()];
      ++voters;
    }
    if (voters < 3) return std::nullopt;  // two different GPUs do not show which one is at fault
    for (const auto& [count, number] : votes)
      if (number * 2 > voters) return Expected{count, "GPUs of the same model beside " + gpu.key};
    return std::nullopt;
  }

  // False: the GPU has no links in use, and none are expected.
  bool judge_gpu(const Subject& gpu, const std::vector<Subject>& gpus) {
    const Links links = links_.contains(gpu.key) ? links_.at(gpu.key) : Links{};
    const auto expected = expected_links(gpu, gpus);
    if (is_true(input_, gpu, kMig) && links.up.empty()) {
      findings_.push_back(
          make_finding(input_, gpu, "not_supported", Health::unsupported,
                       gpu_text(gpu) + " is divided into MIG instances, which have no NVLink"));
      return true;
    }
    if (links.size() == 0 && !has_readable_links(gpu)) return true;
    for (const Subject& link : links.up)
      judge_errors(gpu, link);
    for (const Subject& link : links.unreadable)
      findings_.push_back(make_finding(input_, link, "could_not_look", Health::unknown,
                                       link_text(gpu, link) + " could not be read"));
    if (expected) judge_number(gpu, links, *expected);
    return !links.up.empty() || (expected && expected->count > 0);
  }

  // False, with a finding, if the number of links could not be read; true for a GPU without links.
  bool has_readable_links(const Subject& gpu) {
    const Observation* count = input_.history.find(gpu, kNvLinkCount);
    if (count == nullptr || count->value || is_not_offered(count->missing)) return true;
    findings_.push_back(make_finding(input_, gpu, "could_not_look", Health::unknown,
                                     gpu_text(gpu) + ": could not read its NVLinks: " + count->missing));
    return false;
  }

  void judge_number(const Subject& gpu, const Links& links, const Expected& expected) {
    if (links.up.size() + links.unreadable.size() >= expected.count) return;
    if (links.size() < expected.count) {
      add_counted(gpu, "nvlink_missing", Health::degraded, links, expected,
                  " has " + std::to_string(links.size()) + " NVLinks");
      if (links.down.empty()) return;
    }
    // One finding if the GPU lost all links, or if some links may be down by design and it is unknown which.
    if (links.up.empty() || links.size() > expected.count) {
      add_counted(gpu, "nvlink_down", Health::failed, links, expected,
                  " has " + std::to_string(links.up.size()) + " active NVLinks");
      return;
    }
    for (const Subject& link : links.down) {
      findings_.push_back(
          make_finding(input_, link, "nvlink_down", Health::failed, link_text(gpu, link) + " is down"));
      findings_.back().evidence = {{"gpu", gpu.key}};
      if (const auto remote = input_.history.word(link, kNvLinkRemote))
        findings_.back().evidence.emplace_back("remote", *remote);
    }
  }

  void add_counted(const Subject& gpu, std::string_view reason, Health health, const Links& links,
                   const Expected& expected, const std::string& what) {
    findings_.push_back(
        make_finding(input_, gpu, reason, health,
                     gpu_text(gpu) + what + ", " + "expected: " + std::to_string(expected.count)));
    findings_.back().evidence = {{"up", static_cast<std::int64_t>(links.up.size())},
                                 {"shown", static_cast<std::int64_t>(links.size())},
                                 {"expected", static_cast<std::int64_t>(expected.count)},
                                 {"expectedBy", expected.source}};
  }

  // At most one finding for each link: the first that applies.
  void judge_errors(const Subject& gpu, const Subject& link) {
    judge_rate(gpu, link, kNvLinkCrcErrors, "gpu.nvlink.crc_flit_per_second", "packets");
    judge_rate(gpu, link, kNvLinkCrcDataErrors, "gpu.nvlink.crc_data_per_second", "data packets");
    judge_count(gpu, link, kNvLinkReplays, "gpu.nvlink.replays", true, "replayed packets");
    judge_count(gpu, link, kNvLinkRecoveries, "gpu.nvlink.recoveries", true, "recoveries");
    judge_count(gpu, link, kNvLinkRecoveriesFailed, "gpu.nvlink.failed_recoveries", false,
                "failed recoveries");
    judge_count(gpu, link, kNvLinkIntegrityErrors, "gpu.nvlink.integrity_errors", true, "integrity errors");
    judge_count(gpu, link, kNvLinkReceiveErrors, "gpu.nvlink.receive_errors", true, "receive errors");
    judge_symbols(gpu, link);
  }

  [[nodiscard]] bool is_judged(const Subject& link) const {
    return !findings_.empty() && findings_.back().subject == link;
  }

  void judge_rate(const Subject& gpu, const Subject& link, std::string_view counter,
                  std::string_view threshold, const std::string& what) {
    if (is_judged(link)) return;
    const Limit most = limit(input_, threshold);
    const auto growth = grown(link, counter);
    if (!growth || growth->per_second() < most.value) return;
    findings_.push_back(make_finding(input_, link, "nvlink_crc_errors", Health::failed,
                                     link_text(gpu, link) + " corrupts " + rounded(growth->per_second()) +
                                         " " + what + " per second (limit " + rounded(most.value) + ")",
                                     growth->per_second(), most));
    findings_.back().evidence.emplace_back("counter", std::string(counter));
  }

  // reaches: a finding begins at the limit, not above it.
  void judge_count(const Subject& gpu, const Subject& link, std::string_view counter,
                   std::string_view threshold, bool reaches, const std::string& what) {
    if (is_judged(link)) return;
    const Limit most = limit(input_, threshold);
    const auto growth = grown(link, counter);
    if (!growth || growth->delta < most.value || (!reaches && growth->delta == most.value)) return;
    findings_.push_back(
        make_finding(input_, link, "nvlink_errors", Health::degraded,
                     link_text(gpu, link) + " counted " + rounded(growth->delta) + " " + what + " in " +
                         format_duration(std::chrono::duration_cast<std::chrono::seconds>(growth->interval)),
                     growth->delta, most));
    findings_.back().evidence.emplace_back("counter", std::string(counter));
  }

  // The ratio is counted since the link came up. It falls as long as no error occurs, and an early error
  // remains in it, so only an increase counts.
  void judge_symbols(const Subject& gpu, const Subject& link) {
    if (is_judged(link)) return;
    const Limit none = limit(input_, "gpu.nvlink.symbol_error_ratio");
    const std::vector<double> ratios = numbers(link, kNvLinkSymbolBer);
    if (ratios.empty() || ratios.back() <= none.value) return;
    const double lowest = *std::ranges::min_element(ratios);
    if (ratios.back() <= std::max(lowest, none.value)) return;
    findings_.push_back(make_finding(input_, link, "nvlink_errors", Health::degraded,
                                     link_text(gpu, link) + " has a rising symbol error ratio: " +
                                         scientific(ratios.back()) + " since the link came up",
                                     ratios.back(), none));
    findings_.back().evidence.emplace_back("counter", std::string(kNvLinkSymbolBer));
  }

  // Values in the window, the latest last.
  [[nodiscard]] std::vector<double> numbers(const Subject& link, std::string_view name) const {
    std::vector<double> numbers;
    for (const Sample& sample : input_.history.samples(link, name))
      if (const auto number = as_number(sample.value)) numbers.push_back(*number);
    return numbers;
  }

  [[nodiscard]] std::optional<Growth> grown(const Subject& link, std::string_view counter) const {
    return input_.history.growth(link, counter, input_.now, kWindow);
  }

  const JudgeInput& input_;
  std::map<std::string, Links> links_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  return NvLinkJudge(input).findings();
}

}  // namespace
}  // namespace gpu_nvlink

const Check kGpuNvlink = {
    .info = {.id = "gpu.nvlink",
             .title = "GPU NVLinks",
             .tags = {"gpu", "nvlink", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = gpu_nvlink::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(kNvml)},
             .rights = {},
             .needs_window = false,
             .judges_growth = true},
    .observe = gpu_nvlink::observe,
    .judge = gpu_nvlink::judge,
};

}  // namespace autopilot::checks
