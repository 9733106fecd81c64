// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/event_lines.hpp"

#include <algorithm>
#include <array>

#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMaxField = 128;

// "[text] " at the beginning of a line, which it removes.
std::optional<std::string_view> take_field(std::string_view& line) {
  if (!line.starts_with('[')) return std::nullopt;
  const std::size_t end = line.find(']');
  if (end == std::string_view::npos || end > kMaxField) return std::nullopt;
  const std::string_view field = line.substr(1, end - 1);
  line = trim(line.substr(end + 1));
  return field;
}

std::optional<EventEdge> parse_edge(std::string_view word) {
  if (word == "BEGIN") return EventEdge::begin;
  if (word == "END") return EventEdge::end;
  if (word == "INSTANT") return EventEdge::instant;
  return std::nullopt;
}

// The number behind "key": in JSON.
std::string_view number_behind(std::string_view content, std::string_view key) {
  const std::size_t at = content.find(key);
  if (at == std::string_view::npos) return {};
  content = trim(content.substr(at + key.size()));
  return content.substr(0, content.find_first_of(",} "));
}

// "2026-01-01T00:00:00.123456" without a zone.
std::optional<WallTime> parse_local_time(std::string_view text) {
  if (const auto time = parse_time(text)) return time;
  return parse_time(std::string(text) + "Z");
}

struct PhaseOfEvent {
  std::string_view name;
  jobs::Phase phase;
};

// dlrover/python/training_event/predefined/trainer.py, read on 2026-11-29.
constexpr std::array kPhases{
    PhaseOfEvent{"evaluate", jobs::Phase::evaluate},
    PhaseOfEvent{"predict", jobs::Phase::evaluate},
    PhaseOfEvent{"save", jobs::Phase::checkpoint},
    PhaseOfEvent{"save_checkpoint", jobs::Phase::checkpoint},
    PhaseOfEvent{"persist_ckpt", jobs::Phase::checkpoint},
    PhaseOfEvent{"load_ckpt", jobs::Phase::load},
    PhaseOfEvent{"load checkpoint", jobs::Phase::load},
    PhaseOfEvent{"load_checkpoint", jobs::Phase::load},
    PhaseOfEvent{"init", jobs::Phase::startup},
    PhaseOfEvent{"load_dataset", jobs::Phase::startup},
};

}  // namespace

std::optional<EventLine> parse_event_line(std::string_view line) {
  line = trim(line);
  std::array<std::string_view, 5> fields;
  for (std::string_view& field : fields) {
    const auto taken = take_field(line);
    if (!taken) return std::nullopt;
    field = *taken;
  }
  const auto edge = parse_edge(fields[4]);
  if (!edge) return std::nullopt;
  EventLine event{.time = parse_local_time(fields[0]), .id = fields[1], .name = fields[3], .edge = *edge};
  if (event.name.starts_with('#')) event.name.remove_prefix(1);
  event.step = parse_number<std::int64_t>(number_behind(line, "\"global_step\":"));
  event.loss = parse_number<double>(number_behind(line, "\"loss\":"));
  return event;
}

std::optional<double> EventSpans::duration_s(const EventLine& line) {
  if (!line.time) return std::nullopt;
  if (line.edge == EventEdge::begin) {
    if (begun_.size() >= kMaxOpen) begun_.erase(begun_.begin());
    begun_.insert_or_assign(std::string(line.id), *line.time);
    return std::nullopt;
  }
  const auto begun = begun_.find(line.id);
  if (begun == begun_.end()) return std::nullopt;
  const double seconds = to_seconds(*line.time - begun->second);
  begun_.erase(begun);
  return seconds > 0 ? std::optional(seconds) : std::nullopt;
}

LineFacts EventSpans::read(const EventLine& line) {
  LineFacts facts;
  const auto seconds = duration_s(line);
  if (line.name == "step" || line.name == "log") {
    if (line.edge == EventEdge::begin || !line.step) return facts;
    facts.counter = CounterMatch{.kind = CounterKind::event, .key = "event", .number = *line.step};
    facts.values.step_s = line.name == "step" ? seconds : std::nullopt;
    facts.values.loss = line.loss;
    return facts;
  }
  const auto known = std::find_if(kPhases.begin(), kPhases.end(),
                                  [&](const PhaseOfEvent& phase) { return phase.name == line.name; });
  if (known == kPhases.end() || line.edge == EventEdge::instant) return facts;
  persists_ = persists_ || line.name == "persist_ckpt";
  if (persists_ && line.name.starts_with("save")) return facts;
  facts.phase =
      StatedPhase{known->phase, line.edge == EventEdge::begin ? jobs::Edge::begin : jobs::Edge::end};
  return facts;
}

}  // namespace autopilot::collect
