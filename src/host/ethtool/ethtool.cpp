// SPDX-License-Identifier: Apache-2.0
#include "host/ethtool/ethtool.hpp"

#include <boost/json.hpp>
#include <limits>
#include <utility>

#include "core/parse.hpp"
#include "core/text.hpp"

namespace autopilot::host {
namespace {

class NoEthtool final : public Ethtool {
 public:
  [[nodiscard]] std::vector<Result<EthtoolPort>> read(const std::vector<std::string>& interfaces,
                                                      MonoTime) const override {
    return {interfaces.size(), fail(Errc::unsupported, "no backend for ethtool")};
  }
};

}  // namespace

const Ethtool& Ethtool::none() {
  static const NoEthtool nobody;
  return nobody;
}

namespace {

namespace json = boost::json;

constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxWhat = 400;

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Errc::malformed, "ethtool helper's answer: " + what);
}

json::value json_of(const Error& error) {
  return {{"error", {{"code", to_string(error.code)}, {"what", to_printable(error.what, kMaxWhat)}}}};
}

json::value json_of(const PortLink& link) {
  json::object object{{"reason", link.reason}, {"detail", link.detail}};
  if (link.signal_quality) object["signalQuality"] = *link.signal_quality;
  if (link.signal_quality_max) object["signalQualityMax"] = *link.signal_quality_max;
  return object;
}

json::value json_of(const PortFec& fec) {
  json::object object{{"mode", fec.mode}};
  if (fec.corrected_blocks) object["correctedBlocks"] = *fec.corrected_blocks;
  if (fec.uncorrectable_blocks) object["uncorrectableBlocks"] = *fec.uncorrectable_blocks;
  return object;
}

json::value json_of(const ModuleMemory& memory) {
  json::object parts;
  for (const auto& [place, bytes] : memory.parts)
    parts[to_string(place)] = to_hex(bytes);
  json::object object{{"parts", std::move(parts)}};
  if (memory.problem) object["problem"] = json_of(*memory.problem);
  return object;
}

template <class T>
json::value json_of(const Result<T>& result) {
  return result ? json_of(*result) : json_of(result.error());
}

Result<std::string> word_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return malformed(std::string(name) + " is not a word");
  const std::string_view word = value->get_string();
  if (word.size() > kMaxWord || !is_printable(word)) return malformed(std::string(name) + " is not a word");
  return std::string(word);
}

template <class T>
Result<std::optional<T>> number_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return std::optional<T>();
  json::error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  if (error || number > static_cast<std::uint64_t>(std::numeric_limits<T>::max()))
    return malformed(std::string(name) + " is not a number");
  return std::optional<T>(static_cast<T>(number));
}

Result<Error> error_of(const json::value& value) {
  const json::object* outer = value.if_object();
  const json::value* inner = outer == nullptr ? nullptr : outer->if_contains("error");
  const json::object* object = inner == nullptr ? nullptr : inner->if_object();
  if (object == nullptr) return malformed("no error where one should be");
  const auto code = parse_errc(TRY(word_of(*object, "code")));
  const json::value* what = object->if_contains("what");
  if (!code || what == nullptr || !what->is_string()) return malformed("no error where one should be");
  return Error{*code, to_printable(std::string_view(what->get_string()), kMaxWhat)};
}

Result<PortLink> link_of(const json::object& object) {
  PortLink link;
  link.reason = TRY(word_of(object, "reason"));
  link.detail = TRY(word_of(object, "detail"));
  link.signal_quality = TRY(number_of<int>(object, "signalQuality"));
  link.signal_quality_max = TRY(number_of<int>(object, "signalQualityMax"));
  return link;
}

Result<PortFec> fec_of(const json::object& object) {
  PortFec fec;
  fec.mode = TRY(word_of(object, "mode"));
  fec.corrected_blocks = TRY(number_of<std::uint64_t>(object, "correctedBlocks"));
  fec.uncorrectable_blocks = TRY(number_of<std::uint64_t>(object, "uncorrectableBlocks"));
  return fec;
}

Result<ModuleMemory> module_of(const json::object& object) {
  const json::value* parts = object.if_contains("parts");
  if (parts == nullptr || !parts->is_object() || parts->get_object().size() > ModuleMemory::kMaxParts)
    return malformed("no parts of a module");
  ModuleMemory memory;
  for (const auto& part : parts->get_object()) {
    const auto place = parse_module_place(part.key());
    const auto bytes = part.value().is_string() ? from_hex(part.value().get_string()) : std::nullopt;
    if (!place || !bytes || bytes->size() > ModuleMemory::kMaxPart)
      return malformed("no part of a module where one should be");
    memory.parts[*place] = *bytes;
  }
  if (const json::value* problem = object.if_contains("problem")) memory.problem = TRY(error_of(*problem));
  return memory;
}

// The part of that name: its value, or its error.
template <class T>
Result<Result<T>> part_of(const json::object& object, std::string_view name,
                          Result<T> (*parse)(const json::object&)) {
  const json::value* value = object.if_contains(name);
  const json::object* part = value == nullptr ? nullptr : value->if_object();
  if (part == nullptr) return malformed(std::string(name) + " is missing");
  if (part->contains("error")) return Result<T>(fail(TRY(error_of(*value))));
  return Result<T>(TRY(parse(*part)));
}

}  // namespace

std::string format_ethtool_port(const EthtoolPort& port) {
  return json::serialize(json::object{
      {"link", json_of(port.link)}, {"fec", json_of(port.fec)}, {"module", json_of(port.module)}});
}

Result<EthtoolPort> parse_ethtool_port(std::string_view text) {
  json::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  const json::object* object = error ? nullptr : value.if_object();
  if (object == nullptr) return malformed("no object");
  auto link = TRY(part_of(*object, "link", link_of));
  auto fec = TRY(part_of(*object, "fec", fec_of));
  auto module = TRY(part_of(*object, "module", module_of));
  return EthtoolPort{std::move(link), std::move(fec), std::move(module)};
}

}  // namespace autopilot::host
