// Steps of the search for lower bounds by blocks of rows (docs/theory/optimal-trees.md, "Blocks").
#include "trees/block_search.hpp"

#include <algorithm>

#include "common/memory.hpp"

namespace proofwood::trees {

namespace {
constexpr u32 kMostEdges = 24;   // per feature
constexpr u32 kFewRows = 8;      // of a block that is cut
constexpr int kGapShift = 3;     // pieces of depth two are solved up to an eighth of their cost at first
constexpr double kForget = 0.1;  // weight of the newest step in what is learned
constexpr u64 kFixed = 2'000;    // work of a subproblem besides its rows
constexpr u64 kOvershoot = 10'000'000, kLeastWork = 3'000'000;
constexpr double kNotShort = 1e8, kNotShortOfMany = 2e7, kSooner = 4;
constexpr std::size_t kManyFeatures = 10;
constexpr u64 kMostPieces = 3'000'000;
// Work is a share of what the search will probably take, by what it has closed, if it is expected to be or is long.
constexpr double kSearchShare = 0.1, kClosedAtLeast = 0.05;
// The share of what is expected comes early, as so many times the work of the search.
constexpr double kExpectedShare = 0.05, kEarly = 6, kLongExpected = 4e9;

Settings bottom_settings(const Settings& settings) {
  Settings bottom = settings;
  bottom.max_depth = 2;
  bottom.minimum = {};
  bottom.gap = 0;
  bottom.start_upper = kInfinite;
  bottom.bound_only = false;
  bottom.threads = 1;
  bottom.rules.cache = false;
  return bottom;
}

void learn(double& average, double value) { average += kForget * (std::clamp(value, 0.0, 2.0) - average); }

}  // namespace

BlockSearch::BlockSearch(Shared& outer, Rows& rows, int depth, u32 blocks)
    : outer_(outer),
      settings_(bottom_settings(outer.settings)),
      shared_(outer.table, settings_, outer.stop, TreeRun::Clock::now()),
      solver_(shared_),
      rows_(rows),
      n_blocks_(blocks),
      buffers_(static_cast<std::size_t>(depth) + 1),
      learned_(static_cast<std::size_t>(depth) + 1) {
  begin(root_, rows, depth);
}

// The share of the price of a split that rows bear: shares of disjoint sets sum to the price or less.
i64 BlockSearch::share_of_price(const Rows& rows) const {
  const i64 price = outer_.settings.prices.leaf;
  if (price == 0 || rows_.counts.weight == 0) return 0;
  constexpr double kDown = 1 - 1e-12;  // more than float64 can round up
  const double share = static_cast<double>(rows.counts.weight) / static_cast<double>(rows_.counts.weight);
  return static_cast<i64>(static_cast<double>(price) * share * kDown);
}

void BlockSearch::begin(BlockNode& node, Rows& rows, int depth) {
  node.depth = depth;
  node.price = share_of_price(rows);
  node.leaf = rows.leaf;
  node.done = node.leaf <= node.price;
  if (node.done) {
    node.value = node.leaf;
    return;
  }
  const auto& levels = outer_.table.levels;
  node.features.resize(rows.n_features + levels.size());
  bool left_out = false;
  for (u32 c = 0; c < levels.size(); ++c) {
    if (levels[c].tested_at(depth)) continue;
    node.features[rows.n_features + c].leave_out();
    left_out = true;
  }
  if (left_out) node.base = solve_bottom(rows, kGapShift).lower;
}

void BlockSearch::allow(i64 free, double share) {
  const std::lock_guard lock(pace_);
  allowed_ += static_cast<double>(free);
  share_ = share;
}

// Whether less than three tenths of the best tree are proved.
bool BlockSearch::says_little() const {
  const Bounds known = outer_.run.state();
  return 10 * known.lower < 3 * known.upper;
}

void BlockSearch::begin_depth(i64 before, bool last) {
  const std::lock_guard lock(pace_);
  before_ = last ? 0 : static_cast<double>(before);
  of_depth_ = 0;
  // A search that will probably be short goes on alone.
  if (searched_ > 0) share_ = expected_ < kLongExpected ? 0 : kExpectedShare;
}

// Adds to what is allowed by so much more work of the main search. Each depth takes about as many times the work of the
// depth before as that did (docs/decisions/0102-bounds-that-are-known.md), and what a depth has taken so far says at
// least what the next one takes.
double BlockSearch::pace(double done, double closed) {
  of_depth_ += done;
  searched_ += done;
  if (before_ > 0) expected_ = std::max(expected_, of_depth_ * of_depth_ / before_);
  double early = 0;
  if (expected_ >= kLongExpected) early = std::clamp(kExpectedShare * expected_ - early_, 0.0, kEarly * done);
  early_ += early;
  allowed_ += early + share_ * (done - early / kEarly);
  // No bound yet, after a tenth of a second or so: the search is none of the shortest, at least with many features.
  const double not_short = root_.features.size() < kManyFeatures ? kNotShort : kNotShortOfMany;
  if (searched_ > not_short && !bounded_ && says_little() && work_ < kForFirstBound) allowed_ += kSooner * done;
  if (share_ > 0 || searched_ > kLongSearch)
    allowed_ = std::max(allowed_, kSearchShare * searched_ / (closed + kClosedAtLeast));
  return allowed_;
}

Floors BlockSearch::keep_pace(u64 searched, double closed) {
  u64 until = 0;
  {
    const std::lock_guard lock(pace_);
    until = static_cast<u64>(std::min(1e18, pace(static_cast<double>(searched), closed)));
  }
  const std::unique_lock lock(busy_, std::try_to_lock);
  if (!lock.owns_lock() || work_ >= until || root_.done || full_ || outer_.stopped()) return {};
  if (work_ == 0 && until < kLeastWork && outer_.settings.block_work == 0) return {};  // not worth while yet
  limit_ = until + until / 4 + std::min(until, kOvershoot);
  work_on(root_, rows_, until, true);
  if (root_.value > 0) bounded_ = true;
  if (full_)  // the bounds of the root stay
    for (Blocks& blocks : root_.features)
      for (Piece& piece : blocks.pieces) piece.node.reset();
  return floors();
}

Floors BlockSearch::floors() const {
  Floors all;
  for (u32 f = 0; f < rows_.n_features; ++f) all.push_back(root_.features[f].floors(root_.price, root_.value));
  return all;
}

int BlockSearch::weakest_feature(const BlockNode& node) const {
  int weakest = -1;
  i64 bound = kInfinite;
  for (std::size_t f = 0; f < node.features.size(); ++f) {
    const Blocks& blocks = node.features[f];
    if (!blocks.begun()) return static_cast<int>(f);
    if (blocks.weakest.bound < bound) {
      bound = blocks.weakest.bound;
      weakest = static_cast<int>(f);
    }
  }
  return weakest;
}

// The bound of a node: a leaf, or the weakest place of its features.
void BlockSearch::refresh(BlockNode& node) const {
  i64 least = kInfinite;  // without the price of the split at the root
  for (const Blocks& blocks : node.features) least = std::min(least, blocks.begun() ? blocks.weakest.bound : 0);
  node.value = std::max(node.value, std::min({node.leaf, node.base, least + node.price}));
  node.done = node.value >= std::min(node.leaf, node.base);
}

void BlockSearch::work_on(BlockNode& node, Rows& rows, u64 until, bool report) {
  const u64 start = work_;
  while (work_ < until && !node.done && !ended()) {
    if (pieces_ > kMostPieces || memory_is_short()) {
      full_ = true;
      break;
    }
    const int weakest = weakest_feature(node);
    if (weakest < 0) {  // no threshold at all
      node.value = std::max(node.value, std::min(node.leaf, node.base));
      node.done = true;
      break;
    }
    const auto f = static_cast<u32>(weakest);
    Blocks& blocks = node.features[f];
    if (!blocks.begun()) {
      if (!begin_feature(node, rows, f)) break;
    } else {
      const Step step = choose(node, rows, blocks);
      if (step.kind == Step::kNone) {
        node.done = true;
        break;
      }
      take(node, rows, f, step);
    }
    if (outer_.stopped()) break;
    refresh(node);
    if (report) outer_.run.prove(node.value);
  }
  node.spent += work_ - start;
}

// Of many classes, walks over pieces of depth two are cheap where a byte holds the weight of each class.
u32 BlockSearch::blocks_of(const BlockNode& node, const Rows& rows) const {
  constexpr i64 kOfByte = 250, kMost = 12;
  if (node.depth > 3 || n_blocks_ < kBlocks || outer_.table.n_classes <= 2) return n_blocks_;
  const i64 heaviest = rows.counts.heaviest_class(), wish = (heaviest + kOfByte - 1) / kOfByte;
  if (4 * heaviest >= 3 * rows.counts.weight || wish > kMost) return n_blocks_;
  return std::max(n_blocks_, static_cast<u32>(wish));
}

bool BlockSearch::begin_feature(BlockNode& node, Rows& rows, u32 feature) {
  Blocks& blocks = node.features[feature];
  if (feature < rows.n_features)
    blocks.begin(outer_.table, rows, feature, outer_.settings.prices, blocks_of(node, rows));
  else
    blocks.begin_levels(rows_of_levels(rows, column_of(feature)));
  pieces_ += blocks.pieces.size();
  std::vector<int> all(blocks.pieces.size());
  for (std::size_t p = 0; p < all.size(); ++p) all[p] = static_cast<int>(p);
  if (all.size() > 1) solve_pieces(node, rows, feature, all, 1);
  blocks.update();
  return !outer_.stopped();
}

std::vector<u32> BlockSearch::rows_of_levels(const Rows& rows, const LevelColumn& column) const {
  std::vector<u32> count(column.n_levels(), 0);
  for (u32 local = 0; local < rows.n; ++local) ++count[column.code[rows.row(local)]];
  return count;
}

// ------------------------------------------------------------------ what to do next

BlockSearch::Step BlockSearch::raise_step(const BlockNode& node, const Blocks& blocks, int at) const {
  const Piece& piece = blocks.pieces[static_cast<std::size_t>(at)];
  if (node.depth == 3)
    return {Step::kRaise, at, -1, 0.5 * static_cast<double>(piece.upper - piece.value),
            static_cast<double>(piece.spent)};
  const double value = std::max(static_cast<double>(piece.value), 0.02 * static_cast<double>(piece.leaf));
  return {Step::kRaise, at, -1, learned_[static_cast<std::size_t>(node.depth)].raise * piece.fade * value * 0.5,
          0.5 * static_cast<double>(std::max(piece.spent, kFixed))};
}

// What promises most for its work at the weakest place of a feature.
BlockSearch::Step BlockSearch::choose(const BlockNode& node, const Rows& rows, const Blocks& blocks) const {
  const Learned& learned = learned_[static_cast<std::size_t>(node.depth)];
  Step best = cut_step(node, rows, blocks);
  const auto offer = [&](const Step& step) {
    if (best.kind == Step::kNone || step.rate() > best.rate()) best = step;
  };
  std::vector<int> chain;
  std::size_t turn = 0;
  if (blocks.of_levels())
    for (int p = 0; p < static_cast<int>(blocks.pieces.size()); ++p) chain.push_back(p);
  else
    blocks.chains(chain, turn);
  for (std::size_t c = 0; c < chain.size(); ++c) {
    const Piece& piece = blocks.pieces[static_cast<std::size_t>(chain[c])];
    if (!piece.done) offer(raise_step(node, blocks, chain[c]));
    if (blocks.of_levels()) continue;
    if (c + 1 == chain.size() || c + 1 == turn) continue;
    const Piece& next = blocks.pieces[static_cast<std::size_t>(chain[c + 1])];
    const int known = blocks.find(piece.first, next.last);
    const i64 sum = piece.value + next.value;
    if (known < 0) {
      const double gain = learned.join * piece.fade * next.fade * std::max(static_cast<double>(sum), 0.5);
      offer({Step::kJoin, chain[c], chain[c + 1], gain, static_cast<double>(piece.spent + next.spent)});
    } else if (const Piece& joined = blocks.pieces[static_cast<std::size_t>(known)]; !joined.done && node.depth == 3) {
      const double gain =
          0.5 * static_cast<double>(joined.upper - joined.value) + static_cast<double>(joined.value - sum);
      offer({Step::kRaise, known, -1, std::max(gain, 0.01), static_cast<double>(joined.spent)});
    } else if (!joined.done) {
      const double value = static_cast<double>(joined.value) * (1 + learned.raise * joined.fade * 0.5);
      const double gain = std::max(value - static_cast<double>(sum), 0.01 * value);
      offer({Step::kRaise, known, -1, gain, 0.5 * static_cast<double>(joined.spent)});
    }
  }
  return best;
}

BlockSearch::Step BlockSearch::cut_step(const BlockNode& node, const Rows& rows, const Blocks& blocks) const {
  const Weakest& weakest = blocks.weakest;
  if (!weakest.slab || blocks.edges.size() >= kMostEdges) return {};
  const u32 first = blocks.edges[weakest.low], last = blocks.edges[weakest.high];
  if (last - first < kFewRows) return {};
  const int whole = blocks.find(first, last);
  const double share = static_cast<double>(last - first) / rows.n;
  double value = 0, work = 0;
  if (whole >= 0) {
    value = static_cast<double>(blocks.pieces[static_cast<std::size_t>(whole)].value);
    work = static_cast<double>(blocks.pieces[static_cast<std::size_t>(whole)].spent);
  } else {
    value = share * static_cast<double>(weakest.bound);
  }
  if (work == 0) work = share * static_cast<double>(node.spent) / static_cast<double>(node.features.size());
  return {Step::kCut, -1, -1, learned_[static_cast<std::size_t>(node.depth)].cut * std::max(value, 0.1),
          std::max(work, 1.0)};
}

// ------------------------------------------------------------------ doing it

void BlockSearch::take(BlockNode& node, Rows& rows, u32 feature, const Step& step) {
  Blocks& blocks = node.features[feature];
  Learned& learned = learned_[static_cast<std::size_t>(node.depth)];
  const i64 before = blocks.weakest.bound;
  if (step.kind == Step::kCut) {
    const int whole = blocks.find(blocks.edges[blocks.weakest.low], blocks.edges[blocks.weakest.high]);
    const i64 value = whole < 0 ? 0 : blocks.pieces[static_cast<std::size_t>(whole)].value;
    if (!cut(node, rows, feature)) return;
    blocks.update();
    if (value > 0) learn(learned.cut, static_cast<double>(blocks.weakest.bound - before) / static_cast<double>(value));
  } else if (step.kind == Step::kJoin) {
    const i64 sum = blocks.pieces[static_cast<std::size_t>(step.piece)].value +
                    blocks.pieces[static_cast<std::size_t>(step.other)].value;
    join(node, rows, feature, step);
    const i64 gain = blocks.pieces.back().value - sum;
    if (sum > 0) learn(learned.join, static_cast<double>(gain) / static_cast<double>(sum));
    blocks.update();
  } else {
    Piece& piece = blocks.pieces[static_cast<std::size_t>(step.piece)];
    const i64 value = piece.value;
    const u64 spent = piece.spent;
    solve_pieces(node, rows, feature, {step.piece}, std::max(piece.spent / 2, kFixed));
    const double more = static_cast<double>(piece.spent - spent) / static_cast<double>(std::max<u64>(spent, 1));
    const double rate =
        value > 0 && more > 0 ? static_cast<double>(piece.value - value) / static_cast<double>(value) / more : 0;
    piece.fade = std::clamp(piece.fade * (rate < 0.5 * learned.raise ? 0.6 : 1.3), 0.01, 2.0);
    if (value > 0 && node.depth > 3) learn(learned.raise, rate);
    blocks.update();
  }
}

// Parts the weakest slab in two of about equal weight.
bool BlockSearch::cut(BlockNode& node, Rows& rows, u32 feature) {
  Blocks& blocks = node.features[feature];
  const u32 first = blocks.edges[blocks.weakest.low], last = blocks.edges[blocks.weakest.high];
  const Table& table = outer_.table;
  const i64 middle = (rows.weight_before(table, feature, first) + rows.weight_before(table, feature, last)) / 2;
  const u32 wish = std::clamp(rows.position_at_weight(table, feature, first, middle), first + 1, last - 1);
  u32 at = rows.boundary_until(feature, wish);
  if (at <= first) at = rows.boundary_from(feature, wish);
  if (at >= last) return false;  // no threshold inside: not so, by Blocks::empty
  blocks.add_edge(table, rows, feature, outer_.settings.prices, at);
  const auto n = static_cast<int>(blocks.pieces.size());
  blocks.pieces.push_back({.first = first, .last = at});
  blocks.pieces.push_back({.first = at, .last = last});
  pieces_ += 2;
  solve_pieces(node, rows, feature, {n, n + 1}, 1);
  return true;
}

void BlockSearch::join(BlockNode& node, Rows& rows, u32 feature, const Step& step) {
  Blocks& blocks = node.features[feature];
  const auto low = static_cast<std::size_t>(step.piece), high = static_cast<std::size_t>(step.other);
  blocks.pieces.push_back({.first = blocks.pieces[low].first,
                           .last = blocks.pieces[high].last,
                           .value = blocks.pieces[low].value + blocks.pieces[high].value});
  ++pieces_;
  const u64 work = std::max<u64>(1, (blocks.pieces[low].spent + blocks.pieces[high].spent) / 2);
  solve_pieces(node, rows, feature, {static_cast<int>(blocks.pieces.size()) - 1}, work);
}

// Works on some pieces of a feature, which ascend: those of depth two together, since they take their rows together;
// larger ones one after the other, since they hold them for long.
void BlockSearch::solve_pieces(BlockNode& node, Rows& rows, u32 feature, const std::vector<int>& pieces, u64 work) {
  if (feature >= rows.n_features) return solve_levels(node, rows, feature, pieces, work);
  const std::size_t together = node.depth == 3 ? pieces.size() : 1;
  auto& buffers = buffers_[static_cast<std::size_t>(node.depth)];
  while (buffers.size() < together) buffers.push_back(std::make_unique<Rows>());
  std::vector<Rows::Stretch> stretches;
  for (std::size_t first = 0; first < pieces.size(); first += together) {
    stretches.clear();
    for (std::size_t p = 0; p < together; ++p) {
      const Piece& piece = node.features[feature].pieces[static_cast<std::size_t>(pieces[first + p])];
      stretches.push_back({piece.first, piece.last, buffers[p].get()});
    }
    if (!rows.take(outer_.table, feature, stretches, scratch_, outer_.stop)) return;
    for (std::size_t p = 0; p < together && !ended(); ++p) {
      work_ += u64{stretches[p].rows->n} * rows.n_features;
      Piece& piece = node.features[feature].pieces[static_cast<std::size_t>(pieces[first + p])];
      solve_piece(node.depth - 1, piece, *stretches[p].rows, work);
    }
  }
}

void BlockSearch::solve_levels(BlockNode& node, Rows& rows, u32 feature, const std::vector<int>& pieces, u64 work) {
  auto& buffers = buffers_[static_cast<std::size_t>(node.depth)];
  while (buffers.size() < 2) buffers.push_back(std::make_unique<Rows>());
  for (const int p : pieces) {
    if (ended()) return;
    Blocks& blocks = node.features[feature];
    const LevelSet level = only(blocks.level_of[static_cast<std::size_t>(p)]);
    if (!rows.split_levels(outer_.table, column_of(feature), level, *buffers[0], *buffers[1], scratch_, outer_.stop))
      return;
    work_ += u64{rows.n} * rows.n_features;
    solve_piece(node.depth - 1, blocks.pieces[static_cast<std::size_t>(p)], *buffers[0], work);
  }
}

// The best tree of depth two at a share of the price, within its cost / 2^gap_shift if that is more than 0.
Solution BlockSearch::solve_bottom(Rows& rows, int gap_shift) {
  settings_.prices.leaf = share_of_price(rows);
  const i64 batches = solver_.counters[kBatches];
  Solution solution = solver_.solve(rows, 2, {.gap_shift = gap_shift});
  work_ += kFixed + static_cast<u64>(solver_.counters[kBatches] - batches) * rows.n * rows.n_features;
  if (solution.stopped) solution.lower = 0;
  return solution;
}

void BlockSearch::solve_piece(int depth, Piece& piece, Rows& rows, u64 work) {
  const u64 start = work_;
  piece.leaf = rows.leaf;
  if (depth == 2) {
    const int share = piece.spent == 0 ? kGapShift : 0;
    const Solution solution = solve_bottom(rows, share);
    if (solution.stopped) return;
    piece.value = std::max(piece.value, solution.lower);
    piece.upper = solution.upper;
    piece.done = share == 0 || piece.value >= piece.upper;
  } else {
    if (!piece.node) {
      piece.node = std::make_unique<BlockNode>();
      begin(*piece.node, rows, depth);
      piece.node->value = std::max(piece.node->value, piece.value);
    }
    BlockNode& node = *piece.node;
    while (!node.done && weakest_feature(node) >= 0 && !ended()) {  // all features at first
      const int f = weakest_feature(node);
      if (node.features[static_cast<std::size_t>(f)].begun()) break;
      const u64 before = work_;
      begin_feature(node, rows, static_cast<u32>(f));
      node.spent += work_ - before;
      refresh(node);
    }
    work_on(node, rows, start + work, false);
    piece.value = std::max(piece.value, node.value);
    piece.done = node.done;
  }
  piece.spent += work_ - start;
}

}  // namespace proofwood::trees
