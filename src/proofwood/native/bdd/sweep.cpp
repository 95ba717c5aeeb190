// The last two levels where tests are many cuts of few columns: neighbouring cuts bound each other.
//
// Two cuts of a column differ on the rows between them, of weight d in the cells of the node. Moving rows of weight d to
// the other side of a cut changes the least error of a set by at most d: the old labels get at most d more wrong. So
// E(g, t) >= E(g, a) - d(a, t) for cuts a and t of a column, whatever the other test g, and with
//   (E(g, a) - U) + (E(g, b) - U) >= d(a, b)
// no cut t between a and b has E(g, t) < U, since d(a, t) + d(t, b) = d(a, b). There E(g, t) is at least
// (E(g, a) + E(g, b) - d(a, b)) / 2. The same holds for g: if no partner of g does better than L, none of a cut g' of the
// same column does better than L - d(g, g').
#include <algorithm>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

namespace {

constexpr u32 kStep = 12;          // cuts from one probe to the next
constexpr u32 kFewest = 48;        // tests below which all pairs are counted
constexpr u32 kCutsPerColumn = 24; // on average, below which all pairs are counted

}  // namespace

// Whether the tests are mostly long runs of cuts. `tests` in any order.
bool Search::Worker::sweeps(const std::vector<u32>& tests) const {
  if (tests.size() < kFewest) return false;
  std::vector<u32> columns;
  for (const u32 t : tests) columns.push_back(table.column_of[t]);
  std::sort(columns.begin(), columns.end());
  const auto distinct = static_cast<u32>(std::unique(columns.begin(), columns.end()) - columns.begin());
  return distinct * kCutsPerColumn <= tests.size();
}

// Every set that adds one or two of `given`; a bound on the errors of all of them, cut off at upper().
i64 Search::Worker::sweep(const Node& node, const std::vector<u32>& given) {
  std::vector<u32> tests = given;
  std::sort(tests.begin(), tests.end());
  const auto k = static_cast<u32>(tests.size());
  struct Run { u32 begin, end, probes, probes_end; };  // slots of the tests; places among the probes
  std::vector<Run> runs;
  std::vector<u32> probes;  // places in `tests`
  for (u32 begin = 0; begin < k;) {
    u32 end = begin;
    while (end < k && table.column_of[tests[end]] == table.column_of[tests[begin]]) ++end;
    Run run{begin, end, static_cast<u32>(probes.size()), 0};
    for (u32 p = begin; p < end; p += kStep) probes.push_back(p);
    if (probes.back() != end - 1) probes.push_back(end - 1);
    run.probes_end = static_cast<u32>(probes.size());
    runs.push_back(run);
    begin = end;
  }
  const auto first = (static_cast<u32>(probes.size()) + kSlotStep - 1) / kSlotStep * kSlotStep;  // slot of tests[0]
  std::vector<u32> slots;
  for (const u32 p : probes) slots.push_back(tests[p]);
  slots.resize(first, tests[0]);
  slots.insert(slots.end(), tests.begin(), tests.end());
  pack_cells(node, slots);
  const Packed bits{cells.data.data(), cells.stride, 0, table.unit ? nullptr : cells.shift.data()};
  line_.resize(cells.stride);
  std::vector<i64> fine(cells.stride);
  std::vector<i64> high(k, 0);  // weight on the high side of each test
  i64 weight = 0;
  for (const u32 item : node.items) weight += table.items[item].weight;
  for (u32 t = 0; t < k; ++t) {
    for (const ClassBlock& block : cells.blocks) high[t] += block.ones[first + t];
    if (table.flipped[tests[t]]) high[t] = weight - high[t];
  }
  const auto apart = [&](u32 a, u32 b) { return high[a] > high[b] ? high[a] - high[b] : high[b] - high[a]; };
  const auto count = [&](u32 g, u32 from, u32 to, i64 limit, std::vector<i64>& out) {
    kernels.pair_errors(bits, cells.cells.data(), static_cast<u32>(cells.cells.size()), cells.blocks.data(), table.narrow, first + g, from,
                        to, limit, out.data());
    counters[kPairEvaluations] += to - from;
  };
  i64 least = search.upper();
  std::vector<Pairs> gathered;  // collect: sets are listed in lexicographic order
  const auto tell = [&](const Pairs& pair) {
    Set set = node.chosen;
    set.push_back(tests[pair.first]);
    if (pair.second != pair.first) set.push_back(tests[pair.second]);
    found(pair.error, std::move(set));
  };
  const auto take = [&](i64 error, u32 g, u32 h) {
    least = std::min(least, error);
    if (error >= search.upper()) return;
    if (search.settings_.collect)
      gathered.push_back({error, g, h});
    else
      tell({error, g, h});
  };
  constexpr i64 kNoLimit = i64{1} << 60;

  // All partners of g from run `from` on; pairs are taken once, by their smaller place. A bound on the errors of all.
  const auto partners = [&](u32 g, std::size_t from) {
    take(single_error(first + g), g, g);
    i64 bound = kNoLimit;
    count(g, runs[from].probes, runs.back().probes_end, kNoLimit, line_);
    for (std::size_t r = from; r < runs.size(); ++r) {
      for (u32 p = runs[r].probes; p < runs[r].probes_end; ++p) {
        const i64 error = line_[p];
        bound = std::min(bound, error);
        if (probes[p] > g) take(error, g, probes[p]);
        if (p + 1 == runs[r].probes_end || probes[p] + 1 == probes[p + 1]) continue;
        const i64 both = error + line_[p + 1] - apart(probes[p], probes[p + 1]);
        if (both >= 2 * search.upper()) {
          bound = std::min(bound, both / 2);
          counters[kBySweep] += probes[p + 1] - probes[p] - 1;
          continue;
        }
        const u32 begin = probes[p] + 1, end = probes[p + 1];
        count(g, first + begin, first + end, kNoLimit, fine);
        for (u32 h = begin; h < end; ++h) {
          bound = std::min(bound, fine[first + h]);
          if (h > g) take(fine[first + h], g, h);
        }
      }
    }
    return bound;
  };

  for (std::size_t r = 0; r < runs.size(); ++r) {
    std::vector<i64> bounds(runs[r].probes_end - runs[r].probes);
    for (u32 p = runs[r].probes; p < runs[r].probes_end; ++p) {
      if (search.stopped() || (search.settings_.collect && search.surplus(task))) return 0;
      bounds[p - runs[r].probes] = partners(probes[p], r);
    }
    // Partners in this run and the later ones only: a pair with an earlier run is found from there.
    for (u32 p = runs[r].probes; p + 1 < runs[r].probes_end; ++p) {
      const i64 left = bounds[p - runs[r].probes], right = bounds[p + 1 - runs[r].probes];
      for (u32 g = probes[p] + 1; g < probes[p + 1]; ++g) {
        if (search.stopped() || (search.settings_.collect && search.surplus(task))) return 0;
        if (std::max(left - apart(probes[p], g), right - apart(g, probes[p + 1])) >= search.upper()) {
          counters[kBySweep] += k - runs[r].begin;
          continue;
        }
        partners(g, r);
      }
    }
  }
  std::sort(gathered.begin(), gathered.end(),
            [](const Pairs& a, const Pairs& b) { return a.first != b.first ? a.first < b.first : a.second < b.second; });
  for (const Pairs& pair : gathered) tell(pair);
  return std::min(least, search.upper());
}

}  // namespace proofwood::bdd
