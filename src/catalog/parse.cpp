// SPDX-License-Identifier: Apache-2.0
#include "core/parse.hpp"

#include <algorithm>
#include <set>

#include "catalog/catalog.hpp"
#include "catalog/cross_check.hpp"
#include "catalog/entry.hpp"
#include "catalog/log_rules.hpp"
#include "core/yaml.hpp"

namespace autopilot::catalog {

namespace {

const std::vector<std::string> kEndWords{"application", "hardware", "unclear"};

ActionFacts read_action(Entry& entry) {
  ActionFacts action;
  action.id = entry.action("id");
  action.sentence = entry.required_word("sentence");
  action.command = entry.word("command").value_or("");
  action.provenance = entry.provenance();
  return action;
}

Threshold read_threshold(Entry& entry) {
  Threshold threshold;
  threshold.id = entry.id("[a-z_]+\\.[a-z0-9_]+\\.[a-z0-9_]+");
  threshold.value = entry.required_number("value");
  threshold.unit = entry.required_word("unit");
  threshold.meaning = entry.required_word("meaning");
  threshold.max_health = entry.health("max_health");
  threshold.provenance = entry.provenance();
  if (threshold.max_health == Health::failed && threshold.provenance.evidence == EvidenceKind::own)
    entry.problem(entry.line_of("max_health"),
                  "`max_health`: an unproven threshold of our own allows degraded, not failed");
  return threshold;
}

Reason read_reason(Entry& entry) {
  Reason reason;
  reason.id = entry.id("[a-z][a-z0-9_]*");
  reason.title = entry.required_word("title");
  reason.checks = entry.required_words("checks");
  reason.meaning = entry.required_word("meaning");
  reason.cure = entry.required_word("cure");
  reason.disproof = entry.required_word("disproof");
  reason.action = entry.action("action");
  reason.max_health = entry.health("max_health");
  reason.confidence = entry.confidence();
  reason.raise_rounds = entry.rounds("raise_rounds", 1);
  reason.asks_again = entry.boolean("asks_again").value_or(false);
  if (reason.asks_again && reason.raise_rounds != 2)
    entry.problem(entry.line_of("asks_again"), "`asks_again`: needs `raise_rounds: 2`");
  reason.clear = entry.clear_rule();
  reason.clear_rounds = entry.rounds("clear_rounds", 2);
  reason.clear_after = entry.duration("clear_after").value_or(Duration{0});
  if (reason.clear == ClearRule::expiry && reason.clear_after <= Duration{0})
    entry.problem(entry.line_of("clear"), "`clear`: expiry needs a `clear_after`");
  reason.hides = entry.words("hides").value_or(std::vector<std::string>{});
  if (!reason.hides.empty() && reason.max_health != Health::unknown)
    entry.problem(entry.line_of("hides"),
                  "`hides`: only a reason with `max_health: unknown` may hide others");
  reason.provenance = entry.provenance();
  // Rules and scripts of the operator need no proof.
  const bool is_operators = reason.checks == std::vector<std::string>{"custom"};
  if (reason.max_health == Health::failed && reason.provenance.evidence == EvidenceKind::own && !is_operators)
    entry.problem(entry.line_of("max_health"),
                  "`max_health`: an unproven reason allows degraded, not failed");
  return reason;
}

LogRule read_log_rule(Entry& entry) {
  LogRule rule = read_log_rule_core(entry, entry.required_words("examples"));
  rule.kind = entry.required_word("kind");
  entry.known_word("kind", rule.kind, log_kinds());
  rule.reason = entry.word("reason").value_or("");
  rule.kernels = entry.word("kernels").value_or("");
  rule.not_judged = entry.word("not_judged").value_or("");
  rule.unproven = entry.boolean("unproven").value_or(false);
  rule.provenance = entry.provenance();
  if (rule.unproven != (rule.provenance.evidence == EvidenceKind::own))
    entry.problem(
        entry.line_of("evidence"),
        "`evidence`: `own` and `unproven: true` need each other: no source proves the form of the line");
  if (allowed_health(rule, rule.health) != rule.health)
    entry.problem(entry.line_of("health"), "`health`: an unproven line allows degraded, not failed");
  return rule;
}

Cause::Several read_several(YamlMap several) {
  Cause::Several result;
  result.count = static_cast<int>(std::clamp<std::int64_t>(several.required_integer("count"), 0, 1000));
  if (result.count < 2) several.problem(several.line_of("count"), "`count`: expected 2 or more");
  result.blames = several.required_word("blames");
  if (std::ranges::find(cause_ends(), result.blames) == cause_ends().end())
    several.problem(several.line_of("blames"), "`blames`: unknown value `" + result.blames + "`");
  result.action = several.choice<Action>("action", &parse_action, action_words()).value_or(Action::none);
  result.confidence = several.required_number("confidence");
  if (result.confidence < 0 || result.confidence > 1)
    several.problem(several.line_of("confidence"), "`confidence`: expected 0 to 1");
  result.because = several.required_word("because");
  return result;
}

Cause read_cause(Entry& entry) {
  Cause cause;
  cause.id = entry.id("[a-z][a-z0-9_]*");
  cause.title = entry.required_word("title");
  cause.roots = entry.required_words("roots");
  cause.takes = entry.words("takes").value_or(std::vector<std::string>{});
  cause.takes_anywhere = entry.words("takes_anywhere").value_or(std::vector<std::string>{});
  cause.explains = entry.words("explains").value_or(std::vector<std::string>{});
  cause.window = entry.duration("window").value_or(Duration{0});
  cause.window_before = entry.duration("window_before").value_or(cause.window);
  if (cause.window <= Duration{0}) entry.problem(entry.line_of("window"), "`window`: expected more than 0s");
  cause.end = entry.choice<FaultEnd>("end", &parse_fault_end, kEndWords).value_or(FaultEnd::unclear);
  cause.because = entry.required_word("because");
  if (const YamlNode* several = entry.map("several"))
    cause.several = read_several(entry.nested(*several, "several"));
  cause.provenance = entry.provenance();
  return cause;
}

// Above 0, and at most what future hardware may reach: a wrong unit gives more.
std::optional<double> peak(Entry& peaks, const char* key, double most) {
  const auto value = peaks.number(key);
  if (value && (*value <= 0 || *value > most))
    peaks.problem(peaks.line_of(key), "`" + std::string(key) + "`: expected more than 0 and at most " +
                                          std::to_string(static_cast<int>(most)));
  return value;
}

std::optional<int> small_number(Entry& peaks, const char* key, int most) {
  if (!peaks.has(key)) return std::nullopt;
  return peaks.within(key, 1, most);
}

GpuPeaks read_gpu_peaks(Entry& peaks) {
  GpuPeaks read;
  read.memory_gigabytes_per_second = peak(peaks, "memory_gigabytes_per_second", 50'000);
  read.pcie_generation = small_number(peaks, "pcie_generation", 7);
  read.pcie_lanes = small_number(peaks, "pcie_lanes", 16);
  read.fp64_teraflops = peak(peaks, "fp64_teraflops", 500);
  read.fp64_tensor_teraflops = peak(peaks, "fp64_tensor_teraflops", 1'000);
  read.bf16_teraflops = peak(peaks, "bf16_teraflops", 20'000);
  read.nvlink_gigabytes_per_second = peak(peaks, "nvlink_gigabytes_per_second", 5'000);
  if (read.pcie_generation.has_value() != read.pcie_lanes.has_value())
    peaks.problem(peaks.line_of("source"), "`pcie_generation` and `pcie_lanes` need each other");
  read.provenance = peaks.provenance();
  return read;
}

GpuModel read_gpu_model(Entry& entry, YamlProblems& problems) {
  GpuModel model;
  model.id = entry.id("[a-z][a-z0-9-]*");
  model.name_patterns = entry.required_words("names");
  const std::int64_t links = entry.required_integer("nvlinks");
  if (links < 0 || links > 64) entry.problem(entry.line_of("nvlinks"), "`nvlinks`: expected 0 to 64");
  model.nvlinks = static_cast<int>(std::clamp<std::int64_t>(links, 0, 64));
  model.ecc = entry.boolean("ecc").value_or(false);
  model.row_remap = entry.boolean("row_remap").value_or(false);
  if (const YamlNode* peaks = entry.map("peaks")) {
    Entry nested(*peaks, "peaks", problems);
    model.peaks = read_gpu_peaks(nested);
  }
  model.provenance = entry.provenance();
  return model;
}

ReadingRange read_reading_range(Entry& entry) {
  ReadingRange range;
  range.id = entry.id("[a-z][a-z0-9_]*");
  range.readings = entry.required_words("readings");
  range.least = entry.required_number("least");
  range.most = entry.required_number("most");
  if (range.most <= range.least) entry.problem(entry.line_of("most"), "`most`: expected more than `least`");
  range.meaning = entry.required_word("meaning");
  range.provenance = entry.provenance();
  return range;
}

Counter read_counter(Entry& entry) {
  Counter counter;
  counter.id = entry.id("[a-z]+\\.[A-Za-z0-9_]+");
  counter.path = entry.required_word("path");
  const std::int64_t width = entry.required_integer("width_bits");
  if (width < 1 || width > 64) entry.problem(entry.line_of("width_bits"), "`width_bits`: expected 1 to 64");
  counter.width_bits = static_cast<int>(std::clamp<std::int64_t>(width, 1, 64));
  counter.unit = entry.required_word("unit");
  counter.threshold = entry.word("threshold").value_or("");
  counter.meaning = entry.required_word("meaning");
  counter.provenance = entry.provenance();
  return counter;
}

Profile read_profile(Entry& entry, YamlProblems& problems) {
  Profile profile;
  profile.id = entry.id("[a-z][a-z0-9_]*");
  profile.meaning = entry.required_word("meaning");
  if (const YamlNode* list = entry.list("required")) {
    for (const YamlNode& item : list->items) {
      Entry required(item, "required check", problems);
      RequiredCheck check{required.required_word("check"), required.required_word("when")};
      required.known_word("when", check.when, conditions());
      profile.required.push_back(std::move(check));
    }
  }
  profile.provenance = entry.provenance();
  return profile;
}

CheckPage read_check(Entry& entry) {
  CheckPage page;
  page.id = entry.id("[a-z]+\\.[a-z0-9_]+");
  page.title = entry.required_word("title");
  page.summary = entry.required_word("summary");
  page.witnesses = entry.required_words("witnesses");
  page.rights = entry.words("rights").value_or(std::vector<std::string>{});
  page.log_rules = entry.words("log_rules").value_or(std::vector<std::string>{});
  page.local = entry.required_word("local");
  page.dropin = entry.required_word("dropin");
  page.full = entry.required_word("full");
  page.how_wrong = entry.required_word("how_wrong");
  page.false_positive = entry.required_word("false_positive");
  page.provenance = entry.provenance();
  return page;
}

constexpr std::string_view kOfPrograms = "app";

// The keys that all kinds of errors share.
template <class Error>
void read_advice(Entry& entry, Error& error) {
  error.meaning = entry.required_word("meaning");
  error.action_now = entry.action("action_now");
  error.action_later = entry.action("action_later");
  error.health = entry.health("health");
  error.confidence = entry.confidence();
  error.provenance = entry.provenance();
  if (error.health == Health::failed && error.provenance.evidence == EvidenceKind::own)
    entry.problem(entry.line_of("health"), "`health`: a judgement of our own allows degraded, not failed");
}

std::vector<std::string> read_classes(Entry& entry) {
  auto classes = entry.required_words("classes");
  for (const std::string& word : classes)
    entry.known_word("classes", word, xid_classes());
  return classes;
}

std::vector<std::uint32_t> read_registers(Entry& entry, std::string_view key) {
  std::vector<std::uint32_t> values;
  for (const std::string& word : entry.required_words(key)) {
    const auto value = parse_hex<std::uint32_t>(word);
    if (!value)
      entry.problem(entry.line_of(key),
                    "`" + std::string(key) + "`: expected a number such as 0x00000001, found `" + word + "`");
    values.push_back(value.value_or(0));
  }
  return values;
}

Xid read_xid(Entry& entry) {
  Xid xid;
  xid.code = entry.code("code");
  xid.name = entry.required_word("name");
  xid.classes = read_classes(entry);
  read_advice(entry, xid);
  for (const std::string& word : entry.words("takes_back").value_or(std::vector<std::string>{})) {
    const auto code = parse_number<std::uint32_t>(word);
    if (!code)
      entry.problem(entry.line_of("takes_back"), "`takes_back`: expected a code, found `" + word + "`");
    xid.takes_back.push_back(code.value_or(0));
  }
  const bool is_of_program = !xid.classes.empty() && xid.classes.front() == kOfPrograms;
  const auto place = entry.choice<RecursAt>("recurs_at", &parse_recurs_at, {"nowhere", "gpu", "unit"});
  if (place && !is_of_program)
    entry.problem(entry.line_of("recurs_at"), "`recurs_at`: only for errors of programs (first class `app`)");
  xid.recurs_at = place.value_or(is_of_program ? RecursAt::gpu : RecursAt::nowhere);
  return xid;
}

Sxid read_sxid(Entry& entry) {
  Sxid sxid;
  sxid.code = entry.code("code");
  sxid.last = entry.has("last") ? entry.code("last", sxid.code) : sxid.code;
  sxid.name = entry.required_word("name");
  sxid.classes = read_classes(entry);
  read_advice(entry, sxid);
  if (sxid.is_unit() && sxid.health != Health::healthy)
    entry.problem(entry.line_of("health"), "`health`: a unit contains unknown codes, which are events only");
  return sxid;
}

NvLinkError read_nvlink_error(Entry& entry) {
  NvLinkError error;
  error.id = entry.id("[a-z][a-z0-9_]*");
  error.xid = entry.code("xid");
  error.units = entry.required_words("units");
  error.block_v1 = entry.within("block_v1", 0, 31);
  error.unit_v1 = entry.within("unit_v1", 0, 31);
  error.unit_v2 = entry.within("unit_v2", 0, 127);
  error.match = entry.required<StatusMatch>("match", &parse_status_match, {"bits", "value", "any", "reason"});
  if (error.match == StatusMatch::bits || error.match == StatusMatch::value)
    error.status = read_registers(entry, "status");
  error.promoted = entry.choice<Action>("promoted", &parse_action, action_words());
  read_advice(entry, error);
  return error;
}

LinkDownReason read_link_down_reason(Entry& entry) {
  LinkDownReason reason;
  reason.number = entry.within("number", 0, 63);
  reason.id = entry.id("[a-z][a-z0-9_]*");
  read_advice(entry, reason);
  return reason;
}

DcgmError read_dcgm_error(Entry& entry) {
  static const std::vector<std::string> severities{"isolate", "reset",   "triage",
                                                   "config",  "monitor", "unknown"};
  DcgmError error;
  error.number = entry.code("number");
  error.name = entry.required_word("name");
  error.severity = entry.required_word("severity");
  entry.known_word("severity", error.severity, severities);
  error.category = entry.required_word("category");
  if (!entry.has("evicts")) entry.problem(entry.line(), "`evicts` is missing");
  error.evicts = entry.boolean("evicts").value_or(true);
  error.says = entry.word("says").value_or("");
  if (error.evicts && !error.says.empty())
    entry.problem(entry.line_of("says"), "`says`: only for errors that do not evict");
  error.provenance = entry.provenance();
  return error;
}

NvLinkRegister read_nvlink_register(Entry& entry) {
  NvLinkRegister meaning;
  meaning.id = entry.id("[a-z][a-z0-9_]*");
  meaning.number = entry.within("register", 1, 7);
  for (const std::string& word : entry.required_words("bits")) {
    const auto bit = parse_number<int>(word);
    if (!bit || *bit < 0 || *bit > 31)
      entry.problem(entry.line_of("bits"), "`bits`: expected 0 to 31, found `" + word + "`");
    meaning.bits.push_back(std::clamp(bit.value_or(0), 0, 31));
  }
  read_advice(entry, meaning);
  if (entry.has("from_times")) meaning.from_times = entry.within("from_times", 1, 100);
  return meaning;
}

// A file is a map with one key, the list of its entries.
template <class T, class Read>
void read_entries(const std::string& text, const std::string& key, const std::string& what,
                  YamlProblems& problems, std::vector<T>& into, Read read) {
  const YamlNode root = parse_yaml(text, problems);
  if (!problems.empty()) return;
  YamlMap file(root, "file", problems);
  const YamlNode* list = file.list(key);
  if (list == nullptr) {
    if (problems.empty()) problems.add(root.line, "`" + key + "` is missing");
    return;
  }
  for (const YamlNode& item : list->items) {
    Entry entry(item, what, problems);
    into.push_back(read(entry));
  }
}

// False if no file of the catalog has this name.
bool read_file(const std::string& name, const std::string& text, YamlProblems& problems, Facts& facts) {
  if (name == "actions.yaml")
    read_entries(text, "actions", "action", problems, facts.actions, &read_action);
  else if (name == "thresholds.yaml")
    read_entries(text, "thresholds", "threshold", problems, facts.thresholds, &read_threshold);
  else if (name == "reasons.yaml")
    read_entries(text, "reasons", "reason", problems, facts.reasons, &read_reason);
  else if (name == "xid.yaml")
    read_entries(text, "xids", "xid", problems, facts.xids, &read_xid);
  else if (name == "sxid.yaml")
    read_entries(text, "sxids", "sxid", problems, facts.sxids, &read_sxid);
  else if (name == "nvlink_errors.yaml")
    read_entries(text, "nvlink_errors", "NVLink error", problems, facts.nvlink_errors, &read_nvlink_error);
  else if (name == "link_down_reasons.yaml")
    read_entries(text, "link_down_reasons", "link-down reason", problems, facts.link_down_reasons,
                 &read_link_down_reason);
  else if (name == "nvlink_registers.yaml")
    read_entries(text, "nvlink_registers", "NVLink register", problems, facts.nvlink_registers,
                 &read_nvlink_register);
  else if (name == "dcgm_errors.yaml")
    read_entries(text, "dcgm_errors", "error of DCGM", problems, facts.dcgm_errors, &read_dcgm_error);
  else if (name == "causes.yaml")
    read_entries(text, "causes", "cause", problems, facts.causes, &read_cause);
  else if (name == "gpu_models.yaml")
    read_entries(text, "gpu_models", "GPU model", problems, facts.gpu_models,
                 [&problems](Entry& entry) { return read_gpu_model(entry, problems); });
  else if (name == "counters.yaml")
    read_entries(text, "counters", "counter", problems, facts.counters, &read_counter);
  else if (name == "readings.yaml")
    read_entries(text, "ranges", "range", problems, facts.reading_ranges, &read_reading_range);
  else if (name == "profiles.yaml")
    read_entries(text, "profiles", "profile", problems, facts.profiles,
                 [&problems](Entry& entry) { return read_profile(entry, problems); });
  else if (name == "checks.yaml")
    read_entries(text, "checks", "check", problems, facts.checks, &read_check);
  else if (name.starts_with("log_rules/") && name.ends_with(".yaml"))
    read_entries(text, "log_rules", "log rule", problems, facts.log_rules, &read_log_rule);
  else
    return false;
  return true;
}

}  // namespace

Result<Catalog> Catalog::parse(const std::map<std::string, std::string>& files) {
  Facts facts;
  std::string text;
  const auto append = [&text](const std::string& more) {
    if (!text.empty() && !more.empty()) text += '\n';
    text += more;
  };
  for (const auto& [name, content] : files) {
    YamlProblems problems(name);
    if (!read_file(name, content, problems, facts)) problems.add(1, "no file of the catalog has this name");
    append(problems.to_string());
  }
  if (text.empty()) append(cross_check(facts));
  if (!text.empty()) return fail(Errc::malformed, std::move(text));
  return Catalog(std::move(facts));
}

}  // namespace autopilot::catalog
