// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstddef>

#include "core/parse.hpp"
#include "host/kernel_log/text_forms.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kMaxCarriers = 4;
constexpr std::size_t kMaxName = 256;  // bytes of the name of a file, a host or a container

// Removes `size` bytes if a row of a known format follows them.
bool take_where_row_follows(std::string_view& text, std::size_t size, BeginsRow begins_row) {
  if (size > text.size() || !begins_row(text.substr(size))) return false;
  text.remove_prefix(size);
  return true;
}

// "12:" of `grep -n`, "12-" of its context lines.
bool take_line_number(std::string_view& text, BeginsRow begins_row) {
  const auto digits = leading_digits(text);
  if (digits == 0 || digits == text.size() || text.front() == '0') return false;
  return (text[digits] == ':' || text[digits] == '-') && take_where_row_follows(text, digits + 1, begins_row);
}

// "12<tab>" of `cat -n`.
bool take_numbered_column(std::string_view& text, BeginsRow /*begins_row*/) {
  const auto digits = leading_digits(text);
  if (digits == 0 || digits == text.size() || text[digits] != '\t') return false;
  text.remove_prefix(digits + 1);
  return true;
}

// "/var/log/kern.log:" or "kern.log-" of grep, with or without a line number.
bool take_file_name(std::string_view& text, BeginsRow begins_row) {
  const auto name = text.substr(0, kMaxName);
  const auto end = std::min(name.find_first_of(" \"'={[<"), name.size());
  for (auto at = name.find_first_of(":-"); at < end; at = name.find_first_of(":-", at + 1)) {
    if (at == 0) continue;
    std::string_view rest = text.substr(at + 1);
    if (take_line_number(rest, begins_row) || begins_row(rest) || rest.starts_with("NVRM: ")) {
      text = rest;
      return true;
    }
  }
  return false;
}

// "node-7: " of pdsh and clush, "node-7 login: " of a console.
bool take_host_name(std::string_view& text, BeginsRow begins_row) {
  const auto end = text.substr(0, kMaxName).find(": ");
  if (end == std::string_view::npos) return false;
  auto name = text.substr(0, end);
  if (name.ends_with(" login")) name.remove_suffix(6);
  if (name.empty() || name == "kernel" || name.find_first_of(" \"'=[]") != std::string_view::npos)
    return false;
  return take_where_row_follows(text, end + 2, begins_row);
}

// "> " before quoted text.
bool take_quote_mark(std::string_view& text, BeginsRow begins_row) {
  return text.starts_with("> ") && take_where_row_follows(text, 2, begins_row);
}

// The record separator of `journalctl -o json-seq`, "data: " of `-o json-sse`, the name of a field.
bool take_journal_mark(std::string_view& text, BeginsRow /*begins_row*/) {
  constexpr std::string_view kField = "MESSAGE=";
  if (text.starts_with(kField)) {
    text.remove_prefix(kField.size());
    return true;
  }
  for (const std::string_view mark : {std::string_view("\x1e"), std::string_view("data: ")})
    if (text.starts_with(mark) && text.substr(mark.size()).starts_with('{')) {
      text.remove_prefix(mark.size());
      return true;
    }
  return false;
}

// "2026-04-22T21:27:51.288000000Z stdout F " of the container runtime.
bool take_cri(std::string_view& text, BeginsRow /*begins_row*/) {
  if (!looks_like(text, "0000-00-00T00:00:00")) return false;
  const auto end = text.substr(0, 40).find(' ');
  if (end == std::string_view::npos) return false;
  const auto rest = text.substr(end + 1);
  for (const std::string_view mark : {"stdout F ", "stdout P ", "stderr F ", "stderr P "})
    if (rest.starts_with(mark)) {
      text = rest.substr(mark.size());
      return true;
    }
  return false;
}

// "[pod/name/container] " of kubectl, "name-1  | " of compose.
bool take_container_name(std::string_view& text, BeginsRow /*begins_row*/) {
  const auto name = text.substr(0, kMaxName);
  if (const auto end = name.find("] "); name.starts_with("[pod/") && end != std::string_view::npos) {
    text.remove_prefix(end + 2);
    return true;
  }
  const auto bar = name.find(" | ");
  if (bar == std::string_view::npos || bar == 0 ||
      trim(name.substr(0, bar)).find(' ') != std::string_view::npos)
    return false;
  text.remove_prefix(bar + 3);
  return true;
}

struct CarrierForm {
  Carrier carrier;
  bool (*take)(std::string_view& text, BeginsRow begins_row);
};
constexpr std::array kCarriers = {
    CarrierForm{Carrier::person, take_journal_mark},      CarrierForm{Carrier::container, take_cri},
    CarrierForm{Carrier::container, take_container_name}, CarrierForm{Carrier::person, take_quote_mark},
    CarrierForm{Carrier::person, take_line_number},       CarrierForm{Carrier::person, take_file_name},
    CarrierForm{Carrier::person, take_host_name},         CarrierForm{Carrier::person, take_numbered_column},
};

bool is_level(std::string_view word) {
  constexpr std::array<std::string_view, 16> kLevels{
      "trace", "debug", "info",     "notice", "warn",  "warning", "error", "err",
      "eror",  "crit",  "critical", "fatal",  "panic", "alert",   "emerg", "severe"};
  return std::ranges::find(kLevels, to_lower(word)) != kLevels.end();
}

// "I0925 10:11:12.131415       1 log_monitor.go:160] "
bool is_klog(std::string_view line) {
  return looks_like(line, "A0000 00:00:00") &&
         std::string_view("IWEFCD").find(line.front()) != std::string_view::npos;
}

// "time=... level=...": the first key is one with which loggers begin.
bool is_logfmt(std::string_view line) {
  constexpr std::array<std::string_view, 11> kKeys{"time", "ts",       "t",      "timestamp", "level", "lvl",
                                                   "msg",  "severity", "source", "logger",    "caller"};
  const auto end = line.substr(0, 16).find('=');
  return end != std::string_view::npos && std::ranges::find(kKeys, line.substr(0, end)) != kKeys.end();
}

// "ERROR:root:text" of Python's default format, "[ERROR] text". The kernel writes "INFO: task ..." with a
// blank.
bool is_level_first(std::string_view line) {
  if (line.starts_with("[rank")) return true;  // of torch
  if (line.starts_with('[')) {
    const auto close = line.substr(0, 16).find(']');
    return close != std::string_view::npos && is_level(trim(line.substr(1, close - 1)));
  }
  const auto colon = line.substr(0, 16).find(':');
  return colon != std::string_view::npos && is_level(line.substr(0, colon)) && colon + 1 < line.size() &&
         line[colon + 1] != ' ';
}

// "[2026-07-10T08:41:33Z ERROR name] text" of Rust.
bool is_bracketed_level(std::string_view line) {
  if (!looks_like(line, "[0000-00-00")) return false;
  const auto words = split_words(line.substr(1, line.substr(0, 80).find(']')));
  return words.size() >= 2 && std::ranges::any_of(words, is_level);
}

// An object that is not a row of a known format, or a text in quotation marks.
bool is_quoted(std::string_view line) {
  return line.starts_with("{\"") || line.starts_with('"') || line.starts_with('\'') || line.starts_with('`');
}

}  // namespace

Carrier take_carriers(std::string_view& text, BeginsRow begins_row) {
  auto found = Carrier::none;
  for (std::size_t count = 0; count < kMaxCarriers; ++count) {
    const auto form =
        std::ranges::find_if(kCarriers, [&](const auto& known) { return known.take(text, begins_row); });
    if (form == kCarriers.end()) return found;
    if (found != Carrier::container) found = form->carrier;
  }
  return found;
}

bool is_program_log(std::string_view line) {
  constexpr std::array kForms = {is_klog, is_logfmt, is_level_first, is_bracketed_level, is_quoted};
  return std::ranges::any_of(kForms, [line](auto is) { return is(line); });
}

bool begins_with_level(std::string_view text) {
  constexpr std::size_t kMaxMarks = 4;
  const auto begin = std::min(text.find_first_not_of(" -|[\t"), text.size());
  if (begin > kMaxMarks) return false;
  const auto word = text.substr(begin, text.find_first_of(" ]:|\t", begin) - begin);
  return text.starts_with("- ") || text.starts_with("| ") || is_level(word);
}

bool is_quotation(std::string_view front) {
  constexpr std::ptrdiff_t kMostWords = 2;
  if (front.find_first_of("\"'`={}") != std::string_view::npos) return true;
  auto text = trim(front);
  for (auto close = text.find(']'); text.starts_with('[') && close != std::string_view::npos;
       close = text.find(']'))
    text = trim(text.substr(close + 1));  // skips a timestamp of any format
  const auto last = text.substr(text.find_last_of(" \t|>]") + 1);
  if (last.ends_with(':') && !last.starts_with("kern")) return true;
  // Timestamps contain none of these letters.
  const auto is_word = [](std::string_view word) {
    return to_lower(word).find_first_of("abcdefghijklmnopqrsuvwxy") != std::string::npos;
  };
  return std::ranges::count_if(split_words(text), is_word) > kMostWords;
}

}  // namespace autopilot::host
