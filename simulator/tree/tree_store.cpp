// SPDX-License-Identifier: Apache-2.0
#include "tree/tree_store.hpp"

#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "core/yaml_text.hpp"
#include "host/files/files.hpp"
#include "host/files/tree_file.hpp"
#include "machine/description.hpp"

namespace autopilot::simulator {
namespace {

namespace json = boost::json;

constexpr const char* kKinds[] = {"text", "link", "directory"};

Result<std::string> text_of(const json::object& object, const char* key, const std::string& file) {
  const json::value* value = object.if_contains(key);
  if (value == nullptr || !value->is_string())
    return fail(Errc::malformed, file + ": `" + key + "` is missing or not a string");
  return std::string(value->get_string());
}

Result<YamlNode> yaml_of(const json::object& object, const char* key, const std::string& file) {
  YamlProblems problems(file);
  const std::string text = TRY(text_of(object, key, file));
  YamlNode node = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  return node;
}

Status read_entries(const json::object& object, const std::string& file, FileTree& files) {
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
    const json::value* entries = object.if_contains(kKinds[kind]);
    if (entries == nullptr || !entries->is_object())
      return fail(Errc::malformed, file + ": `" + kKinds[kind] + "` is missing");
    for (const auto& [path, text] : entries->get_object()) {
      if (!text.is_string())
        return fail(Errc::malformed, file + ": " + std::string(path) + " is not a string");
      files.put(path, {static_cast<FileTree::Kind>(kind), std::string(text.get_string())});
    }
  }
  return {};
}

}  // namespace

std::string archive_text(const Machine& machine) {
  json::object entries[std::size(kKinds)];
  for (const auto& file : machine.files.entries())
    entries[static_cast<std::size_t>(file.second.kind)][file.first] = file.second.text;
  json::object object;
  object["machine"] = to_yaml(machine.machine);
  if (machine.nvml) object["nvml"] = to_yaml(*machine.nvml);
  object["log"] = log_text(machine.log);
  for (std::size_t kind = 0; kind < std::size(kKinds); ++kind)
    object[kKinds[kind]] = std::move(entries[kind]);
  return json::serialize(object);
}

Result<Machine> parse_archive(std::string_view text, const std::string& file) {
  json::parse_options options;
  options.allow_invalid_utf8 = true;  // a file of a machine can contain any byte
  boost::system::error_code error;
  const json::value value = json::parse(text, error, {}, options);
  if (error || !value.is_object()) return fail(Errc::malformed, file + ": not a JSON object");
  const json::object& object = value.get_object();
  Machine machine;
  machine.machine = TRY(yaml_of(object, "machine", file));
  if (object.contains("nvml")) machine.nvml = TRY(yaml_of(object, "nvml", file));
  const std::string log = TRY(text_of(object, "log", file));
  machine.log = TRY(parse_log(log, file));
  TRY_STATUS(read_entries(object, file, machine.files));
  return machine;
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFileBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxLogBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxFiles = 200'000;

Result<YamlNode> read_yaml(const std::string& path) {
  YamlProblems problems(path);
  const std::string text = TRY(read_text(path, kMaxYamlBytes));
  YamlNode node = parse_yaml(text, problems);
  TRY_STATUS(problems.status());
  if (node.kind != YamlNode::Kind::map) return fail(Errc::malformed, path + ":1: not a map");
  return node;
}

// Adds every file below `root` to the tree.
Status read_files(const std::string& root, FileTree& files) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(root, error))) return {};
  (void)TRY(host::find_in_tree(root));
  const host::Files below(root);
  std::size_t count = 0;
  for (auto entry = fs::recursive_directory_iterator(root, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++count > kMaxFiles) return fail(Errc::exhausted, root + ": too many files");
    const std::string path = entry->path().string().substr(root.size());
    if (entry->is_symlink()) {
      files.put(path, {FileTree::Kind::link, fs::read_symlink(entry->path()).string()});
    } else if (entry->is_directory()) {
      if (fs::is_empty(entry->path(), error)) files.make_directory(path);
    } else {
      files.write(path, TRY(below.read(path, kMaxFileBytes)));
    }
  }
  if (error) return fail_errno(error.value(), root);
  return {};
}

Status read_log(const std::string& path, std::vector<LogRecord>& log) {
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  const std::string text = TRY(read_text(path, kMaxLogBytes));
  for (LogRecord& record : TRY(parse_log(text, path)))
    log.push_back(std::move(record));
  return {};
}

// Removes the keys of a source from machine.yaml.
Status take_source_keys(YamlNode& document, TreeSource& source) {
  YamlProblems problems(source.file);
  if (const YamlNode* faults = document.find("faults")) {
    if (faults->kind != YamlNode::Kind::list) problems.add(faults->line, "`faults` is not a list");
    source.faults = *faults;
  }
  if (const YamlNode* removed = document.find("remove")) {
    if (removed->kind != YamlNode::Kind::list) problems.add(removed->line, "`remove` is not a list");
    for (const YamlNode& path : removed->items)
      source.machine.files.remove(path.text);
  }
  if (const YamlNode* rounds = document.find("rounds")) {
    if (rounds->kind != YamlNode::Kind::list) problems.add(rounds->line, "`rounds` is not a list");
    for (const YamlNode& round : rounds->items) {
      const auto time = parse_duration(round.text);
      if (!time || (!source.rounds.empty() && *time <= source.rounds.back()))
        problems.add(round.line, "`rounds`: expected increasing durations such as [0s, 60s]");
      source.rounds.push_back(time.value_or(Duration{0}));
    }
  }
  for (const char* key : {"base", "faults", "remove", "rounds"})
    yaml_remove(document, key);
  return problems.status();
}

Status read_driver(const std::string& directory, Machine& machine) {
  std::error_code error;
  const std::string path = directory + "/nvml.yaml";
  if (!fs::exists(path, error)) return {};
  const YamlNode over = TRY(read_yaml(path));
  if (!machine.nvml) machine.nvml = yaml_map();
  yaml_merge(*machine.nvml, over);
  return {};
}

}  // namespace

Result<std::string> read_text(const std::string& path, std::size_t limit) {
  return host::read_tree_file(path, limit);
}

Status write_text(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  {
    errno = 0;
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) return fail_errno(errno == 0 ? EIO : errno, fresh);
  }
  std::error_code error;
  fs::rename(fresh, path, error);
  if (error) return fail_errno(error.value(), path);
  return {};
}

Result<TreeSource> read_tree(const std::string& directory) {
  TreeSource source;
  source.file = directory + "/machine.yaml";
  YamlNode document = TRY(read_yaml(source.file));
  if (const YamlNode* base = document.find("base")) {
    auto machine = builtin_machine(base->text);
    if (!machine)
      return fail(Errc::malformed,
                  source.file + ":" + std::to_string(base->line) + ": " + machine.error().what);
    source.machine = *std::move(machine);
  }
  TRY_STATUS(take_source_keys(document, source));
  yaml_merge(source.machine.machine, document);
  TRY_STATUS(read_driver(directory, source.machine));
  TRY_STATUS(read_files(directory + "/root", source.machine.files));
  TRY_STATUS(read_log(directory + "/kmsg.jsonl", source.machine.log));
  return source;
}

namespace {

FileTree::Entries entries_of(const Machine& machine) {
  FileTree::Entries entries;
  for (const auto& [path, entry] : machine.files.entries())
    entries.emplace_hint(entries.end(), "/root" + path, entry);
  entries["/root"] = {FileTree::Kind::directory, {}};
  entries["/kmsg.jsonl"] = {FileTree::Kind::text, log_text(machine.log)};
  if (machine.nvml) entries["/nvml.yaml"] = {FileTree::Kind::text, to_yaml(*machine.nvml)};
  entries["/machine.yaml"] = {FileTree::Kind::text, to_yaml(machine.machine)};
  return entries;
}

}  // namespace

TreeWriter::TreeWriter(std::string directory, const Machine& known)
    : directory_(std::move(directory)), is_new_(false), written_(entries_of(known)) {}

Status TreeWriter::write(const Machine& machine) {
  FileTree::Entries entries = entries_of(machine);
  std::error_code error;
  // New files are written elsewhere first, so that a directory listing never shows an incomplete file.
  fs::create_directories(directory_ + "/.new", error);
  if (error) return fail_errno(error.value(), directory_);
  // The content of a directory is removed before it.
  for (auto known = written_.rbegin(); known != written_.rend(); ++known)
    if (!entries.contains(known->first)) TRY_STATUS(drop(known->first));
  for (const auto& [path, entry] : entries) {
    const auto before = written_.find(path);
    if (before == written_.end() || before->second != entry) TRY_STATUS(put(path, entry));
  }
  written_ = std::move(entries);
  is_new_ = false;
  return {};
}

Status TreeWriter::make_directory(const std::string& path) {
  if (!made_.insert(path).second) return {};
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail_errno(error.value(), path);
  return {};
}

Status TreeWriter::put(const std::string& path, const FileTree::Entry& entry) {
  const fs::path target = directory_ + path;
  std::error_code error;
  if (entry.kind == FileTree::Kind::directory) return make_directory(target.string());
  TRY_STATUS(make_directory(target.parent_path().string()));
  const fs::path fresh = is_new_ ? target : fs::path(directory_ + "/.new/entry");
  if (entry.kind == FileTree::Kind::link) {
    fs::create_symlink(entry.text, fresh, error);
  } else {
    errno = 0;
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    file << entry.text;
    file.close();
    if (!file) return fail_errno(errno == 0 ? EIO : errno, target.string());
  }
  if (!error && !is_new_) fs::rename(fresh, target, error);
  if (error) return fail_errno(error.value(), target.string());
  return {};
}

Status TreeWriter::drop(const std::string& path) {
  fs::path target = directory_ + path;
  std::error_code error;
  made_.clear();
  fs::remove(target, error);
  // A directory that was removed from the tree can still have content.
  if (error && error != std::errc::directory_not_empty) return fail_errno(error.value(), target.string());
  const fs::path root = directory_ + "/root";
  for (target = target.parent_path(); target != root && target.string().size() > root.string().size();
       target = target.parent_path())
    if (!fs::is_empty(target, error) || error || !fs::remove(target, error)) break;
  return {};
}

}  // namespace autopilot::simulator
