// SPDX-License-Identifier: Apache-2.0
#include "kube/stored_texts.hpp"

#include <boost/json.hpp>
#include <utility>

#include "kube/base64.hpp"
#include "kube/json_object.hpp"
#include "kube/json_path.hpp"

namespace autopilot::kube {

namespace json = boost::json;

namespace {

std::string as_it_is(std::string_view text) {
  return std::string(text);
}

using Encode = std::string (*)(std::string_view);

json::object data_of(const Texts& texts, Encode encode) {
  json::object data;
  for (const auto& [name, text] : texts)
    data[name] = encode(text);
  return data;
}

json::object meta_of(const Meta& meta) {
  json::object labels;
  for (const auto& [key, value] : meta.labels)
    labels[key] = value;
  return {{"name", meta.name}, {"labels", labels}};
}

json::object object_of(const char* kind, const Meta& meta, const Texts& texts, Encode encode) {
  return {
      {"apiVersion", "v1"}, {"kind", kind}, {"metadata", meta_of(meta)}, {"data", data_of(texts, encode)}};
}

std::string patch_of(const StoredTexts& old, const Texts& next, Encode encode) {
  json::object data = data_of(next, encode);
  for (const auto& gone : old.texts)
    if (!next.contains(gone.first)) data[gone.first] = nullptr;
  return json::serialize(
      json::object{{"metadata", json::object{{"resourceVersion", old.meta.version}}}, {"data", data}});
}

Result<StoredTexts> parse(std::string_view text, std::string_view kind) {
  const auto object = parse_object(text);
  if (!object || text_at(*object, {"kind"}) != kind)
    return fail(Errc::malformed, "the response is not a " + std::string(kind));
  StoredTexts stored;
  stored.meta = parse_meta({*object});
  if (const json::object* data = object_at(*object, {"data"}))
    for (const auto& member : *data)
      if (const json::string* one = member.value().if_string())
        stored.texts.emplace(std::string(member.key()), std::string(one->data(), one->size()));
  return stored;
}

}  // namespace

std::string secrets_path(const std::string& name_space) {
  return "/api/v1/namespaces/" + name_space + "/secrets";
}

std::string config_maps_path(const std::string& name_space) {
  return "/api/v1/namespaces/" + name_space + "/configmaps";
}

Result<StoredTexts> parse_secret(std::string_view text) {
  StoredTexts stored = TRY(parse(text, "Secret"));
  for (auto& [name, value] : stored.texts) {
    auto decoded = decode_base64(value);
    if (!decoded)
      return fail(Errc::malformed, "the Secret " + stored.meta.name + ": " + name + " is not base64");
    value = std::move(*decoded);
  }
  return stored;
}

Result<StoredTexts> parse_config_map(std::string_view text) {
  return parse(text, "ConfigMap");
}

std::string secret_json(const Meta& meta, const std::string& type, const Texts& texts) {
  json::object object = object_of("Secret", meta, texts, &encode_base64);
  object["type"] = type;
  return json::serialize(object);
}

std::string config_map_json(const Meta& meta, const Texts& texts) {
  return json::serialize(object_of("ConfigMap", meta, texts, &as_it_is));
}

std::string secret_patch_json(const StoredTexts& old, const Texts& next) {
  return patch_of(old, next, &encode_base64);
}

std::string config_map_patch_json(const StoredTexts& old, const Texts& next) {
  return patch_of(old, next, &as_it_is);
}

}  // namespace autopilot::kube
