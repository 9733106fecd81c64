// SPDX-License-Identifier: Apache-2.0
#include "collect/flight_recorder/dump.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <memory>
#include <utility>

#include "collect/flight_recorder/pickle.hpp"
#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

namespace json = boost::json;

constexpr int kMaxRank = 65535;
constexpr std::size_t kMaxName = 253;

tl::unexpected<Error> malformed_dump(const std::string& what) {
  return fail(Errc::malformed, "flight recorder: " + what);
}

// JSON as the values of a pickle, so that both forms have one reader.
PickleRef to_pickle(const json::value& value) {
  auto made = std::make_shared<PickleValue>();
  switch (value.kind()) {
    case json::kind::bool_:
      made->value = value.get_bool();
      break;
    case json::kind::int64:
      made->value = value.get_int64();
      break;
    case json::kind::double_:
      made->value = value.get_double();
      break;
    case json::kind::string:
      made->value = std::string(value.get_string());
      break;
    case json::kind::array: {
      PickleList list;
      for (const json::value& item : value.get_array())
        list.push_back(to_pickle(item));
      made->value = std::move(list);
      break;
    }
    case json::kind::object: {
      PickleDict dict;
      for (const auto& item : value.get_object()) {
        auto key = std::make_shared<PickleValue>();
        key->value = std::string(item.key());
        dict.emplace_back(std::move(key), to_pickle(item.value()));
      }
      made->value = std::move(dict);
      break;
    }
    case json::kind::null:
    case json::kind::uint64:
      break;
  }
  return made;
}

Result<PickleRef> parse_json(std::string_view text) {
  json::error_code error;
  json::monotonic_resource memory;
  const json::value value = json::parse({text.data(), text.size()}, error, &memory);
  if (error) return malformed_dump("not JSON: " + error.message());
  return to_pickle(value);
}

// "[0, 1, 5]"
std::vector<int> parse_rank_text(std::string_view text) {
  text = trim(text);
  if (!text.starts_with('[') || !text.ends_with(']')) return {};
  text = text.substr(1, text.size() - 2);
  std::vector<int> ranks;
  for (const std::string_view part : split(text, ',')) {
    const auto rank = parse_number<int>(trim(part));
    if (!rank || *rank < 0 || *rank > kMaxRank || ranks.size() > kMaxRank) return {};
    ranks.push_back(*rank);
  }
  return ranks;
}

std::vector<int> ranks_in(const PickleValue* value) {
  if (value == nullptr) return {};
  std::vector<int> ranks;
  if (const std::string* const text = value->text()) ranks = parse_rank_text(*text);
  if (const PickleList* const list = value->list())
    for (const PickleRef& item : *list) {
      const auto rank = item->integer();
      if (!rank || *rank < 0 || *rank > kMaxRank || ranks.size() > kMaxRank) return {};
      ranks.push_back(static_cast<int>(*rank));
    }
  std::ranges::sort(ranks);
  if (std::ranges::adjacent_find(ranks) != ranks.end()) return {};
  return ranks;
}

std::string name_in(const PickleValue* value) {
  const std::string* const text = value == nullptr ? nullptr : value->text();
  if (text == nullptr) return {};
  return to_printable(*text, kMaxName);
}

std::optional<std::int64_t> count_in(const PickleValue* value) {
  const auto number = value == nullptr ? std::nullopt : value->integer();
  if (!number || *number < 0) return std::nullopt;
  return number;
}

void raise(std::optional<std::int64_t>& held, std::optional<std::int64_t> seen) {
  if (seen && (!held || *seen > *held)) held = seen;
}

bool has_completed(const PickleValue& entry) {
  return name_in(entry.member("state")) == "completed";
}

// The oldest one is kept.
void note_open(std::optional<DumpOperation>& held, const PickleValue& entry,
               std::optional<std::int64_t> sequence) {
  if (!sequence || has_completed(entry) || (held && held->sequence <= *sequence)) return;
  held = DumpOperation{.name = name_in(entry.member("profiling_name")),
                       .sequence = *sequence,
                       .state = name_in(entry.member("state"))};
}

class DumpReader {
 public:
  Result<FlightDump> read(const PickleValue& root) {
    FlightDump dump;
    if (root.dict() == nullptr) return malformed_dump("not a table of names");
    dump.version = name_in(root.member("version"));
    const PickleValue* const entries = root.member("entries");
    const PickleValue* const configuration = root.member("pg_config");
    const PickleValue* const status = root.member("pg_status");
    if (entries == nullptr && configuration == nullptr && status == nullptr)
      return malformed_dump("has neither entries nor process groups");
    if (configuration != nullptr) TRY_STATUS(take_configuration(*configuration));
    if (entries != nullptr) TRY_STATUS(take_entries(*entries));
    if (status != nullptr) take_status(*status);
    for (auto& [name, group] : groups_) {
      raise(group.enqueued, group.completed);
      // The entry is older than the state of the group.
      if (group.open_collective && group.completed && group.open_collective->sequence <= *group.completed)
        group.open_collective.reset();
      dump.groups.push_back(std::move(group));
    }
    return dump;
  }

 private:
  // Name of the group -> {"name", "desc", "ranks"}.
  Status take_configuration(const PickleValue& configuration) {
    const PickleDict* const entries = configuration.dict();
    if (entries == nullptr) return {};
    for (const auto& [key, value] : *entries) {
      const std::string name = name_in(key.get());
      if (name.empty()) continue;
      DumpGroup& group = *TRY(group_of(name));
      group.description = name_in(value->member("desc"));
      group.ranks = ranks_in(value->member("ranks"));
    }
    return {};
  }

  Status take_entries(const PickleValue& entries) {
    const PickleList* const list = entries.list();
    if (list == nullptr) return malformed_dump("entries are not a list");
    if (list->size() > DumpLimits::kMaxEntries)
      return fail(Errc::exhausted,
                  "flight recorder: more than " + std::to_string(DumpLimits::kMaxEntries) + " entries");
    for (const PickleRef& entry : *list)
      TRY_STATUS(take_entry(*entry));
    return {};
  }

  // Sends and receives have a sequence of their own.
  Status take_entry(const PickleValue& entry) {
    const std::string name = group_name_in(entry.member("process_group"));
    if (name.empty()) return {};
    if (const auto id = count_in(entry.member("pg_id"))) names_.insert_or_assign(*id, name);
    const PickleValue* const p2p = entry.member("is_p2p");
    const bool* const is_p2p = p2p == nullptr ? nullptr : std::get_if<bool>(&p2p->value);
    DumpGroup& group = *TRY(group_of(name));
    if (is_p2p != nullptr && *is_p2p) {
      note_open(group.open_p2p, entry, count_in(entry.member("p2p_seq_id")));
      return {};
    }
    const auto sequence = count_in(entry.member("collective_seq_id"));
    raise(group.enqueued, sequence);
    if (has_completed(entry)) raise(group.completed, sequence);
    note_open(group.open_collective, entry, sequence);
    return {};
  }

  // ("0", "default_pg"), or the name alone.
  static std::string group_name_in(const PickleValue* value) {
    if (value == nullptr) return {};
    if (const PickleList* const pair = value->list())
      return pair->empty() ? "" : name_in(pair->front().get());
    return name_in(value);
  }

  // Id of the group -> the last collectives. It is newer than the entries, whose ring may have lost them.
  void take_status(const PickleValue& status) {
    const PickleDict* const entries = status.dict();
    if (entries == nullptr) return;
    for (const auto& [key, value] : *entries) {
      const auto id = key->integer();
      if (!id) continue;
      const auto name = names_.find(*id);
      const auto group = groups_.find(name == names_.end() ? std::to_string(*id) : name->second);
      if (group == groups_.end()) continue;
      raise(group->second.enqueued, count_in(value->member("last_enqueued_collective")));
      raise(group->second.completed, count_in(value->member("last_completed_collective")));
    }
  }

  Result<DumpGroup*> group_of(const std::string& name) {
    const auto found = groups_.find(name);
    if (found != groups_.end()) return &found->second;
    if (groups_.size() >= DumpLimits::kMaxGroups)
      return fail(Errc::exhausted,
                  "flight recorder: more than " + std::to_string(DumpLimits::kMaxGroups) + " process groups");
    DumpGroup& made = groups_[name];
    made.name = name;
    return &made;
  }

  std::map<std::string, DumpGroup, std::less<>> groups_;
  std::map<std::int64_t, std::string> names_;  // of groups, by id
};

}  // namespace

Result<FlightDump> parse_flight_dump(std::string_view bytes) {
  if (bytes.size() > DumpLimits::kMaxBytes)
    return fail(Errc::exhausted, "flight recorder: the dump is longer than " +
                                     std::to_string(DumpLimits::kMaxBytes) + " bytes");
  const bool is_json = trim(bytes.substr(0, 64)).starts_with('{');
  const PickleRef root = TRY(is_json ? parse_json(bytes) : parse_pickle(bytes));
  return DumpReader().read(*root);
}

}  // namespace autopilot::collect
