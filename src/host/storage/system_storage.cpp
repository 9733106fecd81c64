// SPDX-License-Identifier: Apache-2.0
#include "host/storage/system_storage.hpp"

#include <boost/json.hpp>
#include <cerrno>
#include <sys/statvfs.h>

#include "core/text.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"

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

Result<std::string> answer_nvme_health(std::string_view params, MonoTime) {
  const auto controller = text_of(parse(params), "controller");
  // Only a controller's own device file: the helper may hold rights that its agent has not.
  if (!controller || !is_nvme_controller(*controller))
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

Result<Usage> read_usage(const std::string& mount_point) {
  struct statvfs status {};
  while (::statvfs(mount_point.c_str(), &status) != 0)
    if (errno != EINTR) return fail_errno(errno, "statfs " + mount_point);
  const std::uint64_t block = status.f_frsize;
  return Usage{.total_bytes = status.f_blocks * block,
               .free_bytes = status.f_bfree * block,
               .available_bytes = status.f_bavail * block,
               .total_inodes = status.f_files,
               .free_inodes = status.f_ffree};
}

Result<std::vector<Mount>> SystemFilesystems::mounts() const {
  const std::string text = TRY(files_.read("/proc/self/mountinfo"));
  return parse_mountinfo(text);
}

Result<Usage> SystemFilesystems::usage(const Mount& mount, MonoTime deadline) const {
  if (!may_hang(mount)) return read_usage(mount.mount_point);
  if (still_hangs(mount.mount_point))
    return fail(Errc::timed_out, mount.mount_point + ": did not answer when last asked");
  auto answer = ask_usage(helper_, mount.mount_point, deadline);
  if (answer) return *answer;
  if (answer.error().failure == HelperFailure::timed_out) remember(mount.mount_point, answer.error());
  return fail(error_of_subject(std::move(answer).error()));
}

bool SystemFilesystems::still_hangs(const std::string& mount_point) const {
  const std::lock_guard lock(mutex_);
  const auto found = hangs_.find(mount_point);
  if (found == hangs_.end()) return false;
  if (helper_.is_stuck(found->second.helper) || mono_now() < found->second.ask_again) return true;
  hangs_.erase(found);
  return false;
}

void SystemFilesystems::remember(const std::string& mount_point, const HelperError& error) const {
  const std::lock_guard lock(mutex_);
  hangs_[mount_point] = {.helper = error.stuck_pid, .ask_again = mono_now() + kAskAgain};
}

Result<std::vector<NvmeController>> SystemNvmeDevices::controllers() const {
  return read_nvme_controllers(files_);
}

Result<NvmeHealth> SystemNvmeDevices::health(const std::string& controller, MonoTime deadline) const {
  auto answer =
      helper_.call(kNvmeHealth, json::serialize(json::object{{"controller", controller}}), deadline);
  if (!answer) return fail(error_of_subject(std::move(answer).error()));
  const auto page = from_hex(text_of(parse(*answer), "page").value_or(""));
  const auto health = page ? parse_nvme_health(*page) : fail(Errc::malformed, "");
  if (!health) return fail(error_of_subject(malformed(kNvmeHealth)));
  return *health;
}

}  // namespace autopilot::host
