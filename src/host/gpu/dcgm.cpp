// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/dcgm.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {

namespace json = boost::json;

namespace {

constexpr int kMaxStarts = 64;  // offsets of `{` that are tried

constexpr std::array kStatuses{std::pair{std::string_view("skip"), DcgmStatus::skip},
                               std::pair{std::string_view("skipped"), DcgmStatus::skip},
                               std::pair{std::string_view("pass"), DcgmStatus::pass},
                               std::pair{std::string_view("warn"), DcgmStatus::warn},
                               std::pair{std::string_view("fail"), DcgmStatus::fail}};

std::string_view text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

// One line without control characters, at most `longest` bytes.
std::string clean(std::string_view text, std::size_t longest) {
  std::string line = to_utf8(text.substr(0, longest));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return std::string(trim(line));
}

const json::object* object_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

// The list; null if it is missing or not a list.
const json::array* list_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}

std::optional<std::uint32_t> number_of(const json::value& value) {
  if (const json::string* text = value.if_string())
    return parse_number<std::uint32_t>(trim(std::string_view(text->data(), text->size())));
  json::error_code error;
  const auto number = value.is_number() ? value.to_number<std::uint32_t>(error) : 0;
  return !value.is_number() || error ? std::nullopt : std::optional(number);
}

// Newer versions of DCGM write "not run"; older versions leave the status out.
bool did_not_run(std::string_view status) {
  const std::string lower = to_lower(trim(status));
  return lower == "not run" || lower == "not_run";
}

const json::object* diagnostic_of(const json::object& document) {
  const json::object* found = object_of(document, "DCGM Diagnostic");
  return found == nullptr ? object_of(document, "DCGM GPU Diagnostic") : found;
}

// The JSON objects that contain a diagnostic, at most two.
std::vector<json::object> find_documents(std::string_view text) {
  std::vector<json::object> documents;
  std::size_t start = text.find('{');
  for (int tries = 0; start != std::string_view::npos && tries < kMaxStarts && documents.size() < 2;
       ++tries) {
    json::stream_parser parser;
    json::error_code error;
    const std::size_t used = parser.write_some(text.data() + start, text.size() - start, error);
    std::size_t next = start + 1;
    if (!error && parser.done()) {
      json::value value = parser.release();
      if (value.is_object() && diagnostic_of(value.get_object()) != nullptr)
        documents.push_back(std::move(value.get_object()));
      next = start + used;
    }
    start = text.find('{', next);
  }
  return documents;
}

class Reader {
 public:
  Status read(const json::object& document) {
    const json::object& diagnostic = *diagnostic_of(document);
    read_words(document, diagnostic);
    read_serials(diagnostic);
    TRY_STATUS(read_entities(document));
    const json::array* categories = list_of(diagnostic, "test_categories");
    if (categories == nullptr && diagnosis_.runtime_error.empty())
      return fail(Errc::malformed, "the diagnostic has no `test_categories`");
    if (categories != nullptr)
      for (const json::value& category : *categories)
        TRY_STATUS(read_category(category));
    if (gpus_.size() > kMaxDcgmGpus) return fail(Errc::exhausted, "more than 256 GPUs");
    diagnosis_.gpus = std::move(gpus_);
    std::ranges::sort(diagnosis_.gpus, {}, &DcgmGpu::id);
    return {};
  }

  DcgmDiagnosis take() { return std::move(diagnosis_); }

 private:
  void read_words(const json::object& document, const json::object& diagnostic) {
    const json::object* metadata = object_of(document, "metadata");
    const json::object& about = metadata == nullptr ? diagnostic : *metadata;
    diagnosis_.version = clean(text_of(about, "version"), kMaxDcgmWord);
    if (diagnosis_.version.empty()) diagnosis_.version = clean(text_of(diagnostic, "version"), kMaxDcgmWord);
    diagnosis_.driver = clean(text_of(about, "Driver Version Detected"), kMaxDcgmWord);
    diagnosis_.runtime_error = clean(text_of(diagnostic, "runtime_error"), kMaxDcgmMessage);
  }

  void read_serials(const json::object& diagnostic) {
    const json::object* serials = object_of(diagnostic, "GPU Device Serials");
    if (serials == nullptr) return;
    for (const auto& [number, ignored] : *serials)
      if (gpus_.size() > kMaxDcgmGpus)
        return;
      else if (const auto id = parse_number<std::uint32_t>(std::string_view(number.data(), number.size())))
        gpu(*id).serial = clean(text_of(*serials, number), kMaxDcgmWord);
  }

  Status read_entities(const json::object& document) {
    const json::array* groups = list_of(document, "entity_groups");
    if (groups == nullptr) return {};
    for (const json::value& group : *groups) {
      const json::object* members = group.if_object();
      if (members == nullptr || text_of(*members, "entity_group") != "GPU") continue;
      const json::array* entities = list_of(*members, "entities");
      if (entities == nullptr) return fail(Errc::malformed, "`entity_groups`: expected `entities`");
      for (const json::value& entity : *entities) {
        const json::object* fields = entity.if_object();
        const json::value* number = fields == nullptr ? nullptr : fields->if_contains("entity_id");
        const auto id = number == nullptr ? std::nullopt : number_of(*number);
        if (!id) return fail(Errc::malformed, "`entities`: expected `entity_id`");
        gpu(*id).serial = clean(text_of(*fields, "serial_num"), kMaxDcgmWord);
        if (gpus_.size() > kMaxDcgmGpus) return fail(Errc::exhausted, "more than 256 GPUs");
      }
    }
    return {};
  }

  void note_unreadable(std::string what) {
    if (diagnosis_.unreadable.empty()) diagnosis_.unreadable = std::move(what);
  }

  Status read_category(const json::value& value) {
    const json::object* category = value.if_object();
    const json::array* tests = category == nullptr ? nullptr : list_of(*category, "tests");
    if (tests == nullptr) {
      note_unreadable("a category of tests has no `tests`");
      return {};
    }
    const std::string name = clean(text_of(*category, "category"), kMaxDcgmWord);
    for (const json::value& test : *tests) {
      const json::object* members = test.if_object();
      if (members == nullptr || text_of(*members, "name").empty())
        note_unreadable("a test of `" + name + "` has no name");
      else
        TRY_STATUS(read_test(name, *members));
    }
    return {};
  }

  Status read_test(const std::string& category, const json::object& test) {
    const DcgmResult like{.category = category,
                          .test = clean(text_of(test, "name"), kMaxDcgmWord),
                          .gpus = {},
                          .entity = {},
                          .messages = {}};
    auto worst = DcgmStatus::skip;
    const std::size_t first = diagnosis_.results.size();
    const json::array* results = list_of(test, "results");
    if (results != nullptr)
      for (const json::value& result : *results) {
        if (const json::object* members = result.if_object())
          TRY_STATUS(add_result(like, *members));
        else
          note_unreadable("`" + like.test + "`: a result is not an object");
      }
    const bool has_results = diagnosis_.results.size() > first;
    for (std::size_t i = first; i < diagnosis_.results.size(); ++i)
      worst = std::max(worst, diagnosis_.results[i].status);
    // The summary counts only if no result of an entity reports the same.
    const json::object* summary = object_of(test, "test_summary");
    if (summary == nullptr) return {};
    const std::size_t before = diagnosis_.results.size();
    TRY_STATUS(add_result(like, *summary));
    if (!has_results || diagnosis_.results.size() == before || diagnosis_.results.back().status > worst)
      return {};
    const bool has_more =
        diagnosis_.results.back().status == worst && !diagnosis_.results.back().messages.empty();
    if (!has_more) diagnosis_.results.pop_back();
    return {};
  }

  Status add_result(DcgmResult result, const json::object& members) {
    const std::string_view word = text_of(members, "status");
    if (word.empty() || did_not_run(word)) return {};
    const auto status = parse_dcgm_status(word);
    if (!status) {
      note_unreadable("`" + result.test + "`: unknown status `" + clean(word, kMaxDcgmWord) + '`');
      return {};
    }
    result.status = *status;
    TRY_STATUS(read_subject(members, result));
    read_messages(members, result);
    if (result.status == DcgmStatus::pass && !result.messages.empty()) result.status = DcgmStatus::warn;
    if (diagnosis_.results.size() >= kMaxDcgmResults) return fail(Errc::exhausted, "too many results");
    diagnosis_.results.push_back(std::move(result));
    return {};
  }

  // "gpu_id": "0" or "gpu_ids": "0,1" up to DCGM 3, entity_group and entity_id since DCGM 4. A result whose
  // subject cannot be parsed counts for the machine.
  Status read_subject(const json::object& members, DcgmResult& result) {
    for (const std::string_view key : {"gpu_id", "gpu_ids"}) {
      const json::value* value = members.if_contains(key);
      if (value == nullptr) continue;
      if (value->is_string() && trim(text_of(members, key)).empty()) continue;
      const json::string* list = value->if_string();
      const std::string_view text =
          list == nullptr ? std::string_view() : std::string_view(list->data(), list->size());
      const std::vector<std::string_view> parts = split(text, ',');
      for (const std::string_view part : parts)
        if (const auto id = list == nullptr ? number_of(*value) : parse_number<std::uint32_t>(trim(part)))
          TRY_STATUS(add_gpu(*id, result));
        else
          note_unreadable("`" + result.test + "`: not the number of a GPU: `" + clean(part, 32) + '`');
    }
    const std::string_view group = text_of(members, "entity_group");
    if (group.empty()) return {};
    const json::value* number = members.if_contains("entity_id");
    const auto id = number == nullptr ? std::nullopt : number_of(*number);
    if (!id) {
      note_unreadable("`" + result.test + "`: expected `entity_id`");
      return {};
    }
    if (group == "GPU") return add_gpu(*id, result);
    result.entity = clean(group, kMaxDcgmWord) + ' ' + std::to_string(*id);
    return {};
  }

  Status add_gpu(std::uint32_t id, DcgmResult& result) {
    static_cast<void>(gpu(id));
    if (gpus_.size() > kMaxDcgmGpus) return fail(Errc::exhausted, "more than 256 GPUs");
    if (std::ranges::find(result.gpus, id) == result.gpus.end()) result.gpus.push_back(id);
    return {};
  }

  // A text, a list of texts, or a list of objects with the text in `warning`.
  static void read_messages(const json::object& members, DcgmResult& result) {
    const json::value* warnings = members.if_contains("warnings");
    if (warnings == nullptr) return;
    if (warnings->is_string()) add_message(text_of(members, "warnings"), std::nullopt, result);
    const json::array* list = warnings->if_array();
    if (list == nullptr) return;
    for (const json::value& item : *list) {
      if (const json::string* text = item.if_string())
        add_message(std::string_view(text->data(), text->size()), std::nullopt, result);
      const json::object* warning = item.if_object();
      if (warning == nullptr) continue;
      const json::value* id = warning->if_contains("error_id");
      json::error_code error;
      const bool is_number = id != nullptr && id->is_number();
      const auto number = is_number ? id->to_number<std::int64_t>(error) : 0;
      add_message(text_of(*warning, "warning"), is_number && !error ? std::optional(number) : std::nullopt,
                  result);
    }
  }

  static void add_message(std::string_view text, std::optional<std::int64_t> error, DcgmResult& result) {
    std::string line = clean(text, kMaxDcgmMessage);
    if ((line.empty() && !error) || result.messages.size() >= kMaxDcgmMessages) return;
    result.messages.push_back({std::move(line), error});
  }

  DcgmGpu& gpu(std::uint32_t id) {
    const auto found = std::ranges::find(gpus_, id, &DcgmGpu::id);
    return found == gpus_.end() ? gpus_.emplace_back(DcgmGpu{id, {}}) : *found;
  }

  DcgmDiagnosis diagnosis_;
  std::vector<DcgmGpu> gpus_;
};

}  // namespace

std::string_view to_string(DcgmStatus status) {
  constexpr std::array<std::string_view, 4> words{"skip", "pass", "warn", "fail"};
  return words[static_cast<std::size_t>(status)];
}

std::optional<DcgmStatus> parse_dcgm_status(std::string_view word) {
  const std::string lower = to_lower(trim(word));
  const auto* found =
      std::ranges::find(kStatuses, std::string_view(lower), [](const auto& each) { return each.first; });
  return found == kStatuses.end() ? std::nullopt : std::optional(found->second);
}

Result<DcgmDiagnosis> parse_dcgm_diagnosis(std::string_view text) {
  if (text.size() > kMaxDcgmBytes) return fail(Errc::exhausted, "the output of DCGM is longer than 4 MiB");
  const auto documents = find_documents(text);
  if (documents.empty()) return fail(Errc::malformed, "no JSON of a DCGM diagnostic");
  if (documents.size() > 1) return fail(Errc::malformed, "more than one DCGM diagnostic in the output");
  Reader reader;
  TRY_STATUS(reader.read(documents.front()));
  return reader.take();
}

std::string test_word(std::string_view name) {
  std::string word = to_lower(trim(name));
  std::ranges::replace_if(
      word, [](char c) { return c == '/' || c == '|' || c == ' ' || c == '\t'; }, '_');
  return word;
}

bool is_excused(std::optional<std::int64_t> error, std::string_view warning,
                std::span<const DcgmExcuse> excuses) {
  if (!error) return false;
  const auto known = std::ranges::find(excuses, *error, &DcgmExcuse::error);
  if (known == excuses.end()) return false;
  return warning.empty() || to_lower(warning).find(known->says) != std::string::npos;
}

std::string format_excuses(std::span<const DcgmExcuse> excuses) {
  std::string text;
  for (const DcgmExcuse& excuse : excuses) {
    text += (text.empty() ? "" : ",") + std::to_string(excuse.error);
    if (!excuse.says.empty()) text += ":" + excuse.says;
  }
  return text;
}

Result<std::vector<DcgmExcuse>> parse_excuses(std::string_view text) {
  std::vector<DcgmExcuse> excuses;
  if (text.empty()) return excuses;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view number = part.substr(0, part.find(':'));
    const auto error = parse_number<std::int64_t>(number);
    if (!error) return fail(Errc::malformed, "not an error number: " + std::string(part));
    excuses.push_back(
        {*error, number.size() == part.size() ? "" : std::string(part.substr(number.size() + 1))});
  }
  return excuses;
}

bool is_fatal_test(std::string_view word, std::span<const std::string> fatal) {
  const std::string_view known = word == "memory" ? "gpu_memory" : word;
  return std::ranges::any_of(fatal, [known](const std::string& name) {
    const std::string part = test_word(name);
    return !part.empty() && known.find(part) != std::string_view::npos;
  });
}

const Subject* gpu_of(const DcgmGpu& gpu, std::span<const Subject> gpus) {
  for (const Subject& one : gpus)
    if (!gpu.serial.empty() && one.serial == gpu.serial) return &one;
  for (const Subject& one : gpus) {
    const bool is_other = !gpu.serial.empty() && !one.serial.empty();
    if (!is_other && one.index && *one.index >= 0 && static_cast<std::uint32_t>(*one.index) == gpu.id)
      return &one;
  }
  return nullptr;
}

}  // namespace autopilot::host
