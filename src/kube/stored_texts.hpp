// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "kube/objects.hpp"

// Secrets and ConfigMaps: objects that hold texts by name. Pure.
namespace autopilot::kube {

using Texts = std::map<std::string, std::string, std::less<>>;

struct StoredTexts {
  Meta meta;
  Texts texts;
};

[[nodiscard]] std::string secrets_path(const std::string& name_space);
[[nodiscard]] std::string config_maps_path(const std::string& name_space);

// malformed: not such an object, or a text of a Secret that is not base64. Errors contain no text of a
// Secret.
[[nodiscard]] Result<StoredTexts> parse_secret(std::string_view text);
[[nodiscard]] Result<StoredTexts> parse_config_map(std::string_view text);

// A new object; uses name and labels of meta. type: "kubernetes.io/tls".
[[nodiscard]] std::string secret_json(const Meta& meta, const std::string& type, const Texts& texts);
[[nodiscard]] std::string config_map_json(const Meta& meta, const Texts& texts);
// Merge patches that turn the texts of `old` into `next`. The server refuses them if the object no longer has
// the version of `old`.
[[nodiscard]] std::string secret_patch_json(const StoredTexts& old, const Texts& next);
[[nodiscard]] std::string config_map_patch_json(const StoredTexts& old, const Texts& next);

}  // namespace autopilot::kube
