// SPDX-License-Identifier: Apache-2.0
#include "tests/simulation/faulty_disk.hpp"

#include <atomic>
#include <sqlite3.h>

namespace autopilot::simulation {
namespace {

std::atomic<DiskFault> fault_now{DiskFault::none};
std::atomic<std::int64_t> writes_left{0};
sqlite3_vfs* real_disk = nullptr;

// SQLite gives the memory; the file below it follows this one.
struct File {
  sqlite3_file base;
  [[nodiscard]] sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

sqlite3_file* real_of(sqlite3_file* file) {
  return reinterpret_cast<File*>(file)->real();
}

const sqlite3_io_methods& methods_of(sqlite3_file* file) {
  return *real_of(file)->pMethods;
}

// SQLITE_OK, or how the write fails.
int next_write() {
  const DiskFault fault = fault_now;
  if (fault == DiskFault::none || writes_left.fetch_sub(1) > 0) return SQLITE_OK;
  switch (fault) {
    case DiskFault::full:
      return SQLITE_FULL;
    case DiskFault::read_only:
      return SQLITE_READONLY;
    default:
      return SQLITE_IOERR_WRITE;
  }
}

int close_file(sqlite3_file* file) {
  return methods_of(file).xClose(real_of(file));
}
int read_file(sqlite3_file* file, void* to, int size, sqlite3_int64 at) {
  return methods_of(file).xRead(real_of(file), to, size, at);
}
int write_file(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
  if (const int fails = next_write(); fails != SQLITE_OK) return fails;
  return methods_of(file).xWrite(real_of(file), from, size, at);
}
int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  if (const int fails = next_write(); fails != SQLITE_OK) return fails;
  return methods_of(file).xTruncate(real_of(file), size);
}
int sync_file(sqlite3_file* /*file*/, int /*flags*/) {
  return fault_now == DiskFault::io_error && writes_left <= 0 ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}
int size_of_file(sqlite3_file* file, sqlite3_int64* size) {
  return methods_of(file).xFileSize(real_of(file), size);
}
int lock_file(sqlite3_file* file, int level) {
  return methods_of(file).xLock(real_of(file), level);
}
int unlock_file(sqlite3_file* file, int level) {
  return methods_of(file).xUnlock(real_of(file), level);
}
int check_reserved(sqlite3_file* file, int* is_reserved) {
  return methods_of(file).xCheckReservedLock(real_of(file), is_reserved);
}
int control_file(sqlite3_file* file, int what, void* argument) {
  return methods_of(file).xFileControl(real_of(file), what, argument);
}
int sector_size(sqlite3_file* file) {
  return methods_of(file).xSectorSize(real_of(file));
}
int characteristics(sqlite3_file* file) {
  return methods_of(file).xDeviceCharacteristics(real_of(file));
}
int map_index(sqlite3_file* file, int page, int size, int extends, void volatile** at) {
  return methods_of(file).xShmMap(real_of(file), page, size, extends, at);
}
int lock_index(sqlite3_file* file, int at, int count, int flags) {
  return methods_of(file).xShmLock(real_of(file), at, count, flags);
}
void barrier_of_index(sqlite3_file* file) {
  methods_of(file).xShmBarrier(real_of(file));
}
int unmap_index(sqlite3_file* file, int removes) {
  return methods_of(file).xShmUnmap(real_of(file), removes);
}

constexpr sqlite3_io_methods kMethods{
    2,          close_file,       read_file,      write_file,   truncate_file, sync_file,       size_of_file,
    lock_file,  unlock_file,      check_reserved, control_file, sector_size,   characteristics, map_index,
    lock_index, barrier_of_index, unmap_index,    nullptr,      nullptr};

int open_file(sqlite3_vfs* /*disk*/, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const int result = real_disk->xOpen(real_disk, name, real_of(file), flags, out_flags);
  file->pMethods = real_of(file)->pMethods == nullptr ? nullptr : &kMethods;
  return result;
}

}  // namespace

void install_faulty_disk() {
  static sqlite3_vfs disk;
  real_disk = sqlite3_vfs_find(nullptr);
  disk = *real_disk;
  disk.zName = "faulty";
  disk.szOsFile = static_cast<int>(sizeof(File)) + real_disk->szOsFile;
  disk.xOpen = open_file;
  sqlite3_vfs_register(&disk, 1);
}

void set_disk_fault(DiskFault fault, std::uint64_t writes) {
  writes_left = static_cast<std::int64_t>(writes);
  fault_now = fault;
}

}  // namespace autopilot::simulation
