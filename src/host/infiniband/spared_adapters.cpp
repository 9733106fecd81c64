// SPDX-License-Identifier: Apache-2.0
#include "host/infiniband/spared_adapters.hpp"

#include <optional>
#include <string_view>

#include "core/parse.hpp"
#include "core/subject.hpp"

namespace autopilot::host {
namespace {

class NobodySpared final : public SparedAdapters {
 public:
  [[nodiscard]] bool is_spared(const std::string& /*pci_address*/, MonoTime /*deadline*/) const override {
    return false;
  }
};

// "mlx5_core 0000:d2:00.0: mlx5_cmd_out_err:808:(pid 1): ACCESS_REG(0x805) op_mod(0x1) failed, ..."
std::optional<std::string> complaining_adapter(std::string_view text) {
  const auto refusal = text.find("ACCESS_REG");
  if (refusal == std::string_view::npos || text.find("failed", refusal) == std::string_view::npos ||
      text.find("mlx5_cmd") == std::string_view::npos)
    return std::nullopt;
  const auto words = split_words(text);
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "mlx5_core")
      return canonical_pci_address(words[i + 1].substr(0, words[i + 1].find_last_not_of(':') + 1));
  return std::nullopt;
}

}  // namespace

const SparedAdapters& SparedAdapters::none() {
  static const NobodySpared nobody;
  return nobody;
}

bool ComplainingAdapters::is_spared(const std::string& pci_address, MonoTime deadline) const {
  const std::lock_guard lock(mutex_);
  const KernelLog::Wanted wanted{"spared adapters", LogParts::others,
                                 [](const KernelRecord& record) { return record.from_kernel(); }};
  if (const auto news = log_.read_if(next_, deadline, wanted)) {
    next_ = news->next;
    for (const KernelRecord& record : news->records) {
      if (complaining_.size() >= kMaxAdapters) break;
      if (auto address = complaining_adapter(record.text)) complaining_.insert(*std::move(address));
    }
  }
  return complaining_.contains(pci_address);
}

}  // namespace autopilot::host
