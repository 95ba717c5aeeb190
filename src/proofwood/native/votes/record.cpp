// What a closed box needs to be closed again by others: few, short messages, read out as numbers.
//
// Theory: docs/theory/explanations.md, "Trees of boxes". Any messages prove what their bound says, so they are
// rounded as coarsely as the bound permits, and a constant that a factor gets from a whole column is left out.
#include <algorithm>
#include <bit>
#include <cmath>

#include "votes/messages.hpp"

namespace proofwood::votes {

bool Messages::record(i128 enough, Record& record) {
  std::vector<double> exact;
  double most = 0;
  for (const Edge& edge : edges_) {
    double* message = &messages_[z(factors_.edges[z(edge.of)].first_slot)];
    const double first = message[edge.first];
    for (int s = edge.first; s <= edge.last; ++s) {
      message[s] -= first;
      most = std::max(most, std::abs(message[s]));
      exact.push_back(message[s]);
    }
  }
  for (int unit = std::bit_width(static_cast<std::uint64_t>(most)) + 1;; unit = std::max(0, unit - kUnitStep)) {
    const double step = std::ldexp(1.0, unit);
    auto next = exact.begin();
    for (const Edge& edge : edges_) {
      double* message = &messages_[z(factors_.edges[z(edge.of)].first_slot)];
      for (int s = edge.first; s <= edge.last; ++s) message[s] = std::round(*next++ / step) * step;
    }
    load_messages();
    if (total_ < enough || unit == 0) {
      write(unit, record);
      return total_ < enough;
    }
  }
}

void Messages::write(int unit, Record& record) const {
  record.push_back(unit);
  const std::size_t at = record.size();
  record.push_back(0);
  const double step = std::ldexp(1.0, -unit);
  for (const Edge& edge : edges_) {
    const Factors::Edge& of = factors_.edges[z(edge.of)];
    const double* message = &messages_[z(of.first_slot)];
    const std::size_t head = record.size();
    record.insert(record.end(), {edge.factor, of.column, 0});
    for (int s = edge.first + 1; s <= edge.last; ++s) {
      if (message[s] == message[s - 1]) continue;
      record.push_back(factors_.cuts[z(of.first_cut + s - 1)]);
      record.push_back(static_cast<std::int64_t>(message[s] * step));
      ++record[head + 2];
    }
    if (record[head + 2] == 0)
      record.resize(head);
    else
      ++record[at];
  }
}

}  // namespace proofwood::votes
