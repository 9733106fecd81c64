// SPDX-License-Identifier: Apache-2.0
#include "host/nccl_ras/ras_json.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <limits>
#include <set>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxHash = 128;
constexpr std::size_t kMaxHost = 64;

Error malformed_json(const std::string& what) {
  return {.code = Errc::malformed, .what = "NCCL RAS, JSON form: " + what};
}

Error exhausted_json(const std::string& what) {
  return {.code = Errc::exhausted, .what = "NCCL RAS, JSON form: " + what};
}

std::optional<std::int64_t> integer_in(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr) return std::nullopt;
  if (member->is_int64()) return member->get_int64();
  return std::nullopt;
}

std::optional<int> index_in(const json::object& object, std::string_view name) {
  const auto number = integer_in(object, name);
  if (!number || *number < 0 || *number > kMaxRasRanks) return std::nullopt;
  return static_cast<int>(*number);
}

std::string text_in(const json::object& object, std::string_view name, std::size_t longest) {
  const json::value* const member = object.if_contains(name);
  if (member == nullptr || !member->is_string()) return {};
  return to_printable(member->get_string(), longest);
}

// A flag of an object, or of its member "status".
bool flag_in(const json::object& object, std::string_view name) {
  const json::value* member = object.if_contains(name);
  if (const json::value* const status = object.if_contains("status"); member == nullptr && status != nullptr)
    if (const json::object* const inner = status->if_object()) member = inner->if_contains(name);
  return member != nullptr && member->is_bool() && member->get_bool();
}

RasPlace place_in(const json::object& object) {
  RasPlace place;
  place.host = text_in(object, "host", kMaxHost);
  if (place.host == "unknown") place.host.clear();
  place.pid = std::max<std::int64_t>(integer_in(object, "pid").value_or(0), 0);
  place.cuda_dev = index_in(object, "cuda_dev");
  place.nvml_dev = index_in(object, "nvml_dev");
  return place;
}

// The sum over all kinds of collectives; nothing if a count is not a number.
std::optional<std::int64_t> started_in(const json::object& rank) {
  const json::value* const member = rank.if_contains("collective_counts");
  const json::object* const counts = member == nullptr ? nullptr : member->if_object();
  if (counts == nullptr || counts->empty()) return std::nullopt;
  constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;
  std::int64_t sum = 0;
  for (const auto& count : *counts) {
    if (!count.value().is_int64()) return std::nullopt;
    const std::int64_t number = count.value().get_int64();
    if (number < 0 || number > kMaxCount || sum > kMaxCount) return std::nullopt;
    sum += number;
  }
  return sum;
}

const json::array* array_in(const json::object& object, std::string_view name) {
  const json::value* const member = object.if_contains(name);
  return member == nullptr ? nullptr : member->if_array();
}

Result<int> rank_in(const json::object& object, int size) {
  const auto rank = index_in(object, "rank");
  if (!rank || *rank >= size)
    return fail(malformed_json("a rank has no number, or one beyond its communicator"));
  return *rank;
}

std::string id_in(const json::object& object) {
  std::string id = text_in(object, "hash", kMaxHash);
  if (const std::string second = text_in(object, "secondary_hash", kMaxHash); !second.empty())
    id += "/" + second;
  return id;
}

Status add_ranks(const json::array& list, RasCommunicator& communicator) {
  for (const json::value& value : list) {
    const json::object* const object = value.if_object();
    if (object == nullptr) return fail(malformed_json("a rank is not an object"));
    RasRank rank;
    rank.rank = TRY(rank_in(*object, communicator.size));
    rank.place = place_in(*object);
    rank.started = started_in(*object);
    communicator.is_closing = communicator.is_closing || flag_in(*object, "finalize_called") ||
                              flag_in(*object, "destroy_flag") || flag_in(*object, "abort_flag");
    communicator.ranks.push_back(std::move(rank));
  }
  std::ranges::sort(communicator.ranks, {}, &RasRank::rank);
  if (std::ranges::adjacent_find(communicator.ranks, {}, &RasRank::rank) != communicator.ranks.end())
    return fail(malformed_json("a rank appears twice in a communicator"));
  return {};
}

Status add_missing(const json::array& list, RasCommunicator& communicator) {
  for (const json::value& value : list) {
    const json::object* const object = value.if_object();
    if (object == nullptr) return fail(malformed_json("a missing rank is not an object"));
    RasMissingRank rank;
    rank.rank = TRY(rank_in(*object, communicator.size));
    rank.place = place_in(*object);
    rank.is_unresponsive = flag_in(*object, "unresponsive");
    rank.is_dead = flag_in(*object, "considered_dead");
    communicator.missing.push_back(std::move(rank));
  }
  return {};
}

Result<RasCommunicator> read_communicator(const json::value& value, std::size_t& members) {
  const json::object* const object = value.if_object();
  if (object == nullptr) return fail(malformed_json("a communicator is not an object"));
  RasCommunicator communicator;
  communicator.id = id_in(*object);
  if (communicator.id.empty()) return fail(malformed_json("a communicator has no hash"));
  const auto size = integer_in(*object, "size");
  if (!size || *size < 1) return fail(malformed_json("a communicator has no size"));
  if (*size > kMaxRasRanks)
    return fail(exhausted_json("a communicator has more than " + std::to_string(kMaxRasRanks) + " ranks"));
  communicator.size = static_cast<int>(*size);
  const json::array* const ranks = array_in(*object, "ranks");
  const json::array* const missing = array_in(*object, "missing_ranks");
  if (ranks == nullptr) return fail(malformed_json("a communicator has no list of ranks"));
  members += ranks->size() + (missing == nullptr ? 0 : missing->size());
  if (members > kMaxRasMembers)
    return fail(exhausted_json("more than " + std::to_string(kMaxRasMembers) + " ranks of communicators"));
  TRY_STATUS(add_ranks(*ranks, communicator));
  if (missing != nullptr) TRY_STATUS(add_missing(*missing, communicator));
  return communicator;
}

Result<json::value> parse_tolerantly(std::string_view text) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (!error) return value;
  const std::string repaired = with_missing_commas(text);
  value = json::parse(repaired, error);
  if (error) return fail(malformed_json("not JSON: " + error.message()));
  return value;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool ends_value(char c) {
  return c == '"' || c == '}' || c == ']' || is_word(c);
}

bool begins_value(char c) {
  return c == '"' || c == '{' || c == '[' || c == '-' || is_word(c);
}

// Behind the text literal that begins at `at`.
std::size_t end_of_literal(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

}  // namespace

std::string with_missing_commas(std::string_view text) {
  std::string repaired;
  repaired.reserve(text.size() + text.size() / 16);
  char last = 0;          // of the last token
  bool is_apart = false;  // white space follows it
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      is_apart = true;
      repaired += c;
      ++at;
      continue;
    }
    const bool is_same_word = !is_apart && is_word(last) && (is_word(c) || c == '-');
    if (ends_value(last) && begins_value(c) && !is_same_word) repaired += ',';
    const std::size_t end = c == '"' ? end_of_literal(text, at) : at + 1;
    repaired += text.substr(at, end - at);
    last = c;
    is_apart = false;
    at = end;
  }
  return repaired;
}

Result<RasAnswer> parse_ras_json(std::string_view text) {
  const json::value value = TRY(parse_tolerantly(text));
  const json::object* const object = value.if_object();
  const json::array* const list = object == nullptr ? nullptr : array_in(*object, "communicators");
  if (list == nullptr) return fail(malformed_json("no list of communicators"));
  if (list->size() > kMaxRasCommunicators)
    return fail(exhausted_json("more than " + std::to_string(kMaxRasCommunicators) + " communicators"));
  RasAnswer answer;
  answer.form = RasForm::json;
  answer.nccl_version = text_in(*object, "nccl_version", 32);
  std::size_t members = 0;
  std::set<std::string, std::less<>> ids;
  for (const json::value& one : *list) {
    answer.communicators.push_back(TRY(read_communicator(one, members)));
    if (!ids.insert(answer.communicators.back().id).second)
      return fail(malformed_json("a communicator appears twice"));
  }
  return answer;
}

}  // namespace autopilot::host
