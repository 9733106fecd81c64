// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/step_patterns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <re2/re2.h>
#include <utility>
#include <vector>

#include "collect/progress/phase_phrases.hpp"
#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMaxLine = 17 * 1024;

// Lines are in lower case, bytes of other alphabets are left as they are.
RE2::Options line_options() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_max_mem(std::int64_t{1} << 20);
  options.set_log_errors(false);
  return options;
}

struct LinePattern {
  explicit LinePattern(const char* text) : expression(text, line_options()) {
    AUTOPILOT_ASSERT(expression.ok());
  }
  RE2 expression;
};

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view view(const re2::StringPiece& text) {
  return {text.data(), text.size()};
}

bool contains(std::string_view line, std::string_view word) {
  return line.find(word) != std::string_view::npos;
}

// Searching for a few words costs a tenth of matching all expressions, and most lines have none of them.
template <std::size_t N>
bool contains_any(std::string_view line, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return contains(line, word); });
}

// "1,234" and "00012" are numbers of programs.
std::optional<std::int64_t> count_of(std::string_view digits) {
  std::string plain(digits);
  std::erase(plain, ',');
  return parse_number<std::int64_t>(plain);
}

std::optional<double> value_of(std::string_view digits) {
  std::string plain(digits);
  std::erase(plain, ',');
  if (plain.starts_with('+')) plain.erase(0, 1);
  return parse_number<double>(plain);
}

#define AUTOPILOT_NUMBER R"(([0-9][0-9,]*(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|\.[0-9]+))"

// ---- values -------------------------------------------------------------------------------------------

bool ends_with_word_of_test(std::string_view before) {
  static constexpr std::array kWords{"val", "valid", "validation", "eval", "evaluation", "test", "dev"};
  while (!before.empty() && (before.back() == ' ' || before.back() == '/' || before.back() == '_'))
    before.remove_suffix(1);
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    if (!before.ends_with(word)) return false;
    before.remove_suffix(word.size());
    const bool is_whole = before.empty() || before.back() < 'a' || before.back() > 'z';
    before = {before.data(), before.size() + word.size()};
    return is_whole;
  });
}

std::optional<double> find_loss(std::string_view line) {
  if (!contains(line, "loss")) return std::nullopt;
  static const LinePattern pattern(
      R"((?:^|[^a-z0-9_.\-])((?:(?:lm|train|training|total|reduced_train|avg|average|ce|mean|batch|running|step)[_ /])?)"
      R"((?:crossentropyloss|loss(?:[_ ]train|/train/total|_per_step)?))['"]?\s*(?:[=:(]|is)?\s*['"]?)"
      R"(([+-]?(?:nan|inf|[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?|\.[0-9]+)))");
  re2::StringPiece rest = piece(line);
  re2::StringPiece name;
  re2::StringPiece number;
  while (RE2::FindAndConsume(&rest, pattern.expression, &name, &number)) {
    const std::string_view before = line.substr(0, static_cast<std::size_t>(name.data() - line.data()));
    const char next = rest.empty() ? ' ' : rest[0];
    if (ends_with_word_of_test(before) || (next >= 'a' && next <= 'z') || next == '%') continue;
    if (contains(view(number), "n")) return std::numeric_limits<double>::quiet_NaN();  // nan, inf
    if (const auto value = value_of(view(number))) return value;
  }
  return std::nullopt;
}

struct TimePattern {
  LinePattern pattern;  // a number, and a unit where it has two groups
  double unit_s;        // without a second group
  bool may_be_elapsed;
};

double unit_of(std::string_view word) {
  if (word == "ms") return 1e-3;
  return word == "us" ? 1e-6 : 1;
}

const std::array<TimePattern, 10>& time_patterns() {
  static const std::array<TimePattern, 10> patterns{{
      {LinePattern(R"(elapsed time per iteration \(ms\):\s*)" AUTOPILOT_NUMBER), 1e-3, false},
      {LinePattern(
           R"((?:iter time \(s\)|train_step_timing in s|timing_s/step|\bseconds|s(?:ec)?/(?:it|iter|step))['"]?\s*[:=]\s*)" AUTOPILOT_NUMBER),
       1, false},
      {LinePattern(
           R"((?:^|[^a-z0-9_])(?:iter(?:ation)?[_ ]?time|step[_ ]?time|batch[_ ]?time|dt|step_avg|took)['"]?\s*[:=]?\s*)" AUTOPILOT_NUMBER
           R"(\s*(ms|us|s|sec|seconds)(?:[^a-z/]|$))"),
       1, false},
      {LinePattern(
           R"((?:^|[^a-z0-9_])(?:step_time|iter_time|batch_time|time_per_step|time_per_iteration)(?:_s)?['"]?\s*[:=]\s*)" AUTOPILOT_NUMBER
           R"((?:[^0-9a-z.%]|$))"),
       1, false},
      {LinePattern(R"((?:^|[^a-z0-9_])(?:step|iter)_time_ms['"]?\s*[:=]\s*)" AUTOPILOT_NUMBER), 1e-3, false},
      {LinePattern(R"((?:^|[^a-z0-9_])time:\s+)" AUTOPILOT_NUMBER R"(,?\s+(?:last_time: \S+\s+)?data_time)"),
       1, false},
      {LinePattern(R"(\btime\s+)" AUTOPILOT_NUMBER R"( \(\s*[0-9.]+\))"), 1, false},
      {LinePattern(R"(\|\s*)" AUTOPILOT_NUMBER R"(\s*(ms|s) \|)"), 1, false},
      {LinePattern(AUTOPILOT_NUMBER R"(\s*(ms|s)/(?:step|iter|it)(?:[^a-z]|$))"), 1, false},
      {LinePattern(R"((?:^|[^a-z0-9_])time['"]?\s*[:=]?\s*)" AUTOPILOT_NUMBER
                   R"(\s*(ms|us|s|sec|seconds)(?:[^a-z/]|$))"),
       1, true},
  }};
  return patterns;
}

void find_step_time(std::string_view line, LineValues& values) {
  static constexpr std::array<std::string_view, 7> kWords{"tim", "dt",       "took", "sec",
                                                          "s/",  "step_avg", "ms |"};
  if (!contains_any(line, kWords)) return;
  for (const TimePattern& known : time_patterns()) {
    re2::StringPiece number;
    re2::StringPiece unit;
    const bool has_unit = known.pattern.expression.NumberOfCapturingGroups() == 2;
    const bool is_found = has_unit ? RE2::PartialMatch(piece(line), known.pattern.expression, &number, &unit)
                                   : RE2::PartialMatch(piece(line), known.pattern.expression, &number);
    if (!is_found) continue;
    const auto value = value_of(view(number));
    if (!value || *value <= 0) continue;
    values.step_s = *value * (has_unit ? unit_of(view(unit)) : known.unit_s);
    values.is_step_s_elapsed = known.may_be_elapsed;
    return;
  }
}

std::optional<double> find_tokens_per_second(std::string_view line) {
  static constexpr std::array<std::string_view, 3> kWords{"tok", "tps", "wps"};
  if (!contains_any(line, kWords)) return std::nullopt;
  static const LinePattern named(
      R"((?:tokens?|tok)(?:/|_per_| per )s(?:ec(?:ond)?)?(?:[/_ ](?:per )?(?:gpu|device))?\)?['"]?\s*[:=]\s*)" AUTOPILOT_NUMBER);
  static const LinePattern short_name(R"((?:^|[^a-z])(?:tps|wps)['"]?\s*[:=]\s*)" AUTOPILOT_NUMBER);
  static const LinePattern unit(AUTOPILOT_NUMBER R"((k?)\s*tok(?:en)?s?/s)");
  re2::StringPiece number;
  re2::StringPiece thousands;
  bool is_found = RE2::PartialMatch(piece(line), named.expression, &number) ||
                  RE2::PartialMatch(piece(line), short_name.expression, &number);
  if (!is_found) is_found = RE2::PartialMatch(piece(line), unit.expression, &number, &thousands);
  if (!is_found) return std::nullopt;
  const auto value = value_of(view(number));
  if (!value || *value <= 0) return std::nullopt;
  return *value * (thousands.empty() ? 1 : 1000);
}

std::optional<int> find_rank(std::string_view line) {
  if (!contains(line.substr(0, 16), "[")) return std::nullopt;
  static const LinePattern pattern(R"(^\s*\[(?:rank\s?|default)([0-9]{1,5})\]:?)");
  re2::StringPiece number;
  if (!RE2::PartialMatch(piece(line), pattern.expression, &number)) return std::nullopt;
  return parse_number<int>(view(number));
}

std::optional<std::int64_t> find_epoch(std::string_view line) {
  if (!contains(line, "epoch")) return std::nullopt;
  static const LinePattern pattern(
      R"((?:^|[^a-z_])epoch['"]?(?:\((?:train)\))?\s*[:=]?\s*\[?\s*([0-9]{1,9}))");
  re2::StringPiece number;
  if (!RE2::PartialMatch(piece(line), pattern.expression, &number)) return std::nullopt;
  return parse_number<std::int64_t>(view(number));
}

// ---- counters -----------------------------------------------------------------------------------------

// Lines of frameworks whose counter has no name, or starts again with each epoch. The groups are epoch,
// number and total; an epoch may be missing.
struct EpochPattern {
  const char* framework;
  const char* source;  // where such lines were seen
  const char* date;
  LinePattern pattern;
  bool is_first_epoch_one;
  bool needs_loss;
};

const std::array<EpochPattern, 9>& epoch_patterns() {
  static const std::array<EpochPattern, 9> patterns{{
      {"OpenMMLab", "open-mmlab/mmdetection issue 2672", "2026-11-29",
       LinePattern(R"(\bepoch\s*(?:\(train\))?\s*\[\s*([0-9]+)\]\s*\[\s*([0-9]+)/([0-9]+)\])"), true, false},
      {"PyTorch imagenet", "pytorch/examples, output in public notebooks", "2026-11-29",
       LinePattern(R"(^\W*epoch:\s*\[([0-9]+)\]\s*\[\s*([0-9]+)/([0-9]+)\])"), false, false},
      {"PyTorch mnist", "pytorch/examples, output in public notebooks", "2026-11-29",
       LinePattern(R"(\btrain epoch:\s*([0-9]+)\s*\[\s*([0-9]+)/([0-9]+))"), true, false},
      {"timm", "huggingface/pytorch-image-models, output in public repositories", "2026-11-29",
       LinePattern(R"(\btrain:\s*([0-9]+)\s*\[\s*([0-9]+)/([0-9]+))"), false, false},
      {"fairseq 0.6", "facebookresearch/fairseq issue 301", "2026-11-29",
       LinePattern(R"(\|\s*epoch ([0-9]+):?\s+([0-9]+) / ([0-9]+) )"), true, true},
      {"Lightning, rich bar", "Lightning-AI/pytorch-lightning, RichProgressBar", "2026-11-29",
       LinePattern(R"(^\s*epoch ([0-9]+)(?:/-?[0-9]+)?\s+[^0-9a-z|\[\]%.,:]+\s+([0-9]+)/([0-9]+) )"), false,
       false},
      {"Keras", "keras-team/keras, output in public notebooks", "2026-11-29",
       LinePattern(R"(()(?:^|\s)([0-9]+)/([0-9]+) (?:\[[=>.]+\]|[^0-9a-z|\[\]%.,:\s]+) .*- )"), true, true},
      {"Composer", "mosaicml/composer pull request 1884", "2026-11-29",
       LinePattern(R"(()\[(?:epoch=[^\]]*\]\[)?batch=([0-9]+)/([0-9]+)\])"), false, false},
      {"brackets", "common in own training loops", "2026-11-29",
       LinePattern(R"(()[\[(]\s*([0-9]+)\s*/\s*([0-9]+)\s*(?:\([^)]*\))?[\])])"), true, true},
  }};
  return patterns;
}

std::optional<CounterMatch> find_epoch_counter(std::string_view line, bool has_loss) {
  if (!contains(line, "/") || (!has_loss && !contains(line, "[") && !contains(line, "epoch")))
    return std::nullopt;
  for (const EpochPattern& known : epoch_patterns()) {
    if (known.needs_loss && !has_loss) continue;
    re2::StringPiece epoch;
    re2::StringPiece number;
    re2::StringPiece total;
    if (!RE2::PartialMatch(piece(line), known.pattern.expression, &epoch, &number, &total)) continue;
    const auto count = count_of(view(number));
    const auto end = count_of(view(total));
    if (!count || !end || *count > *end) continue;
    CounterMatch match{.kind = CounterKind::in_epoch, .key = known.framework, .number = *count, .total = end};
    match.epoch = epoch.empty() ? find_epoch(line) : count_of(view(epoch));
    match.is_first_epoch_one = known.is_first_epoch_one;
    return match;
  }
  return std::nullopt;
}

// Bars of work other than training steps.
bool is_other_bar(std::string_view description) {
  static constexpr std::array kWords{
      "load",   "download", "fetch",   "map",     "filter", "token",   "resolv", "eval",
      "valid",  "sanity",   "predict", "test",    "sav",    "generat", "group",  "captur",
      "upload", "convert",  "extract", "quantiz", "shard",  "process", "build",  "read",
      "pack",   "infer",    "sampl",   "request", "cach",   "compil",  "rollout"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return contains(description, word); });
}

std::string shape_of(std::string_view text) {
  std::string shape;
  for (const char c : text.substr(0, 64)) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit)
      shape += c;
    else if (!shape.ends_with('#'))
      shape += '#';
  }
  return shape;
}

// The bar of tqdm, with steps as its unit.
std::optional<CounterMatch> find_bar(std::string_view line, LineValues& values) {
  if (!contains(line, "%|") && !contains(line, "% |")) return std::nullopt;
  static const LinePattern pattern(
      R"(([^|\[\]]*?)\s*[0-9]{1,3}%\s*\|[^|]*\|\s*([0-9]+)/([0-9]+) \[[0-9:]+<[^,\]]*, *([0-9.]+|\?) ?(it/s|s/it|steps?/s|s/step|batch(?:es)?/s|s/batch|iters?/s|s/iter))");
  re2::StringPiece description;
  re2::StringPiece number;
  re2::StringPiece total;
  re2::StringPiece rate;
  re2::StringPiece unit;
  if (!RE2::PartialMatch(piece(line), pattern.expression, &description, &number, &total, &rate, &unit))
    return std::nullopt;
  const auto count = count_of(view(number));
  const auto end = count_of(view(total));
  if (!count || !end || is_other_bar(view(description))) return std::nullopt;
  const auto speed = value_of(view(rate));
  if (speed && *speed > 0) values.step_s = view(unit).starts_with("s/") ? *speed : 1 / *speed;
  CounterMatch match{.kind = CounterKind::bar, .number = *count, .total = end};
  match.key = "bar " + shape_of(view(description)) + "/" + std::to_string(*end);
  match.epoch = find_epoch(view(description));
  return match;
}

// Words before "step" that make it something else than a step of training.
bool is_other_counter(std::string_view before, bool has_loss) {
  static constexpr std::array kAlways{
      "max",          "total",     "warmup",    "warm-up",      "num",        "number of",  "save",
      "eval",         "logging",   "decay",     "accumulation", "every",      "each",       "per",
      "optimization", "remaining", "inference", "sampling",     "denoising",  "diffusion",  "time",
      "slurm",        "job",       "next",      "from",         "evaluation", "validation", "test",
      "val",          "build",     "setup",     "install",      "resume",     "rollback",   "until",
      "last",         "srun:",     "docker",    "for",          "of",         "profile",    "lr",
      "prefill",      "decode"};
  static constexpr std::array kWithoutLoss{"at", "after", "before", "in", "to", "on", "this", "by"};
  while (!before.empty() && before.back() == ' ')
    before.remove_suffix(1);
  const auto ends_with_word = [&](std::string_view word) {
    if (!before.ends_with(word)) return false;
    const std::size_t left = before.size() - word.size();
    return left == 0 || before[left - 1] < 'a' || before[left - 1] > 'z';
  };
  return std::any_of(kAlways.begin(), kAlways.end(), ends_with_word) ||
         (!has_loss && std::any_of(kWithoutLoss.begin(), kWithoutLoss.end(), ends_with_word));
}

// Lines about something else, unless they state a loss.
bool is_about_something_else(std::string_view line) {
  static constexpr std::array kWords{
      "checkpoint", "ckpt",      "resum",     "restor",   "load",      "saving", "saved",
      "evaluat",    "validat",   "skipping",  "overflow", "traceback", "error",  "warn",
      "exception",  "timeout",   "timed out", "retry",    "attempt",   "slurm",  "srun",
      "docker",     "profiler",  "garbage",   "install",  "http",      "nccl",   "denoising",
      "diffusion",  "inference", "prompt",    "file \"",  "cancelled"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return contains(line, word); });
}

bool is_whole_number(const re2::StringPiece& rest) {
  if (rest.empty()) return true;
  const char next = rest[0];
  if (next == '.') return rest.size() < 2 || rest[1] < '0' || rest[1] > '9';
  const bool is_word = (next >= 'a' && next <= 'z') || (next >= '0' && next <= '9');
  return !is_word && next != '%' && next != '_' && next != '-';
}

CounterKind kind_of(std::string_view name) {
  return contains(name, "global") || contains(name, "updates") || contains(name, "completed")
             ? CounterKind::global
             : CounterKind::step;
}

struct NamedCounter {
  std::string_view name;
  std::string_view before;
  std::int64_t number = 0;
  std::optional<std::int64_t> total;
  bool is_assigned = false;  // "step=12", "global_step: 12"
};

std::vector<NamedCounter> named_counters(std::string_view line) {
  static const LinePattern pattern(
      R"((?:^|[^a-z0-9_.\-]|__)((?:train(?:er|ing)?/)?global[_ ]?step|num_updates|completed step|train(?:ing)?[_ /]step|steps:|step|iteration|iter|updates?|it|batch)['"]?\s*(?:[:=#]\s*)?['"]?\[?\s*([0-9][0-9,]*))"
      R"((?:\s*(?:/|of)\s*([0-9][0-9,]*))?)");
  std::vector<NamedCounter> counters;
  re2::StringPiece rest = piece(line);
  re2::StringPiece name;
  re2::StringPiece number;
  re2::StringPiece total;
  while (counters.size() < 8 && RE2::FindAndConsume(&rest, pattern.expression, &name, &number, &total)) {
    const auto begin = static_cast<std::size_t>(name.data() - line.data());
    std::string_view digits = view(number);
    while (digits.ends_with(','))
      digits.remove_suffix(1);
    const auto count = count_of(digits);
    if (!count || !is_whole_number(rest)) continue;
    const std::string_view behind = line.substr(begin + name.size());
    const bool is_assigned =
        behind.starts_with('=') || (kind_of(view(name)) == CounterKind::global && behind.starts_with(':'));
    counters.push_back({view(name), line.substr(0, begin), *count,
                        total.empty() ? std::nullopt : count_of(view(total)), is_assigned});
  }
  return counters;
}

// Something beside the counter that only a step of training has.
bool has_companion(std::string_view line, const LineValues& values) {
  static const LinePattern pattern(
      R"((?:^|[^a-z])(?:lr|learning[_ ]rate|grad[_ ]?norm|gnorm|mfu|samples/s|samples_per_sec|skipped=|throughput|mom=|tflops?|global_seqlen|reward|ppl|perplexity)(?:[^a-z]|$))"
      R"(|samplespersec=|\[step=[0-9]+/[0-9]+)");
  return values.loss || values.step_s || values.tokens_s ||
         RE2::PartialMatch(piece(line), pattern.expression);
}

std::optional<CounterMatch> find_named_counter(std::string_view line, const LineValues& values) {
  static constexpr std::array<std::string_view, 6> kWords{"step", "iter", "update", "batch", " it", "[it"};
  if (!contains_any(line, kWords)) return std::nullopt;
  const bool has_loss = values.loss.has_value();
  if (!has_loss && is_about_something_else(line)) return std::nullopt;
  std::optional<NamedCounter> best;
  for (const NamedCounter& counter : named_counters(line)) {
    const bool is_plural = counter.name.starts_with("steps") || counter.name == "batch" ||
                           counter.name == "it" || counter.name.starts_with("update");
    if (is_other_counter(counter.before, has_loss) || (is_plural && !has_loss)) continue;
    if (!best || kind_of(counter.name) > kind_of(best->name) ||
        (best->name == "iter" && counter.name == "step"))
      best = counter;
  }
  if (!best) return std::nullopt;
  CounterMatch match{.kind = CounterKind::named, .number = best->number, .total = best->total};
  match.key = std::string(best->name);
  match.epoch = find_epoch(line);
  if (has_companion(line, values) || best->is_assigned) match.kind = kind_of(best->name);
  // "Step 3/12 : RUN make", "step 1: install": a counter of a few tasks.
  if (match.kind == CounterKind::named) match.key = "named " + shape_of(line);
  return match;
}

// {'loss': 0.5, 'learning_rate': 1e-5, 'epoch': 0.02}
bool is_log_dictionary(std::string_view line) {
  return contains(line, "{'loss':") && contains(line, "'epoch':");
}

// "step 0: train loss 10.9, val loss 10.9" has no time, and is about an evaluation.
bool is_evaluation(std::string_view line, const LineValues& values) {
  if (!contains(line, "val") && !contains(line, "test")) return false;
  static const LinePattern pattern(
      R"((?:^|[^a-z])(?:val|valid|validation|eval|evaluation|test)[_ /](?:loss|acc|ppl|perplexity|bleu)|\(val\)|on 'valid'|test set:)");
  if (!RE2::PartialMatch(piece(line), pattern.expression)) return false;
  return !values.loss || !values.step_s;
}

std::optional<CounterMatch> find_counter(std::string_view line, LineValues& values) {
  const auto named = find_named_counter(line, values);
  if (named && named->kind == CounterKind::global) return named;
  if (auto bar = find_bar(line, values)) return named && named->kind == CounterKind::step ? named : bar;
  if (auto in_epoch = find_epoch_counter(line, values.loss.has_value()))
    return named && named->kind == CounterKind::step ? named : in_epoch;
  if (named) return named;
  if (is_log_dictionary(line)) return CounterMatch{.kind = CounterKind::log_lines, .key = "log lines"};
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> epoch_of(std::string_view line) {
  return find_epoch(to_lower(line.substr(0, kMaxLine)));
}

LineFacts read_line(std::string_view line) {
  LineFacts facts;
  const std::string lower = to_lower(line.substr(0, kMaxLine));
  if (lower.find_first_of("0123456789") != std::string::npos || contains(lower, "nan")) {
    facts.values.loss = find_loss(lower);
    find_step_time(lower, facts.values);
    facts.values.tokens_s = find_tokens_per_second(lower);
    facts.rank = find_rank(lower);
  }
  facts.phase = find_phase(lower);
  if (!facts.phase && is_evaluation(lower, facts.values))
    facts.phase = StatedPhase{jobs::Phase::evaluate, jobs::Edge::end};
  if (!facts.phase) facts.counter = find_counter(lower, facts.values);
  return facts;
}

}  // namespace autopilot::collect
