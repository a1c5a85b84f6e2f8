#pragma once
// Checks of what follows a run from outside: on also where the library's own are off, in the program that
// has bugs planted.

#include "base/check.h"

/// As PINFOLD_CHECK, and never off. `what` is evaluated only on failure.
#define PINFOLD_WATCH(condition, rule, what)                  \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::pinfold::throw_violation((rule), #condition, (what)); \
  } while (false)
