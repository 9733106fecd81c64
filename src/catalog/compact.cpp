// SPDX-License-Identifier: Apache-2.0
#include "catalog/compact.hpp"

#include <bit>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "core/parse.hpp"
#include "core/result.hpp"

namespace autopilot::catalog {
namespace {

// Every value is "<length>:<bytes>"; a list is its size and its items; a struct is its fields in the order
// of `describe` below, which both writes and reads.
class Writer {
 public:
  template <class... Fields>
  void operator()(const Fields&... fields) {
    (put(fields), ...);
  }
  std::string take() { return std::move(text_); }

 private:
  void put(const std::string& value) {
    text_ += std::to_string(value.size());
    text_ += ':';
    text_ += value;
  }
  void put(double value) { put(std::to_string(std::bit_cast<std::uint64_t>(value))); }
  void put(int value) { put(std::to_string(value)); }
  void put(std::uint32_t value) { put(std::to_string(value)); }
  void put(bool value) { put(value ? 1 : 0); }
  void put(Duration value) { put(std::to_string(value.count())); }
  template <class Word>
    requires std::is_enum_v<Word>
  void put(Word value) {
    put(static_cast<int>(value));
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(static_cast<int>(list.size()));
    for (const T& item : list)
      put(item);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
    requires std::is_class_v<T>
  void put(const T& value);

  std::string text_;
};

class CompactReader {
 public:
  explicit CompactReader(std::string_view text) : rest_(text) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (get(fields), ...);
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view next() {
    const std::size_t colon = rest_.find(':');
    AUTOPILOT_ASSERT(colon != std::string_view::npos);
    const auto size = parse_number<std::size_t>(rest_.substr(0, colon));
    AUTOPILOT_ASSERT(size && *size <= rest_.size() - colon - 1);
    const std::string_view value = rest_.substr(colon + 1, *size);
    rest_.remove_prefix(colon + 1 + *size);
    return value;
  }
  template <class Number>
  Number next_number() {
    const auto value = parse_number<Number>(next());
    AUTOPILOT_ASSERT(value.has_value());
    return *value;
  }

  void get(std::string& value) { value = next(); }
  void get(double& value) { value = std::bit_cast<double>(next_number<std::uint64_t>()); }
  void get(int& value) { value = next_number<int>(); }
  void get(std::uint32_t& value) { value = next_number<std::uint32_t>(); }
  void get(bool& value) { value = next_number<int>() != 0; }
  void get(Duration& value) { value = Duration{next_number<std::int64_t>()}; }
  template <class Word>
    requires std::is_enum_v<Word>
  void get(Word& value) {
    value = static_cast<Word>(next_number<int>());
  }
  template <class T>
  void get(std::vector<T>& list) {
    list.resize(next_number<std::size_t>());
    for (T& item : list)
      get(item);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool has_value = false;
    get(has_value);
    if (has_value) get(value.emplace());
  }
  template <class T>
    requires std::is_class_v<T>
  void get(T& value);

  std::string_view rest_;
};

template <class Archive, class T>
void describe(Archive& a, T& v) {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, Provenance>)
    a(v.source, v.date, v.evidence);
  else if constexpr (std::is_same_v<U, ActionFacts>)
    a(v.id, v.sentence, v.command, v.provenance);
  else if constexpr (std::is_same_v<U, Threshold>)
    a(v.id, v.value, v.unit, v.meaning, v.max_health, v.provenance);
  else if constexpr (std::is_same_v<U, Reason>)
    a(v.id, v.title, v.checks, v.meaning, v.cure, v.disproof, v.action, v.max_health, v.confidence,
      v.raise_rounds, v.asks_again, v.clear, v.clear_rounds, v.clear_after, v.hides, v.provenance);
  else if constexpr (std::is_same_v<U, Xid>)
    a(v.code, v.name, v.meaning, v.classes, v.action_now, v.action_later, v.health, v.confidence,
      v.takes_back, v.recurs_at, v.provenance);
  else if constexpr (std::is_same_v<U, Sxid>)
    a(v.code, v.last, v.name, v.meaning, v.classes, v.action_now, v.action_later, v.health, v.confidence,
      v.provenance);
  else if constexpr (std::is_same_v<U, NvLinkError>)
    a(v.id, v.xid, v.units, v.block_v1, v.unit_v1, v.unit_v2, v.match, v.status, v.meaning, v.action_now,
      v.action_later, v.promoted, v.health, v.confidence, v.provenance);
  else if constexpr (std::is_same_v<U, LinkDownReason>)
    a(v.number, v.id, v.meaning, v.action_now, v.action_later, v.health, v.confidence, v.provenance);
  else if constexpr (std::is_same_v<U, NvLinkRegister>)
    a(v.id, v.number, v.bits, v.meaning, v.action_now, v.action_later, v.health, v.confidence, v.from_times,
      v.provenance);
  else if constexpr (std::is_same_v<U, DcgmError>)
    a(v.number, v.name, v.severity, v.category, v.evicts, v.says, v.provenance);
  else if constexpr (std::is_same_v<U, LogRule>)
    a(v.id, v.kind, v.pattern, v.title, v.examples, v.fault_class, v.action, v.reason, v.health, v.subject,
      v.takes_back, v.kernels, v.not_judged, v.unproven, v.provenance);
  else if constexpr (std::is_same_v<U, Cause::Several>)
    a(v.count, v.blames, v.action, v.confidence, v.because);
  else if constexpr (std::is_same_v<U, Cause>)
    a(v.id, v.title, v.roots, v.takes, v.takes_anywhere, v.explains, v.window, v.window_before, v.end,
      v.because, v.several, v.provenance);
  else if constexpr (std::is_same_v<U, GpuPeaks>)
    a(v.memory_gigabytes_per_second, v.pcie_generation, v.pcie_lanes, v.fp64_teraflops,
      v.fp64_tensor_teraflops, v.bf16_teraflops, v.nvlink_gigabytes_per_second, v.provenance);
  else if constexpr (std::is_same_v<U, GpuModel>)
    a(v.id, v.name_patterns, v.nvlinks, v.ecc, v.row_remap, v.peaks, v.provenance);
  else if constexpr (std::is_same_v<U, Counter>)
    a(v.id, v.path, v.width_bits, v.unit, v.threshold, v.meaning, v.provenance);
  else if constexpr (std::is_same_v<U, ReadingRange>)
    a(v.id, v.readings, v.least, v.most, v.meaning, v.provenance);
  else if constexpr (std::is_same_v<U, RequiredCheck>)
    a(v.check, v.when);
  else if constexpr (std::is_same_v<U, Profile>)
    a(v.id, v.meaning, v.required, v.provenance);
  else if constexpr (std::is_same_v<U, CheckPage>)
    a(v.id, v.title, v.summary, v.witnesses, v.rights, v.log_rules, v.local, v.dropin, v.full, v.how_wrong,
      v.false_positive, v.provenance);
  else
    a(v.actions, v.thresholds, v.reasons, v.xids, v.sxids, v.nvlink_errors, v.link_down_reasons,
      v.nvlink_registers, v.dcgm_errors, v.log_rules, v.causes, v.gpu_models, v.counters, v.reading_ranges,
      v.profiles, v.checks);
}

template <class T>
  requires std::is_class_v<T>
void Writer::put(const T& value) {
  describe(*this, value);
}

template <class T>
  requires std::is_class_v<T>
void CompactReader::get(T& value) {
  describe(*this, value);
}

}  // namespace

std::string to_compact(const Facts& facts) {
  Writer writer;
  writer(facts);
  return writer.take();
}

std::string to_compact(const Catalog& catalog) {
  return to_compact(catalog.facts());
}

Facts from_compact(std::string_view text) {
  Facts facts;
  CompactReader reader(text);
  reader(facts);
  AUTOPILOT_ASSERT(reader.at_end());
  return facts;
}

}  // namespace autopilot::catalog
