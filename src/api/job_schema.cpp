// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_members.hpp"
#include "api/job_records.hpp"

namespace autopilot::api {
namespace job_format {
namespace {

std::string number_text(double number) {
  std::array<char, 40> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

// Either a value of that schema, or null.
std::string or_null(const std::string& schema) {
  return R"({"anyOf":[)" + schema + R"(,{"type":"null"}]})";
}

std::string number_schema(double low, double high) {
  return R"({"type":"number","minimum":)" + number_text(low) + R"(,"maximum":)" + number_text(high) + "}";
}

std::string integer_schema(std::int64_t low, std::int64_t high) {
  return R"({"type":"integer","minimum":)" + std::to_string(low) + R"(,"maximum":)" + std::to_string(high) +
         "}";
}

std::string list_schema(const std::string& items, std::size_t limit) {
  return R"({"type":"array","maxItems":)" + std::to_string(limit) + R"(,"items":)" + items + "}";
}

std::string name_schema() {
  return R"({"$ref":"#/$defs/name"})";
}

std::string metric_schema(const jobs::MetricInfo& metric) {
  return number_schema(min_of(metric), metric.max);
}

// Visitor: collects the schema of one object.
class ObjectSchema {
 public:
  void type(std::string_view type) { add("type", R"({"const":)" + quoted(type) + "}", Need::required); }
  void name(std::string_view name, const std::string& /*text*/, Need need) { add(name, name_schema(), need); }
  void text(std::string_view name, const std::string& /*text*/, std::size_t limit, Need need) {
    add(name, R"({"type":"string","maxLength":)" + std::to_string(limit) + "}", need);
  }
  void subject(std::string_view name, const std::string& /*text*/) {
    add(name, R"({"type":"string","maxLength":253,"pattern":"^(gpu/[0-9]+|nic/.+|host)$"})", Need::required);
  }
  template <class T>
  void integer(std::string_view name, const T& /*number*/, std::int64_t low, std::int64_t high, Need need) {
    add(name, integer_schema(low, high), need);
  }
  template <class T>
  void integer_if_positive(std::string_view name, const T& /*number*/, std::int64_t high) {
    add(name, integer_schema(1, high), Need::optional);
  }
  template <class T>
  void number(std::string_view name, const T& /*number*/, double low, double high, Need need) {
    add(name, number_schema(low, high), need);
  }
  template <class T>
  void seconds(std::string_view name, const T& /*duration*/, double low, double high, Need need) {
    add(name, number_schema(low, high), need);
  }
  template <class T>
  void time(std::string_view name, const T& /*time*/, Need need) {
    add(name, R"({"$ref":"#/$defs/time"})", need);
  }
  template <class E, std::size_t N>
  void word(std::string_view name, E /*value*/, const WordTable<E, N>& table, Need need) {
    std::string words;
    for (const auto& [value, word] : table)
      words += (words.empty() ? "" : ",") + quoted(word);
    add(name, R"({"enum":[)" + words + "]}", need);
  }
  void flag(std::string_view name, bool /*flag*/, bool /*if_missing*/ = false) {
    add(name, R"({"type":"boolean"})", Need::optional);
  }
  void loss(std::string_view name, const std::optional<double>& /*loss*/) {
    add(name, R"({"anyOf":[{"type":"number"},{"const":"nan"}]})", Need::optional);
  }
  void integers(std::string_view name, const std::vector<int>& /*values*/, std::size_t limit, int high,
                Need need) {
    add(name, list_schema(integer_schema(0, high), limit), need);
  }
  template <class T>
  void counts(std::string_view name, const std::vector<T>& /*values*/, std::size_t limit, Need need) {
    add(name, list_schema(or_null(integer_schema(0, kMostInteger)), limit), need);
  }
  void powers(std::string_view name, const std::vector<float>& /*values*/) {
    constexpr std::size_t longest_window = 60;
    add(name, list_schema(or_null(number_schema(0, kMostWatts)), longest_window), Need::required);
  }
  template <class R>
  void list(std::string_view name, const std::vector<R>& /*records*/, std::size_t limit, Need need) {
    R record;
    ObjectSchema item;
    members(item, record);
    add(name, list_schema(item.text(), limit), need);
  }
  template <class Describe>
  void object(std::string_view name, bool /*is_known*/, const Describe& describe) {
    ObjectSchema inner;
    describe(inner);
    add(name, inner.text(), Need::optional);
  }
  void table(std::string_view name, jobs::Table table, const jobs::WindowRecord& /*record*/) {
    ObjectSchema inner;
    for (const std::string_view key : key_columns(table))
      inner.add(key, key_schema(key), Need::required);
    for (const jobs::MetricInfo& metric : jobs::kMetrics)
      if (metric.table == table)
        inner.add(metric.name, list_schema(or_null(metric_schema(metric)), kMaxProcesses), Need::optional);
    add(name, inner.text(), Need::optional);
  }
  void host(std::string_view name, const jobs::WindowRecord& /*record*/) {
    ObjectSchema inner;
    for (const jobs::MetricInfo& metric : jobs::kMetrics)
      if (metric.table == jobs::Table::host) inner.add(metric.name, metric_schema(metric), Need::optional);
    add(name, inner.text(), Need::optional);
  }

  [[nodiscard]] std::string text() const {
    return R"({"type":"object","required":[)" + required_ + R"(],"properties":{)" + properties_ +
           R"(},"patternProperties":{"^x_":true},"additionalProperties":false})";
  }

 private:
  static std::string key_schema(std::string_view key) {
    if (key == "index") return list_schema(integer_schema(0, kHighestIndex), kMaxGpus);
    if (key == "rank") return list_schema(integer_schema(0, kHighestRank), kMaxProcesses);
    return list_schema(name_schema(), key == "nic" ? kMaxNics : kMaxProcesses);
  }
  void add(std::string_view name, const std::string& schema, Need need) {
    if (!properties_.empty()) properties_ += ",";
    properties_ += "\n        " + quoted(name) + ":" + (need == Need::required ? schema : or_null(schema));
    if (need == Need::optional) return;
    if (!required_.empty()) required_ += ",";
    required_ += quoted(name);
  }

  std::string properties_;
  std::string required_;
};

// "    "window":{...}" for each type of line.
std::string definitions() {
  std::string out;
  for_each_line_type([&]<class T>(std::string_view type, JobFile) {
    T record{};
    ObjectSchema schema;
    schema.type(type);
    members(schema, record);
    out += ",\n    " + quoted(type) + ":" + schema.text();
  });
  return out;
}

// "jobs.jsonl": any of its types.
std::string files() {
  std::string out;
  for (const JobFile file : kJobFiles) {
    std::string types;
    for_each_line_type([&]<class T>(std::string_view type, JobFile home) {
      if (home == file)
        types += (types.empty() ? "" : ",") + std::string(R"({"$ref":"#/$defs/)") + std::string(type) + "\"}";
    });
    out += ",\n    " + quoted(file_name(file)) + R"(:{"oneOf":[)" + types + "]}";
  }
  return out;
}

}  // namespace
}  // namespace job_format

std::string job_telemetry_schema() {
  std::string any;
  for (const JobFile file : kJobFiles)
    any +=
        (any.empty() ? "" : ",") + std::string(R"({"$ref":"#/$defs/)") + std::string(file_name(file)) + "\"}";
  return "{\n"
         "  \"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n"
         "  \"title\":\"Job telemetry, format 1: one line\",\n"
         "  \"description\":\"One line of any file. $defs has one schema for each file and each type of "
         "line. "
         "Lengths of columns, unique keys and the order of times are described in job-telemetry.md only.\",\n"
         "  \"oneOf\":[" +
         any +
         "],\n"
         "  \"$defs\":{\n"
         "    \"time\":{\"type\":\"number\",\"minimum\":0,\"maximum\":9000000000},\n"
         "    \"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":253,"
         "\"pattern\":\"^[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f]*$\"}" +
         job_format::definitions() + job_format::files() + "\n  }\n}\n";
}

}  // namespace autopilot::api
