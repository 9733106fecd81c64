// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/step_lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <re2/re2.h>
#include <utility>

#include "collect/progress/event_lines.hpp"
#include "collect/progress/number_trend.hpp"
#include "collect/progress/phase_book.hpp"
#include "collect/progress/step_guard.hpp"
#include "collect/progress/step_patterns.hpp"
#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

using std::chrono::seconds;

// A counter that takes the lead from a silent one must have risen this often meanwhile, in this time.
constexpr int kAdvancesToReplace = 10;
constexpr Duration kSilenceToReplace = seconds{120};
// Times that only rise are times since the start.
constexpr int kRisesOfElapsed = 8;

struct Counter {
  CounterMatch last;
  StepGuard guard;
  std::int64_t offset = 0;  // of the epochs before, where the number starts again
  std::int64_t shift = 0;   // emitted step - step of this counter
  int advances = 0;
  int advances_since_lead = 0;  // since the leader rose
  WallTime advanced{};
  double interval_s = 0;  // mean time between two rises
  std::uint64_t used = 0;
  std::optional<double> last_step_s;
  int step_s_rises = 0;
};

// The step, counted over epochs. nullopt: outside the range.
std::optional<std::int64_t> absolute_step(Counter& counter, const CounterMatch& match) {
  if (match.number < 0 || match.number > StepGuard::kMaxStep) return std::nullopt;
  const bool repeats = match.kind == CounterKind::in_epoch || match.kind == CounterKind::bar;
  if (repeats && match.epoch && match.total) {
    const std::int64_t epoch = std::max<std::int64_t>(0, *match.epoch - (match.is_first_epoch_one ? 1 : 0));
    if (epoch > 1'000'000 || *match.total > 1'000'000'000) return std::nullopt;
    return epoch * *match.total + match.number;
  }
  const CounterMatch& before = counter.last;
  const bool falls =
      counter.advances > 0 && match.number < before.number / 2 + 1 && match.number < before.number;
  const bool was_complete = before.total && before.number * 10 >= *before.total * 9;
  const bool is_next_epoch = match.epoch && before.epoch && *match.epoch > *before.epoch;
  if (falls && ((repeats && was_complete) || (is_next_epoch && match.kind != CounterKind::global)))
    counter.offset += repeats && before.total ? *before.total : before.number;
  return counter.offset + match.number;
}

// How often a counter must have risen before it leads.
int advances_to_lead(CounterKind kind) {
  switch (kind) {
    case CounterKind::named:
      return 3;
    case CounterKind::log_lines:
      return 2;
    default:
      return 1;
  }
}

class UserPattern {
 public:
  static Result<std::unique_ptr<UserPattern>> create(std::string_view text);

  [[nodiscard]] std::optional<LineFacts> read(std::string_view line) const;

 private:
  static constexpr std::array<std::string_view, 4> kGroups{"step", "loss", "step_s", "tokens"};

  explicit UserPattern(std::string_view text, const RE2::Options& options)
      : expression_(re2::StringPiece(text.data(), text.size()), options) {}
  [[nodiscard]] static std::optional<double> number(const re2::StringPiece& text);

  RE2 expression_;
  std::array<int, 4> groups_{};  // 0: the pattern does not have it
};

Result<std::unique_ptr<UserPattern>> UserPattern::create(std::string_view text) {
  if (text.size() > StepLines::kMaxPattern)
    return fail(Errc::malformed, "the step pattern has " + std::to_string(text.size()) +
                                     " bytes; shorten it to " + std::to_string(StepLines::kMaxPattern));
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_max_mem(std::int64_t{1} << 20);
  options.set_log_errors(false);
  std::unique_ptr<UserPattern> made(new UserPattern(text, options));
  if (!made->expression_.ok())
    return fail(Errc::malformed, "the step pattern is not a regular expression of RE2 (" +
                                     made->expression_.error() + "); correct it");
  const auto& names = made->expression_.NamedCapturingGroups();
  for (std::size_t i = 0; i < kGroups.size(); ++i)
    if (const auto found = names.find(std::string(kGroups[i])); found != names.end())
      made->groups_[i] = found->second;
  if (made->groups_[0] == 0)
    return fail(Errc::malformed, "the step pattern has no group (?P<step>...); add it around the number");
  if (made->expression_.NumberOfCapturingGroups() > 16)
    return fail(Errc::malformed, "the step pattern has more than 16 groups; write (?:...) for the others");
  return made;
}

std::optional<double> UserPattern::number(const re2::StringPiece& text) {
  const std::string lower = to_lower({text.data(), text.size()});
  if (lower == "nan" || lower.ends_with("inf")) return std::numeric_limits<double>::quiet_NaN();
  return parse_number<double>(lower);
}

std::optional<LineFacts> UserPattern::read(std::string_view line) const {
  std::array<re2::StringPiece, 17> groups;
  const int count = expression_.NumberOfCapturingGroups() + 1;
  if (!expression_.Match({line.data(), line.size()}, 0, line.size(), RE2::UNANCHORED, groups.data(), count))
    return std::nullopt;
  const auto group = [&](std::size_t index) { return groups[static_cast<std::size_t>(groups_[index])]; };
  const auto step = parse_number<std::int64_t>({group(0).data(), group(0).size()});
  if (!step) return std::nullopt;
  LineFacts facts;
  facts.counter = CounterMatch{.kind = CounterKind::configured, .key = "configured", .number = *step};
  if (groups_[1] != 0) facts.values.loss = number(group(1));
  if (groups_[2] != 0) facts.values.step_s = number(group(2));
  if (facts.values.step_s && !(*facts.values.step_s > 0)) facts.values.step_s.reset();
  const auto tokens = groups_[3] != 0 ? number(group(3)) : std::nullopt;
  if (tokens && *tokens > 0) facts.values.tokens = tokens;
  return facts;
}

}  // namespace

class StepLines::State {
 public:
  State(Owner owner, std::unique_ptr<UserPattern> pattern)
      : owner_(std::move(owner)), pattern_(std::move(pattern)), phases_(owner_.job, owner_.rank) {}

  void add(const LogLine& line, std::vector<jobs::Record>& records);

 private:
  [[nodiscard]] LineFacts facts_of(const LogLine& line);
  [[nodiscard]] Counter& counter(const CounterMatch& match);
  [[nodiscard]] bool may_lead(const Counter& counter, WallTime time) const;
  void advance(Counter& counter, const LineFacts& facts, WallTime time, std::vector<jobs::Record>& records);
  void trust_step_time(Counter& counter, LineValues& values) const;
  void emit(Counter& counter, const LineValues& values, Duration since, std::int64_t steps, WallTime time,
            std::vector<jobs::Record>& records);
  void emit_loss(double loss, WallTime time, std::vector<jobs::Record>& records) const;

  Owner owner_;
  std::unique_ptr<UserPattern> pattern_;
  EventSpans spans_;
  NumberTrend trend_;
  PhaseBook phases_;
  std::vector<Counter> counters_;
  std::optional<std::string> leader_;  // key
  std::optional<std::int64_t> emitted_;
  std::optional<std::int64_t> epoch_;  // of the last line that states one
  std::int64_t log_lines_ = 0;
  std::uint64_t used_ = 0;
};

LineFacts StepLines::State::facts_of(const LogLine& line) {
  if (pattern_)
    if (auto facts = pattern_->read(line.text)) return *facts;
  if (const auto event = parse_event_line(line.text)) return spans_.read(*event);
  LineFacts facts = read_line(line.text);
  const bool is_weak = !facts.counter || facts.counter->kind == CounterKind::named;
  if (is_weak && !facts.phase)
    if (auto learned = trend_.add(line.text, line.time); learned && !facts.counter) facts.counter = learned;
  return facts;
}

Counter& StepLines::State::counter(const CounterMatch& match) {
  ++used_;
  auto known = std::find_if(counters_.begin(), counters_.end(),
                            [&](const Counter& one) { return one.last.key == match.key; });
  if (known == counters_.end()) {
    if (counters_.size() < kMaxCounters) {
      known = counters_.insert(counters_.end(), Counter{});
    } else {
      known = std::min_element(counters_.begin(), counters_.end(), [&](const Counter& a, const Counter& b) {
        return std::pair(a.last.key == leader_, a.used) < std::pair(b.last.key == leader_, b.used);
      });
    }
    *known = Counter{};
    known->last = match;
  }
  known->used = used_;
  return *known;
}

bool StepLines::State::may_lead(const Counter& candidate, WallTime time) const {
  const auto leader = std::find_if(counters_.begin(), counters_.end(),
                                   [&](const Counter& one) { return one.last.key == leader_; });
  if (leader == counters_.end()) return candidate.advances >= advances_to_lead(candidate.last.kind);
  if (&*leader == &candidate) return true;
  const int needed = std::max(2, advances_to_lead(candidate.last.kind));
  if (candidate.last.kind > leader->last.kind) return candidate.advances >= needed;
  const bool is_complete = leader->last.total && leader->last.number >= *leader->last.total;
  if (is_complete && candidate.advances_since_lead >= needed && candidate.last.kind >= CounterKind::bar &&
      !phases_.is_open(jobs::Phase::evaluate))
    return true;
  const Duration silence = time - leader->advanced;
  return candidate.advances_since_lead >= kAdvancesToReplace && silence >= kSilenceToReplace &&
         to_seconds(silence) >= 5 * leader->interval_s && !phases_.is_open(jobs::Phase::evaluate);
}

// A time that only ever rises is the time since the start, and no duration.
void StepLines::State::trust_step_time(Counter& counter, LineValues& values) const {
  if (!values.is_step_s_elapsed || !values.step_s) return;
  const bool rises = counter.last_step_s && *values.step_s > *counter.last_step_s;
  counter.step_s_rises = rises ? counter.step_s_rises + 1 : 0;
  counter.last_step_s = values.step_s;
  if (counter.step_s_rises >= kRisesOfElapsed) values.step_s.reset();
}

void StepLines::State::emit(Counter& counter, const LineValues& values, Duration since, std::int64_t steps,
                            WallTime time, std::vector<jobs::Record>& records) {
  const std::int64_t step = *counter.guard.step() + counter.shift;
  jobs::StepRecord record{.time = time, .job = owner_.job, .rank = owner_.rank, .step = step};
  record.step_s = values.step_s;
  record.loss = values.loss;
  record.tokens = values.tokens;
  const double measured_s = steps > 0 ? to_seconds(since) / static_cast<double>(steps) : 0;
  const double step_s = values.step_s.value_or(measured_s);
  if (!record.tokens && values.tokens_s && step_s > 0) record.tokens = *values.tokens_s * step_s;
  phases_.step(time, records);
  records.emplace_back(std::move(record));
  emitted_ = step;
}

void StepLines::State::emit_loss(double loss, WallTime time, std::vector<jobs::Record>& records) const {
  records.emplace_back(jobs::StepRecord{.time = time,
                                        .job = owner_.job,
                                        .rank = owner_.rank,
                                        .step = *emitted_,
                                        .step_s = {},
                                        .tokens = {},
                                        .loss = loss});
}

void StepLines::State::advance(Counter& counter, const LineFacts& facts, WallTime time,
                               std::vector<jobs::Record>& records) {
  const auto step = absolute_step(counter, *facts.counter);
  const std::int64_t before = counter.guard.step().value_or(0);
  const StepGuard::Move move = step ? counter.guard.next(*step) : StepGuard::Move::ignored;
  const bool is_leader = counter.last.key == leader_;
  if (move == StepGuard::Move::same && is_leader && facts.values.loss && emitted_)
    emit_loss(*facts.values.loss, time, records);
  if (move != StepGuard::Move::advance && move != StepGuard::Move::restart) return;
  const Duration since = counter.advances > 0 ? time - counter.advanced : Duration{0};
  counter.interval_s += (to_seconds(since) - counter.interval_s) / std::min(++counter.advances, 16);
  counter.last = *facts.counter;
  counter.advanced = time;
  ++counter.advances_since_lead;
  if (!may_lead(counter, time)) return;
  if (!is_leader) {
    leader_ = counter.last.key;
    if (emitted_ && *counter.guard.step() + counter.shift <= *emitted_)
      counter.shift = *emitted_ + 1 - *counter.guard.step();
  }
  for (Counter& one : counters_)
    one.advances_since_lead = 0;
  LineValues values = facts.values;
  trust_step_time(counter, values);
  const std::int64_t steps = move == StepGuard::Move::advance ? *counter.guard.step() - before : 0;
  emit(counter, values, since, steps, time, records);
}

void StepLines::State::add(const LogLine& line, std::vector<jobs::Record>& records) {
  LineFacts facts = facts_of(line);
  if (facts.phase) {
    phases_.add(*facts.phase, line.time, records);
    return;
  }
  if (!facts.counter) {
    if (const auto epoch = epoch_of(line.text)) epoch_ = epoch;
    if (facts.values.loss && emitted_) emit_loss(*facts.values.loss, line.time, records);
    return;
  }
  if (facts.counter->kind == CounterKind::log_lines) {
    facts.counter->number = ++log_lines_;
    if (leader_ && *leader_ != facts.counter->key && facts.values.loss && emitted_)
      emit_loss(*facts.values.loss, line.time, records);
  }
  if (facts.counter->kind == CounterKind::in_epoch && !facts.counter->epoch) facts.counter->epoch = epoch_;
  advance(counter(*facts.counter), facts, line.time, records);
}

StepLines::StepLines(std::unique_ptr<State> state) : state_(std::move(state)) {}
StepLines::StepLines(StepLines&&) noexcept = default;
StepLines& StepLines::operator=(StepLines&&) noexcept = default;
StepLines::~StepLines() = default;

Result<StepLines> StepLines::create(Owner owner, std::string_view pattern) {
  std::unique_ptr<UserPattern> made;
  if (!pattern.empty()) made = TRY(UserPattern::create(pattern));
  return StepLines(std::make_unique<State>(std::move(owner), std::move(made)));
}

void StepLines::add(const LogLine& line, std::vector<jobs::Record>& records) {
  state_->add(line, records);
}

}  // namespace autopilot::collect
