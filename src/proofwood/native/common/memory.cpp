#include "common/memory.hpp"

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#if defined(__GLIBC__)
#include <malloc.h>
#endif
#elif defined(__APPLE__)
#include <mach/mach.h>
#elif defined(_WIN32)
#define NOMINMAX
#include <psapi.h>
#include <windows.h>
#endif

namespace proofwood {

MemoryUse memory_use() {
  MemoryUse use;
#if defined(__linux__)
  // "size resident shared text lib data dirty", in pages; read without allocating
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return use;
  char text[256];
  const auto length = read(file, text, sizeof text - 1);
  close(file);
  if (length <= 0) return use;
  text[length] = '\0';
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  std::int64_t pages[6] = {};
  char* at = text;
  for (auto& number : pages) number = std::strtoll(at, &at, 10);
  use = {pages[1] * page, pages[0] * page, pages[5] * page};
#elif defined(__APPLE__)
  mach_task_basic_info info;
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) == KERN_SUCCESS)
    use.resident = static_cast<std::int64_t>(info.resident_size);
#elif defined(_WIN32)
  PROCESS_MEMORY_COUNTERS info;
  if (K32GetProcessMemoryInfo(GetCurrentProcess(), &info, sizeof info))
    use.resident = static_cast<std::int64_t>(info.WorkingSetSize);
#endif
  return use;
}

void trim_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

MemoryState MemoryCeiling::look() const {
  if (!any()) return kEnough;
  const MemoryUse now = memory_use();
  const auto above = [&](const MemoryUse& line) {
    return now.resident >= line.resident || now.addresses >= line.addresses || now.data >= line.data;
  };
  return above(most) ? kFull : above(early) ? kShort : kEnough;
}

MemoryCeiling& memory_ceiling() {
  // A field of the limits would be lost in one of the many places that make new limits; what belongs to the thread is
  // not: decisions/0015-limits-that-hold.
  thread_local MemoryCeiling ceiling;
  return ceiling;
}

}  // namespace proofwood
