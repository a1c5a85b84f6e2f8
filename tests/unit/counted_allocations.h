#pragma once
// Counts every allocation of a test program: linking counted_allocations.cc replaces the global operator
// new, so a program that uses it is one of its own.

#include <cstdint>

namespace pinfold::test {

/// Allocations so far. Take it before and after, and compare outside: a CHECK allocates too.
std::uint64_t allocations();

}  // namespace pinfold::test
