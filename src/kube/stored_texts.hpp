// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "kube/objects.hpp"

// Secrets and ConfigMaps: objects that hold texts by their names. Pure.
namespace autopilot::kube {

using Texts = std::map<std::string, std::string, std::less<>>;

struct StoredTexts {
  Meta meta;
  Texts texts;
};

[[nodiscard]] std::string secrets_path(const std::string& name_space);
[[nodiscard]] std::string config_maps_path(const std::string& name_space);

// malformed: no such object, or a text of a Secret that is not base64. No error holds a text of a Secret.
[[nodiscard]] Result<StoredTexts> parse_secret(std::string_view text);
[[nodiscard]] Result<StoredTexts> parse_config_map(std::string_view text);

// Of one that is to be created: name and labels of meta count. type: "kubernetes.io/tls".
[[nodiscard]] std::string secret_json(const Meta& meta, const std::string& type, const Texts& texts);
[[nodiscard]] std::string config_map_json(const Meta& meta, const Texts& texts);
// Merge patches that make `next` of the texts of `old`, and that the server refuses where the object is not
// of the version of `old` any more.
[[nodiscard]] std::string secret_patch_json(const StoredTexts& old, const Texts& next);
[[nodiscard]] std::string config_map_patch_json(const StoredTexts& old, const Texts& next);

}  // namespace autopilot::kube
