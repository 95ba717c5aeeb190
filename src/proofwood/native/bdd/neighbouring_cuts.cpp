// The last two levels where tests are many cuts of few columns: neighbourhood pruning of cuts.
//
// Theory: docs/theory/decision-diagrams.md, "The last two tests".
// The problem is that of Hu, Huguet, Siala, AAAI 2022 (MaxSAT-BDD); the search is ours.
//
// Two cuts of a column differ on the rows between them, of weight d in the cells of the node. By the similarity bound
// E(g, t) >= E(g, a) - d(a, t) for cuts a and t of a column, whatever the other test g: moving rows of weight d to the
// other side of a cut gets at most d more wrong with the old labels. So with
//   (E(g, a) - U) + (E(g, b) - U) >= d(a, b)
// no cut t between a and b has E(g, t) < U, since d(a, t) + d(t, b) = d(a, b). There E(g, t) is at least
// (E(g, a) + E(g, b) - d(a, b)) / 2. The same holds for g: if no partner of g does better than L, none of a cut g' of
// the same column does better than L - d(g, g').
//
//   cuts of a column   a  .  .  .  b        every 12th cut is counted with g (a probe)
//   error with g       9           8        U = 6 and d(a, b) = 4: 3 + 2 >= 4, so none between is better than 6
#include <algorithm>

#include "bdd/worker.hpp"

namespace proofwood::bdd {

namespace {

constexpr u32 kStep = 12;           // cuts from one probe to the next
constexpr u32 kFewest = 48;         // tests below which all pairs are counted
constexpr u32 kCutsPerColumn = 24;  // on average, below which all pairs are counted

}  // namespace

// Whether the tests are mostly long runs of cuts. `tests` in any order.
bool Search::Worker::mostly_cuts(const std::vector<u32>& tests) const {
  if (tests.size() < kFewest) return false;
  std::vector<u32> columns;
  for (const u32 t : tests) columns.push_back(table.column_of[t]);
  std::sort(columns.begin(), columns.end());
  const auto distinct = static_cast<u32>(std::unique(columns.begin(), columns.end()) - columns.begin());
  return distinct * kCutsPerColumn <= tests.size();
}

// The tests of a node, their runs of cuts, and the pairs counted so far. Tests go by their places in `tests`.
struct Search::Worker::CutPairs {
  struct Run {
    u32 begin, end, probes, probes_end;
  };  // tests of one column; places among the probes
  static constexpr i64 kNoLimit = i64{1} << 60;

  Worker& worker;
  const Node& node;
  Search& search = worker.search;
  const Table& table = worker.table;
  std::vector<u32> tests;
  std::vector<Run> runs;
  std::vector<u32> probes;      // places in `tests`
  u32 first = 0;                // slot of tests[0], after those of the probes
  std::vector<i64> fine;        // errors by slot
  std::vector<i64> high;        // weight on the high side of each test
  i64 least;                    // error so far
  std::vector<Pairs> gathered;  // collect: sets are listed in lexicographic order

  CutPairs(Worker& given, const Node& at, const std::vector<u32>& candidates)
      : worker(given), node(at), tests(candidates), least(search.upper()) {
    std::sort(tests.begin(), tests.end());
    find_runs();
    pack();
    weigh();
  }

  void find_runs() {
    const auto k = static_cast<u32>(tests.size());
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
  }

  void pack() {
    first = (static_cast<u32>(probes.size()) + kSlotStep - 1) / kSlotStep * kSlotStep;
    std::vector<u32> slots;
    for (const u32 p : probes) slots.push_back(tests[p]);
    slots.resize(first, tests[0]);
    slots.insert(slots.end(), tests.begin(), tests.end());
    worker.pack_cells(node, slots);
    worker.line_.resize(worker.cells.stride);
    fine.resize(worker.cells.stride);
  }

  void weigh() {
    i64 weight = 0;
    for (const u32 item : node.items) weight += table.items[item].weight;
    high.assign(tests.size(), 0);
    for (u32 t = 0; t < tests.size(); ++t) {
      for (const ClassBlock& block : worker.cells.blocks) high[t] += block.ones[first + t];
      if (table.flipped[tests[t]]) high[t] = weight - high[t];
    }
  }

  i64 apart(u32 a, u32 b) const { return high[a] > high[b] ? high[a] - high[b] : high[b] - high[a]; }  // d(a, b)

  // Errors of test g with the tests of slots `from` to `to`.
  void count(u32 g, u32 from, u32 to, std::vector<i64>& out) {
    const CellMatrix& matrix = worker.cells;
    const Packed bits{matrix.data.data(), matrix.stride, 0, table.unit ? nullptr : matrix.shift.data()};
    worker.kernels.pair_errors(bits, matrix.cells.data(), static_cast<u32>(matrix.cells.size()), matrix.blocks.data(),
                               table.narrow, first + g, from, to, kNoLimit, out.data());
    worker.counters[kPairEvaluations] += to - from;
  }

  void report(const Pairs& pair) {
    Set set = node.chosen;
    set.push_back(tests[pair.first]);
    if (pair.second != pair.first) set.push_back(tests[pair.second]);
    worker.found(pair.error, std::move(set));
  }

  void take(i64 error, u32 g, u32 h) {
    least = std::min(least, error);
    if (error >= search.upper()) return;
    if (search.settings_.collect)
      gathered.push_back({error, g, h});
    else
      report({error, g, h});
  }

  // All partners of g from run `from` on; pairs are taken once, by their smaller place. A bound on the errors of all.
  i64 partners(u32 g, std::size_t from) {
    take(worker.single_error(first + g), g, g);
    i64 bound = kNoLimit;
    count(g, runs[from].probes, runs.back().probes_end, worker.line_);
    for (std::size_t r = from; r < runs.size(); ++r)
      for (u32 p = runs[r].probes; p < runs[r].probes_end; ++p) {
        const i64 error = worker.line_[p];
        bound = std::min(bound, error);
        if (probes[p] > g) take(error, g, probes[p]);
        if (p + 1 < runs[r].probes_end && probes[p] + 1 < probes[p + 1])
          bound = std::min(bound, partners_between(g, p));
      }
    return bound;
  }

  // Partners of g between a probe and the next.
  i64 partners_between(u32 g, u32 probe) {
    const u32 begin = probes[probe] + 1, end = probes[probe + 1];
    const i64 both = worker.line_[probe] + worker.line_[probe + 1] - apart(probes[probe], probes[probe + 1]);
    if (both >= 2 * search.upper()) {
      worker.counters[kBySweep] += end - begin;
      return both / 2;
    }
    i64 bound = kNoLimit;
    count(g, first + begin, first + end, fine);
    for (u32 h = begin; h < end; ++h) {
      bound = std::min(bound, fine[first + h]);
      if (h > g) take(fine[first + h], g, h);
    }
    return bound;
  }

  bool ended() const { return search.stopped() || (search.settings_.collect && search.surplus(worker.task)); }

  // Pairs of the tests of a run with those of this run and the later ones: a pair with an earlier run is found from
  // there. First the probes, then the cuts between two probes that their bounds do not rule out. False if the
  // search has to end.
  bool pairs_of_run(std::size_t r) {
    const Run& run = runs[r];
    std::vector<i64> bounds(run.probes_end - run.probes);
    for (u32 p = run.probes; p < run.probes_end; ++p) {
      if (ended()) return false;
      bounds[p - run.probes] = partners(probes[p], r);
    }
    for (u32 p = run.probes; p + 1 < run.probes_end; ++p) {
      const i64 left = bounds[p - run.probes], right = bounds[p + 1 - run.probes];
      for (u32 g = probes[p] + 1; g < probes[p + 1]; ++g) {
        if (ended()) return false;
        if (std::max(left - apart(probes[p], g), right - apart(g, probes[p + 1])) >= search.upper())
          worker.counters[kBySweep] += static_cast<i64>(tests.size()) - run.begin;
        else
          partners(g, r);
      }
    }
    return true;
  }
};

// Every set that adds one or two of `given`; a bound on the errors of all of them, cut off at upper().
i64 Search::Worker::count_cuts(const Node& node, const std::vector<u32>& given) {
  CutPairs pairs(*this, node, given);
  for (std::size_t r = 0; r < pairs.runs.size(); ++r)
    if (!pairs.pairs_of_run(r)) return 0;
  std::sort(pairs.gathered.begin(), pairs.gathered.end(), [](const Pairs& a, const Pairs& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  });
  for (const Pairs& pair : pairs.gathered) pairs.report(pair);
  return std::min(pairs.least, search.upper());
}

}  // namespace proofwood::bdd
