// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "workloads/compare/observations.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr double kSumTolerance = 0.5;  // rounding of three columns with two digits, and more

// "08:00:05"
std::string clock_text(double seconds_of_day) {
  const auto whole = static_cast<unsigned>(seconds_of_day) % 86'400U;
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%02u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
  return text.data();
}

std::string names_of(const std::vector<const Series*>& gpus) {
  std::string text;
  for (const Series* gpu : gpus)
    text += (text.empty() ? "" : ", ") + gpu->subject;
  return text;
}

std::vector<Source> sources_of(const std::vector<const Series*>& all) {
  std::vector<Source> sources;
  for (const Series* series : all)
    sources.push_back(series->source);
  return sources;
}

std::vector<const Series*> unused_of(const Side& side) {
  auto gpus = gpus_of(side);
  const auto used = used_gpus_of(side);
  std::erase_if(gpus,
                [&](const Series* gpu) { return std::find(used.begin(), used.end(), gpu) != used.end(); });
  return gpus;
}

class RemarksOfSide {
 public:
  explicit RemarksOfSide(const Side& side) : side_(side) {}

  std::vector<Remark> take() {
    add_gpus();
    add_allocation();
    add_starvation();
    add_overlap();
    add_windows();
    add_gaps();
    add_sums();
    add_meaning();
    add_margins();
    return std::move(remarks_);
  }

 private:
  void add(RemarkKind kind, std::string text, std::vector<Source> sources) {
    remarks_.push_back({kind, side_.letter, std::move(text), std::move(sources)});
  }

  void add_gpus() {
    const auto unused = unused_of(side_);
    if (unused.empty()) return;
    const std::size_t all = gpus_of(side_).size();
    add(RemarkKind::unused_gpus,
        std::to_string(unused.size()) + " of " + std::to_string(all) + " GPUs unused (mean below " +
            number_text(kUsed_percent) + " %): " + names_of(unused) + ".",
        sources_of(unused));
    std::size_t active = 0;
    for (const Series* gpu : unused)
      active += static_cast<std::size_t>(
          std::count_if(gpu->values.begin(), gpu->values.end(), [](double value) { return value > 0; }));
    const bool has_others = !side_.facts.gpus || all > static_cast<std::size_t>(*side_.facts.gpus);
    if (active == 0 || !has_others) return;
    add(RemarkKind::isolation,
        "GPUs outside the job were active in " + std::to_string(active) + " readings: " + names_of(unused) +
            ". The container can reach GPUs that it did not get, or another program used them; check "
            "NVIDIA_VISIBLE_DEVICES (the value all overrides the device plugin).",
        sources_of(unused));
  }

  void add_allocation() {
    const auto& held = side_.facts.gpus_allocated;
    const auto used = used_gpus_of(side_);
    if (!held || used.empty() || static_cast<std::size_t>(*held) <= used.size()) return;
    const double share = 100 * (1 - static_cast<double>(used.size()) / *held);
    add(RemarkKind::allocation,
        "The job holds " + std::to_string(*held) + " GPUs and uses " + std::to_string(used.size()) + ": " +
            number_text(share) + " % of the allocation is idle.",
        sources_of(used));
  }

  void add_starvation() {
    const auto found = starvation_of(side_);
    if (!found || found->idle_readings == 0) return;
    auto sources = sources_of(used_gpus_of(side_));
    sources.push_back(found->user->source);
    add(RemarkKind::starvation,
        "All used GPUs are at 0 % in " + std::to_string(found->idle_readings) + " of " +
            std::to_string(found->readings) + " readings (" + number_text(found->idle_s) + " s); " +
            std::to_string(found->beside_bursts) + " of these are within one reading of a CPU burst. " +
            (2 * found->beside_bursts > found->idle_readings ? "The GPUs wait for phases of the CPU."
                                                             : "Most of these are not beside a CPU burst."),
        std::move(sources));
  }

  void add_overlap() {
    const auto gpus = used_gpus_of(side_);
    const Series* user = main_series(side_, "cpu.user", "");
    if (gpus.empty() || user == nullptr || JoinedReadings(*gpus.front(), *user).has_overlap()) return;
    add(RemarkKind::clock,
        user->source.file + " (from " + clock_text(*user->clock_s) + ") and " + gpus.front()->source.file +
            " (from " + clock_text(*gpus.front()->clock_s) +
            ") do not overlap in time, so the use of the CPU does not explain that of the GPUs; give the "
            "files "
            "of one run.",
        {user->source, gpus.front()->source});
  }

  // On the GPUs of the run that was sampled as long as the CPU.
  [[nodiscard]] std::string effect_text(const Series& user, const Burst& window) const {
    std::string text;
    for (const Series* gpu : used_gpus_of(side_)) {
      const auto effect = effect_of_load(user, window, *gpu);
      if (!effect) continue;
      std::array<char, 32> change{};
      std::snprintf(change.data(), change.size(), "%+.1f %%", 100 * effect->change());
      text += " " + gpu->subject + " is at " + number_text(effect->inside) + " % there (from reading " +
              std::to_string(effect->first + 1) + ") and at " + number_text(effect->after) +
              " % after it: " + change.data() + ".";
    }
    return text;
  }

  void add_windows() {
    for (const Series* user : series_of(side_, "cpu.user")) {
      const auto window = loaded_window(*user);
      if (!window) continue;
      double outside = 0;
      for (std::size_t i = 0; i < user->values.size(); ++i)
        if (i < window->first || i > window->last) outside += user->values[i];
      const std::size_t inside = window->last - window->first + 1;
      const std::size_t others = user->values.size() - inside;
      add(RemarkKind::loaded_window,
          "Another load ran in readings " + std::to_string(window->first + 1) + " to " +
              std::to_string(window->last + 1) + " of " + std::to_string(user->values.size()) + " (" +
              std::to_string(inside) + " readings): " + user->source.name + " is " +
              number_text(window->mean) + " % there and " +
              number_text(others == 0 ? 0 : outside / static_cast<double>(others)) +
              " % outside. A mean of the whole run hides it." + effect_text(*user, *window),
          {user->source});
    }
  }

  void add_gaps() {
    std::set<std::string> files;
    for (const Series& series : side_.series) {
      if (series.gaps.empty() || !files.insert(series.source.file).second) continue;
      const auto longest =
          std::max_element(series.gaps.begin(), series.gaps.end(),
                           [](const Gap& a, const Gap& b) { return a.length_s < b.length_s; });
      const Source file{series.source.file, 0, 0, 0, {}};
      if (longest->is_repaired)
        add(RemarkKind::clock,
            file.file + ": a gap of " + number_text(longest->length_s) + " s after " +
                number_text(longest->after_s) +
                " s is a 12-hour clock that lost its AM or PM; it counts as " +
                number_text(*series.interval_s) + " s.",
            {file});
      else
        add(RemarkKind::clock,
            file.file + ": " + std::to_string(series.gaps.size()) + " gaps, the longest of " +
                number_text(longest->length_s) + " s after " + number_text(longest->after_s) +
                " s. Means leave out what happened there.",
            {file});
    }
  }

  // Columns of the CPU that are missing in a sheet.
  void add_sums() {
    for (const Series* idle : series_of(side_, "cpu.idle")) {
      double sum = 0;
      std::size_t columns = 0;
      for (const Series& series : side_.series)
        if (series.source.file == idle->source.file && series.subject == idle->subject &&
            series.metric.starts_with("cpu.") && series.metric != "cpu.busy") {
          sum += statistics_of(series.values)->mean;
          ++columns;
        }
      if (columns < 2 || std::abs(sum - 100) <= kSumTolerance) continue;
      add(RemarkKind::columns,
          idle->source.file + ": the CPU columns add up to " + number_text(sum) +
              " % on average; columns such as %nice or %iowait are missing. Use 100 - " + idle->source.name +
              " for the load.",
          {idle->source});
    }
  }

  void add_meaning() {
    const auto busy = series_of(side_, "gpu.memory_busy");
    if (busy.empty()) return;
    add(RemarkKind::meaning,
        "The memory utilisation of nvidia-smi is the share of time in which the memory controller is busy. "
        "It is "
        "not how much memory is occupied; for that, query memory.used.",
        sources_of(busy));
  }

  void add_margins() {
    for (const Measure& measure : side_.measures) {
      if (!measure.threshold || *measure.threshold <= 0) continue;
      const double margin = 100 * (measure.value / *measure.threshold - 1);
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "%+.1f %%", margin);
      add(RemarkKind::margin,
          measure.subject + ": " + number_text(measure.value) + " " + measure.unit +
              " against a threshold of " + number_text(*measure.threshold) + " " + measure.unit +
              ", margin " + text.data() + ".",
          {measure.source});
    }
  }

  const Side& side_;
  std::vector<Remark> remarks_;
};

}  // namespace

std::vector<Remark> remarks_of(const Side& side) {
  return RemarksOfSide(side).take();
}

}  // namespace autopilot::workloads::compare
