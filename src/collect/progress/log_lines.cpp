// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/log_lines.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

// "2026-01-01T00:00:00.123456789Z stdout F text"
std::optional<ContainerLine> parse_cri_line(std::string_view line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || blank > 40) return std::nullopt;
  const auto time = parse_time(line.substr(0, blank));
  if (!time) return std::nullopt;
  line.remove_prefix(blank + 1);
  if (!line.starts_with("stdout ") && !line.starts_with("stderr ")) return std::nullopt;
  line.remove_prefix(7);
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view tag = line.substr(0, end);
  if (!tag.starts_with('F') && !tag.starts_with('P')) return std::nullopt;
  return ContainerLine{.time = time,
                       .text = std::string(line.substr(std::min(end + 1, line.size()))),
                       .is_partial = tag.starts_with('P')};
}

// {"log":"text\n","stream":"stdout","time":"2026-01-01T00:00:00Z"}
std::optional<ContainerLine> parse_docker_line(std::string_view line) {
  if (!line.starts_with("{\"log\":")) return std::nullopt;
  boost::system::error_code error;
  const boost::json::value value =
      boost::json::parse(boost::json::string_view(line.data(), line.size()), error);
  if (error || !value.is_object()) return std::nullopt;
  const boost::json::value* log = value.get_object().if_contains("log");
  if (log == nullptr || !log->is_string()) return std::nullopt;
  ContainerLine parsed{.time = std::nullopt, .text = std::string(log->get_string()), .is_partial = true};
  if (parsed.text.ends_with('\n')) {
    parsed.text.pop_back();
    parsed.is_partial = false;
  }
  const boost::json::value* time = value.get_object().if_contains("time");
  if (time != nullptr && time->is_string()) parsed.time = parse_time(std::string(time->get_string()));
  return parsed;
}

// The length of the escape sequence at the beginning of a text that begins with ESC.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return text.size();
  const auto is_final = [](char c) { return c >= '@' && c <= '~'; };
  if (text[1] == '[') {
    const auto last = std::find_if(text.begin() + 2, text.end(), is_final);
    return static_cast<std::size_t>(last - text.begin()) + (last == text.end() ? 0 : 1);
  }
  if (text[1] == ']') {  // a title or a link, up to BEL or ESC backslash
    const std::size_t last = text.find_first_of("\x07\x1b", 2);
    if (last == std::string_view::npos) return text.size();
    return text[last] == '\x1b' ? std::min(last + 2, text.size()) : last + 1;
  }
  return 2;
}

}  // namespace

void ClippedText::append(std::string_view bytes) {
  const std::size_t to_head = std::min(bytes.size(), kHead - head_.size());
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.size() > kTail) bytes.remove_prefix(bytes.size() - kTail - 1);
  tail_.append(bytes);
  // One byte more than is kept shows that bytes are missing.
  if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail - 1);
}

std::string ClippedText::take() {
  std::string text = std::exchange(head_, {});
  if (tail_.size() > kTail) {
    text += ' ';
    text.append(tail_, tail_.size() - kTail);
  } else {
    text += tail_;
  }
  tail_.clear();
  return text;
}

void LogLines::feed(std::string_view bytes, WallTime now, const Sink& sink) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of(format_ == LogFormat::plain ? "\r\n" : "\n");
    const bool is_complete = end != std::string_view::npos;
    if (!skips_) raw_.append(bytes.substr(0, end));
    bytes.remove_prefix(is_complete ? end + 1 : bytes.size());
    if (!is_complete) return;
    if (std::exchange(skips_, false)) continue;
    take_raw(now, sink);
  }
}

void LogLines::skip() {
  skips_ = true;
  (void)raw_.take();
  (void)line_.take();
}

void LogLines::finish(WallTime now, const Sink& sink) {
  if (!raw_.is_empty()) take_raw(now, sink);
  end_line(now, sink);
}

void LogLines::take_raw(WallTime now, const Sink& sink) {
  const std::string raw = raw_.take();
  const auto parsed = format_ == LogFormat::container ? parse_container_line(raw) : std::nullopt;
  if (!parsed) {
    add_text(raw, now, sink);
    end_line(now, sink);
    return;
  }
  const WallTime time = std::min(parsed->time.value_or(now), now);
  add_text(parsed->text, time, sink);
  if (!parsed->is_partial) end_line(time, sink);
}

void LogLines::add_text(std::string_view text, WallTime time, const Sink& sink) {
  while (true) {
    const std::size_t end = text.find('\r');
    line_.append(text.substr(0, end));
    if (end == std::string_view::npos) return;
    end_line(time, sink);
    text.remove_prefix(end + 1);
  }
}

void LogLines::end_line(WallTime time, const Sink& sink) {
  if (line_.is_empty()) return;
  const std::string text = clean_line(line_.take());
  if (!trim(text).empty()) sink({time, text});
}

std::optional<ContainerLine> parse_container_line(std::string_view line) {
  if (auto parsed = parse_cri_line(line)) return parsed;
  return parse_docker_line(line);
}

std::string clean_line(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    if (text.front() == '\x1b') {
      text.remove_prefix(escape_length(text));
      continue;
    }
    const auto byte = static_cast<unsigned char>(text.front());
    clean += byte < 0x20 || byte == 0x7f ? ' ' : text.front();
    text.remove_prefix(1);
  }
  return clean;
}

}  // namespace autopilot::collect
