// Sets of rows as words of bits (docs/theory/optimal-trees.md, "Packed tests").
#include "trees/packed/row_set.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "common/mix.hpp"

namespace proofwood::trees::packed {

namespace {

constexpr u32 kNone = ~0u;

u32 words_for(u32 n) { return (n + kWordRows - 1) / kWordRows; }

// First words of the groups, given their first entries.
void place_words(const std::vector<u32>& group, std::vector<u32>& word_group) {
  word_group.assign(group.size(), 0);
  for (std::size_t g = 0; g + 1 < group.size(); ++g)
    word_group[g + 1] = word_group[g] + words_for(group[g + 1] - group[g]);
}

// The tests that part the rows, each once: of those that part them alike the first. By their places in `words`.
void distinct_tests(const Words& words, u32 n_words, const Kernels& kernels, Scratch& scratch) {
  scratch.differs.resize(words.stride);
  scratch.prints.resize(2 * std::size_t{words.stride});
  kernels.print(words, n_words, scratch.valid.data(), scratch.differs.data(), scratch.prints.data());
  const std::size_t slots = std::bit_ceil(2 * std::size_t{words.n_tests} + 1);
  scratch.slots.assign(slots, kNone);
  scratch.kept.clear();
  const auto flipped = [&](u32 lane) { return (words.bits[lane] & 1) != 0; };
  const auto same = [&](u32 a, u32 b) {
    const bool opposite = flipped(a) != flipped(b);
    for (u32 w = 0; w < n_words; ++w) {
      const std::uint16_t* const at = words.bits + std::size_t{w} * words.stride;
      if (at[a] != (opposite ? at[b] ^ scratch.valid[w] : at[b])) return false;
    }
    return true;
  };
  for (u32 test = 0; test < words.n_tests; ++test) {
    const u32 lane = kernels.lane(test);
    if (scratch.differs[lane] == 0) continue;
    const u32 print = u32{scratch.prints[lane]} << 16 | scratch.prints[words.stride + lane];
    std::size_t at = print * u64{0x9e3779b97f4a7c15u} >> 32 & (slots - 1);
    bool seen = false;
    for (; scratch.slots[at] != kNone && !seen; at = (at + 1) & (slots - 1))
      seen = same(kernels.lane(scratch.slots[at]), lane);
    if (seen) continue;
    scratch.slots[at] = test;
    scratch.kept.push_back(test);
  }
}

}  // namespace

void RowSet::note_sums(const TestTable& table) {
  const Table& all = *table.all;
  if (table.layers.minimum) {
    counts.count = 0;
    for (const u32 e : entry_) {
      counts.count += all.count[e];
      counts.mass += all.mass[e];
    }
  }
  sums.clear(all.sums.size());
  for (const u32 e : entry_) sums.add(all, e);
  leaf = all.sums_task->leaf_of(sums);
}

void RowSet::note(const TestTable& table) {
  n = static_cast<u32>(entry_.size());
  open_ = false;
  counts.clear(static_cast<u32>(counts.class_weight.size()));
  for (u32 g = 0; g < table.n_groups(); ++g) {
    const Group& group = table.groups[g];
    const u32 size = group_[g + 1] - group_[g];
    counts.weight += size * group.weight;
    counts.count += size * (table.layers.minimum ? group.count : 1);  // else it does not matter
    counts.mass += size * group.mass;
    counts.class_weight[group.label] += size * group.weight;
  }
  if (table.by_sums()) note_sums(table);
  hash[0] = hash[1] = 0;
  for (const u32 e : entry_) {
    hash[0] += table.hash[2 * std::size_t{e}];
    hash[1] += table.hash[2 * std::size_t{e} + 1];
  }
}

void RowSet::start(const TestTable& table) {
  parent_ = nullptr;
  counts.class_weight.resize(table.n_classes);
  group_ = table.group;
  entry_.resize(table.n_entries());
  std::iota(entry_.begin(), entry_.end(), 0u);
  position_ = entry_;
  note(table);
}

u32 RowSet::positions(const Kernels& kernels, u32 test, bool holds, std::vector<u32>& at,
                      std::vector<u32>& group) const {
  const u32 lane = kernels.lane(test), n_groups = static_cast<u32>(group_.size()) - 1;
  at.resize(n);
  group.resize(n_groups + 1);
  u32 found = 0;
  for (u32 g = 0; g < n_groups; ++g) {
    group[g] = found;
    for (u32 first = group_[g], w = words.group[g]; first < group_[g + 1]; first += kWordRows, ++w) {
      u32 bits = words.bits[std::size_t{w} * stride + lane];
      if (!holds) {
        const u32 rows = group_[g + 1] - first;
        bits = ~bits & (rows >= kWordRows ? 0xffffu : (1u << rows) - 1);
      }
      for (; bits != 0; bits &= bits - 1) at[found++] = first + static_cast<u32>(std::countr_zero(bits));
    }
  }
  group[n_groups] = found;
  return found;
}

void RowSet::side_hash(const TestTable& table, const Kernels& kernels, u32 test, bool holds, u64 (&found)[2]) const {
  const u32 lane = kernels.lane(test), n_groups = static_cast<u32>(group_.size()) - 1;
  u64 held[2] = {0, 0};
  for (u32 g = 0; g < n_groups; ++g)
    for (u32 first = group_[g], w = words.group[g]; first < group_[g + 1]; first += kWordRows, ++w)
      for (u32 bits = words.bits[std::size_t{w} * stride + lane]; bits != 0; bits &= bits - 1) {
        const u64* const of =
            table.hash.data() + 2 * std::size_t{entry_[first + static_cast<u32>(std::countr_zero(bits))]};
        held[0] += of[0];
        held[1] += of[1];
      }
  for (const int k : {0, 1}) found[k] = holds ? held[k] : hash[k] - held[k];
}

void RowSet::take_side(const TestTable& table, const Kernels& kernels, const RowSet& parent, u32 test, bool holds) {
  parent_ = &parent;
  counts.class_weight.resize(table.n_classes);
  const u32 found = parent.positions(kernels, test, holds, position_, group_);
  position_.resize(found);
  entry_.resize(found);
  for (u32 i = 0; i < found; ++i) entry_[i] = parent.entry_[position_[i]];
  note(table);
}

// The tests of interest side by side.
RowSet::Source RowSet::narrowed(const Source& wide, const Kernels& kernels, Scratch& scratch,
                                const std::vector<u32>& alive) const {
  const u32 blocks = wide.stride / kTogether, n_alive = static_cast<u32>(alive.size());
  const u32 to_blocks = (n_alive + kTogether - 1) / kTogether;
  scratch.mask.assign(blocks, 0);
  for (const u32 test : alive) scratch.mask[test / kTogether] |= 1u << (test % kTogether);
  u32* const bits = scratch.bits.resize(std::size_t{n} * to_blocks + 1);
  kernels.extract(wide.bits, blocks, wide.positions, n, scratch.mask.data(), bits, to_blocks);
  while (scratch.in_order.size() < n) scratch.in_order.push_back(static_cast<u32>(scratch.in_order.size()));
  return {bits, to_blocks * kTogether, n_alive, scratch.in_order.data()};
}

void RowSet::open(const TestTable& table, const Kernels& kernels, Scratch& scratch, const std::vector<u32>* alive) {
  Source from =
      parent_ ? Source{parent_->row_bits_.data(), parent_->stride, parent_->n_tests(), position_.data()}
              : Source{table.row_bits.data(), table.stride, static_cast<u32>(table.tests.size()), position_.data()};
  if (alive != nullptr) from = narrowed(from, kernels, scratch, *alive);
  place_words(group_, word_group_);
  const u32 n_words = word_group_.back();
  auto* const wide = static_cast<u16*>(scratch.words.resize(std::size_t{n_words} * from.stride * sizeof(u16)));
  scratch.valid.resize(n_words);
  for (u32 g = 0; g < table.n_groups(); ++g) {
    const u32 size = group_[g + 1] - group_[g];
    kernels.pack(from.bits, from.stride, from.positions + group_[g], size,
                 wide + std::size_t{word_group_[g]} * from.stride);
    for (u32 first = 0, w = word_group_[g]; first < size; first += kWordRows, ++w)
      scratch.valid[w] = static_cast<u16>(size - first >= kWordRows ? 0xffffu : (1u << (size - first)) - 1);
  }
  distinct_tests({wide, from.stride, from.n_tests, word_group_.data()}, n_words, kernels, scratch);
  place = scratch.kept;
  if (alive != nullptr)
    for (u32& at : place) at = (*alive)[at];
  tests.resize(place.size());
  for (std::size_t k = 0; k < tests.size(); ++k) tests[k] = parent_ ? parent_->tests[place[k]] : place[k];
  take_words(table, kernels, scratch, from, wide);
  open_ = true;
}

// What of `wide` and of the bits that it was made of are distinct tests.
void RowSet::take_words(const TestTable& table, const Kernels& kernels, Scratch& scratch, const Source& from,
                        u16* wide) {
  const u32 n_words = word_group_[table.n_groups()];
  stride = (n_tests() + kTogether - 1) / kTogether * kTogether;
  words = {wide, stride, n_tests(), word_group_.data()};
  if (from.bits == scratch.bits.data() && n_tests() == from.n_tests) {  // all are
    std::swap(row_bits_, scratch.bits);
    std::swap(word_buffer_, scratch.words);
    return;
  }
  const u32 of_blocks = from.stride / kTogether, blocks = stride / kTogether;
  scratch.mask.assign(of_blocks, 0);
  for (const u32 test : scratch.kept) scratch.mask[test / kTogether] |= 1u << (test % kTogether);
  u32* const bits = row_bits_.resize(std::size_t{n} * blocks + 1);
  kernels.extract(from.bits, of_blocks, from.positions, n, scratch.mask.data(), bits, blocks);
  auto* const to = static_cast<u16*>(word_buffer_.resize(std::size_t{n_words} * stride * sizeof(u16)));
  scratch.from_lane.assign(stride, kNone);
  for (u32 k = 0; k < n_tests(); ++k) scratch.from_lane[kernels.lane(k)] = kernels.lane(scratch.kept[k]);
  for (u32 w = 0; w < n_words; ++w) {
    const u16* const of = wide + std::size_t{w} * from.stride;
    u16* const out = to + std::size_t{w} * stride;
    for (u32 lane = 0; lane < stride; ++lane)
      out[lane] = scratch.from_lane[lane] == kNone ? u16{0} : of[scratch.from_lane[lane]];
  }
  words.bits = to;
}

}  // namespace proofwood::trees::packed
