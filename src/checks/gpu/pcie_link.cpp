// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "checks/builtin.hpp"
#include "checks/gpu/gpu_check.hpp"

namespace autopilot::checks {
namespace gpu_pcie_link {
namespace {

using namespace host::reading;

constexpr Duration kWindow = std::chrono::minutes{10};

// Observations from sysfs about each GPU. The slot is the port above it.
constexpr std::string_view kWidth = "link.width";
constexpr std::string_view kMaxWidth = "link.width_max";
constexpr std::string_view kGeneration = "link.generation";
constexpr std::string_view kMaxGeneration = "link.generation_max";
constexpr std::string_view kSlotMaxWidth = "slot.width_max";
constexpr std::string_view kSlotMaxGeneration = "slot.generation_max";
// About each hop between a GPU and the root, subject link "<gpu>|<hop>"; the GPU itself is the first hop.
constexpr std::string_view kCorrectable = "aer.correctable";
constexpr std::string_view kNonFatal = "aer.nonfatal";
constexpr std::string_view kFatal = "aer.fatal";

// --- observe ---

class Reader {
 public:
  Reader(const host::Host& host, const Request& request) : host_(host), request_(request) {}

  Status read() {
    std::optional<Error> problem;
    for (const GpuDriver& driver : TRY(gpu_drivers(host_, Vendors::all))) {
      if (driver.known) read_links(*driver.known);
      const Status answered = read_driver(driver);
      if (answered || problem) continue;
      problem = answered.error();
      if (!driver.known) problem->what = driver.known.error().what + "; " + problem->what;
    }
    if (observed_.witnesses.empty() && problem) return fail(*problem);
    return {};
  }

  [[nodiscard]] Observed take() { return std::move(observed_); }

 private:
  Status read_driver(const GpuDriver& driver) {
    const host::GpuReport report =
        TRY(read_gpus(driver, request_, {host::GpuGroup::pcie, host::GpuGroup::clocks}));
    observed_.witnesses.emplace_back(driver.witness);
    for (host::GpuDevice gpu : report.gpus) {
      std::erase_if(gpu.readings, [](const host::GpuReading& reading) {
        return !reading.name.starts_with("pcie.") && reading.name != kUtilization &&
               reading.name != kPerformanceState;
      });
      add_gpu(observed_.observations, gpu, driver.witness, request_.now);
    }
    return {};
  }

  void read_links(const std::vector<host::PciDevice>& gpus) {
    if (std::ranges::find(observed_.witnesses, kSysfs) == observed_.witnesses.end())
      observed_.witnesses.emplace_back(kSysfs);
    for (const host::PciDevice& gpu : gpus)
      if (!host::is_pci_asleep(host_.files, gpu.address)) read_link(gpu);
  }

  void read_link(const host::PciDevice& device) {
    const std::string& address = device.address;
    const Subject gpu = gpu_subject(address);
    const auto bridges = host::pci_bridges_above(host_.files, address).value_or(std::vector<std::string>{});
    const std::string edge = host::pci_card_edge(host_.files, device, bridges);
    if (const auto link = host::read_pci_link(host_.files, edge)) {
      add(kWidth, gpu, link->width, "lanes");
      add(kMaxWidth, gpu, link->max_width, "lanes");
      add(kGeneration, gpu, generation(link->speed_gts), "");
      add(kMaxGeneration, gpu, generation(link->max_speed_gts), "");
    }
    read_errors(address, address);
    auto slot_address = edge == address ? bridges.begin() : std::next(std::ranges::find(bridges, edge));
    if (slot_address == bridges.end()) return;
    if (const auto slot = host::read_pci_link(host_.files, *slot_address)) {
      add(kSlotMaxWidth, gpu, slot->max_width, "lanes");
      add(kSlotMaxGeneration, gpu, generation(slot->max_speed_gts), "");
    }
    for (const std::string& bridge : bridges)
      read_errors(address, bridge);
  }

  void read_errors(const std::string& gpu, const std::string& hop) {
    const Subject link = make_subject(SubjectKind::link, gpu + "|" + hop);
    const auto errors = host::read_pci_errors(host_.files, hop);
    if (!errors) return;
    const auto add_count = [&](std::string_view name, const std::optional<std::uint64_t>& count) {
      if (count)
        observed_.observations.push_back(
            make_observation(name, link, static_cast<std::int64_t>(*count), "count", kSysfs, request_.now));
    };
    add_count(kCorrectable, errors->correctable);
    add_count(kNonFatal, errors->nonfatal);
    add_count(kFatal, errors->fatal);
  }

  static std::optional<int> generation(std::optional<double> speed_gts) {
    return speed_gts ? host::pci_generation(*speed_gts) : std::nullopt;
  }

  void add(std::string_view name, const Subject& gpu, std::optional<int> number, std::string_view unit) {
    observed_.observations.push_back(
        number ? make_observation(name, gpu, std::int64_t{*number}, unit, kSysfs, request_.now)
               : missing_observation(name, gpu, "unknown", unit, kSysfs, request_.now));
  }

  const host::Host& host_;
  const Request& request_;
  Observed observed_;
};

Result<Observed> observe(const host::Host& host, const Request& request) {
  Reader reader(host, request);
  TRY_STATUS(reader.read());
  return reader.take();
}

// --- judge ---

struct Hop {
  std::string address;
  Subject subject;
};

std::map<std::string, std::vector<Hop>> hops_of(const History& history) {
  std::map<std::string, std::vector<Hop>> hops;
  for (const Subject& link : history.subjects(SubjectKind::link)) {
    const auto bar = link.key.find('|');
    if (bar != std::string::npos) hops[link.key.substr(0, bar)].push_back({link.key.substr(bar + 1), link});
  }
  return hops;
}

class LinkJudge {
 public:
  explicit LinkJudge(const JudgeInput& input)
      : input_(input), gpus_(input.history.subjects(SubjectKind::gpu)), hops_(hops_of(input.history)) {}

  [[nodiscard]] Findings findings() {
    for (const Subject& gpu : gpus_)
      judge_gpu(gpu);
    return std::move(findings_);
  }

 private:
  // Capability of a link: the minimum of all data sources.
  struct Ability {
    std::optional<double> width;
    std::optional<double> generation;
  };

  [[nodiscard]] std::optional<double> number(const Subject& gpu, std::string_view name) const {
    return input_.history.number(gpu, name);
  }
  [[nodiscard]] std::optional<double> either(const Subject& gpu, std::string_view first,
                                             std::string_view second) const {
    const auto value = number(gpu, first);
    return value ? value : number(gpu, second);
  }
  [[nodiscard]] std::optional<double> least(const Subject& gpu,
                                            std::initializer_list<std::string_view> names) const {
    std::optional<double> result;
    for (const std::string_view name : names)
      if (const auto value = number(gpu, name)) result = result ? std::min(*result, *value) : *value;
    return result;
  }
  [[nodiscard]] Ability ability(const Subject& gpu) const {
    return {least(gpu, {kMaxWidth, kSlotMaxWidth, kPcieWidthMax}),
            least(gpu, {kMaxGeneration, kSlotMaxGeneration, kPcieGenerationMax})};
  }

  void judge_gpu(const Subject& gpu) {
    const auto state = input_.history.word(gpu, kGpuState);
    const auto width = either(gpu, kWidth, kPcieWidth);
    if (!width) {
      findings_.push_back(make_finding(input_, gpu, "could_not_look", Health::unknown,
                                       gpu_text(gpu) + " does not report its PCIe link" +
                                           (state && *state != "ok" ? ": it is " + *state : "")));
      return;
    }
    const Ability able = ability(gpu);
    if (able.width && *width < *able.width)
      add_compared(gpu, "pcie_width_low", "runs with " + rounded(*width) + " PCIe lanes",
                   "it supports " + rounded(*able.width), *width, *able.width);
    judge_generation(gpu, able);
    judge_siblings(gpu, able);
    judge_replays(gpu, *width);
    for (const ErrorKind& kind : kErrors)
      judge_errors(gpu, kind);
  }

  // An idle link slows down by design.
  void judge_generation(const Subject& gpu, const Ability& able) {
    const auto generation = either(gpu, kPcieGeneration, kGeneration);
    if (!generation || !able.generation || *generation >= *able.generation || !is_busy(gpu)) return;
    add_compared(gpu, "pcie_generation_low",
                 "is busy, but its PCIe link runs at generation " + rounded(*generation),
                 "it supports generation " + rounded(*able.generation), *generation, *able.generation);
  }

  [[nodiscard]] bool is_busy(const Subject& gpu) const {
    const auto state = number(gpu, kPerformanceState);
    const Limit busy = limit(input_, "gpu.pcie_link.busy_performance_state");
    return state && *state <= busy.value && number(gpu, kUtilization).value_or(0) > 0;
  }

  // Compares with the width that more than half of the GPUs of the same model support.
  void judge_siblings(const Subject& gpu, const Ability& able) {
    const auto model = input_.history.word(gpu, kGpuModel);
    if (!model || !able.width) return;
    int better = 0;
    int siblings = 0;
    double best = *able.width;
    for (const Subject& sibling : gpus_) {
      if (sibling == gpu || input_.history.word(sibling, kGpuModel) != model) continue;
      ++siblings;
      const Ability other = ability(sibling);
      if (!other.width || *other.width <= *able.width) continue;
      ++better;
      best = std::max(best, *other.width);
    }
    if (siblings < 2 || better * 2 <= siblings) return;
    add_compared(gpu, "pcie_sibling_differs", "supports " + rounded(*able.width) + " PCIe lanes",
                 "most other GPUs of its model support " + rounded(best), *able.width, best);
  }

  void add_compared(const Subject& gpu, std::string_view reason, const std::string& now,
                    const std::string& possible, double value, double expected) {
    findings_.push_back(
        make_finding(input_, gpu, reason, Health::degraded, gpu_text(gpu) + " " + now + ", " + possible));
    findings_.back().evidence = {{"value", value}, {"expected", expected}};
    for (const auto& [attribute, name] :
         {std::pair("gpuMax", kMaxWidth), std::pair("slotMax", kSlotMaxWidth)})
      if (const auto lanes = number(gpu, name)) findings_.back().evidence.emplace_back(attribute, *lanes);
  }

  void judge_replays(const Subject& gpu, double width) {
    const auto growth = input_.history.growth(gpu, kPcieReplays, input_.now, kWindow);
    const auto generation = either(gpu, kPcieGeneration, kGeneration);
    if (!growth || !generation || *generation < 1 || *generation > 6) return;
    Limit most = limit(input_, "gpu.pcie_link.replay_per_lane_minute_gen" + rounded(*generation));
    most.value = std::ceil(most.value * width);
    if (growth->per_minute() > most.value)
      findings_.push_back(make_finding(input_, gpu, "pcie_replays", Health::degraded,
                                       gpu_text(gpu) + " repeats " + rounded(growth->per_minute()) +
                                           " PCIe packets per minute (limit " + rounded(most.value) + ")",
                                       growth->per_minute(), most));
  }

  // A kind of error: its counters and its threshold.
  struct ErrorKind {
    std::string_view of_hop;     // counter of each hop, from sysfs
    std::string_view of_driver;  // counter of the GPU, from its driver
    std::string_view reason;
    std::string_view threshold;
    bool is_rate;  // per minute
  };
  static constexpr std::array kErrors{
      ErrorKind{kFatal, kPcieFatal, "pcie_aer_fatal", "gpu.pcie_link.aer_fatal", false},
      ErrorKind{kNonFatal, kPcieNonFatal, "pcie_aer_nonfatal", "gpu.pcie_link.aer_nonfatal", false},
      ErrorKind{kCorrectable, kPcieCorrectable, "pcie_aer_correctable",
                "gpu.pcie_link.aer_correctable_per_minute", true},
  };

  // Names the hop with the most errors. A GPU without errors below a bridge with errors points to the slot,
  // riser or cable.
  void judge_errors(const Subject& gpu, const ErrorKind& kind) {
    const Limit most = limit(input_, kind.threshold);
    double highest = most.value;
    std::string hop_of_highest;
    const auto consider = [&](const std::string& hop, const Subject& subject, std::string_view counter) {
      const auto growth = input_.history.growth(subject, counter, input_.now, kWindow);
      const double value = !growth ? 0 : kind.is_rate ? growth->per_minute() : growth->delta;
      if (value <= highest) return;
      highest = value;
      hop_of_highest = hop;
    };
    if (const auto hops = hops_.find(gpu.key); hops != hops_.end())
      for (const Hop& hop : hops->second)
        consider(hop.address, hop.subject, kind.of_hop);
    consider(gpu.key, gpu, kind.of_driver);
    if (hop_of_highest.empty()) return;
    const bool is_gpu = hop_of_highest == gpu.key;
    findings_.push_back(make_finding(
        input_, gpu, kind.reason, Health::degraded,
        gpu_text(gpu) + ": " + (is_gpu ? "it" : "bridge " + hop_of_highest + " above it") + " counted " +
            rounded(highest) + " PCIe errors" + (kind.is_rate ? " per minute" : " in the last 10 minutes"),
        highest, most));
    findings_.back().evidence.emplace_back("hop", hop_of_highest);
    if (is_gpu) add_details(gpu);
  }

  // The driver's counters of these errors; no source defines a threshold for them.
  void add_details(const Subject& gpu) {
    static constexpr std::array kDetails{
        std::pair{"naksReceived", kPcieNaksReceived},
        std::pair{"naksSent", kPcieNaksSent},
        std::pair{"receiverErrors", kPcieReceiverErrors},
        std::pair{"badTlps", kPcieBadTlps},
        std::pair{"badDllps", kPcieBadDllps},
        std::pair{"lcrcErrors", kPcieLcrcErrors},
        std::pair{"laneErrors", kPcieLaneErrors},
        std::pair{"unsupportedRequests", kPcieUnsupportedRequests},
        std::pair{"recoveries", kPcieRecoveries},
        std::pair{"replayRollovers", kPcieReplayRollovers},
    };
    for (const auto& [attribute, counter] : kDetails)
      if (const auto growth = input_.history.growth(gpu, counter, input_.now, kWindow);
          growth && growth->delta > 0)
        findings_.back().evidence.emplace_back(attribute, growth->delta);
  }

  const JudgeInput& input_;
  std::vector<Subject> gpus_;
  std::map<std::string, std::vector<Hop>> hops_;
  Findings findings_;
};

Findings judge(const JudgeInput& input) {
  return LinkJudge(input).findings();
}

}  // namespace
}  // namespace gpu_pcie_link

const Check kGpuPcieLink = {
    .info = {.id = "gpu.pcie_link",
             .title = "GPU PCIe link",
             .tags = {"gpu", "pcie", "passive"},
             .period = std::chrono::seconds{60},
             .deadline = std::chrono::seconds{10},
             .window = gpu_pcie_link::kWindow,
             .cost = Cost::moderate,
             .witnesses = {std::string(kSysfs), std::string(kNvml), std::string(kAmdgpu)},
             .rights = {},
             .needs_window = false,
             .judges_growth = true},
    .observe = gpu_pcie_link::observe,
    .judge = gpu_pcie_link::judge,
};

}  // namespace autopilot::checks
