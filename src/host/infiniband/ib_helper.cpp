// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/ib_helper.hpp"

#include <optional>
#include <utility>

#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/message.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kRead = "read";
constexpr std::size_t kMaxFile = 4096;  // of sysfs

// The helper may hold rights that its agent has not.
bool is_inside(std::string_view path) {
  return path.starts_with(IbFiles::kFolder) && path.find("/..") == std::string_view::npos;
}

Result<std::string> answer_read(const Files& files, std::string_view params) {
  const auto path = text_in(params);
  if (!path || !is_inside(*path)) return fail(Errc::malformed, "read: no file of an adapter");
  return make_text_message(TRY(files.read(*path, kMaxFile)));
}

// "mlx5_0"
std::string adapter_in(std::string_view path) {
  path.remove_prefix(IbFiles::kFolder.size());
  return std::string(path.substr(0, path.find('/')));
}

}  // namespace

int run_ib_helper(int fd, const std::string& root) {
  const Files files(root);
  return serve(fd, {{std::string(kRead),
                     [&files](std::string_view params, MonoTime) { return answer_read(files, params); }}});
}

IbFiles::IbFiles(Command helper, Duration ask_again)
    : ask_again_(ask_again), helper_("ib", std::move(helper)) {}

Result<std::string> IbFiles::read(std::string_view path) {
  if (!is_inside(path)) return fail(Errc::malformed, std::string(path) + ": no file of an adapter");
  const std::string adapter = adapter_in(path);
  if (still_hangs(adapter))
    return fail(Errc::timed_out, std::string(path) + ": the adapter did not answer when last asked");
  auto answer = helper_.call(kRead, make_text_message(path), mono_now() + kPatience);
  if (!answer) {
    if (answer.error().failure == HelperFailure::timed_out) {
      const std::lock_guard lock(mutex_);
      hangs_[adapter] = {.helper = answer.error().stuck_pid, .ask_again = mono_now() + ask_again_};
    }
    Error error = error_of_subject(std::move(answer).error());
    return fail(error.code, std::string(path) + ": " + error.what);
  }
  auto text = text_in(*answer);
  if (!text) return fail(Errc::internal, std::string(path) + ": ib helper: no answer to read");
  return std::move(*text);
}

bool IbFiles::still_hangs(const std::string& adapter) {
  const std::lock_guard lock(mutex_);
  const auto found = hangs_.find(adapter);
  if (found == hangs_.end()) return false;
  if (helper_.is_stuck(found->second.helper) || mono_now() < found->second.ask_again) return true;
  hangs_.erase(found);
  return false;
}

}  // namespace autopilot::host
