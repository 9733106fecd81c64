// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <link.h>
#include <span>

#include "portability/glibc.hpp"

// Start of the program or library that contains this code; linkers define the symbol.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,readability-identifier-naming): the linker's name
extern "C" const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

namespace autopilot::portability {
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): the loader returns numbers
}

// True if the address is in one of the segments; `found` then describes the object.
bool find_in(std::uintptr_t base, std::span<const ElfW(Phdr)> segments, const Search& search) {
  bool is_here = false;
  std::uintptr_t frames = 0;
  std::uintptr_t end = base;
  std::uintptr_t begin = UINTPTR_MAX;
  for (const ElfW(Phdr) & segment : segments) {
    const std::uintptr_t at = base + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) frames = at;
    if (segment.p_type != PT_LOAD) continue;
    begin = at < begin ? at : begin;
    end = at + segment.p_memsz > end ? at + segment.p_memsz : end;
    if (search.address >= at && search.address - at < segment.p_memsz) is_here = true;
  }
  if (!is_here || frames == 0) return false;
  *search.found = {};
  search.found->dlfo_map_start = pointer(begin);
  search.found->dlfo_map_end = pointer(end);
  search.found->dlfo_eh_frame = pointer(frames);
  return true;
}

int look_at(dl_phdr_info* info, std::size_t /*size*/, void* search) {
  return find_in(info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phnum}, *static_cast<const Search*>(search))
             ? 1
             : 0;
}

bool find_in_own(const Search& search) {
  const auto start = reinterpret_cast<std::uintptr_t>(&__ehdr_start);
  const std::span segments(static_cast<const ElfW(Phdr)*>(pointer(start + __ehdr_start.e_phoff)),
                           __ehdr_start.e_phnum);
  for (const ElfW(Phdr) & segment : segments)
    if (segment.p_type == PT_LOAD && segment.p_offset == 0)
      return find_in(start - segment.p_vaddr, segments, search);
  return false;
}

}  // namespace

int find_object(void* address, dl_find_object* found) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  // Nearly every frame is in this object, and this search takes no lock: exceptions in many threads do not
  // wait for each other, nor for a thread that loads a library.
  if (find_in_own(search)) return 0;
  return ::dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}

}  // namespace autopilot::portability
