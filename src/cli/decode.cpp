// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/decode.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "catalog/log_rules.hpp"
#include "checks/custom/custom_checks.hpp"
#include "checks/kernel_log/line_verdict.hpp"
#include "cli/cli.hpp"
#include "cli/machine.hpp"
#include "cli/output/print.hpp"
#include "cli/output/table.hpp"
#include "cli/verbs.hpp"
#include "host/kernel_log/text_log.hpp"

namespace autopilot::cli {
namespace json = boost::json;
namespace {

constexpr std::string_view kSpeaker = "autopilot decode: ";

enum class DecodeFormat : unsigned char { table, json };

json::value to_json(const Value& value) {
  return std::visit([](const auto& held) { return json::value(held); }, value);
}

// Attributes whose names begin with "nvlink" become members of one object.
json::object to_json(const checks::DecodedRecord& decoded, Health health,
                     const std::vector<std::string>& data, Instant time) {
  json::object object;
  for (const auto& [name, value] : to_attributes(decoded)) {
    if (!name.starts_with("nvlink")) {
      object[name] = to_json(value);
      continue;
    }
    if (!object.contains("nvlink")) object["nvlink"] = json::object{};
    std::string member = name.substr(6);
    member.front() = static_cast<char>(member.front() - 'A' + 'a');
    object["nvlink"].as_object()[member] = to_json(value);
  }
  // A rule of the catalog may lack either.
  if (!object.contains("class")) object["class"] = "unknown";
  if (!object.contains("action")) object["action"] = to_string(decoded.action);
  object["health"] = health == Health::healthy ? "none" : to_string(health);
  if (!data.empty()) object["data"] = json::value_from(data);
  if (time.wall != WallTime{}) object["time"] = format_time(time.wall);
  if (time.mono != MonoTime{}) object["secondsSinceBoot"] = to_seconds(time.mono.time_since_epoch());
  return object;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string place_of(const checks::DecodedRecord& decoded) {
  if (!decoded.pci.empty()) return decoded.pci;
  for (const auto& [name, value] : decoded.attributes)
    if (name == "device" || name == "interface" || name == "mount") return value;
  return "-";
}

// Prints one record after the other; register rows belong to the preceding record.
class Printer {
 public:
  Printer(DecodeFormat format, const catalog::Catalog& facts) : format_(format), facts_(facts) {}

  void add(checks::DecodedRecord decoded, const host::KernelRecord& record) {
    if (decoded.is_detail && held_ && held_->decoded.code == decoded.code &&
        held_->decoded.pci == decoded.pci) {
      held_->data.push_back(std::move(decoded.text));
      return;
    }
    flush();
    const Health health =
        format_ == DecodeFormat::json ? checks::verdict_on(record, decoded, facts_).health : Health::healthy;
    held_.emplace(Held{std::move(decoded), health, {}, record.time});
  }

  void flush() {
    if (!held_) return;
    const Held record = std::move(*held_);
    held_.reset();
    if (format_ == DecodeFormat::json)
      print_document(json::serialize(to_json(record.decoded, record.health, record.data, record.time)));
    else
      print_row(record.decoded);
    ++printed_;
  }

  [[nodiscard]] std::size_t printed() const { return printed_; }

 private:
  struct Held {
    checks::DecodedRecord decoded;
    Health health = Health::healthy;
    std::vector<std::string> data;
    Instant time;
  };

  void print_row(const checks::DecodedRecord& decoded) const {
    if (printed_ == 0)
      std::cout << padded("LINE", 8) << padded("WHAT", 29) << padded("WHERE", 14) << padded("CLASS", 11)
                << "ACTION\n";
    const std::string what = decoded.code ? decoded.kind + " " + std::to_string(*decoded.code) : decoded.rule;
    std::cout << padded(std::to_string(decoded.line), 7) << ' ' << padded(what, 28) << ' '
              << padded(printable(place_of(decoded)), 13) << ' '
              << padded(decoded.fault_class.empty() ? "-" : decoded.fault_class, 10) << ' '
              << (decoded.fault_class.empty() ? "-" : std::string(to_string(decoded.action)))
              << (decoded.injected ? " (injected)" : "")
              << (decoded.from_user ? " (written by user space: never triggers an action)" : "") << '\n';
    std::string text = decoded.text;
    std::ranges::replace(text, '\n', ' ');
    for (const auto& line : wrapped(printable(text), 72))
      std::cout << "        " << line << '\n';
  }

  DecodeFormat format_;
  const catalog::Catalog& facts_;
  std::optional<Held> held_;
  std::size_t printed_ = 0;
};

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Result<File> open_log(const std::string& path) {
  if (path == "-") return File(stdin);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if (S_ISDIR(status.st_mode)) return fail(Errc::malformed, path + ": is a directory");
  File file(std::fopen(path.c_str(), "re"));
  if (!file) return fail_errno(errno, path);
  return file;
}

// Detected by magic bytes alone: after a crash a text log may contain zero bytes.
bool is_packed(std::string_view text) {
  using namespace std::string_view_literals;
  constexpr std::array kBeginnings = {"\x1f\x8b"sv,
                                      "\xfd"
                                      "7zXZ"sv,
                                      "\x28\xb5\x2f\xfd"sv,
                                      "BZh"sv,
                                      "LPKSHHRH"sv,
                                      "\x7f"
                                      "ELF"sv};
  return std::ranges::any_of(kBeginnings, [text](std::string_view one) { return text.starts_with(one); });
}

// Calls `take` for every line. Cuts lines longer than any record, which bounds memory.
template <class Take>
Status for_each_line(std::FILE* file, const std::string& path, Take take) {
  std::vector<char> chunk(std::size_t{1} << 18);
  std::string line;
  bool is_first = true;
  for (;;) {
    const std::size_t size = std::fread(chunk.data(), 1, chunk.size(), file);
    if (size == 0) {
      if (std::ferror(file) != 0) return fail_errno(errno, path);
      break;
    }
    std::string_view text(chunk.data(), size);
    if (std::exchange(is_first, false) && is_packed(text))
      return fail(Errc::malformed,
                  path + ": not a text file; decompress it, or export the journal with journalctl");
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      line += text.substr(0, end);
      take(line);
      line.clear();
      text.remove_prefix(end + 1);
    }
    if (line.size() < host::TextLogReader::kMaxLine) line += text.substr(0, host::TextLogReader::kMaxLine);
  }
  if (!line.empty()) take(line);
  return {};
}

int decode_log(const std::string& path, DecodeFormat format, const std::vector<std::string>& rule_files) {
  const auto rules = read_log_rules(rule_files);
  if (!rules) {
    tell(rules.error().what, kSpeaker);
    return kExitConfiguration;
  }
  auto file = open_log(path);
  if (!file) {
    tell(file.error().what, kSpeaker);
    return kExitUsage;
  }
  std::cout.sync_with_stdio(false);
  const auto facts = catalog::with_log_rules(catalog::builtin(), *rules);
  const checks::Decoder decoder(facts);
  const checks::OperatorRules own(*rules);
  host::TextLogReader reader([&](const host::KernelRecord& record) {
    return decoder.decode(record).has_value() || own.decoder().decode_by_rules(record).has_value();
  });
  Printer printer(format, facts);
  const auto take = [&](const std::vector<host::KernelRecord>& records) {
    for (const auto& record : records) {
      const auto decoded = decoder.decode(record);
      if (decoded) printer.add(*decoded, record);
      // A line in a driver's own form is matched against the operator's rules too.
      const auto more = own.decoder().decode_by_rules(record);
      if (more && (!decoded || more->rule != decoded->rule)) printer.add(*more, record);
    }
  };
  const auto read = for_each_line(file->get(), path == "-" ? "standard input" : path,
                                  [&](std::string_view line) { take(reader.add_line(line)); });
  take(reader.finish());
  printer.flush();
  std::cout.flush();
  if (!read) {
    tell(read.error().what, kSpeaker);
    return kExitUsage;
  }
  if (printer.printed() == 0)
    std::cerr << "autopilot decode: no known record in " << reader.lines()
              << (reader.lines() == 1 ? " line\n" : " lines\n");
  return kExitHealthy;
}

}  // namespace

void add_decode(CLI::App& app, int& exit_code) {
  auto path = std::make_shared<std::string>();
  auto format = std::make_shared<std::string>("table");
  auto rules = std::make_shared<std::vector<std::string>>();
  auto* verb = app.add_subcommand("decode", "Explain the records of a kernel log, in any log format");
  verb->add_option("FILE", *path, "Log in any common format; - or missing: standard input");
  verb->add_option("-o,--output", *format, "table, or json: one object per record, one per line")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  verb->add_option("--rules", *rules, "File with your own log rules (docs/configuration.md); repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb->footer(
      "Reads every output format of dmesg and journalctl, talosctl dmesg, syslog files,\n"
      "consoles and raw /dev/kmsg records, also with prefixes of grep, pdsh and\n"
      "container logs. The format of each line is detected.\n\n"
      "Examples:\n"
      "  dmesg | autopilot decode\n"
      "  journalctl -k -b -1 -o json | autopilot decode -o json\n"
      "  autopilot decode /var/log/kern.log\n"
      "  dmesg | autopilot decode --rules /etc/autopilot/log_rules.yaml");
  verb->callback([path, format, rules, &exit_code] {
    if (path->empty() && ::isatty(STDIN_FILENO) == 1)
      throw CLI::RequiredError("FILE, or a log on standard input: dmesg | autopilot decode");
    exit_code = decode_log(path->empty() ? "-" : *path,
                           *format == "json" ? DecodeFormat::json : DecodeFormat::table, *rules);
  });
}

}  // namespace autopilot::cli
