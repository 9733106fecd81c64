// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "host/kernel_log/text_forms.hpp"

namespace autopilot::host {

// The fields of one journal entry by name, from any output format.
using JournalFields = std::map<std::string, std::string, std::less<>>;

struct JsonRow {
  bool is_object = false;      // otherwise the text is not a JSON object
  std::optional<TextRow> row;  // empty for objects of another kind or without a message
};
// Parses a row in a JSON object: an entry of `journalctl -o json`, also with a collector's name for the
// message, an object of `dmesg --json`, a line of kmsg.jsonl, or a line of a container's log file.
[[nodiscard]] JsonRow parse_json_row(std::string_view text);

// Parses records of several lines with one named field each: an object of `journalctl -o json-pretty` or
// `dmesg --json`, an entry of `journalctl -o export` or `-o verbose`. A line that cannot belong to the record
// ends it: an incomplete object is dropped, an entry is complete.
class TextBlocks {
 public:
  // Bytes; a longer record is dropped.
  static constexpr std::size_t kMaxBlock = std::size_t{256} << 10;

  struct Row {
    TextRow row;
    std::uint64_t line = 0;  // line number of its message
  };
  struct Taken {
    bool is_part = false;    // the line is a part of a record
    std::optional<Row> row;  // the record that this line completes
  };

  // The next line, without its newline. `number` grows.
  [[nodiscard]] Taken add(std::string_view line, std::uint64_t number);
  // Call at the end of the text; returns a complete record.
  [[nodiscard]] std::optional<Row> finish();

 private:
  enum class Kind : std::uint8_t { none, object, entry, verbose };

  [[nodiscard]] bool begin(std::string_view line);
  [[nodiscard]] Taken add_to_object(std::string_view text, std::uint64_t number);
  [[nodiscard]] bool add_to_entry(std::string_view line, std::uint64_t number);
  [[nodiscard]] bool add_to_binary(std::string_view line);
  [[nodiscard]] std::optional<Row> close();

  Kind kind_ = Kind::none;
  std::string object_;
  bool in_list_ = false;  // in an object: after a "[" at the end of a line
  JournalFields fields_;
  std::uint64_t message_line_ = 0;
  std::string field_;  // in an entry: the last field
  // The value of the last field while it is read as size and bytes; only the beginning of a long value is
  // kept.
  bool in_binary_ = false;
  std::string binary_;
  std::size_t binary_read_ = 0;
};

}  // namespace autopilot::host
