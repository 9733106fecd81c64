// SPDX-License-Identifier: Apache-2.0
#include "api/learned_versions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "api/history_records.hpp"
#include "api/learned_signals.hpp"
#include "core/stable_hash.hpp"
#include "core/word_table.hpp"
#include "learning/baseline/kind.hpp"
#include "learning/record_check.hpp"

namespace autopilot::api {
namespace {

using learning::Learned;
using learning::ProposalKind;
using learning::ProposalState;
using learning::Version;

constexpr int kVersionFormat = 1;

constexpr WordTable<learning::CheckRole, 2> kRoleWords{
    {{learning::CheckRole::gating, "gating"}, {learning::CheckRole::advisory, "advisory"}}};

std::optional<ProposalKind> parse_proposal_kind(std::string_view word) {
  for (const auto kind :
       {ProposalKind::baseline, ProposalKind::threshold, ProposalKind::check_role, ProposalKind::signals})
    if (learning::to_string(kind) == word) return kind;
  return std::nullopt;
}

std::optional<ProposalState> parse_proposal_state(std::string_view word) {
  for (const auto state :
       {ProposalState::shadow, ProposalState::canary, ProposalState::adopted, ProposalState::reverted})
    if (learning::to_string(state) == word) return state;
  return std::nullopt;
}

std::optional<learning::CheckRole> parse_role(std::string_view word) {
  return value_of(kRoleWords, word);
}

void write_exact_time(JsonWriter& json, std::string_view name, WallTime time) {
  json.word(name, format_exact_time(time));
}

void write_proposal(JsonWriter& json, const learning::Proposal& proposal) {
  json.word("id", proposal.id);
  json.word("kind", learning::to_string(proposal.kind));
  json.word("subject", proposal.subject);
  json.word("sentence", proposal.sentence);
  json.word("from", proposal.from);
  json.word("to", proposal.to);
  json.count("fromVersion", proposal.from_version);
  json.count("toVersion", proposal.to_version);
  write_exact_time(json, "created", proposal.created);
  json.begin_object("basis");
  json.count("records", proposal.basis.records);
  json.count("places", proposal.basis.places);
  json.count("excluded", proposal.basis.excluded);
  write_exact_time(json, "first", proposal.basis.first);
  write_exact_time(json, "last", proposal.basis.last);
  json.end_object();
  json.begin_object("replay");
  json.count("evaluations", proposal.replay.evaluations);
  json.count("before", proposal.replay.before);
  json.count("after", proposal.replay.after);
  json.end_object();
}

struct LearnedWriter {
  JsonWriter& json;

  void operator()(const learning::Baseline& baseline) const {
    json.begin_object("baseline");
    json.word("machineKind", baseline.key.kind);
    json.word("check", baseline.key.check);
    json.word("metric", baseline.key.metric);
    json.flag("higherIsWorse", baseline.key.worse == learning::Worse::higher);
    json.count("version", baseline.version);
    json.count("parent", baseline.parent);
    json.count("nodes", baseline.nodes);
    json.number("alpha", baseline.alpha);
    json.number("repeatCv", baseline.repeat_cv);
    write_exact_time(json, "created", baseline.created);
    json.numbers("quantiles", {baseline.sketch.begin(), baseline.sketch.end()});
    json.end_object();
  }
  void operator()(const learning::LearnedThreshold& threshold) const {
    json.begin_object("threshold");
    json.word("id", threshold.id);
    json.word("machineKind", threshold.kind);
    json.number("value", threshold.value);
    json.end_object();
  }
  void operator()(const learning::LearnedRole& role) const {
    json.begin_object("role");
    json.word("check", role.check);
    json.word("role", word_of(kRoleWords, role.role));
    json.end_object();
  }
  void operator()(const learning::LearnedSignals& signals) const {
    json.begin_object("signals");
    if (signals.prior > 0) json.number("prior", signals.prior);
    json.begin_list("weights");
    for (const learning::LearnedWeight& one : signals.weights) {
      json.begin_object();
      json.word("signal", one.signal);
      json.number("logOdds", one.log_odds);
      json.number("low", one.low);
      json.number("high", one.high);
      json.count("findings", one.findings);
      json.end_object();
    }
    json.end_list();
    json.begin_list("margins");
    for (const learning::LearnedMargin& one : signals.margins) {
      json.begin_object();
      json.word("signal", one.signal);
      json.number("factor", one.factor);
      json.count("scores", one.scores);
      json.end_object();
    }
    json.end_list();
    json.end_object();
  }
};

std::uint32_t small_count(const JsonObject& object, std::string_view name) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(object.count(name), std::numeric_limits<std::uint32_t>::max()));
}

learning::ProposalBasis read_basis(const JsonObject& object) {
  return {.records = object.count("records"),
          .places = object.count("places"),
          .excluded = object.count("excluded"),
          .first = object.time("first"),
          .last = object.time("last")};
}

learning::ProposalReplay read_replay(const JsonObject& object) {
  return {.evaluations = object.count("evaluations"),
          .before = object.count("before"),
          .after = object.count("after")};
}

learning::Baseline read_baseline(const JsonObject& object) {
  learning::Baseline baseline;
  baseline.key = {object.word("machineKind"), object.word("check"), object.word("metric"),
                  object.flag("higherIsWorse") ? learning::Worse::higher : learning::Worse::lower};
  baseline.version = small_count(object, "version");
  baseline.parent = small_count(object, "parent");
  baseline.nodes = object.count("nodes");
  baseline.alpha = object.number("alpha");
  baseline.repeat_cv = object.number("repeatCv");
  baseline.created = object.time("created");
  const std::vector<double> sketch = object.numbers("quantiles");
  if (sketch.size() == baseline.sketch.size()) std::ranges::copy(sketch, baseline.sketch.begin());
  return baseline;
}

learning::LearnedThreshold read_threshold(const JsonObject& object) {
  return {object.word("id"), object.word("machineKind"), object.number("value")};
}

learning::LearnedRole read_role(const JsonObject& object) {
  return {object.word("check"), object.choice("role", parse_role)};
}

learning::LearnedWeight read_weight(const JsonObject& object) {
  return {.signal = object.word("signal"),
          .log_odds = object.number("logOdds"),
          .low = object.number("low"),
          .high = object.number("high"),
          .findings = object.count("findings")};
}

learning::LearnedMargin read_margin(const JsonObject& object) {
  return {
      .signal = object.word("signal"), .factor = object.number("factor"), .scores = object.count("scores")};
}

learning::LearnedSignals read_signals(const JsonObject& object) {
  return {.prior = object.number_if_any("prior").value_or(0),
          .weights = object.list("weights", read_weight),
          .margins = object.list("margins", read_margin)};
}

learning::AdoptionStep read_step(const JsonObject& object) {
  return {.state = object.choice("state", parse_proposal_state),
          .time = object.time("time"),
          .author = object.word("author"),
          .note = object.word_or_empty("note")};
}

struct VersionFile {
  int format = 0;
  Version version;
};

VersionFile read_version_file(const JsonObject& object) {
  VersionFile file;
  file.format = object.small_integer("format");
  if (file.format != kVersionFormat) return file;
  learning::Proposal& proposal = file.version.proposal;
  proposal.id = object.word("id");
  proposal.kind = object.choice("kind", parse_proposal_kind);
  proposal.subject = object.word("subject");
  proposal.sentence = object.word("sentence");
  proposal.from = object.word("from");
  proposal.to = object.word("to");
  proposal.from_version = small_count(object, "fromVersion");
  proposal.to_version = small_count(object, "toVersion");
  proposal.created = object.time("created");
  proposal.basis = object.object("basis", read_basis);
  proposal.replay = object.object("replay", read_replay);
  if (proposal.kind == ProposalKind::baseline)
    file.version.learned = object.object("baseline", read_baseline);
  if (proposal.kind == ProposalKind::threshold)
    file.version.learned = object.object("threshold", read_threshold);
  if (proposal.kind == ProposalKind::check_role) file.version.learned = object.object("role", read_role);
  if (proposal.kind == ProposalKind::signals) file.version.learned = object.object("signals", read_signals);
  file.version.steps = object.list("steps", read_step);
  return file;
}

bool is_at_least_zero(double number) {
  return std::isfinite(number) && number >= 0;
}

Status check_learned(const Learned& learned) {
  if (const auto* baseline = std::get_if<learning::Baseline>(&learned)) {
    TRY_STATUS(learning::reference_of(*baseline));
    if (!(baseline->alpha > 0 && baseline->alpha < 1) || !is_at_least_zero(baseline->repeat_cv))
      return fail(Errc::malformed, "baseline: alpha or repeatCv is out of range");
  }
  if (const auto* threshold = std::get_if<learning::LearnedThreshold>(&learned)) {
    TRY_STATUS(learning::parse_kind(threshold->kind));
    if (!is_at_least_zero(threshold->value) || threshold->value == 0)
      return fail(Errc::malformed, "threshold: expected a value above 0");
  }
  return {};
}

bool is_proposal_id(std::string_view id) {
  constexpr std::size_t kDigits = 16;
  return id.size() == kDigits && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status check_version(const Version& version) {
  if (!is_proposal_id(version.proposal.id))
    return fail(Errc::malformed, "id: expected 16 hexadecimal digits");
  if (version.steps.size() > Version::kMostSteps)
    return fail(Errc::malformed, "steps: more than " + std::to_string(Version::kMostSteps));
  if (version.proposal.created > learning::kLatestTime)
    return fail(Errc::malformed, "created: later than the year 2255");
  for (const learning::AdoptionStep& step : version.steps)
    if (step.time > learning::kLatestTime)
      return fail(Errc::malformed, "steps: a time is later than the year 2255");
  if (version.proposal.kind == ProposalKind::signals) TRY_STATUS(weights_of(version));
  return check_learned(version.learned);
}

// From the steps.
void complete(Version& version) {
  learning::Proposal& proposal = version.proposal;
  proposal.shadow_until = proposal.created + learning::kShadow;
  if (const auto state = version.state()) proposal.state = *state;
  for (const learning::AdoptionStep& step : version.steps)
    if (step.state == ProposalState::shadow) proposal.shadow_until = step.time + learning::kShadow;
}

}  // namespace

void write_version(JsonWriter& json, const Version& version) {
  write_proposal(json, version.proposal);
  std::visit(LearnedWriter{json}, version.learned);
  json.begin_list("steps");
  for (const learning::AdoptionStep& step : version.steps) {
    json.begin_object();
    json.word("state", learning::to_string(step.state));
    write_exact_time(json, "time", step.time);
    json.word("author", step.author);
    json.word_if_any("note", step.note);
    json.end_object();
  }
  json.end_list();
}

std::string format_version(const Version& version) {
  JsonWriter json;
  json.begin_object();
  json.integer("format", kVersionFormat);
  write_version(json, version);
  json.end_object();
  std::string text = json.take();
  return text + stable_hash(text).hex() + "\n";
}

Result<Version> parse_version(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || text.size() < end + 1)
    return fail(Errc::malformed, "cut off: expected a line of JSON and its checksum");
  const std::string_view line = text.substr(0, end + 1);
  if (text.substr(end + 1) != stable_hash(line).hex() + "\n")
    return fail(Errc::malformed, "the checksum does not fit: the file is damaged or was changed by hand");
  auto document = TRY(JsonDocument::parse(line));
  VersionFile file = TRY(document.read(read_version_file));
  if (file.format != kVersionFormat)
    return fail(Errc::unsupported, "format " + std::to_string(file.format) +
                                       " is not known; it was written by a newer Autopilot");
  TRY_STATUS(check_version(file.version));
  complete(file.version);
  return std::move(file.version);
}

}  // namespace autopilot::api
