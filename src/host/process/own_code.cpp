// SPDX-License-Identifier: Apache-2.0
#include "host/process/own_code.hpp"

#include <cstddef>
#include <cstdint>
#include <link.h>
#include <sys/mman.h>

namespace autopilot::host {
namespace {

// Read-only parts of the file, which nobody has changed in memory.
bool is_code(const ElfW(Phdr) & part) {
  return part.p_type == PT_LOAD && (part.p_flags & PF_W) == 0;
}

// The loader tells of the program first.
int unmap_code_of_program(dl_phdr_info* program, std::size_t, void*) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = program->dlpi_phdr[i];
    if (!is_code(part)) continue;
    const std::uintptr_t begin = (program->dlpi_addr + part.p_vaddr) & ~(part.p_align - 1);
    const std::uintptr_t end = program->dlpi_addr + part.p_vaddr + part.p_memsz;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells numbers
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;
}

}  // namespace

void unmap_own_code() {
  (void)::dl_iterate_phdr(unmap_code_of_program, nullptr);
}

}  // namespace autopilot::host
