// The task of classes: a wrong row costs its weight (docs/theory/optimal-trees.md, "Tasks").
#pragma once

#include <memory>

#include "trees/task.hpp"

namespace proofwood::trees {

// `price`: of a unit of weight.
std::shared_ptr<const Task> class_errors(i64 price);

}  // namespace proofwood::trees
