// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/objects/object_lint.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "core/yaml.hpp"
#include "core/yaml_text.hpp"
#include "workloads/migrate/manifest/yaml_writer.hpp"

namespace autopilot::workloads::migrate {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";

// The member behind a path of keys; nullptr: missing.
YamlNode* member_at(YamlNode* node, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (node == nullptr) return nullptr;
    const auto found = std::find_if(node->members.begin(), node->members.end(),
                                    [key](const YamlMember& member) { return member.key == key; });
    node = found == node->members.end() ? nullptr : &found->value;
  }
  return node;
}

std::string text_at(YamlNode& node, std::initializer_list<std::string_view> keys) {
  const YamlNode* found = member_at(&node, keys);
  return found == nullptr ? std::string() : found->text;
}

struct Object {
  std::string file;
  std::string kind;
  YamlNode root;
};

bool is_controller(std::string_view kind) {
  return kind == "DeploymentConfig" || kind == "Deployment" || kind == "StatefulSet" ||
         kind == "ReplicationController";
}

// The PodSpec of an object; nullptr: it has none.
YamlNode* pod_spec_of(Object& object) {
  if (object.kind == "Pod") return member_at(&object.root, {"spec"});
  return member_at(&object.root, {"spec", "template", "spec"});
}

// "powerai" and "tmpdata" of "registry:5000/ns/powerai:tmpdata"
struct ImageName {
  std::string repository;
  std::string tag;
};
ImageName image_name(std::string_view image) {
  const auto slash = image.rfind('/');
  const std::string_view last = slash == std::string_view::npos ? image : image.substr(slash + 1);
  const auto colon = last.find(':');
  return {std::string(last.substr(0, colon)),
          colon == std::string_view::npos ? "latest" : std::string(last.substr(colon + 1))};
}

class Linter {
 public:
  explicit Linter(const std::vector<InputFile>& files) : files_(files) {}

  Result<ObjectLint> run() {
    TRY_STATUS(read());
    for (Object& object : objects_)
      lint_object(object);
    for (const InputFile& file : files_)
      if (is_dockerfile(file)) lint_dockerfile(file);
    for (Object& object : objects_)
      replace(object);
    result_.findings = findings_.sorted();
    result_.needs_decision = findings_.needs_decision();
    return std::move(result_);
  }

 private:
  static bool is_dockerfile(const InputFile& file) {
    return base_of(file.name).starts_with("Dockerfile") || base_of(file.name).starts_with("Containerfile");
  }
  static bool is_yaml(const InputFile& file) {
    return file.name.ends_with(".yaml") || file.name.ends_with(".yml") || file.name.ends_with(".json");
  }
  static std::string_view base_of(std::string_view path) {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
  }

  Status read() {
    for (const InputFile& file : files_) {
      if (!is_yaml(file)) continue;
      YamlProblems problems(file.name);
      YamlNode root = parse_yaml(file.text, problems);
      TRY_STATUS(problems.status());
      std::string kind = text_at(root, {"kind"});
      if (kind.empty())
        return fail(Errc::malformed,
                    file.name + ": the member kind is missing; name a file with an object of Kubernetes");
      objects_.push_back({file.name, std::move(kind), std::move(root)});
    }
    return {};
  }

  void lint_object(Object& object) {
    YamlNode* spec = pod_spec_of(object);
    if (spec == nullptr) return;
    if (is_controller(object.kind))
      findings_.add(Severity::decision, "M-DAEMON-KIND", 0,
                    object.file + ": " + object.kind +
                        " starts its pod again whenever it ends; a training that ends starts anew for ever",
                    "Use the Job that replaces it");
    YamlNode* containers = member_at(spec, {"containers"});
    if (containers == nullptr) return;
    for (YamlNode& container : containers->items) {
      lint_environment(object, container);
      lint_image(object, container);
      lint_gpus(object, container);
    }
  }

  void lint_environment(const Object& object, YamlNode& container) {
    YamlNode* env = member_at(&container, {"env"});
    if (env == nullptr) return;
    const auto removed = std::erase_if(env->items, [](YamlNode& variable) {
      return text_at(variable, {"name"}) == "NVIDIA_VISIBLE_DEVICES" && text_at(variable, {"value"}) == "all";
    });
    if (removed > 0)
      findings_.add(
          Severity::decision, "M-VISIBLE-ALL", 0,
          object.file +
              ": NVIDIA_VISIBLE_DEVICES=all shows all GPUs of the node to the pod, also those of other pods",
          "Remove it, as the replacement does; the device plugin sets it");
  }

  void lint_image(const Object& object, YamlNode& container) {
    YamlNode* image = member_at(&container, {"image"});
    if (image == nullptr) return;
    const ImageName used = image_name(image->text);
    for (Object& build : objects_) {
      if (build.kind != "BuildConfig") continue;
      const ImageName made = image_name(text_at(build.root, {"spec", "output", "to", "name"}));
      if (made.repository != used.repository || made.tag == used.tag) continue;
      findings_.add(Severity::decision, "M-TAG-MISMATCH", 0,
                    build.file + " builds " + made.repository + ":" + made.tag + ", and " + object.file +
                        " uses " + used.repository + ":" + used.tag + ": a new build is never started there",
                    "Use one tag, as the replacement does");
      image->text =
          image->text.substr(
              0, image->text.rfind(':') == std::string::npos ? image->text.size() : image->text.rfind(':')) +
          ":" + made.tag;
      image->quoted = true;
    }
  }

  // A pod for the same image that requests fewer GPUs shows what the program uses.
  void lint_gpus(const Object& object, YamlNode& container) {
    YamlNode* gpus = member_at(&container, {"resources", "limits", kGpu});
    if (gpus == nullptr || !is_controller(object.kind)) return;
    const auto own = parse_number<int>(gpus->text);
    const std::string repository = image_name(text_at(container, {"image"})).repository;
    for (Object& other : objects_) {
      if (other.kind != "Pod") continue;
      YamlNode* containers = member_at(pod_spec_of(other), {"containers"});
      if (containers == nullptr || containers->items.empty()) continue;
      YamlNode& first = containers->items.front();
      const auto fewer = parse_number<int>(text_at(first, {"resources", "limits", kGpu}));
      if (!own || !fewer || *fewer >= *own || image_name(text_at(first, {"image"})).repository != repository)
        continue;
      findings_.add(Severity::warning, "M-IDLE-GPUS", 0,
                    object.file + " requests " + std::to_string(*own) + " GPUs, and " + other.file +
                        " runs the same image with " + std::to_string(*fewer),
                    "Request what the program uses, as the replacement does");
      gpus->text = std::to_string(*fewer);
    }
  }

  void lint_dockerfile(const InputFile& file) {
    std::string text = file.text;
    bool is_changed = false;
    for (const std::string_view line : split(file.text, '\n')) {
      if (!to_lower(line).starts_with("entrypoint")) continue;
      const auto words = split_words(line);
      std::string path(words.size() > 1 ? words[1] : "");
      std::erase_if(path,
                    [](char c) { return std::string_view("[]\",'").find(c) != std::string_view::npos; });
      const std::string_view relative =
          path.starts_with("./") ? std::string_view(path).substr(2) : std::string_view(path);
      const auto elsewhere = place_of_script(relative);
      if (!elsewhere) continue;
      findings_.add(Severity::decision, "M-ENTRYPOINT-MISSING", 0,
                    file.name + ": the entry point " + path + " does not exist; the source has " + *elsewhere,
                    "Correct the path, as the replacement does");
      const auto at = text.find(path);
      if (at != std::string::npos) text.replace(at, path.size(), "./" + *elsewhere);
      is_changed = true;
    }
    if (is_changed) result_.replacements.push_back({file.name, std::move(text)});
  }

  // Another place of a script with that name among the files; nullopt: the path is right, or unknown.
  [[nodiscard]] std::optional<std::string> place_of_script(std::string_view path) const {
    std::optional<std::string> elsewhere;
    for (const InputFile& file : files_) {
      if (base_of(file.name) != base_of(path) || is_yaml(file)) continue;
      if (file.name.ends_with(path)) return std::nullopt;
      elsewhere = file.name;
    }
    return elsewhere;
  }

  void replace(Object& object) {
    if (is_controller(object.kind)) {
      result_.replacements.push_back(
          {text_at(object.root, {"metadata", "name"}) + "-job.yaml", manifest_text(job_of(object))});
      return;
    }
    if (object.kind == "BuildConfig" || object.kind == "Pod")
      result_.replacements.push_back({object.file, manifest_text(object.root)});
  }

  static YamlNode job_of(Object& object) {
    YamlNode job = yaml_map();
    put(job, "apiVersion", "batch/v1");
    put(job, "kind", "Job");
    put(put_map(job, "metadata"), "name", text_at(object.root, {"metadata", "name"}));
    YamlNode pod = yaml_map();
    YamlNode labels = yaml_map();
    if (const YamlNode* old = member_at(&object.root, {"spec", "template", "metadata", "labels"}))
      labels = *old;
    put(labels, "autopilot", "");
    yaml_member(put_map(pod, "metadata"), "labels") = std::move(labels);
    YamlNode spec = *pod_spec_of(object);
    put(spec, "restartPolicy", "Never");
    yaml_member(pod, "spec") = std::move(spec);
    YamlNode& own = put_map(job, "spec");
    put_integer(own, "backoffLimit", 0);
    yaml_member(own, "template") = std::move(pod);
    return job;
  }

  const std::vector<InputFile>& files_;
  std::vector<Object> objects_;
  Findings findings_;
  ObjectLint result_;
};

}  // namespace

Result<ObjectLint> lint_objects(const std::vector<InputFile>& files) {
  return Linter(files).run();
}

}  // namespace autopilot::workloads::migrate
