// SPDX-License-Identifier: Apache-2.0

#include "kube/kubeconfig.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "core/parse.hpp"
#include "core/yaml.hpp"
#include "kube/access.hpp"
#include "kube/base64.hpp"

namespace autopilot::kube {

namespace {

struct KubeconfigFile {
  std::string path;
  YamlNode root;
  YamlProblems problems;
};

// Resolves a relative path of that file from its folder.
std::string path_from(const KubeconfigFile& file, const std::string& path) {
  if (path.starts_with('/')) return path;
  const auto slash = file.path.rfind('/');
  return slash == std::string::npos ? path : file.path.substr(0, slash + 1) + path;
}

// Reads a map of such a file; ignores keys that are not read. An invalid value becomes a problem of the file
// and gives an empty value; problems never show values.
class KubeconfigMap {
 public:
  // node: null if the map is missing. line: where it should be. node and file must outlive the reader.
  KubeconfigMap(const YamlNode* node, int line, std::string what, KubeconfigFile& file);

  // True if the key has a value that is neither null nor empty.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::string word(std::string_view key);
  [[nodiscard]] bool flag(std::string_view key);
  [[nodiscard]] std::string path(std::string_view key);
  // Items of a list; empty if it is absent.
  [[nodiscard]] const std::vector<YamlNode>& list(std::string_view key);
  [[nodiscard]] std::vector<std::string> words(std::string_view key);
  [[nodiscard]] KubeconfigMap map(std::string_view key);
  [[nodiscard]] KubeconfigMap item(const YamlNode& node, std::string_view key);

  // At the line of the key, or of the map if the key is missing.
  void problem(std::string_view key, const std::string& text);

 private:
  [[nodiscard]] const YamlNode* find(std::string_view key) const;

  const YamlNode* node_;
  int line_;
  std::string what_;
  KubeconfigFile& file_;
};

// A named entry of one of the files.
struct KubeconfigEntry {
  KubeconfigFile* file = nullptr;
  const YamlNode* node = nullptr;  // null: the entry has no value
  int line = 0;
};
using KubeconfigEntries = std::map<std::string, KubeconfigEntry, std::less<>>;

KubeconfigMap::KubeconfigMap(const YamlNode* node, int line, std::string what, KubeconfigFile& file)
    : node_(node), line_(line), what_(std::move(what)), file_(file) {
  if (node_ == nullptr || node_->kind == YamlNode::Kind::map) return;
  if (node_->kind != YamlNode::Kind::null) file_.problems.add(node_->line, what_ + ": expected a map");
  node_ = nullptr;
}

const YamlNode* KubeconfigMap::find(std::string_view key) const {
  const YamlNode* node = node_ == nullptr ? nullptr : node_->find(key);
  return node == nullptr || node->kind == YamlNode::Kind::null ? nullptr : node;
}

bool KubeconfigMap::has(std::string_view key) const {
  const YamlNode* node = find(key);
  return node != nullptr && !(node->text.empty() && node->items.empty() && node->members.empty());
}

void KubeconfigMap::problem(std::string_view key, const std::string& text) {
  int line = line_;
  if (node_ != nullptr)
    for (const YamlMember& member : node_->members)
      if (member.key == key) line = member.line;
  file_.problems.add(line, what_ + ": `" + std::string(key) + "`: " + text);
}

std::string KubeconfigMap::word(std::string_view key) {
  const YamlNode* node = find(key);
  if (node == nullptr) return {};
  if (node->kind != YamlNode::Kind::scalar) {
    problem(key, "expected a string");
    return {};
  }
  // The text after the NUL would be lost where the value is used.
  if (node->text.find('\0') != std::string::npos) {
    problem(key, "contains a NUL character");
    return {};
  }
  return node->text;
}

bool KubeconfigMap::flag(std::string_view key) {
  const YamlNode* node = find(key);
  if (node == nullptr) return false;
  const bool is_plain = node->kind == YamlNode::Kind::scalar && !node->quoted;
  if (is_plain && node->text == "true") return true;
  if (!is_plain || node->text != "false") problem(key, "expected true or false");
  return false;
}

std::string KubeconfigMap::path(std::string_view key) {
  const std::string path = word(key);
  return path.empty() ? path : path_from(file_, path);
}

const std::vector<YamlNode>& KubeconfigMap::list(std::string_view key) {
  static const std::vector<YamlNode> none;
  const YamlNode* node = find(key);
  if (node == nullptr) return none;
  if (node->kind != YamlNode::Kind::list) problem(key, "expected a list");
  return node->items;
}

std::vector<std::string> KubeconfigMap::words(std::string_view key) {
  std::vector<std::string> words;
  for (const YamlNode& item : list(key)) {
    if (item.kind == YamlNode::Kind::map || item.kind == YamlNode::Kind::list ||
        item.text.find('\0') != std::string::npos)
      problem(key, "expected a list of strings");
    words.push_back(item.kind == YamlNode::Kind::scalar ? item.text : std::string());
  }
  return words;
}

KubeconfigMap KubeconfigMap::map(std::string_view key) {
  const YamlNode* node = find(key);
  return {node, node == nullptr ? line_ : node->line, what_ + ": `" + std::string(key) + '`', file_};
}

KubeconfigMap KubeconfigMap::item(const YamlNode& node, std::string_view key) {
  return {&node, node.line, what_ + ": `" + std::string(key) + '`', file_};
}

// "clusters", "cluster": items {name, cluster} of the list `clusters` of all files, the first of each name.
// Duplicate names in one file are a problem. The entries live as long as the files do.
KubeconfigEntries entries_of(std::vector<KubeconfigFile>& files, std::string_view list,
                             std::string_view member) {
  KubeconfigEntries entries;
  for (KubeconfigFile& file : files) {
    KubeconfigMap top(&file.root, 1, "kubeconfig", file);
    for (const YamlNode& item : top.list(list)) {
      KubeconfigMap named = top.item(item, list);
      if (item.kind != YamlNode::Kind::map) continue;
      const std::string name = named.word("name");
      if (name.empty()) {
        named.problem("name", "missing");
        continue;
      }
      const auto [at, is_new] =
          entries.try_emplace(name, KubeconfigEntry{&file, item.find(member), item.line});
      if (!is_new && at->second.file == &file) named.problem("name", "duplicate name `" + name + "`");
    }
  }
  return entries;
}

using Files = std::vector<KubeconfigFile>;

const std::string kExecGroup = "client.authentication.k8s.io/";

// Reads the files that exist. A file that is unreadable or not YAML is an error, because it could override
// the others.
Result<Files> read_files(const std::vector<std::string>& paths, const ReadFile& read_file) {
  Files files;
  for (const std::string& path : paths) {
    auto text = read_file(path);
    if (!text && text.error().code == Errc::not_found) continue;
    if (!text) return fail(std::move(text).error());
    KubeconfigFile& file = files.emplace_back(KubeconfigFile{path, {}, YamlProblems(path)});
    file.root = parse_yaml(*text, file.problems);
    KubeconfigMap top(&file.root, 1, "kubeconfig", file);
    if (top.has("kind") && top.word("kind") != "Config") top.problem("kind", "expected Config");
    if (top.has("apiVersion") && top.word("apiVersion") != "v1") top.problem("apiVersion", "expected v1");
    TRY_STATUS(file.problems.status());
  }
  if (!files.empty()) return files;
  std::string tried;
  for (const std::string& path : paths)
    tried += (tried.empty() ? "" : ", ") + path;
  return fail(Errc::not_found, tried.empty() ? "no kubeconfig: neither KUBECONFIG nor HOME is set"
                                             : tried + ": kubeconfig not found");
}

Status problems_of(const Files& files) {
  std::string text;
  for (const KubeconfigFile& file : files)
    if (!file.problems.empty()) text += (text.empty() ? "" : "\n") + file.problems.to_string();
  if (text.empty()) return {};
  return fail(Errc::malformed, std::move(text));
}

std::string names_of(const KubeconfigEntries& entries) {
  constexpr std::size_t max_shown = 10;
  std::string text;
  std::size_t shown = 0;
  for (const auto& [name, ignored] : entries) {
    if (++shown > max_shown) return text + ", ...";
    text += (text.empty() ? "" : ", ") + name;
  }
  return text.empty() ? "none" : text;
}

// Removes the path from an error about a file with a secret: a person can have written the secret in place of
// its path.
std::string without(const std::string& path, std::string text) {
  if (path.empty()) return text;
  for (auto at = text.find(path); at != std::string::npos; at = text.find(path, at))
    text.replace(at, path.size(), "the file");
  return text;
}

// Fills an Access from the files; errors become problems of the files.
class Reader {
 public:
  Reader(Files& files, const ReadFile& read_file) : files_(files), read_file_(read_file) {}

  Status read(const std::string& named_context) {
    const auto contexts = entries_of(files_, "contexts", "context");
    const std::string name = named_context.empty() ? current_context() : named_context;
    if (name.empty()) {
      TRY_STATUS(problems_of(files_));
      return fail(Errc::malformed, files_.front().path +
                                       ": no `current-context`: name a context, or choose one with kubectl "
                                       "config use-context; contexts: " +
                                       names_of(contexts));
    }
    const auto at = contexts.find(name);
    if (at == contexts.end()) {
      TRY_STATUS(problems_of(files_));
      return fail(Errc::malformed,
                  files_.front().path + ": unknown context `" + name + "`; contexts: " + names_of(contexts));
    }
    KubeconfigMap context = open(at->second, "context `" + name + '`');
    access_.name_space = context.word("namespace");
    if (access_.name_space.empty()) access_.name_space = "default";
    if (auto cluster = refer(context, "cluster", "clusters")) read_cluster(*cluster);
    if (auto user = refer(context, "user", "users")) read_user(*user);
    return problems_of(files_);
  }
  [[nodiscard]] Access& access() { return access_; }

 private:
  static KubeconfigMap open(const KubeconfigEntry& entry, std::string what) {
    return {entry.node, entry.line, std::move(what), *entry.file};
  }

  std::string current_context() {
    for (KubeconfigFile& file : files_) {
      std::string name = KubeconfigMap(&file.root, 1, "kubeconfig", file).word("current-context");
      if (!name.empty()) return name;
    }
    return {};
  }

  // The cluster or the user that a context names.
  std::optional<KubeconfigMap> refer(KubeconfigMap& context, const std::string& key,
                                     const std::string& list) {
    const std::string name = context.word(key);
    const auto entries = entries_of(files_, list, key);
    const auto at = entries.find(name);
    if (at != entries.end()) return open(at->second, key + " `" + name + '`');
    context.problem(key, name.empty() ? "missing; `" + list + "` has: " + names_of(entries)
                                      : "`" + list + "` has no `" + name + "`, but: " + names_of(entries));
    return std::nullopt;
  }

  // The content of `<key>-data`, or of the file that `<key>` names; its path is written to `path`.
  std::string read_part(KubeconfigMap& map, const std::string& key, Status (*check)(std::string_view),
                        std::string& path) {
    const std::string data_key = key + "-data";
    if (map.has(data_key)) return decode(map, data_key, check);
    path = map.path(key);
    if (path.empty()) return {};
    auto pem = read_pem(path, check, read_file_);
    if (pem) return *std::move(pem);
    map.problem(key, check == check_key ? without(path, pem.error().what) : pem.error().what);
    return {};
  }

  static std::string decode(KubeconfigMap& map, const std::string& key, Status (*check)(std::string_view)) {
    auto pem = decode_base64(map.word(key));
    if (!pem) {
      map.problem(key, "expected base64 of a whole PEM file");
      return {};
    }
    if (const auto fit = check(*pem); !fit) {
      map.problem(key, fit.error().what);
      return {};
    }
    return *std::move(pem);
  }

  void read_cluster(KubeconfigMap& map) {
    // The value is not shown, because it can contain a password.
    if (auto server = net::parse_server_url(map.word("server")))
      access_.server = *std::move(server);
    else
      map.problem("server", "expected an address such as https://10.0.0.1:6443, without user and query");
    access_.server_name = map.word("tls-server-name");
    access_.trusts_any_server = map.flag("insecure-skip-tls-verify");
    if (access_.trusts_any_server &&
        (map.has("certificate-authority") || map.has("certificate-authority-data")))
      map.problem("insecure-skip-tls-verify",
                  "certificate authorities are set as well and would be ignored; remove one of the two");
    else
      access_.authorities =
          read_part(map, "certificate-authority", check_certificates, access_.authorities_file);
    if (map.has("proxy-url"))
      map.problem("proxy-url", "a proxy is not supported; remove it and use an address without a proxy");
    for (const YamlNode& item : map.list("extensions"))
      if (map.item(item, "extensions").word("name") == kExecGroup + "exec") has_exec_extension_ = true;
  }

  static void refuse_what_is_not_supported(KubeconfigMap& map) {
    constexpr std::array passwords = {"username", "password"};
    constexpr std::array others = {"as", "as-uid", "as-groups", "as-user-extra"};
    for (const char* key : passwords)
      if (map.has(key))
        map.problem(key,
                    "Kubernetes 1.19 removed passwords; use a token, a client certificate or an exec plugin");
    for (const char* key : others)
      if (map.has(key))
        map.problem(key, "impersonation is not supported; give this user the permissions that it needs");
    if (map.has("auth-provider"))
      map.problem("auth-provider",
                  "exec plugins replaced it; use `exec`, with gke-gcloud-auth-plugin for gcp and kubelogin "
                  "for azure and oidc");
  }

  void read_user(KubeconfigMap& map) {
    refuse_what_is_not_supported(map);
    if (map.has("token")) keep_token(map, "token", parse_bearer_token(map.word("token")), {});
    access_.token_file = map.path("tokenFile");
    if (!access_.token_file.empty())
      keep_token(map, "tokenFile", read_bearer_token(access_.token_file, read_file_), access_.token_file);
    const bool has_certificate = map.has("client-certificate") || map.has("client-certificate-data");
    const bool has_key = map.has("client-key") || map.has("client-key-data");
    access_.certificate = read_part(map, "client-certificate", check_certificates, access_.certificate_file);
    access_.key = read_part(map, "client-key", check_key, access_.key_file);
    if (has_certificate && !has_key) map.problem("client-key", "missing; the certificate needs its key");
    if (has_key && !has_certificate)
      map.problem("client-certificate", "missing; the key needs its certificate");
    if (map.has("exec")) {
      KubeconfigMap exec = map.map("exec");
      read_exec(exec);
    }
  }

  void keep_token(KubeconfigMap& map, std::string_view key, Result<std::string> token,
                  const std::string& path) {
    if (token)
      access_.token = *std::move(token);
    else
      map.problem(key, without(path, token.error().what));
  }

  void read_exec(KubeconfigMap& map) {
    ExecPlugin plugin;
    plugin.command = map.word("command");
    if (plugin.command.empty())
      map.problem("command", "missing; name the program that prints the credentials");
    // A name without a slash is searched in PATH when the plugin runs.
    if (plugin.command.find('/') != std::string::npos) plugin.command = map.path("command");
    plugin.arguments = map.words("args");
    read_environment(map, plugin);
    plugin.api_version = map.word("apiVersion");
    if (plugin.api_version != kExecGroup + "v1" && plugin.api_version != kExecGroup + "v1beta1")
      map.problem("apiVersion", "expected " + kExecGroup + "v1 or " + kExecGroup +
                                    "v1beta1; Kubernetes 1.24 removed the others, update the plugin");
    const std::string mode = map.word("interactiveMode");
    if (mode == "Always")
      map.problem("interactiveMode",
                  "the plugin needs a terminal, which is not available; use a plugin that runs without one");
    else if (!mode.empty() && mode != "Never" && mode != "IfAvailable")
      map.problem("interactiveMode", "expected Never, IfAvailable or Always");
    plugin.wants_cluster = map.flag("provideClusterInfo");
    if (plugin.wants_cluster && has_exec_extension_)
      map.problem("provideClusterInfo",
                  "the cluster has an extension " + kExecGroup +
                      "exec, which is not passed on; configure the plugin by `args` or `env`");
    access_.exec = std::move(plugin);
  }

  static void read_environment(KubeconfigMap& map, ExecPlugin& plugin) {
    for (const YamlNode& item : map.list("env")) {
      KubeconfigMap variable = map.item(item, "env");
      const std::string name = variable.word("name");
      if (name.empty() || name.find('=') != std::string::npos)
        variable.problem("name", "expected the name of an environment variable");
      plugin.environment[name] = variable.word("value");
    }
  }

  Files& files_;
  const ReadFile& read_file_;
  Access access_;
  bool has_exec_extension_ = false;
};

}  // namespace

std::vector<std::string> kubeconfig_paths(std::string_view variable, std::string_view home) {
  std::vector<std::string> paths;
  for (const std::string_view part : split(variable, ':'))
    if (!part.empty() && std::ranges::find(paths, part) == paths.end()) paths.emplace_back(part);
  if (paths.empty() && !home.empty()) paths.push_back(std::string(home) + "/.kube/config");
  return paths;
}

Result<Access> read_kubeconfig(const std::vector<std::string>& paths, const std::string& context,
                               const ReadFile& read_file) {
  Files files = TRY(read_files(paths, read_file));
  Reader reader(files, read_file);
  TRY_STATUS(reader.read(context));
  return std::move(reader.access());
}

}  // namespace autopilot::kube
