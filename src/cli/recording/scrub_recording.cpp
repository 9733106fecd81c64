// SPDX-License-Identifier: Apache-2.0
#include "cli/recording/scrub_recording.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/parse.hpp"
#include "core/word_table.hpp"
#include "core/yaml_text.hpp"
#include "host/process/processes.hpp"
#include "host/storage/filesystems.hpp"

namespace autopilot::cli {
namespace {

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// --- words that are not names ---

void add_words(std::string_view text, Words& words) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view word = word_at(text, at);
    if (!word.empty() && !words.contains(word)) words.emplace(word);
    at += std::max<std::size_t>(word.size(), 1);
  }
}

// A host can have the name of a driver, a filesystem or a device.
Words words_of(const Recording& recording) {
  Words words;
  for (const catalog::LogRule& rule : catalog::builtin().log_rules()) {
    add_words(rule.pattern, words);
    for (const std::string& example : rule.examples)
      add_words(example, words);
  }
  for (const auto& [path, file] : recording.files)
    add_words(path, words);
  for (const std::string_view word : {"nfs", "nfs4", "cifs", "fuse", "overlay", "tmpfs", "proc", "sysfs",
                                      "python3", "shared", "data", "scratch", "projects", "rw", "ro"})
    words.emplace(word);
  return words;
}

// --- files ---

bool is_serial_file(std::string_view path) {
  static constexpr std::array<std::string_view, 3> kNames{"serial", "product_serial", "serial_number"};
  return is_among(kNames, last_part(path));
}

// Readings and versions, whatever their digits look like.
bool is_reading(std::string_view path, std::string_view text) {
  static constexpr std::array<std::string_view, 9> kNames{"fw_ver",    "firmware_rev", "bios_version",
                                                          "model",     "hw_rev",       "version",
                                                          "osrelease", "board_id",     "config"};
  if (is_among(kNames, last_part(path))) return true;
  const auto words = split_words(text);
  return std::ranges::all_of(words, [](std::string_view word) {
    return word.find_first_not_of("0123456789.-+") == std::string_view::npos &&
           std::ranges::count(word, '.') <= 1;
  });
}

// Numbers of AMD GPUs in their compute driver; unique_id equals the content of the file unique_id.
void learn_node_numbers(std::string_view text, Scrubber& scrubber) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    const auto number = words.size() == 2 ? parse_number<std::uint64_t>(words[1]) : std::nullopt;
    if (!number) continue;
    if (words[0] == "unique_id") scrubber.learn_number(SecretKind::uuid, *number);
    if (words[0] == "hive_id") scrubber.learn_number(SecretKind::serial, *number);
  }
}

void learn_guid(std::string_view text, Scrubber& scrubber) {
  std::string digits(trim(text));
  std::erase(digits, ':');
  if (const auto number = parse_number<std::uint64_t>(digits, 16))
    scrubber.learn_number(SecretKind::hardware_address, *number);
}

void learn_resolvers(std::string_view text, Scrubber& scrubber) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.empty() || (words[0] != "search" && words[0] != "domain")) continue;
    for (std::size_t i = 1; i < words.size(); ++i)
      scrubber.learn_name(SecretKind::host, words[i]);
  }
}

// "server:/export", "//server/share", "10.0.0.1@o2ib:/scratch".
void learn_server(std::string_view source, Scrubber& scrubber) {
  std::string_view server = source.substr(0, source.find(":/"));
  if (server.size() == source.size()) {
    if (!source.starts_with("//")) return;
    server = source.substr(2, source.find('/', 2) - 2);
  }
  for (const std::string_view one : split(server, ','))
    scrubber.learn_name(SecretKind::host, one.substr(0, one.find_first_of("@:")));
}

void learn_mounts(std::string_view path, const std::string& text, Scrubber& scrubber) {
  if (last_part(path) == "mountinfo") {
    if (const auto mounts = host::parse_mountinfo(text))
      for (const host::Mount& mount : *mounts)
        if (mount.is_network) learn_server(mount.source, scrubber);
    return;
  }
  if (path != "/etc/fstab") return;
  // A mount that is commented out names its server as well.
  for (std::string_view line : split(text, '\n')) {
    line.remove_prefix(std::min(line.find_first_not_of("# "), line.size()));
    if (const auto words = split_words(line); !words.empty()) learn_server(words[0], scrubber);
  }
}

void learn_file(std::string_view path, const std::string& text, Scrubber& scrubber) {
  const std::string_view name = last_part(path);
  if (is_serial_file(path)) scrubber.learn_serial(text);
  if (name == "unique_id")
    if (const auto number = parse_number<std::uint64_t>(trim(text), 16))
      scrubber.learn_number(SecretKind::uuid, *number);
  if (path.find("/kfd/topology/") != std::string_view::npos && name == "properties")
    learn_node_numbers(text, scrubber);
  if (name == "node_guid" || name == "sys_image_guid") learn_guid(text, scrubber);
  if (path == "/etc/resolv.conf") learn_resolvers(text, scrubber);
  if (path == "/proc/sys/kernel/hostname") scrubber.learn_name(SecretKind::host, text);
  learn_mounts(path, text, scrubber);
}

// The first columns of a row are addresses; masks and flags are not secret.
std::string scrubbed_routes(std::string_view text, Scrubber& scrubber) {
  std::string out;
  for (std::string_view line : split(text, '\n')) {
    if (!out.empty() || line.data() != text.data()) out += '\n';
    const auto words = split_words(line);
    const bool is_ipv6 = words.size() >= 10 && words[0].size() == 32;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool is_address = is_ipv6 ? i <= 4 && words[i].size() == 32 : i == 1 || i == 2;
      const auto begin = static_cast<std::size_t>(words[i].data() - line.data());
      out += line.substr(0, begin);
      // An interface can be named after its address.
      out += is_address ? scrubber.apply_hex_address(words[i]) : scrubber.apply(words[i]);
      line.remove_prefix(begin + words[i].size());
    }
    out += line;
  }
  return out;
}

std::string scrubbed_file(std::string_view path, const std::string& text, Scrubber& scrubber) {
  if (is_serial_file(path)) return scrubber.apply_serial(text);
  if (path == "/proc/sys/kernel/hostname") return scrubber.apply_name(SecretKind::host, text);
  if (path == "/proc/net/route" || path == "/proc/net/ipv6_route") return scrubbed_routes(text, scrubber);
  // Masks of signals and processors are long numbers.
  if (last_part(path) == "status" || is_reading(path, text)) return text;
  return scrubber.apply(text);
}

host::RecordedFiles scrubbed_files(const host::RecordedFiles& files, Scrubber& scrubber) {
  host::RecordedFiles out;
  for (const auto& [path, file] : files) {
    host::RecordedFile other = file;
    other.text = file.is_link ? scrubber.apply(file.text) : scrubbed_file(path, file.text, scrubber);
    out[scrubber.apply(path)] = std::move(other);
  }
  return out;
}

// --- machine.yaml and nvml.yaml ---

std::optional<SecretKind> kind_of_member(std::string_view key) {
  static constexpr WordTable<SecretKind, 12> kMembers{{{SecretKind::host, "node"},
                                                       {SecretKind::host, "host"},
                                                       {SecretKind::host, "hostname"},
                                                       {SecretKind::host, "peer_node"},
                                                       {SecretKind::host, "server"},
                                                       {SecretKind::pod, "pod"},
                                                       {SecretKind::pod, "podName"},
                                                       {SecretKind::name_space, "namespace"},
                                                       {SecretKind::name_space, "podNamespace"},
                                                       {SecretKind::user, "user"},
                                                       {SecretKind::serial, "serial"},
                                                       {SecretKind::serial, "serial_number"}}};
  return value_of(kMembers, key);
}

// Bytes of a plugged module: no serial number is among them.
bool is_verbatim(std::string_view key) {
  static constexpr std::array<std::string_view, 6> kKeys{"module",  "schema",       "vbios",
                                                         "version", "nvml_version", "name"};
  return is_among(kKeys, key);
}

void scrub_node(YamlNode& node, Scrubber& scrubber);

void scrub_member(YamlMember& member, Scrubber& scrubber) {
  if (is_verbatim(member.key)) return;
  const auto kind = kind_of_member(member.key);
  member.key = scrubber.apply(member.key);
  if (member.value.kind != YamlNode::Kind::scalar || !kind) return scrub_node(member.value, scrubber);
  std::string& text = member.value.text;
  text = *kind == SecretKind::serial ? scrubber.apply_serial(text) : scrubber.apply_name(*kind, text);
}

// Numbers and switches are not quoted.
void scrub_node(YamlNode& node, Scrubber& scrubber) {
  if (node.kind == YamlNode::Kind::scalar && node.quoted) node.text = scrubber.apply(node.text);
  for (YamlNode& item : node.items)
    scrub_node(item, scrubber);
  for (YamlMember& member : node.members)
    scrub_member(member, scrubber);
}

YamlNode scrubbed_node(YamlNode node, Scrubber& scrubber) {
  scrub_node(node, scrubber);
  return node;
}

// --- kmsg.jsonl ---

std::string scrubbed_line(std::string_view line, Scrubber& scrubber) {
  boost::system::error_code error;
  auto value = boost::json::parse(boost::json::string_view(line.data(), line.size()), error);
  auto* record = error ? nullptr : value.if_object();
  auto* text = record == nullptr ? nullptr : record->if_contains("text");
  if (text == nullptr || !text->is_string()) return std::string(line);
  const auto& raw = text->get_string();
  *text = scrubber.apply({raw.data(), raw.size()});
  return boost::json::serialize(value);
}

std::string scrubbed_log(std::string_view log, Scrubber& scrubber) {
  std::string out;
  for (const std::string_view line : split(log, '\n'))
    if (!line.empty()) out += scrubbed_line(line, scrubber) + "\n";
  return out;
}

Recording scrubbed_once(const Recording& recording, Scrubber& scrubber) {
  Recording out;
  out.machine = scrubbed_node(recording.machine, scrubber);
  out.files = scrubbed_files(recording.files, scrubber);
  if (recording.nvml) out.nvml = scrubbed_node(*recording.nvml, scrubber);
  out.kernel_log = scrubbed_log(recording.kernel_log, scrubber);
  out.gaps = recording.gaps;
  return out;
}

std::string_view member_of(SecretKind kind) {
  static constexpr WordTable<SecretKind, kSecretKinds> kWords{
      {{SecretKind::host, "host_names"},
       {SecretKind::user, "user_names"},
       {SecretKind::pod, "pod_names"},
       {SecretKind::name_space, "namespaces"},
       {SecretKind::serial, "serial_numbers"},
       {SecretKind::uuid, "uuids"},
       {SecretKind::container, "container_ids"},
       {SecretKind::hardware_address, "hardware_addresses"},
       {SecretKind::address, "network_addresses"},
       {SecretKind::credential, "credentials"}}};
  return word_of(kWords, kind);
}

}  // namespace

ScrubbedRecording scrubbed(const Recording& recording) {
  Scrubber scrubber(words_of(recording));
  if (const YamlNode* node = recording.machine.find("node"))
    (void)scrubber.apply_name(SecretKind::host, node->text);
  for (const auto& [path, file] : recording.files)
    if (!file.is_link) learn_file(path, file.text, scrubber);
  // The first pass learns the names that only a later text shows to be names.
  (void)scrubbed_once(recording, scrubber);
  scrubber.reset_counts();
  ScrubbedRecording result{.recording = scrubbed_once(recording, scrubber), .counts = {}};
  result.counts = scrubber.counts();
  return result;
}

std::string scrub_report(const ScrubCounts& counts) {
  YamlNode report = yaml_map();
  yaml_member(report, "schema") = yaml_word("autopilot.scrub/v1");
  YamlNode& replaced = yaml_member(report, "replaced");
  replaced = yaml_map();
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    YamlNode& node = yaml_member(replaced, member_of(static_cast<SecretKind>(kind)));
    node = yaml_map();
    yaml_member(node, "values") = yaml_integer(counts[kind].values);
    yaml_member(node, "places") = yaml_integer(counts[kind].places);
  }
  return to_yaml(report);
}

std::string scrub_summary(const ScrubCounts& counts) {
  std::string text;
  for (std::size_t kind = 0; kind < counts.size(); ++kind)
    if (counts[kind].values > 0)
      text += (text.empty() ? "" : ", ") + std::string(plural_of(static_cast<SecretKind>(kind))) + " (" +
              std::to_string(counts[kind].values) + ")";
  return text.empty() ? "Nothing in it had to be replaced." : "Replaced: " + text + ".";
}

}  // namespace autopilot::cli
