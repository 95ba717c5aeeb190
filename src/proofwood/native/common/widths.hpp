// What the widths of a skeleton say by themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace proofwood {

// Whether what hangs from a root that passes all rows on may not fit the skeleton one layer higher: not in (1, 1, 2).
template <class Width>
bool idle_root_helps(const std::vector<Width>& widths) {
  bool helps = false;
  for (std::size_t layer = 1, most = 1; layer < widths.size(); ++layer) {  // nodes below one node of layer 1
    most = std::min(most, static_cast<std::size_t>(widths[layer]));
    helps = helps || most > static_cast<std::size_t>(widths[layer - 1]);
    most *= 2;
  }
  return helps;
}

}  // namespace proofwood
