// All tasks by sums: a new one is a header and a line here.
#pragma once

#include "trees/sums/policy.hpp"
#include "trees/sums/squared_error.hpp"

// X(name, the task with as many numbers a row as it is given, or more: the rest are copies of the first one)
#define PROOFWOOD_SUM_TASKS(X)             \
  X("squared_error", SquaredError<1>)      \
  X("policy", Policy<2>)                   \
  X("policy", Policy<3>)                   \
  X("policy", Policy<4>)                   \
  X("policy", Policy<6>)                   \
  X("policy", Policy<8>)                   \
  X("policy", Policy<12>)                  \
  X("policy", Policy<20>)                  \
  X("policy", Policy<32>)
