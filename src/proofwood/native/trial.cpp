#include "trial.hpp"

#include <algorithm>
#include <numeric>

namespace proofwood::votes {

namespace {
std::size_t z(int i) { return static_cast<std::size_t>(i); }
constexpr int kRounds = 30;  // of releasing and taking back
constexpr std::size_t kStarts = 4;  // more are compared in vain: a start costs as much as a kick
}  // namespace

Trial::Trial(const Model& model, int winner, int loser, std::int64_t least) : model_(model), least_(least) {
  const auto columns = z(model.n_columns);
  least_ -= model.base[z(winner)] - model.base[z(loser)];
  std::vector<std::vector<Entry>> of(columns);
  const auto need = [&](int leaf, Literal l) {
    const int c = model.column_of[z(l >> 1)], cut = (l >> 1) - model.first[z(c)];
    auto& entries = of[z(c)];
    if (entries.empty() || entries.back().leaf != leaf) entries.push_back({leaf, 0, model.cells[z(c)]});
    if ((l & 1) != 0) {
      entries.back().high = std::min(entries.back().high, cut);
    } else {
      entries.back().low = std::max(entries.back().low, cut + 1);
    }
  };
  std::int64_t loss = 1;
  for (int tree = 0; tree < model.n_trees; ++tree) {
    std::int64_t least_gain = 0, most_gain = 0;
    for (int leaf = model.leaves_of[z(tree)]; leaf < model.leaves_of[z(tree) + 1]; ++leaf) {
      const std::int64_t* scores = &model.scores[z(leaf) * z(model.n_classes)];
      gain_.push_back(scores[winner] - scores[loser]);
      least_gain = leaf == model.leaves_of[z(tree)] ? gain_.back() : std::min(least_gain, gain_.back());
      most_gain = leaf == model.leaves_of[z(tree)] ? gain_.back() : std::max(most_gain, gain_.back());
      for (int i = model.needs_of[z(leaf)]; i < model.needs_of[z(leaf) + 1]; ++i) need(leaf, model.needs[z(i)]);
    }
    loss += most_gain - least_gain;
  }
  bottom_.assign(columns, 0);
  top_ = model.cells;
  for (const auto& literals : model.clauses) {
    if (literals.empty()) never_ = true;
    const bool always = std::any_of(literals.begin(), literals.end(), [&](Literal a) {
      return std::any_of(literals.begin(), literals.end(), [&](Literal b) {
        return (a & 1) == 0 && (b & 1) != 0 && model.column_of[z(a >> 1)] == model.column_of[z(b >> 1)] && a < b;
      });
    });
    if (always) continue;
    if (literals.size() > 1) {
      for (const Literal l : literals) need(static_cast<int>(gain_.size()), l ^ 1);
      gain_.push_back(-loss);
      continue;
    }
    for (const Literal l : literals) {
      const int c = model.column_of[z(l >> 1)], cut = (l >> 1) - model.first[z(c)];
      if ((l & 1) != 0) {
        top_[z(c)] = std::min(top_[z(c)], cut);
      } else {
        bottom_[z(c)] = std::max(bottom_[z(c)], cut + 1);
      }
    }
  }
  // One need per leaf, column and side, so that a column makes at most one of a leaf's needs wrong.
  std::vector<std::vector<int>> needing(2 * z(model.n_variables));
  wrong_.assign(gain_.size(), 0);
  entries_of_.assign(1, 0);
  for (int c = 0; c < model.n_columns; ++c) {
    for (const Entry& entry : of[z(c)]) {
      if (entry.low > 0) {
        needing[2 * z(model.first[z(c)] + entry.low - 1)].push_back(entry.leaf);
        ++wrong_[z(entry.leaf)];  // row_ begins with the lowest cells
      }
      if (entry.high < model.cells[z(c)]) needing[2 * z(model.first[z(c)] + entry.high) + 1].push_back(entry.leaf);
    }
    entries_.insert(entries_.end(), of[z(c)].begin(), of[z(c)].end());
    entries_of_.push_back(static_cast<int>(entries_.size()));
  }
  needing_of_.assign(1, 0);
  for (const auto& leaves : needing) {
    needing_.insert(needing_.end(), leaves.begin(), leaves.end());
    needing_of_.push_back(static_cast<int>(needing_.size()));
  }
  row_.assign(columns, 0);
  for (std::size_t leaf = 0; leaf < gain_.size(); ++leaf)
    if (wrong_[leaf] == 0) sum_ += gain_[leaf];
}

bool Trial::enter(const std::vector<Literal>& assumptions) {
  lo_ = bottom_;
  hi_ = top_;
  for (const Literal l : assumptions) {
    const int c = model_.column_of[z(l >> 1)], cut = (l >> 1) - model_.first[z(c)];
    if ((l & 1) != 0) {
      hi_[z(c)] = std::min(hi_[z(c)], cut);
    } else {
      lo_[z(c)] = std::max(lo_[z(c)], cut + 1);
    }
  }
  free_.clear();
  for (int c = 0; c < model_.n_columns; ++c) {
    if (lo_[z(c)] > hi_[z(c)]) return false;
    if (lo_[z(c)] < hi_[z(c)]) free_.push_back(c);
  }
  return true;
}

void Trial::move(int c, int cell) {
  int& now = row_[z(c)];
  const int from = model_.first[z(c)] + std::min(now, cell), to = model_.first[z(c)] + std::max(now, cell);
  const std::size_t falls = cell > now ? 1 : 0;  // which literal of each variable becomes false
  for (int v = from; v < to; ++v) {
    const std::size_t gone = 2 * z(v) + falls, met = 2 * z(v) + (1 - falls);
    for (int i = needing_of_[gone]; i < needing_of_[gone + 1]; ++i) {
      const auto leaf = z(needing_[z(i)]);
      if (wrong_[leaf]++ == 0) sum_ -= gain_[leaf];
    }
    for (int i = needing_of_[met]; i < needing_of_[met + 1]; ++i) {
      const auto leaf = z(needing_[z(i)]);
      if (--wrong_[leaf] == 0) sum_ += gain_[leaf];
    }
  }
  now = cell;
}

void Trial::load(const std::vector<int>& start) {
  for (int c = 0; c < model_.n_columns; ++c) {
    const int cell = std::clamp(start[z(c)], lo_[z(c)], hi_[z(c)]);
    if (cell != row_[z(c)]) move(c, cell);
  }
}

bool Trial::improve(int c) {
  const int now = row_[z(c)], lo = lo_[z(c)], hi = hi_[z(c)];
  steps_.assign(z(model_.cells[z(c)]) + 2, 0);
  for (int i = entries_of_[z(c)]; i < entries_of_[z(c) + 1]; ++i) {
    const Entry& entry = entries_[z(i)];
    const int here = now < entry.low || now > entry.high ? 1 : 0;
    if (wrong_[z(entry.leaf)] != here) continue;
    steps_[z(entry.low)] += gain_[z(entry.leaf)];
    steps_[z(entry.high) + 1] -= gain_[z(entry.leaf)];
  }
  std::int64_t sum = 0, most = 0, at_now = 0;
  int best = -1;
  for (int cell = 0; cell <= hi; ++cell) {
    sum += steps_[z(cell)];
    if (cell == now) at_now = sum;
    if (cell >= lo && (best < 0 || sum > most)) {
      most = sum;
      best = cell;
    }
  }
  if (most <= at_now) return false;
  move(c, best);
  return true;
}

bool Trial::ascend() {
  const std::size_t n = free_.size();
  for (std::size_t same = 0, at = 0; same < n; at = at + 1 == n ? 0 : at + 1) {
    if (sum_ >= least_) return true;
    same = improve(free_[at]) ? 0 : same + 1;
  }
  return sum_ >= least_;
}

std::size_t Trial::random(std::size_t n) {
  seed_ ^= seed_ << 13;
  seed_ ^= seed_ >> 7;
  seed_ ^= seed_ << 17;
  return static_cast<std::size_t>(seed_ >> 32) % n;
}

bool Trial::fits(int leaf) const {
  for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
    const Literal need = model_.needs[z(i)];
    const auto c = z(model_.column_of[z(need >> 1)]);
    const int cut = (need >> 1) - model_.first[c];
    if ((need & 1) != 0 ? lo_[c] > cut : hi_[c] <= cut) return false;
  }
  return true;
}

// A tree whose leaf is as good as any that the box reaches is no choice: a few trees are tried.
bool Trial::kick() {
  for (int tries = 0; tries < 20; ++tries) {
    const std::size_t tree = random(z(model_.n_trees));
    int now = model_.leaves_of[tree];
    while (wrong_[z(now)] != 0) ++now;
    choice_.clear();
    for (int leaf = model_.leaves_of[tree]; leaf < model_.leaves_of[tree + 1]; ++leaf)
      if (gain_[z(leaf)] > gain_[z(now)] && fits(leaf)) choice_.push_back(leaf);
    if (choice_.empty()) continue;
    const int leaf = choice_[random(choice_.size())];
    for (int i = model_.needs_of[z(leaf)]; i < model_.needs_of[z(leaf) + 1]; ++i) {
      const Literal need = model_.needs[z(i)];
      if (model_.holds(need, row_)) continue;
      const int c = model_.column_of[z(need >> 1)], cut = (need >> 1) - model_.first[z(c)];
      move(c, (need & 1) != 0 ? cut : cut + 1);
    }
    return true;
  }
  return false;
}

bool Trial::allowed() const {
  return std::all_of(model_.clauses.begin(), model_.clauses.end(), [&](const std::vector<Literal>& literals) {
    return std::any_of(literals.begin(), literals.end(), [&](Literal l) { return model_.holds(l, row_); });
  });
}

bool Trial::find(const std::vector<Literal>& assumptions, const std::vector<int>& near, int kicks) {
  if (never_ || !enter(assumptions)) return false;
  const auto reached = [&] {
    if (!ascend() || !allowed()) return false;
    remember(row_);
    return true;
  };
  load(near);
  kept_ = row_;
  std::int64_t most = sum_;
  for (std::size_t i = starts_.size() + 1; i-- > 0;) {
    load(i == 0 ? near : starts_[i - 1]);
    if (reached()) return true;
    if (sum_ > most) {
      most = sum_;
      kept_ = row_;
    }
  }
  load(kept_);
  for (int k = 0; k < kicks; ++k) {
    if (!kick()) return false;
    if (reached()) return true;
    if (sum_ >= most) {
      most = sum_;
      kept_ = row_;
    } else {
      load(kept_);
    }
  }
  return false;
}

void Trial::remember(const std::vector<int>& row) {
  if (starts_.size() == kStarts) starts_.erase(starts_.begin());
  starts_.push_back(row);
}

Released release(const Model& model, const std::vector<Trial*>& trials, const std::vector<std::vector<Literal>>& literals,
                 const std::vector<int>& near, const std::vector<int>& kept, const std::vector<int>& candidates,
                 const std::vector<std::vector<int>>& changed, int kicks, int last_kicks, const std::function<bool()>& stop) {
  Released result;
  std::vector<char> stays(literals.size(), 0);
  const auto finished = [&] {
    for (const int feature : kept)
      if (stays[z(feature)] != 0) result.kept.push_back(feature);
    return result;
  };
  for (const int feature : kept) stays[z(feature)] = 1;
  // For each known row the number of features kept that it changes, and by feature the rows that change it.
  std::vector<int> count;
  std::vector<std::vector<std::size_t>> rows_of(literals.size());
  const auto learn = [&](const std::vector<int>& features) {
    for (const int feature : features) rows_of[z(feature)].push_back(count.size());
    const auto kept_ones = std::count_if(features.begin(), features.end(), [&](int one) { return stays[z(one)] != 0; });
    count.push_back(static_cast<int>(kept_ones));
  };
  for (const auto& features : changed) learn(features);
  std::vector<int> feature_of(near.size(), -1);
  for (std::size_t feature = 0; feature < literals.size(); ++feature)
    for (const Literal l : literals[feature]) feature_of[z(model.column_of[z(l >> 1)])] = static_cast<int>(feature);
  std::vector<int> left;  // released, in this order
  const auto set = [&](int feature, bool stay) {
    stays[z(feature)] = stay ? 1 : 0;
    for (const std::size_t row : rows_of[z(feature)]) count[row] += stay ? 1 : -1;
  };
  std::vector<std::size_t> turn(trials.size());
  std::iota(turn.begin(), turn.end(), 0U);
  std::vector<Literal> assumptions;
  // Looks for a row that agrees on all kept but `feature`. One that agrees on that as well shows that a release was wrong:
  // the last one that it allows is taken back. False if no row was found.
  bool back = false;
  const auto find = [&](int feature, int some_kicks) {
    assumptions.clear();
    for (const int other : kept)
      if (other != feature && stays[z(other)] != 0)
        assumptions.insert(assumptions.end(), literals[z(other)].begin(), literals[z(other)].end());
    const auto at = std::find_if(turn.begin(), turn.end(),
                                 [&](std::size_t trial) { return trials[trial]->find(assumptions, near, some_kicks); });
    if (at == turn.end()) return false;
    std::rotate(turn.begin(), at, at + 1);  // the class reached last is tried first
    const std::vector<int>& row = trials[turn[0]]->row();
    std::vector<int> differs;
    for (std::size_t c = 0; c < row.size(); ++c)
      if (row[c] != near[c] && feature_of[c] >= 0) differs.push_back(feature_of[c]);
    std::sort(differs.begin(), differs.end());
    differs.erase(std::unique(differs.begin(), differs.end()), differs.end());
    const auto in = [&](int one) { return std::binary_search(differs.begin(), differs.end(), one); };
    learn(differs);
    result.rows.push_back(row);
    if (feature >= 0 && in(feature)) return true;
    const auto wrong = std::find_if(left.rbegin(), left.rend(), in);
    if (wrong == left.rend()) return true;  // what was given does not suffice
    set(*wrong, true);
    left.erase(std::next(wrong).base());
    back = true;
    return true;
  };
  const auto needed = [&](int feature) {
    const auto& rows = rows_of[z(feature)];
    return std::any_of(rows.begin(), rows.end(), [&](std::size_t row) { return count[row] == 1; });
  };
  for (int round = 0; round < kRounds; ++round) {
    for (const int feature : candidates) {
      if (stays[z(feature)] == 0 || needed(feature)) continue;
      if (stop()) return finished();
      if (find(feature, kicks)) continue;
      set(feature, false);
      left.push_back(feature);
    }
    if (stop()) break;
    if (!back && !left.empty()) find(-1, last_kicks);
    if (!back) break;
    back = false;  // what was kept because of a row may be spared now
  }
  return finished();
}

}  // namespace proofwood::votes
