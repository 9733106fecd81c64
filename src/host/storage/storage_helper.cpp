// SPDX-License-Identifier: Apache-2.0
#include "host/storage/storage_helper.hpp"

#include <boost/json.hpp>

#include "core/hex.hpp"
#include "core/parse.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/storage/nvme_ioctl.hpp"
#include "host/storage/system_filesystems.hpp"

namespace autopilot::host {
namespace {

namespace json = boost::json;

constexpr std::string_view kStatfs = "statfs";
constexpr std::string_view kNvmeHealth = "nvme_health";

json::value parse(std::string_view text) {
  json::error_code error;
  json::parse_options options;
  options.allow_invalid_utf8 = true;
  json::value value = json::parse({text.data(), text.size()}, error, {}, options);
  return error ? json::value() : value;
}

// The text of a member, or nothing.
std::optional<std::string> text_of(const json::value& value, std::string_view key) {
  const auto* object = value.if_object();
  const auto* member = object == nullptr ? nullptr : object->if_contains(key);
  if (member == nullptr || !member->is_string()) return std::nullopt;
  return std::string(member->get_string());
}

std::optional<std::uint64_t> count_of(const json::value& value, std::string_view key) {
  const auto* object = value.if_object();
  const auto* member = object == nullptr ? nullptr : object->if_contains(key);
  if (member == nullptr) return std::nullopt;
  json::error_code error;
  const auto count = member->to_number<std::uint64_t>(error);
  return error ? std::nullopt : std::optional(count);
}

std::string encode_usage(const Usage& usage) {
  return json::serialize(json::object{{"totalBytes", usage.total_bytes},
                                      {"freeBytes", usage.free_bytes},
                                      {"availableBytes", usage.available_bytes},
                                      {"totalInodes", usage.total_inodes},
                                      {"freeInodes", usage.free_inodes}});
}

std::optional<Usage> decode_usage(std::string_view text) {
  const json::value value = parse(text);
  const auto total = count_of(value, "totalBytes");
  const auto free = count_of(value, "freeBytes");
  const auto available = count_of(value, "availableBytes");
  const auto inodes = count_of(value, "totalInodes");
  const auto free_inodes = count_of(value, "freeInodes");
  if (!total || !free || !available || !inodes || !free_inodes) return std::nullopt;
  return Usage{.total_bytes = *total,
               .free_bytes = *free,
               .available_bytes = *available,
               .total_inodes = *inodes,
               .free_inodes = *free_inodes};
}

Result<std::string> answer_statfs(std::string_view params, MonoTime) {
  const auto path = text_of(parse(params), "path");
  if (!path) return fail(Errc::malformed, "statfs: no path");
  const Usage usage = TRY(read_usage(*path));
  return encode_usage(usage);
}

// Only a controller's own device file: the helper may hold rights that its agent has not.
bool is_controller_name(std::string_view name) {
  return name.starts_with("nvme") && parse_number<unsigned>(name.substr(4)).has_value();
}

Result<std::string> answer_nvme_health(std::string_view params, MonoTime) {
  const auto controller = text_of(parse(params), "controller");
  if (!controller || !is_controller_name(*controller))
    return fail(Errc::malformed, "nvme_health: no controller");
  const std::string page = TRY(read_nvme_health_page(*controller));
  return json::serialize(json::object{{"page", to_hex(page)}});
}

HelperError malformed(std::string_view method) {
  return {.failure = HelperFailure::malformed,
          .error = {.code = Errc::malformed, .what = "storage helper: no answer to " + std::string(method)}};
}

}  // namespace

int run_storage_helper(int fd) {
  return serve(fd, {{std::string(kStatfs), answer_statfs}, {std::string(kNvmeHealth), answer_nvme_health}});
}

tl::expected<Usage, HelperError> ask_usage(HelperClient& client, const std::string& mount_point,
                                           MonoTime deadline) {
  const auto answer = client.call(kStatfs, json::serialize(json::object{{"path", mount_point}}), deadline);
  if (!answer) return tl::unexpected(answer.error());
  const auto usage = decode_usage(*answer);
  if (!usage) return tl::unexpected(malformed(kStatfs));
  return *usage;
}

tl::expected<NvmeHealth, HelperError> ask_nvme_health(HelperClient& client, const std::string& controller,
                                                      MonoTime deadline) {
  const auto answer =
      client.call(kNvmeHealth, json::serialize(json::object{{"controller", controller}}), deadline);
  if (!answer) return tl::unexpected(answer.error());
  const auto page = from_hex(text_of(parse(*answer), "page").value_or(""));
  const auto health = page ? parse_nvme_health(*page) : fail(Errc::malformed, "");
  if (!health) return tl::unexpected(malformed(kNvmeHealth));
  return *health;
}

}  // namespace autopilot::host
