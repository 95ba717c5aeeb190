// Invariants of the searches that a build with the CMake option PROOFWOOD_CHECKS looks at; other builds do not.
#pragma once

#ifdef PROOFWOOD_CHECKS
#include <stdexcept>
#include <string>
#define PROOFWOOD_ASSERT(condition)                                                   \
  do {                                                                                \
    if (!(condition))                                                                 \
      throw std::logic_error(std::string(__FILE__) + ":" + std::to_string(__LINE__) + \
                             ": broken invariant: " #condition);                      \
  } while (false)
#else
#define PROOFWOOD_ASSERT(condition) static_cast<void>(0)
#endif
