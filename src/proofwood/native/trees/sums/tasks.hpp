// All tasks by sums: a new one is a header and a line here.
#pragma once

#include "trees/sums/deviance.hpp"
#include "trees/sums/log_loss.hpp"
#include "trees/sums/policy.hpp"
#include "trees/sums/squared_error.hpp"

// X(name, the task with as many numbers a row as it is given, or more: the rest are copies of the first one, or 0)
#define PROOFWOOD_SUM_TASKS(X)         \
  X("squared_error", SquaredError<1>)  \
  X("squared_error", SquaredError<2>)  \
  X("squared_error", SquaredError<3>)  \
  X("squared_error", SquaredError<5>)  \
  X("squared_error", SquaredError<8>)  \
  X("squared_error", SquaredError<16>) \
  X("deviance", Deviance)              \
  X("log_loss", LogLoss<2>)            \
  X("log_loss", LogLoss<3>)            \
  X("log_loss", LogLoss<5>)            \
  X("log_loss", LogLoss<8>)            \
  X("log_loss", LogLoss<16>)           \
  X("policy", Policy<2>)               \
  X("policy", Policy<3>)               \
  X("policy", Policy<4>)               \
  X("policy", Policy<6>)               \
  X("policy", Policy<8>)               \
  X("policy", Policy<12>)              \
  X("policy", Policy<20>)              \
  X("policy", Policy<32>)
