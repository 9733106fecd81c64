// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/damage.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <vector>

namespace autopilot::simulation {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPage = 4096;
constexpr std::string_view kJournal = "journal.db";

std::size_t below(std::size_t limit, std::mt19937_64& random) {
  return limit == 0 ? 0 : random() % limit;
}

std::string flip(std::string& text, std::mt19937_64& random) {
  const std::size_t flips = 1 + below(16, random);
  for (std::size_t i = 0; i < flips && !text.empty(); ++i) {
    char& byte = text[below(text.size(), random)];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << below(8, random)));
  }
  return std::to_string(flips) + " flipped bits";
}

std::string zero_pages(std::string& text, std::mt19937_64& random) {
  const std::size_t from = below(text.size() / kPage + 1, random) * kPage;
  const std::size_t count =
      std::min((1 + below(3, random)) * kPage, text.size() - std::min(from, text.size()));
  std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(std::min(from, text.size())), count, '\0');
  return std::to_string(count) + " zeros at " + std::to_string(from);
}

std::string cut(std::string& text, std::mt19937_64& random) {
  text.resize(below(text.size() + 1, random));
  return "cut to " + std::to_string(text.size());
}

std::string cut_at_page(std::string& text, std::mt19937_64& random) {
  text.resize(below(text.size() / kPage + 1, random) * kPage);
  return "cut to " + std::to_string(text.size()) + " at a page";
}

std::string without_header(std::string& text, std::mt19937_64& /*random*/) {
  std::fill_n(text.begin(), std::min<std::size_t>(100, text.size()), '\0');
  return "no header";
}

std::string garbage(std::string& text, std::mt19937_64& random) {
  std::ranges::generate(text, [&random] { return static_cast<char>(random()); });
  return "garbage";
}

// In the header, big-endian: the version of the schema, as of an agent to come.
std::string newer_version(std::string& text, std::mt19937_64& /*random*/) {
  constexpr std::size_t kUserVersion = 63;
  if (text.size() > kUserVersion) text[kUserVersion] = 99;
  return "version 99";
}

// Blocks that the disk took and never wrote.
std::string lost_block(std::string& text, const std::string& older, std::mt19937_64& random) {
  const std::size_t from = below(text.size() / kPage + 1, random) * kPage;
  for (std::size_t i = from; i < std::min(from + kPage, text.size()); ++i)
    text[i] = i < older.size() ? older[i] : '\0';
  return "an older block at " + std::to_string(from);
}

std::string damage_text(std::string& text, const std::string& older, std::mt19937_64& random) {
  using Way = std::function<std::string(std::string&, std::mt19937_64&)>;
  const std::vector<Way> ways{flip,
                              flip,
                              zero_pages,
                              cut,
                              cut_at_page,
                              without_header,
                              garbage,
                              newer_version,
                              [&older](std::string& text_now, std::mt19937_64& numbers) {
                                return lost_block(text_now, older, numbers);
                              }};
  return ways[below(ways.size(), random)](text, random);
}

std::string older_of(const Picture& older, const std::string& name) {
  const auto found = older.find(name);
  return found == older.end() ? "" : found->second;
}

}  // namespace

Picture picture_of(const std::string& folder) {
  Picture picture;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    picture[entry.path().filename().string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return picture;
}

void restore(const Picture& picture, const std::string& folder) {
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [name, text] : picture)
    std::ofstream(fs::path(folder) / name, std::ios::binary) << text;
}

std::string damage(Picture& picture, const Picture& older, bool spares_lock, std::mt19937_64& random) {
  std::vector<std::string> names;
  for (const auto& [name, text] : picture)
    if (name.starts_with(kJournal) && name.find(".unusable-") == std::string::npos &&
        !(spares_lock && name.ends_with(".lock")))
      names.push_back(name);
  if (names.empty()) return "nothing to damage";
  const std::string name = names[below(names.size(), random)];
  switch (below(8, random)) {
    case 0:
      picture.erase(name);
      return name + ": removed";
    case 1:
      picture[name] = older_of(older, name);
      return name + ": an older one in its place";
    case 2: {  // the database of before, whole; its lock is not
      for (const char* ending : {"", "-wal"}) {
        const std::string part = std::string(kJournal) + ending;
        picture.erase(part);
        if (const auto found = older.find(part); found != older.end()) picture[part] = found->second;
      }
      return "journal.db and its log: older ones in their place";
    }
    default:
      return name + ": " + damage_text(picture[name], older_of(older, name), random);
  }
}

}  // namespace autopilot::simulation
