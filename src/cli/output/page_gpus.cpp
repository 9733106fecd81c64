// SPDX-License-Identifier: Apache-2.0
#include "cli/output/page_gpus.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/gpu_identities.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"
#include "core/gpu_user.hpp"
#include "host/gpu/readings.hpp"

namespace autopilot::cli {
namespace {

// The address of the GPU that the subject is, or is a part of; empty for other subjects.
std::string_view gpu_address(const Subject& subject) {
  switch (subject.kind) {
    case SubjectKind::gpu:
    case SubjectKind::gpu_instance:
    case SubjectKind::nvlink:
      return std::string_view(subject.key).substr(0, subject.key.find('/'));
    default:
      return {};
  }
}

// failed, else unknown to a required check, else degraded, else healthy, as for the node.
Health health_of_gpu(const std::string& address, const NodeSnapshot& snapshot) {
  Health health = Health::healthy;
  for (const CheckResult& result : snapshot.results)
    for (const Finding& finding : result.findings) {
      if (finding.injected || gpu_address(finding.subject) != address) continue;
      if (finding.health == Health::unsupported) continue;
      if (finding.health == Health::unknown && !result.required) continue;
      health = worst(health, finding.health);
    }
  return health;
}

std::string short_owner(const GpuUser& user) {
  const GpuUserOwner& owner = user.owner;
  if (!owner.pod.empty()) return owner.pod_namespace + "/" + owner.pod;
  if (!owner.job.empty()) return owner.job;
  constexpr std::size_t kShortId = 12;
  if (!owner.container.empty()) return "container " + owner.container.substr(0, kShortId);
  return user.process + " (" + std::to_string(user.pid) + ")";
}

struct GpuFacts {
  PageGpu gpu;
  std::set<std::string> owners;
  WallTime celsius_time{};
};

std::string owners_text(const std::set<std::string>& owners) {
  if (owners.empty()) return {};
  const std::size_t more = owners.size() - 1;
  return *owners.begin() + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

void add_fact(GpuFacts& facts, const Observation& observation) {
  const Subject& subject = observation.subject;
  if (const auto user = gpu_user_in(observation)) facts.owners.insert(short_owner(*user));
  if (subject.kind != SubjectKind::gpu) return;
  if (!observation.value || observation.name != host::reading::kTemperatureGpu) return;
  if (observation.time.wall < facts.celsius_time) return;
  facts.gpu.celsius = as_number(*observation.value);
  facts.celsius_time = observation.time.wall;
}

// A column of the table of GPUs; an empty column is left out.
struct GpuColumn {
  std::string title;
  std::vector<std::string> cells;
  std::size_t least_width;  // of the page that shows it
};

constexpr std::size_t kLongestModel = 24;

std::string celsius_text(const PageGpu& gpu) {
  return gpu.celsius ? std::to_string(std::lround(*gpu.celsius)) + " C" : std::string();
}

std::vector<GpuColumn> gpu_columns(const std::vector<PageGpu>& gpus) {
  std::vector<GpuColumn> columns{{"GPU", {}, 0},  {"ADDRESS", {}, 0}, {"MODEL", {}, 60}, {"SERIAL", {}, 70},
                                 {"TEMP", {}, 0}, {"HEALTH", {}, 0},  {"USED BY", {}, 0}};
  // The index identifies a GPU while the driver lists all of them.
  const bool has_addresses =
      std::ranges::any_of(gpus, [](const PageGpu& gpu) { return gpu.is_lost || gpu.index.empty(); });
  for (const PageGpu& gpu : gpus) {
    columns[0].cells.push_back(printable(gpu.index));
    columns[1].cells.push_back(has_addresses ? printable(gpu.address) : std::string());
    columns[2].cells.push_back(cut_text(printable(gpu.model), kLongestModel));
    columns[3].cells.push_back(printable(gpu.serial));
    columns[4].cells.push_back(celsius_text(gpu));
    columns[5].cells.emplace_back(to_string(gpu.health));
    columns[6].cells.push_back(printable(gpu.owner));
  }
  return columns;
}

std::size_t widest(const GpuColumn& column) {
  std::size_t width = column.title.size();
  for (const std::string& cell : column.cells)
    width = std::max(width, cell.size());
  return width;
}

void end_gpu_line(std::string& line, std::size_t width) {
  line.resize(line.find_last_not_of(' ') + 1);
  line = cut_text(line, width);
}

}  // namespace

std::vector<PageGpu> gpus_of(const NodeSnapshot& snapshot) {
  std::map<std::string, GpuFacts, std::less<>> by_address;
  for (const CheckResult& result : snapshot.results)
    for (const Observation& observation : result.observations)
      if (const std::string_view address = gpu_address(observation.subject); !address.empty())
        add_fact(by_address[std::string(address)], observation);
  const GpuIdentities identities = gpu_identities(snapshot);
  std::vector<PageGpu> gpus;
  for (auto& [address, facts] : by_address) {
    facts.gpu.address = address;
    if (const auto known = identities.find(address); known != identities.end()) {
      const GpuIdentity& identity = known->second;
      if (identity.index) facts.gpu.index = std::to_string(*identity.index);
      facts.gpu.model = identity.model;
      facts.gpu.serial = identity.serial;
      facts.gpu.is_lost = identity.is_lost;
    }
    if (facts.gpu.is_lost) facts.gpu.celsius.reset();
    facts.gpu.owner = owners_text(facts.owners);
    facts.gpu.health = health_of_gpu(address, snapshot);
    gpus.push_back(std::move(facts.gpu));
  }
  return gpus;
}

std::vector<std::string> gpu_table(const std::vector<PageGpu>& gpus, const TableStyle& style) {
  const std::size_t width = style.width;
  std::vector<GpuColumn> columns = gpu_columns(gpus);
  std::erase_if(columns, [width](const GpuColumn& column) {
    return width < column.least_width ||
           std::ranges::all_of(column.cells, [](const std::string& cell) { return cell.empty(); });
  });
  std::vector<std::string> lines(gpus.size() + 1);
  for (const GpuColumn& column : columns) {
    const std::size_t room = widest(column) + 2;
    lines[0] += padded(column.title, room);
    for (std::size_t i = 0; i < gpus.size(); ++i)
      lines[i + 1] += padded(column.cells[i].empty() ? "-" : column.cells[i], room);
  }
  for (std::string& line : lines)
    end_gpu_line(line, width);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (gpus[i].health != Health::healthy)
      lines[i + 1] = painted(lines[i + 1], color_of(gpus[i].health), style);
  return lines;
}

std::string healthy_gpus_text(const std::vector<PageGpu>& gpus, bool has_others) {
  std::optional<double> least;
  std::optional<double> most;
  std::size_t count = 0;
  for (const PageGpu& gpu : gpus) {
    if (gpu.health != Health::healthy) continue;
    ++count;
    if (!gpu.celsius) continue;
    least = std::min(least.value_or(*gpu.celsius), *gpu.celsius);
    most = std::max(most.value_or(*gpu.celsius), *gpu.celsius);
  }
  if (count == 0) return {};
  const std::string more = has_others ? "more " : "";
  std::string text = count_words(count, more + "GPU is healthy", more + "GPUs are healthy");
  if (least)
    text +=
        ", at " + std::to_string(std::lround(*least)) + " to " + std::to_string(std::lround(*most)) + " C";
  return text + ".";
}

}  // namespace autopilot::cli
