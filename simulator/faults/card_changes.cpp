// SPDX-License-Identifier: Apache-2.0
// Changes of whole cards: a reset, another card in the slot, two cards that changed places. These are never
// undone. Cards are changed while the machine is off: a tree with such a change shows the next boot.
#include <algorithm>
#include <utility>

#include "core/parse.hpp"
#include "faults/effect.hpp"
#include "machine/build.hpp"

namespace autopilot::simulator {
namespace {

// Clears the readings that a reset clears. Lifetime counters change only with the card.
void clear_readings(YamlNode& gpu, bool is_another_card) {
  yaml_remove(gpu, "state");
  for (YamlMember& reading : yaml_member(gpu, "readings").members) {
    const bool is_flag = reading.key == "row_remap.pending" ||
                         (is_another_card && (reading.key == "row_remap.failed" ||
                                              reading.key == "ecc.sram_threshold_exceeded"));
    const bool is_counter = reading.key.starts_with("ecc.") &&
                            (reading.key.find("volatile") != std::string::npos ||
                             (is_another_card && reading.key.find("aggregate") != std::string::npos));
    if (is_flag) reading.value = yaml_flag(false);
    if (is_counter) reading.value = yaml_integer(0);
  }
}

void show_in_procfs(FileTree& files, const std::string& address, const YamlNode& gpu) {
  const std::string path = "/proc/driver/nvidia/gpus/" + address + "/information";
  const std::string* text = files.text(path);
  const YamlNode* uuid = gpu.find("uuid");
  if (text == nullptr || uuid == nullptr) return;
  std::string changed;
  for (const std::string_view line : split(*text, '\n')) {
    if (line.empty()) continue;
    changed += line.starts_with("GPU UUID:") ? "GPU UUID: \t " + uuid->text : std::string(line);
    changed += '\n';
  }
  files.write(path, std::move(changed));
}

}  // namespace

void apply_gpu_reset(FaultEffect& effect) {
  if (YamlNode* gpu = effect.machine.gpu(effect.key)) clear_readings(*gpu, false);
  effect.xid(0, effect.key, 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)");
}

void apply_card_replaced(FaultEffect& effect) {
  YamlNode* gpu = effect.machine.gpu(effect.key);
  if (gpu == nullptr) return;
  const std::string serial = gpu->find("serial") == nullptr ? "0" : gpu->find("serial")->text;
  yaml_member(*gpu, "serial") = yaml_word("9" + serial);
  yaml_member(*gpu, "uuid") = yaml_word("GPU-" + uuid_of(effect.key + " replaced " + serial));
  clear_readings(*gpu, true);
  show_in_procfs(effect.files, effect.key, *gpu);
}

void apply_card_swapped(FaultEffect& effect) {
  const auto slots = effect.machine.gpus();
  const auto here = std::ranges::find(slots, effect.key);
  if (here == slots.end() || slots.size() < 2) return;
  const std::string& other = std::next(here) == slots.end() ? slots.front() : *std::next(here);
  YamlNode* one = effect.machine.gpu(effect.key);
  YamlNode* two = effect.machine.gpu(other);
  if (one == nullptr || two == nullptr) return;
  for (const char* word : {"uuid", "serial"})
    std::swap(yaml_member(*one, word), yaml_member(*two, word));
  YamlNode& first = yaml_member(*one, "readings");
  YamlNode& second = yaml_member(*two, "readings");
  std::swap(first, second);
  // The driver numbers slots, not cards.
  std::swap(yaml_member(first, "minor"), yaml_member(second, "minor"));
  for (const std::string& slot : {effect.key, other})
    show_in_procfs(effect.files, slot, *effect.machine.gpu(slot));
}

}  // namespace autopilot::simulator
