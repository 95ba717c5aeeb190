// What earlier runs of the subset search proved is taken up, and what this one proves is noted for later ones
// (docs/theory/decision-diagrams.md, "What a checkpoint holds").
#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "bdd/subset_search.hpp"
#include "bdd/worker.hpp"

namespace proofwood::bdd {

// Tests by their place in the table, and back.
Set Search::places(const Set& numbers) const {
  Set places;
  for (const u32 number : numbers) {
    const auto at = std::lower_bound(table_.number.begin(), table_.number.end(), number);
    if (at == table_.number.end() || *at != number)
      throw std::invalid_argument("a recorded test is none of this problem");
    places.push_back(static_cast<u32>(at - table_.number.begin()));
  }
  Set sorted = places;
  std::sort(sorted.begin(), sorted.end());
  if (places.size() > settings_.size || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    throw std::invalid_argument("a recorded set has more tests than are asked for, or one twice");
  return places;
}

Set Search::numbers(const Set& places) const {
  Set numbers;
  for (const u32 place : places) numbers.push_back(table_.number[place]);
  return numbers;
}

// The error of a set, counted on the rows.
i64 Search::counted(Worker& worker, const Set& places) const {
  Node node;
  return worker.refine_all(places, node);
}

// ------------------------------------------------------------------ what earlier searches proved

// True if a search was done, and its answer holds.
bool Search::take_up_end(Worker& worker) {
  if (earlier_ == nullptr || !earlier_->whole || !earlier_->whole->done || settings_.collect) return false;
  greedy_upper_ = earlier_->whole->greedy_upper;
  take_up_best(worker);
  const std::lock_guard lock(mutex_);
  done_ = true;
  run_.prove(upper());
  return true;
}

// The first set, so that the root is as it was.
bool Search::take_up_greedy(Worker& worker) {
  if (earlier_ == nullptr || !earlier_->greedy) return false;
  const Set set = places(*earlier_->greedy);
  offer(counted(worker, set), set);
  note_greedy();
  return true;
}

void Search::take_up_best(Worker& worker) {
  if (earlier_ == nullptr || begun_) return;
  if (const auto& whole = earlier_->whole) {
    i64 upper = whole->upper;
    if (whole->set) {
      const Set set = places(*whole->set);
      upper = counted(worker, set);
      if (upper > whole->upper)
        throw std::invalid_argument("a recorded set errs by " + std::to_string(upper) + ", where its record says " +
                                    std::to_string(whole->upper));
      offer(upper, set);
    }
    if (whole->lower > upper) throw std::invalid_argument("a recorded bound exceeds the error of a recorded set");
    run_.prove(whole->lower);
  }
  const std::lock_guard lock(mutex_);
  begun_ = true;
  if (earlier_->whole) told_ = {earlier_->whole->upper, earlier_->whole->lower};  // in the file; this run may know more
  told_done_ = earlier_->whole && earlier_->whole->done && !settings_.collect;
}

// Children of the root that were searched, where they exclude what is below the best set now.
void Search::take_up_children(Worker& worker, RootChildren& children) {
  const u64 digest = digest_of(children.root);
  const std::size_t n = children.root.candidates.size();
  const std::lock_guard lock(mutex_);
  if (!earlier_->root) news_.root = digest;
  if (!earlier_->children.empty() && earlier_->root != digest)
    throw std::invalid_argument("the recorded children are those of another root");
  known_.assign(n, false);
  for (const ChildRecord& child : earlier_->children) {
    const std::size_t s = child.place;
    if (s >= n || table_.number[children.root.candidates[s]] != child.test)
      throw std::invalid_argument("a recorded child is none of this root");
    if (known_[s] || child.excluded < upper()) continue;
    known_[s] = true;
    ++worker.counters[kRootChildrenDone];
    for (const Set& set : child.sets) {
      Set of_table = places(set);
      if (counted(worker, of_table) >= upper())
        throw std::invalid_argument("a recorded set errs by more than its record says");
      collected_[s + 1].push_back(std::move(of_table));
    }
    gathered_[s + 1] = child.sets.size();
    gathered_all_ += child.sets.size();
    open_[s] = std::numeric_limits<i64>::max();
    rule_out(children, s, child.bound);
  }
  prove_by_children();
}

// Of the candidates in their order (FNV-1a).
u64 Search::digest_of(const Node& root) const {
  u64 digest = 14695981039346656037u;
  for (const u32 test : root.candidates) digest = (digest ^ (table_.number[test] + u64{1})) * 1099511628211u;
  return digest >> 1;  // a number that Python and C++ have alike
}

// ------------------------------------------------------------------ what this search proves

void Search::note_greedy() {
  if (earlier_ == nullptr || stopped() || !has_set()) return;
  const std::lock_guard lock(mutex_);
  if (!earlier_->greedy) news_.greedy = numbers(run_.answer());
}

// Under the mutex. A child that was left since enough sets come before it is not noted.
void Search::note_child(const RootChildren& children, std::size_t s, i64 proved) {
  if (settings_.collect && surplus(s + 1)) return;
  ChildRecord record{static_cast<u32>(s), table_.number[children.root.candidates[s]], upper(), proved, {}};
  for (const Set& set : collected_[s + 1]) record.sets.push_back(numbers(set));
  news_.children.push_back(std::move(record));
}

Proved Search::take_news() {
  const std::lock_guard lock(mutex_);
  if (!begun_) return {};
  Proved news = std::move(news_);
  news_ = {};
  const auto [state, set] = run_.known();  // after the children: the error that they exclude is met
  if (state.upper != told_.upper || state.lower != told_.lower || done_ != told_done_)
    news.whole = {state.upper, state.lower, done_, greedy_upper_,
                  has_set_ ? std::optional<Set>(numbers(set)) : std::nullopt};
  told_ = state;
  told_done_ = done_;
  return news;
}

}  // namespace proofwood::bdd
