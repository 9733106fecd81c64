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

// The fields of one entry of the journal by their names, in whatever output form: those that
// parse_journal_entry asks for, and any others.
using JournalFields = std::map<std::string, std::string, std::less<>>;

struct JsonRow {
  bool is_object = false;      // otherwise the text is not a JSON object
  std::optional<TextRow> row;  // nothing for objects of another kind and for those without a message
};
// A row in a JSON object: an entry of `journalctl -o json`, also with the names that collectors give its
// message, an object of `dmesg --json`, a line of kmsg.jsonl, or the line of a container's log file.
[[nodiscard]] JsonRow parse_json_row(std::string_view text);

// Records that are written down over several lines, each with a name: an object of `journalctl -o
// json-pretty` or `dmesg --json`, an entry of `journalctl -o export` or `-o verbose`. A line that such a
// record cannot have ends it: what was read of an object is dropped, an entry is whole.
class TextBlocks {
 public:
  // A longer record is dropped.
  static constexpr std::size_t kMaxBlock = std::size_t{256} << 10;

  struct Row {
    TextRow row;
    std::uint64_t line = 0;  // of its message
  };
  struct Taken {
    bool is_part = false;    // the line says nothing by itself
    std::optional<Row> row;  // a record that is whole now
  };

  // The next line, without its newline. `number` grows.
  [[nodiscard]] Taken add(std::string_view line, std::uint64_t number);
  // What is whole at the end of the text.
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
  bool in_list_ = false;  // of an object: behind a "[" at the end of a line
  JournalFields fields_;
  std::uint64_t message_line_ = 0;
  std::string field_;  // of an entry: the last one
  // Its value, while it is read as size and bytes; of a long one only the beginning is kept.
  bool in_binary_ = false;
  std::string binary_;
  std::size_t binary_read_ = 0;
};

}  // namespace autopilot::host
