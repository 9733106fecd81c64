// SPDX-License-Identifier: Apache-2.0
#include "host/nccl_ras/ras_text.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kMaxLine = 4096;  // bytes; the rest of a line is ignored
constexpr std::size_t kMaxKind = 32;
constexpr std::size_t kMaxGroups = 4096;

// The text behind `before`, up to `after` or the end of the line.
std::optional<std::string_view> between(std::string_view line, std::string_view before,
                                        std::string_view after) {
  const std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return std::nullopt;
  line.remove_prefix(begin + before.size());
  if (after.empty()) return trim(line);
  const std::size_t end = line.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return trim(line.substr(0, end));
}

std::optional<int> index_of(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  const auto number = parse_number<int>(*text);
  if (!number || *number < 0 || *number > kMaxRasRanks) return std::nullopt;
  return number;
}

// "... GPU 3 (NVML 5) managed by process 4711 on node 10.0.0.1"
RasPlace parse_place(std::string_view line) {
  RasPlace place;
  if (const auto gpu = between(line, "GPU ", " managed by process")) {
    const auto words = split_words(*gpu);
    if (!words.empty()) place.cuda_dev = index_of(words.front());
    place.nvml_dev = place.cuda_dev;
    if (const auto nvml = between(*gpu, "(NVML ", ")")) place.nvml_dev = index_of(nvml);
  }
  if (const auto pid = between(line, "managed by process ", " on node"))
    place.pid = std::max<std::int64_t>(parse_number<std::int64_t>(*pid).value_or(0), 0);
  if (const auto host = between(line, " on node ", ""))
    if (const auto words = split_words(*host); !words.empty()) place.host = to_printable(words.front(), 64);
  return place;
}

// What a line inside the section of a communicator states about ranks.
struct RankLine {
  std::optional<int> rank;            // "Rank 3 ..."; otherwise a number of ranks
  std::optional<int> ranks;           // "30 ranks ..."
  std::optional<std::int64_t> count;  // "... launched up to operation 640", "... not launched any operations"
  RasPlace place;
};

std::optional<RankLine> parse_rank_line(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() < 2) return std::nullopt;
  RankLine parsed;
  if (words[0] == "Rank") parsed.rank = index_of(words[1]);
  if (words[1] == "ranks" || words[1] == "rank") parsed.ranks = index_of(words[0]);
  if (!parsed.rank && !parsed.ranks) return std::nullopt;
  if (line.find("not launched any operations") != std::string_view::npos) parsed.count = 0;
  if (const auto rest = between(line, "launched up to operation ", "")) {
    const auto number = split_words(*rest);
    const auto count = number.empty() ? std::nullopt : parse_number<std::int64_t>(number.front());
    if (!count || *count < 0) return std::nullopt;
    parsed.count = count;
  }
  parsed.place = parse_place(line);
  return parsed;
}

// "#0-1 (fa93daea854b060b) MISMATCH"
struct SectionHead {
  int group = 0;
  std::string hash;
  std::string what;
};

std::optional<SectionHead> parse_head(std::string_view line) {
  if (!line.starts_with('#')) return std::nullopt;
  const std::size_t dash = line.find('-');
  const auto hash = between(line, "(", ")");
  if (dash == std::string_view::npos || !hash || hash->empty() || hash->size() > 64) return std::nullopt;
  const auto group = index_of(line.substr(1, dash - 1));
  if (!group) return std::nullopt;
  const bool is_hexadecimal =
      std::ranges::all_of(*hash, [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!is_hexadecimal) return std::nullopt;
  return SectionHead{*group, std::string(*hash), std::string(trim(line.substr(line.rfind(')') + 1)))};
}

// Ranks with one count of one kind. Those that are not named are the rest of the communicator.
struct CountGroup {
  std::int64_t count = 0;
  int ranks = 0;
  bool has_names = false;
};

class TextReader {
 public:
  Result<RasAnswer> read(std::string_view text) {
    for (const std::string_view line : split(text, '\n'))
      TRY_STATUS(take(trim(line.substr(0, kMaxLine))));
    TRY_STATUS(close_kind());
    if (!has_table_) return fail(Errc::malformed, "NCCL RAS: neither JSON nor a table of communicators");
    mark_dead();
    return std::move(answer_);
  }

 private:
  enum class Part : std::uint8_t { other, table, dead, missing, mismatch };

  Status take(std::string_view line) {
    if (line.starts_with("NCCL version ")) {
      const auto words = split_words(line);
      answer_.nccl_version = to_printable(words[2 < words.size() ? 2 : 0], 32);
      return {};
    }
    if (line.find("No communicator data collected") != std::string_view::npos) has_table_ = true;
    if (line.starts_with("Group ")) return begin(Part::table);
    if (line == "Errors" || line == "Warnings" || line == "INCOMPLETE" || line == "TIMEOUT")
      return begin(Part::other);
    if (line == "DEAD") return begin(Part::dead);
    if (auto head = parse_head(line)) return begin_communicator(*std::move(head));
    switch (part_) {
      case Part::table:
        return take_row(line);
      case Part::dead:
        return take_dead(line);
      case Part::missing:
        return take_missing(line);
      case Part::mismatch:
        return take_mismatch(line);
      case Part::other:
        return {};
    }
    return {};
  }

  Status begin(Part part) {
    TRY_STATUS(close_kind());
    part_ = part;
    has_table_ = has_table_ || part == Part::table;
    return {};
  }

  // Columns: group, communicators, nodes, ranks per node, ranks per communicator, ranks in group, status,
  // errors.
  Status take_row(std::string_view line) {
    constexpr std::size_t kColumns = 7;
    constexpr std::size_t kSize = 4;
    const auto words = split_words(line);
    if (words.size() < kColumns) return {};
    const auto group = index_of(words[0]);
    const auto size = parse_number<std::int64_t>(words[kSize]);
    if (!group || !size || *size < 1) return {};
    if (*size > kMaxRasRanks || sizes_.size() >= kMaxGroups)
      return fail(Errc::exhausted, "NCCL RAS: a communicator has more than " + std::to_string(kMaxRasRanks) +
                                       " ranks, or there are too many groups");
    sizes_[*group] = static_cast<int>(*size);
    return {};
  }

  // "Process 4711 on node 10.0.0.1 managing GPU 3"
  Status take_dead(std::string_view line) {
    const auto pid = between(line, "Process ", " on node");
    const auto host = between(line, " on node ", " managing");
    const auto number = pid ? parse_number<std::int64_t>(*pid) : std::nullopt;
    if (number && host && dead_.size() < kMaxRasMembers) dead_.emplace(std::string(*host), *number);
    return {};
  }

  Status begin_communicator(SectionHead head) {
    TRY_STATUS(close_kind());
    part_ = Part::other;
    const auto size = sizes_.find(head.group);
    if (size == sizes_.end()) return {};
    head_ = std::move(head);
    size_ = size->second;
    if (head_.what.starts_with("INCOMPLETE")) {
      part_ = Part::missing;
      return add_communicator(head_.hash).map([](RasCommunicator*) {});
    }
    if (head_.what.starts_with("MISMATCH")) part_ = Part::mismatch;
    return {};
  }

  Result<RasCommunicator*> add_communicator(std::string id) {
    if (answer_.communicators.size() >= kMaxRasCommunicators)
      return fail(Errc::exhausted,
                  "NCCL RAS: more than " + std::to_string(kMaxRasCommunicators) + " communicators");
    RasCommunicator communicator;
    communicator.id = std::move(id);
    communicator.size = size_;
    answer_.communicators.push_back(std::move(communicator));
    return &answer_.communicators.back();
  }

  Status take_missing(std::string_view line) {
    const auto parsed = parse_rank_line(line);
    if (!parsed || !parsed->rank || *parsed->rank >= size_) return {};
    TRY_STATUS(count_members(1));
    answer_.communicators.back().missing.push_back(
        {.rank = *parsed->rank, .place = parsed->place, .is_unresponsive = true});
    absent_[head_.hash].insert(*parsed->rank);
    return {};
  }

  // "Communicator ranks have different AllGather operation counts", then groups of ranks.
  Status take_mismatch(std::string_view line) {
    if (const auto kind = between(line, "ranks have different ", " operation counts")) {
      TRY_STATUS(close_kind());
      const bool is_word =
          !kind->empty() && std::ranges::all_of(*kind, [](unsigned char c) { return std::isalnum(c) != 0; });
      if (is_word) kind_ = std::string(kind->substr(0, kMaxKind));
      return {};
    }
    if (line.find("ranks have different status") != std::string_view::npos) return close_kind();
    const auto parsed = parse_rank_line(line);
    if (!parsed || kind_.empty()) return {};
    if (parsed->ranks && parsed->count)
      groups_.push_back({.count = *parsed->count, .ranks = *parsed->ranks});
    else if (parsed->rank && parsed->count)
      named_.insert_or_assign(*parsed->rank, std::pair{*parsed->count, parsed->place});
    else if (parsed->rank && !groups_.empty()) {
      groups_.back().has_names = true;
      named_.insert_or_assign(*parsed->rank, std::pair{groups_.back().count, parsed->place});
    }
    return {};
  }

  // The counts of one kind are complete.
  Status close_kind() {
    if (kind_.empty()) return {};
    const std::string id = head_.hash + "/" + std::exchange(kind_, {});
    const auto groups = std::exchange(groups_, {});
    const auto named = std::exchange(named_, {});
    TRY_STATUS(count_members(static_cast<std::size_t>(size_)));
    RasCommunicator& communicator = *TRY(add_communicator(id));
    const auto unnamed = std::ranges::count(groups, false, &CountGroup::has_names);
    const auto rest = std::ranges::find(groups, false, &CountGroup::has_names);
    const auto absent = absent_.find(head_.hash);
    for (int rank = 0; rank < size_; ++rank) {
      if (absent != absent_.end() && absent->second.contains(rank)) continue;
      RasRank made{.rank = rank, .place = {}, .started = std::nullopt};
      if (const auto found = named.find(rank); found != named.end()) {
        made.started = found->second.first;
        made.place = found->second.second;
      } else if (unnamed == 1) {
        made.started = rest->count;
      }
      communicator.ranks.push_back(std::move(made));
    }
    return {};
  }

  Status count_members(std::size_t more) {
    members_ += more;
    if (members_ > kMaxRasMembers)
      return fail(Errc::exhausted,
                  "NCCL RAS: more than " + std::to_string(kMaxRasMembers) + " ranks of communicators");
    return {};
  }

  void mark_dead() {
    for (RasCommunicator& communicator : answer_.communicators)
      for (RasMissingRank& rank : communicator.missing)
        rank.is_dead = dead_.contains({rank.place.host, rank.place.pid});
  }

  RasAnswer answer_;
  bool has_table_ = false;
  std::map<int, int> sizes_;  // of communicators, by group
  std::set<std::pair<std::string, std::int64_t>> dead_;
  std::map<std::string, std::set<int>> absent_;  // ranks without data, by hash
  std::size_t members_ = 0;

  Part part_ = Part::other;
  SectionHead head_;  // of the present communicator
  int size_ = 0;
  std::string kind_;  // of the counts that are being read; empty: none are
  std::vector<CountGroup> groups_;
  std::map<int, std::pair<std::int64_t, RasPlace>> named_;
};

}  // namespace

Result<RasAnswer> parse_ras_text(std::string_view text) {
  return TextReader().read(text);
}

}  // namespace autopilot::host
