#include "tests/unit/counted_allocations.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

std::uint64_t count = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  ++count;
  // aligned_alloc wants a multiple of the alignment.
  const std::size_t padded =
      (std::max(bytes, std::size_t{1}) + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, padded)) return memory;
  throw std::bad_alloc();
}

constexpr std::size_t kDefaultAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

// The nothrow forms of the library call these.
void* operator new(std::size_t bytes) { return counted(bytes, kDefaultAlignment); }
void* operator new[](std::size_t bytes) { return counted(bytes, kDefaultAlignment); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace pinfold::test {

std::uint64_t allocations() { return count; }

}  // namespace pinfold::test
